//! Asking, looking, renewing, changing, giving back: every status code.

use hyper::Method;
use meshlock_api::State;
use serde_json::json;

use crate::client::{Node, settings};

#[tokio::test]
async fn a_lock_is_granted_queued_and_passed_on() {
    let node = Node::start().await;
    let first = node.post("/v1/requests", json!({"id": "a", "resource": "r", "owner": "me"})).await;
    first.is(200, "GRANTED");
    assert_eq!(first.json()["owner"], "me");
    let second = node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await;
    second.is(202, "QUEUED");
    assert_eq!(second.json()["place"]["ahead"], 0);
    assert_eq!(second.json()["place"]["exact"], true);
    node.get("/v1/requests/b").await.is(202, "QUEUED");
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    let granted = node.get("/v1/requests/b").await;
    granted.is(200, "GRANTED");
    assert!(granted.json()["fence"].as_u64() > first.json()["fence"].as_u64());
}

#[tokio::test]
async fn asking_again_changes_nothing() {
    let node = Node::start().await;
    let body = json!({"id": "a", "resource": "r", "units": 1});
    let first = node.post("/v1/requests", body.clone()).await;
    let again = node.post("/v1/requests", body.clone()).await;
    again.is(200, "GRANTED");
    assert_eq!(first.json()["fence"], again.json()["fence"]);
    assert_eq!(node.get("/v1/requests").await.json().as_array().expect("a list").len(), 1);
    node.post("/v1/requests", json!({"id": "a", "resource": "other"})).await.is_problem(409, "conflict");
}

#[tokio::test]
async fn asking_again_after_the_release_is_no_second_grant() {
    let node = Node::start().await;
    let body = json!({"id": "a", "resource": "r"});
    node.post("/v1/requests", body.clone()).await.is(200, "GRANTED");
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    node.post("/v1/requests", body.clone()).await.is(410, "RELEASED");
    node.post("/v1/requests?block_for=10s", body).await.is(410, "RELEASED");
    assert_eq!(node.get("/v1/requests").await.json(), json!([]));
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is(200, "GRANTED");
}

#[tokio::test]
async fn an_id_is_given_to_those_who_choose_none() {
    let node = Node::start().await;
    let asked = node.post("/v1/requests", json!({"resource": "r"})).await;
    let id = asked.field("id");
    node.get(&format!("/v1/requests/{id}")).await.is(200, "GRANTED");
    node.delete(&format!("/v1/requests/{id}")).await.is(200, "RELEASED");
}

#[tokio::test]
async fn what_can_never_be_granted_is_refused() {
    let node = Node::start().await;
    node.put("/v1/resources/docks", json!({"capacity": 3})).await;
    let reply = node.post("/v1/requests", json!({"resource": "docks", "units": 4})).await;
    reply.is_problem(409, "conflict");
    assert!(reply.field("message").contains("3 in all"));
    node.post("/v1/requests", json!({"resource": "docks", "session": "s"})).await.is_problem(409, "conflict");
    for bad in [
        json!({"resource": "docks", "units": 0}),
        json!({"resource": "docks", "lease_ms": 5}),
        json!({"resource": "a/b"}),
        json!({"resource": "docks", "id": "a/b"}),
        json!({"resource": "docks", "id": "~1"}),
    ] {
        node.post("/v1/requests", bad).await.is_problem(400, "bad-request");
    }
}

#[tokio::test]
async fn every_kind_of_resource_can_be_asked_for() {
    let node = Node::start().await;
    node.put("/v1/resources/track", json!({"kind": "sessions"})).await;
    node.put("/v1/resources/map", json!({"kind": "readers-writer"})).await;
    for (id, session, status) in [("a", "red", 200), ("b", "red", 200), ("c", "blue", 202)] {
        let body = json!({"id": id, "resource": "track", "session": session});
        assert_eq!(node.post("/v1/requests", body).await.status, status, "{id}");
    }
    for (id, mode, status) in [("r1", "read", 200), ("r2", "read", 200), ("w", "write", 202)] {
        let body = json!({"id": id, "resource": "map", "mode": mode});
        assert_eq!(node.post("/v1/requests", body).await.status, status, "{id}");
    }
}

