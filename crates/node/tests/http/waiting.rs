//! Long polls and streams: they tell what happens, keep alive what waits, and end.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use meshlock_api::State;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::client::{Node, Reply, exchange, request};

/// Far more than anything here takes: only a hang is as long.
const HANG: Duration = Duration::from_secs(30);

/// Waits until somebody has renewed a request.
async fn renewed(node: &Node, id: &str) {
    let ticket = node.hub.find(id).expect("known");
    let end = || node.hub.with(|machine, _| machine.glance(ticket)).expect("known");
    let (_, _, first) = end();
    loop {
        let (state, _, alive_until) = end();
        assert_eq!(state, State::Queued);
        if alive_until > first {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_long_poll_returns_when_it_is_granted() {
    let node = Arc::new(Node::start().await);
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    let waiting = {
        let node = Arc::clone(&node);
        tokio::spawn(async move { node.post("/v1/requests?block_for=60s", json!({"id": "b", "resource": "r"})).await })
    };
    let mut events = node.hub.events();
    while node.hub.find("b").is_err() {
        events.next().await;
    }
    let looking = {
        let node = Arc::clone(&node);
        tokio::spawn(async move { node.get("/v1/requests/b?block_for=60s").await })
    };
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    waiting.await.expect("an answer").is(200, "GRANTED");
    looking.await.expect("an answer").is(200, "GRANTED");
}

#[tokio::test]
async fn a_long_poll_returns_when_its_time_is_over() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests?block_for=50ms", json!({"id": "b", "resource": "r"})).await.is(202, "QUEUED");
    node.get("/v1/requests/b?block_for=50ms").await.is(202, "QUEUED");
    node.get("/v1/requests/b?block_for=0").await.is(202, "QUEUED");
    node.get("/v1/requests/b?block_for=soon").await.is_problem(400, "bad-request");
    node.get("/v1/requests/b?block=50ms").await.is_problem(400, "bad-request");
}

#[tokio::test]
async fn a_long_poll_keeps_the_request_alive_until_the_client_goes_away() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r", "lease_ms": 3000})).await.is(202, "QUEUED");
    let mut client = node.connect().await;
    let question = "GET /v1/requests/b?block_for=60s HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.write_all(question.as_bytes()).await.expect("sent");
    timeout(HANG, renewed(&node, "b")).await.expect("it is renewed");
    drop(client);
    let ticket = node.hub.find("b").expect("known");
    let state = timeout(HANG, node.hub.changed(ticket, State::Queued)).await.expect("it expires");
    assert_eq!(state, State::Expired);
}

#[tokio::test]
async fn a_client_that_closes_its_connection_while_it_waits_is_cancelled_whatever_its_lease() {
    let node = Node::start().await;
    let hour = |id: &str| json!({"id": id, "resource": "r", "lease_ms": 3_600_000});
    node.post("/v1/requests", hour("a")).await.is(200, "GRANTED");
    let mut client = node.connect().await;
    let body = hour("b").to_string();
    let head = "POST /v1/requests?block_for=60s HTTP/1.1\r\nhost: localhost\r\ncontent-length: ";
    client.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await.expect("sent");
    let mut events = node.hub.events();
    while node.hub.find("b").is_err() {
        events.next().await;
    }
    drop(client);
    let ticket = node.hub.find("b").expect("known");
    let state = timeout(HANG, node.hub.changed(ticket, State::Queued)).await.expect("it is cancelled");
    assert_eq!(state, State::Expired);
    let again = node.post("/v1/requests", hour("b")).await;
    again.is(410, "EXPIRED");
    assert_eq!(again.field("expiry"), "disconnect");
}

#[tokio::test]
async fn a_grant_whose_answer_was_never_read_does_not_last_for_its_lease() {
    let node = Node::start().await;
    let body = json!({"id": "a", "resource": "r", "lease_ms": 3_600_000}).to_string();
    let head = "POST /v1/requests HTTP/1.1\r\nhost: localhost\r\ncontent-length: ";
    let ask = format!("{head}{}\r\n\r\n{body}", body.len());
    let mut client = node.connect().await;
    client.write_all(ask.as_bytes()).await.expect("sent");
    let mut answer = [0; 16];
    client.read_exact(&mut answer).await.expect("the answer is there"); // but not read to its end
    drop(client);
    let ticket = node.hub.find("a").expect("known");
    let state = timeout(HANG, node.hub.changed(ticket, State::Granted)).await.expect("it ends");
    assert_eq!(state, State::Expired);
}

#[tokio::test]
async fn a_stream_tells_of_a_request_until_it_is_over() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is(202, "QUEUED");
    let mut events = node.watch("/v1/requests/b/events").await;
    let first = events.next().await.expect("an event");
    assert_eq!((first.name.as_deref(), &first.data["state"]), (Some("request"), &json!("QUEUED")));
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    assert_eq!(events.next().await.expect("an event").data["state"], "GRANTED");
    node.delete("/v1/requests/b").await.is(200, "RELEASED");
    assert_eq!(events.next().await.expect("an event").data["state"], "RELEASED");
    assert!(events.next().await.is_none());
    let mut late = node.watch("/v1/requests/b/events").await;
    assert_eq!(late.next().await.expect("an event").data["state"], "RELEASED");
    assert!(late.next().await.is_none());
}

