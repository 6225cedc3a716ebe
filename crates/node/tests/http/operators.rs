//! What operators do: remove resources, take grants away, see who held what.

use hyper::Method;
use serde_json::json;

use crate::client::Node;

#[tokio::test]
async fn a_refused_first_use_leaves_nothing_behind_and_a_clear_one_says_what_it_made() {
    let node = Node::start().await;
    let refused = node.post("/v1/requests", json!({"resource": "gpu", "units": 2})).await;
    refused.is_problem(409, "conflict");
    assert!(refused.field("message").contains("meshlock resource make gpu --capacity 2"), "{}", refused.text);
    assert_eq!(node.get("/v1/resources").await.json(), json!([]));
    let made = node.post("/v1/requests", json!({"id": "a", "resource": "map", "mode": "read"})).await;
    made.is(200, "GRANTED");
    assert_eq!(made.json()["made"]["kind"], "readers-writer");
    let second = node.post("/v1/requests", json!({"resource": "map", "mode": "read"})).await;
    assert!(second.json().get("made").is_none(), "{}", second.text);
}

#[tokio::test]
async fn resources_are_removed_and_replaced_while_unused() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "gpu"})).await.is(200, "GRANTED");
    node.delete("/v1/resources/gpu?block_for=10ms").await.is_problem(409, "conflict");
    node.put("/v1/resources/gpu?replace=true&block_for=10ms", json!({"capacity": 4})).await.is_problem(409, "conflict");
    let fence = node.get("/v1/requests/a").await.json()["fence"].as_u64().expect("a fence");
    assert_eq!(node.delete("/v1/requests/a").await.status, 200);
    let replaced = node.put("/v1/resources/gpu?replace=true", json!({"capacity": 4})).await;
    assert_eq!(replaced.status, 201, "{}", replaced.text);
    let same = node.put("/v1/resources/gpu?replace=true", json!({"capacity": 4})).await;
    assert_eq!(same.status, 200, "{}", same.text);
    let removed = node.delete("/v1/resources/gpu").await;
    assert_eq!((removed.status, removed.json()["definition"]["capacity"].clone()), (200, json!(4)));
    node.delete("/v1/resources/gpu").await.is_problem(404, "unknown");
    assert_eq!(node.get("/v1/resources").await.json(), json!([]));
    let again = node.post("/v1/requests", json!({"resource": "gpu"})).await;
    assert!(again.json()["fence"].as_u64().expect("a fence") > fence, "{}", again.text);
}

#[tokio::test]
async fn a_grant_is_revoked_by_its_id() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "dock"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "dock"})).await.is(202, "QUEUED");
    let told = node.post("/v1/revocations?block_for=0", json!({"id": "a", "reason": "broken", "by": "ann"})).await;
    assert_eq!(told.status, 202, "{}", told.text);
    assert_eq!((told.json()["state"].clone(), told.json()["stopped"].clone()), (json!("REVOKED"), json!(false)));
    node.get("/v1/requests/a").await.is(410, "REVOKED");
    node.get("/v1/requests/b").await.is(202, "QUEUED");
    node.delete("/v1/requests/a").await;
    let done = node.post("/v1/revocations", json!({"id": "a"})).await;
    done.is_problem(409, "conflict");
    node.get("/v1/requests/b?block_for=10s").await.is(200, "GRANTED");
    let forced = node.post("/v1/revocations", json!({"id": "b", "force": true})).await;
    assert_eq!((forced.status, forced.json()["stopped"].clone()), (200, json!(true)));
    node.post("/v1/revocations", json!({"id": "nothing"})).await.is_problem(404, "unknown");
    node.post("/v1/revocations", json!({"id": "x", "reason": "x".repeat(257)})).await.is_problem(400, "bad-request");
    node.post("/v1/revocations", json!({"id": ""})).await.is_problem(400, "bad-request");
}

#[tokio::test]
async fn a_node_without_an_audit_says_so() {
    let node = Node::start().await;
    node.get("/v1/audit").await.is_problem(503, "unavailable");
    node.get("/v1/audit?last=0").await.is_problem(400, "bad-request");
    node.get("/v1/audit?last=10001").await.is_problem(400, "bad-request");
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().to_owned();
    let node = Node::with_config(move |config| config.audit = Some(dir)).await;
    assert_eq!(node.get("/v1/audit").await.json(), json!([]));
}

#[tokio::test]
async fn lists_are_refused_where_objects_belong() {
    let node = Node::start().await;
    for (method, path, body) in [
        (Method::POST, "/v1/requests", r#"[null, "dock"]"#),
        (Method::POST, "/v1/requests", r#"[null,"dock",null,null,null,null,null,null,null]"#),
        (Method::PUT, "/v1/resources/dock", r#"["mutex"]"#),
        (Method::PUT, "/v1/resources/dock", r#"{"order": {"priority": [3]}}"#),
        (Method::POST, "/v1/revocations", r#"["a"]"#),
        (Method::PATCH, "/v1/resources/dock", "[5]"),
    ] {
        let refused = node.send(method, path, body).await;
        refused.is_problem(400, "bad-request");
        assert!(refused.field("message").contains("object"), "{body}: {}", refused.text);
    }
    // Brackets in a text are no list.
    let fine = node.post("/v1/requests", json!({"resource": "dock", "owner": "job[7]"})).await;
    fine.is(200, "GRANTED");
}