#[tokio::test]
async fn resources_are_not_made_on_first_use_if_the_mesh_does_not_want_it() {
    let node = Node::with(
        meshlock_node::machine::Settings { first_fence: 0, create_on_first_use: false, ..settings() },
        |_| (),
    )
    .await;
    node.post("/v1/requests", json!({"resource": "r"})).await.is_problem(404, "unknown");
}

#[tokio::test]
async fn a_full_or_stopping_node_takes_no_requests() {
    let node = Node::with(meshlock_node::machine::Settings { most_requests: 1, ..settings() }, |_| ()).await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is_problem(503, "unavailable");
    node.hub.with(|machine, now| machine.stop(now));
    node.get("/v1/requests/a").await.is(410, "REVOKED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is_problem(503, "unavailable");
    assert_eq!(node.get("/v1/health").await.json()["status"], "stopping");
}

#[tokio::test]
async fn unknown_requests_are_told_apart() {
    let node = Node::start().await;
    node.get("/v1/requests/x").await.is_problem(404, "unknown");
    node.get("/v1/requests/x?block_for=10s").await.is_problem(404, "unknown");
    node.get("/v1/requests/x/events").await.is_problem(404, "unknown");
    node.delete("/v1/requests/x").await.is_problem(404, "unknown");
    node.send(Method::POST, "/v1/requests/x/renew", "").await.is_problem(404, "unknown");
    node.patch("/v1/requests/x", json!({"urgency": {"priority": 1}})).await.is_problem(404, "unknown");
}

#[tokio::test]
async fn leases_are_renewed() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is(202, "QUEUED");
    let renewed = node.post("/v1/requests/a/renew", json!({"lease_ms": 5000})).await;
    renewed.is(200, "GRANTED");
    assert_eq!(renewed.json()["lease_ms"], 5000);
    assert!(renewed.json()["expires_in_ms"].as_u64() <= Some(5000));
    node.send(Method::POST, "/v1/requests/b/renew", "").await.is(202, "QUEUED");
    node.post("/v1/requests/b/renew", json!({"lease_ms": 5})).await.is_problem(400, "bad-request");
    node.post("/v1/requests/b/renew", json!({"lease": 5000})).await.is_problem(400, "bad-request");
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    node.send(Method::POST, "/v1/requests/a/renew", "").await.is(410, "RELEASED");
}

#[tokio::test]
async fn requests_that_are_over_are_gone() {
    let node = Node::start().await;
    for id in ["expired", "revoked"] {
        let body = json!({"id": id, "resource": id, "lease_ms": 100});
        node.post("/v1/requests", body).await.is(200, "GRANTED");
    }
    let revoked = node.hub.find("revoked").expect("known");
    node.hub.with(|machine, now| machine.revoke(now, revoked, "an operator wanted it"));
    let expired = node.hub.find("expired").expect("known");
    node.hub.changed(expired, State::Granted).await;
    for (id, state) in [("expired", "EXPIRED"), ("revoked", "REVOKED")] {
        let path = format!("/v1/requests/{id}");
        let look = node.get(&path).await;
        look.is(410, state);
        assert!(look.field("reason").len() > 10);
        node.delete(&path).await.is(410, state);
        node.send(Method::POST, &format!("{path}/renew"), "").await.is(410, state);
        node.post("/v1/requests", json!({"id": id, "resource": id, "lease_ms": 100})).await.is(410, state);
        node.patch(&path, json!({"urgency": {"priority": 1}})).await.is_problem(409, "conflict");
    }
}