#[tokio::test]
async fn a_stream_keeps_alive_what_waits_but_not_what_is_held() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r", "lease_ms": 3000})).await.is(202, "QUEUED");
    let mut events = node.watch("/v1/requests/b/events").await;
    assert_eq!(events.next().await.expect("an event").data["state"], "QUEUED");
    timeout(HANG, renewed(&node, "b")).await.expect("it is renewed");
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    assert_eq!(events.next().await.expect("an event").data["state"], "GRANTED");
    let last = timeout(HANG, events.next()).await.expect("it expires");
    assert_eq!(last.expect("an event").data["state"], "EXPIRED");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_stream_tells_what_happens_at_the_node() {
    let node = Node::start().await;
    let mut all = node.watch("/v1/events").await;
    let mut some = node.watch("/v1/events?resource=r2").await;
    node.get("/v1/events?resource=a/b").await.is_problem(400, "bad-request");
    for resource in ["r1", "r2"] {
        node.post("/v1/requests", json!({"id": resource, "resource": resource})).await.is(200, "GRANTED");
    }
    let first = all.next().await.expect("an event");
    assert_eq!(first.id, Some(first.data["number"].to_string()));
    loop {
        let event = all.next().await.expect("an event");
        if event.data["what"]["request"]["id"] == "r2" {
            break;
        }
    }
    let first = some.next().await.expect("an event");
    assert!(first.data.to_string().contains("r2") && !first.data.to_string().contains("r1"), "{}", first.data);
}

#[tokio::test]
async fn stopping_ends_polls_and_streams_and_idle_clients() {
    let node = Node::start().await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    node.post("/v1/requests", json!({"id": "b", "resource": "r"})).await.is(202, "QUEUED");
    let mut idle = node.connect().await;
    let mut events = node.watch("/v1/requests/b/events").await;
    let mut all = node.watch("/v1/events").await;
    let poll = tokio::spawn({
        let client = node.connect().await;
        let body = json!({"id": "c", "resource": "r"}).to_string();
        let question = request(Method::POST, "/v1/requests?block_for=60s", &body);
        async move { Reply::read(exchange(client, question).await).await }
    });
    let mut heard = node.hub.events();
    while node.hub.find("c").is_err() {
        heard.next().await;
    }
    let socket = node.socket.clone();
    let Node { server, .. } = node;
    timeout(HANG, server.stop()).await.expect("it ends");
    assert!(!socket.exists());
    poll.await.expect("an answer").is(202, "QUEUED");
    assert_eq!(idle.read(&mut [0; 10]).await.expect("the end"), 0);
    assert_eq!(events.next().await.expect("an event").data["state"], "QUEUED");
    assert!(events.next().await.is_none());
    while all.next().await.is_some() {}
}
