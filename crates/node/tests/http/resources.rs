//! Resources, status, health, metrics, removals: every status code.

use std::sync::{Arc, Mutex};

use hyper::Method;
use meshlock_node::machine::Settings;
use serde_json::json;

use crate::client::{Node, settings};

#[tokio::test]
async fn resources_are_made_once() {
    let node = Node::start().await;
    assert_eq!(node.get("/v1/resources").await.json(), json!([]));
    let made = node.put("/v1/resources/docks", json!({"capacity": 3})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.json()["definition"]["kind"], "semaphore");
    let again = node.put("/v1/resources/docks", json!({"kind": "semaphore", "capacity": 3})).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let other = node.put("/v1/resources/docks", json!({"capacity": 4})).await;
    other.is_problem(409, "conflict");
    assert!(other.field("message").contains("capacity is 4 as wanted and 3 in this mesh"), "{}", other.text);
    assert_eq!(made.json()["definition"]["policy"], "strict");
    let other = node.put("/v1/resources/docks", json!({"capacity": 3, "policy": "backfill"})).await;
    other.is_problem(409, "conflict");
    assert!(other.field("message").contains("policy is backfill as wanted and strict in this mesh"), "{}", other.text);
    assert_eq!(node.send(Method::PUT, "/v1/resources/lock", "").await.status, 201);
    assert_eq!(node.get("/v1/resources/docks").await.json(), made.json());
    let all = node.get("/v1/resources").await.json();
    let names: Vec<&str> = all.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["docks", "lock"]);
    node.get("/v1/resources/nothing").await.is_problem(404, "unknown");
}

#[tokio::test]
async fn resources_that_make_no_sense_are_refused() {
    let node = Node::start().await;
    node.put("/v1/resources/a", json!({"capacity": 0})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a", json!({"colour": "red"})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a", json!({"capacity": 3, "policy": "greedy"})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a", json!({"policy": "backfill"})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/meshlock:a", json!({})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a%2Fb", json!({})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a%ff", json!({})).await.is_problem(400, "bad-request");
    node.put("/v1/resources/a?block_for=soon", json!({})).await.is_problem(400, "bad-request");
    assert_eq!(node.get("/v1/resources").await.json(), json!([]));
}

#[tokio::test]
async fn resources_are_changed() {
    let node = Node::start().await;
    node.put("/v1/resources/docks", json!({"capacity": 3})).await;
    node.put("/v1/resources/lock", json!({})).await;
    let changed = node.patch("/v1/resources/docks", json!({"capacity": 5, "lease_ms": 60000})).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert_eq!(changed.json()["definition"]["capacity"], 5);
    assert_eq!(changed.json()["definition"]["lease_ms"], 60000);
    assert_eq!(changed.json()["version"], 3, "the fence of the registry's grant");
    node.patch("/v1/resources/lock", json!({"capacity": 5})).await.is_problem(409, "conflict");
    node.patch("/v1/resources/nothing", json!({"capacity": 5})).await.is_problem(404, "unknown");
    node.patch("/v1/resources/docks", json!({})).await.is_problem(400, "bad-request");
    node.patch("/v1/resources/docks", json!({"kind": "mutex"})).await.is_problem(400, "bad-request");
}

#[tokio::test]
async fn without_the_registry_nothing_is_made() {
    let node = Node::with(Settings { founds_registry: false, ..settings() }, |_| ()).await;
    node.put("/v1/resources/docks?block_for=20ms", json!({"capacity": 3})).await.is_problem(503, "unavailable");
    node.post("/v1/requests?block_for=20ms", json!({"id": "a", "resource": "r"})).await.is(202, "QUEUED");
}

#[tokio::test]
async fn status_shows_holders_and_waiters() {
    let node = Node::start().await;
    for id in ["a", "b"] {
        node.post("/v1/requests", json!({"id": id, "resource": "r"})).await;
    }
    node.put("/v1/resources/other", json!({})).await;
    let all = node.get("/v1/status").await;
    assert_eq!(all.status, 200);
    assert_eq!(all.json()["nodes"][0]["name"], "n0");
    assert_eq!(all.json()["resources"].as_array().expect("a list").len(), 2);
    let one = node.get("/v1/status?resource=r&patience=500ms").await.json();
    assert_eq!(one["resources"][0]["holders"][0]["id"], "a");
    assert_eq!(one["resources"][0]["waiters"][0]["id"], "b");
    node.get("/v1/status?resource=nothing").await.is_problem(404, "unknown");
    node.get("/v1/status?patience=long").await.is_problem(400, "bad-request");
    node.get("/v1/status?colour=red").await.is_problem(400, "bad-request");
}

#[tokio::test]
async fn health_and_metrics_and_the_document_are_served() {
    let node = Node::start().await;
    let health = node.get("/v1/health").await.json();
    assert_eq!((&health["status"], &health["mesh"], &health["node"]), (&json!("ok"), &json!("test"), &json!("n0")));
    assert_eq!((&health["links"], &health["version"]), (&json!(0), &json!(env!("CARGO_PKG_VERSION"))));
    let metrics = node.get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.headers["content-type"].to_str().expect("text").starts_with("text/plain"));
    assert!(metrics.text.contains("# TYPE"), "{}", metrics.text);
    assert_eq!(node.get("/openapi.json").await.text, meshlock_node::http::openapi_document());
}

#[tokio::test]
async fn removals_are_handed_on() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let take = Arc::clone(&taken);
    let node = Node::with_config(|config| {
        config.removals = Some(Arc::new(move |removal| {
            if removal.is_empty() {
                return Err("the removal is empty".into());
            }
            take.lock().expect("a list").push(removal);
            Ok(())
        }));
    })
    .await;
    assert_eq!(node.post("/v1/removals", json!({"removal": "AQID"})).await.status, 204);
    assert_eq!(*taken.lock().expect("a list"), [[1, 2, 3]]);
    node.post("/v1/removals", json!({"removal": ""})).await.is_problem(400, "bad-request");
    node.post("/v1/removals", json!({"removal": "%"})).await.is_problem(400, "bad-request");
    let without = Node::start().await;
    without.post("/v1/removals", json!({"removal": "AQID"})).await.is_problem(503, "unavailable");
}