#[tokio::test]
async fn a_request_that_no_longer_fits_is_rejected() {
    let node = Node::start().await;
    node.put("/v1/resources/docks", json!({"capacity": 3})).await;
    node.post("/v1/requests", json!({"id": "a", "resource": "docks"})).await.is(200, "GRANTED");
    let large = json!({"id": "b", "resource": "docks", "units": 3});
    node.post("/v1/requests", large.clone()).await.is(202, "QUEUED");
    node.patch("/v1/resources/docks", json!({"capacity": 2})).await;
    let rejected = node.get("/v1/requests/b").await;
    rejected.is_problem(409, "conflict");
    assert!(rejected.field("message").contains("the capacity is 2 now"));
    node.post("/v1/requests", large).await.is_problem(409, "conflict");
    node.send(Method::POST, "/v1/requests/b/renew", "").await.is(410, "REJECTED");
    node.delete("/v1/requests/b").await.is(410, "REJECTED");
}

#[tokio::test]
async fn urgency_decides_who_is_next() {
    let node = Node::start().await;
    for id in ["a", "b", "c"] {
        node.post("/v1/requests", json!({"id": id, "resource": "r"})).await;
    }
    let changed = node.patch("/v1/requests/c", json!({"urgency": {"priority": 7}})).await;
    changed.is(202, "QUEUED");
    assert_eq!(changed.json()["urgency"], json!({"priority": 7}));
    node.patch("/v1/requests/a", json!({"urgency": {"priority": 7}})).await.is_problem(409, "conflict");
    node.patch("/v1/requests/b", json!({"urgency": {"deadline": 7}})).await.is_problem(409, "conflict");
    node.patch("/v1/requests/b", json!({"urgency": {"colour": 7}})).await.is_problem(400, "bad-request");
    node.patch("/v1/requests/b", json!({})).await.is_problem(400, "bad-request");
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    node.get("/v1/requests/c").await.is(200, "GRANTED");
    node.get("/v1/requests/b").await.is(202, "QUEUED");
}

#[tokio::test]
async fn releasing_twice_does_no_harm() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await;
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await;
    node.delete("/v1/requests/b").await.is(200, "RELEASED");
    for _ in 0..2 {
        node.delete("/v1/requests/a").await.is(200, "RELEASED");
    }
}

#[tokio::test]
async fn several_resources_are_one_request() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "other", "resource": "lift"})).await.is(200, "GRANTED");
    let body = json!({"id": "both", "all": [{"resource": "lift"}, {"resource": "dock", "units": 1}]});
    let waits = node.post("/v1/requests", body.clone()).await;
    waits.is(202, "QUEUED");
    assert_eq!(waits.json()["resource"], "lift + dock");
    assert_eq!(
        (&waits.json()["parts"][0]["state"], &waits.json()["parts"][1]["state"]),
        (&"QUEUED".into(), &"GRANTED".into())
    );
    node.delete("/v1/requests/other").await.is(200, "RELEASED");
    let granted = node.post("/v1/requests?block_for=30s", body).await;
    granted.is(200, "GRANTED");
    let granted = granted.json();
    assert!(granted.get("fence").is_none(), "each part has its own");
    for part in [&granted["parts"][0], &granted["parts"][1]] {
        assert_eq!(
            (&part["state"], part["fence"].to_string()),
            (&"GRANTED".into(), part["fence_text"].as_str().expect("text").to_owned())
        );
    }
    node.post("/v1/requests/both/renew", json!({})).await.is(200, "GRANTED");
    assert_eq!(node.get("/v1/requests").await.json().as_array().expect("a list").len(), 1, "parts are not listed");
    node.delete("/v1/requests/both").await.is(200, "RELEASED");
    let both = json!({"resource": "dock", "all": [{"resource": "lift"}]});
    node.post("/v1/requests", both).await.is_problem(400, "bad-request");
    let many = json!({"all": [{"resource": "dock"}, {"resource": "lift", "units": 9}]});
    node.post("/v1/requests", many).await.is_problem(409, "conflict");
}
