//! Clients that make mistakes, send nonsense, are slow, or are too many.

use std::time::Duration;

use hyper::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::client::{Node, Reply, exchange, request};

/// Far more than anything here takes: only a hang is as long.
const HANG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(500);

async fn all_of(client: &mut UnixStream) -> String {
    let mut answer = Vec::new();
    timeout(HANG, client.read_to_end(&mut answer)).await.expect("the server closes").expect("an answer");
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn bad_json_is_explained() {
    let node = Node::start().await;
    for (body, words) in [
        ("", "empty"),
        ("{", "EOF while parsing"),
        ("[]", "object with named fields"),
        ("{}", "say what is asked for"),
        (r#"{"all": []}"#, "say what is asked for"),
        (r#"{"all": [["r"]]}"#, "object with named fields"),
        (r#"{"all": [{}]}"#, "missing field `resource`"),
        (r#"{"all": [{"resource": "r", "priority": 5}]}"#, "unknown field `priority`"),
        (r#"{"resource": 7}"#, "expected a string"),
        (r#"{"resource": "r", "colour": "red"}"#, "unknown field `colour`"),
        (r#"{"resource": "r", "units": -1}"#, "units"),
        (r#"{"resource": "r", "urgency": "high"}"#, "unknown variant `high`"),
        (r#"{"resource": "r"} and more"#, "trailing characters"),
    ] {
        let reply = node.send(Method::POST, "/v1/requests", body).await;
        reply.is_problem(400, "bad-request");
        let found = reply.field("message");
        assert!(found.contains(words) || words == "units" && found.contains("integer"), "{body}: {found}");
    }
    let not_text = "POST /v1/requests HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n";
    let mut client = node.connect().await;
    client.write_all(&[not_text.as_bytes(), &[0xff, 0xfe]].concat()).await.expect("sent");
    assert!(all_of(&mut client).await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems_too() {
    let node = Node::start().await;
    for path in ["/", "/v1", "/v2/requests", "/v1/requests/a/b/c", "/v1/requests/", "/v1/health/"] {
        node.get(path).await.is_problem(404, "unknown");
    }
    for (method, path) in [
        (Method::PUT, "/v1/requests"),
        (Method::POST, "/v1/requests/a"),
        (Method::GET, "/v1/requests/a/renew"),
        (Method::POST, "/v1/resources/a"),
        (Method::POST, "/metrics"),
        (Method::OPTIONS, "/v1/health"),
    ] {
        let reply = node.send(method, path, "").await;
        reply.is_problem(405, "bad-request");
        assert!(reply.headers.contains_key("allow"), "{path}");
    }
}

#[tokio::test]
async fn huge_bodies_are_refused() {
    let node = Node::start().await;
    let fits = json!({"resource": "r", "owner": "x".repeat(60_000)}).to_string();
    node.send(Method::POST, "/v1/requests", &fits).await.is_problem(400, "bad-request");
    let huge = "x".repeat(64 * 1_024 + 1);
    for (method, path) in [
        (Method::POST, "/v1/requests"),
        (Method::POST, "/v1/requests/a/renew"),
        (Method::PATCH, "/v1/requests/a"),
        (Method::PUT, "/v1/resources/a"),
        (Method::PATCH, "/v1/resources/a"),
        (Method::POST, "/v1/removals"),
    ] {
        node.send(method, path, &huge).await.is_problem(413, "too-large");
    }
    // Without a length beforehand it is noticed on the way.
    let mut client = node.connect().await;
    let head = "POST /v1/requests HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let chunks = format!("8000\r\n{0}\r\n8000\r\n{0}\r\n8000\r\n{0}\r\n0\r\n\r\n", "x".repeat(0x8000));
    client.write_all(format!("{head}{chunks}").as_bytes()).await.expect("sent");
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn huge_headers_and_nonsense_end_the_connection() {
    let node = Node::start().await;
    let long = |size| "x".repeat(size);
    for nonsense in [
        "\0\0\0\0\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\n\r\n", long(100_000)),
        // Just more than is documented.
        format!("GET /v1/health HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", long(33_000)),
        format!("GET /v1/health HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", long(40_000)),
    ] {
        let mut client = node.connect().await;
        // The server may have closed before everything was sent.
        let _ = client.write_all(nonsense.as_bytes()).await;
        let mut answer = [0; 10];
        client.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 4");
        assert_eq!(node.get("/v1/health").await.status, 200);
    }
}

#[tokio::test]
async fn half_a_header_hinders_nobody() {
    let node = Node::start().await;
    let mut slow = node.connect().await;
    slow.write_all(b"GET /v1/health HTTP/1.1\r\nhost: loc").await.expect("sent");
    for _ in 0..10 {
        assert_eq!(node.get("/v1/health").await.status, 200);
    }
    slow.write_all(b"alhost\r\nconnection: close\r\n\r\n").await.expect("sent");
    assert!(all_of(&mut slow).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn slow_clients_are_given_up() {
    let node = Node::with_config(|config| {
        config.limits.header = SHORT;
        config.limits.body = SHORT;
    })
    .await;
    let mut silent = node.connect().await;
    let mut half_header = node.connect().await;
    half_header.write_all(b"GET /v1/health HTTP/1.1\r\nhost: loc").await.expect("sent");
    let mut half_body = node.connect().await;
    let head = "POST /v1/requests HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    half_body.write_all(head.as_bytes()).await.expect("sent");
    assert_eq!(all_of(&mut silent).await, "");
    assert_eq!(all_of(&mut half_header).await, "");
    let answer = all_of(&mut half_body).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("did not arrive in time"), "{answer}");
}

#[tokio::test]
async fn idle_clients_are_given_up_but_not_those_who_listen() {
    let node = Node::with_config(|config| config.limits.idle = SHORT).await;
    node.post("/v1/requests", json!({"id": "a", "resource": "r"})).await.is(200, "GRANTED");
    let mut events = node.watch("/v1/requests/a/events").await;
    let mut all = node.watch("/v1/events").await;
    assert_eq!(events.next().await.expect("an event").data["state"], "GRANTED");
    let mut idle = node.connect().await;
    idle.write_all(b"GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sent");
    // Ends only because the server closes it, after more than the streams have been quiet.
    assert!(all_of(&mut idle).await.starts_with("HTTP/1.1 200"));
    node.delete("/v1/requests/a").await.is(200, "RELEASED");
    assert_eq!(events.next().await.expect("an event").data["state"], "RELEASED");
    assert!(all.next().await.is_some());
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_given_up() {
    let node = Node::with_config(|config| config.limits.stalled = SHORT).await;
    let mut deaf = node.connect().await;
    let question = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    // Asks on without reading until the server has had enough.
    let asking = async { while deaf.write_all(question.as_bytes()).await.is_ok() {} };
    timeout(HANG, asking).await.expect("the server closes");
}

#[tokio::test]
async fn one_client_too_many_takes_the_place_of_a_silent_one_or_is_told() {
    let node = Node::with_config(|config| config.max_clients = 2).await;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(node.connect().await)).await.expect("one");
    tokio::spawn(connection);
    let ask = || request(Method::GET, "/v1/health", "");
    assert_eq!(sender.send_request(ask()).await.expect("an answer").status(), 200);
    let mut events = node.watch("/v1/events").await;
    // The first has nothing to do with the node at the moment; who listens to events stays.
    let mut more_events = node.watch("/v1/events").await;
    assert!(sender.send_request(ask()).await.is_err(), "it was disconnected");
    let mut third = node.connect().await;
    let refused = all_of(&mut third).await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains(r#""reason":"unavailable""#), "{refused}");
    // TCP has places of its own.
    let mut by_tcp = request(Method::POST, "/v1/requests", r#"{"resource": "r"}"#);
    let bearer = format!("Bearer {}", crate::client::TOKEN);
    by_tcp.headers_mut().insert("authorization", bearer.parse().expect("a value"));
    assert_eq!(Reply::read(exchange(node.connect_tcp().await, by_tcp).await).await.status, 200);
    assert!(events.next().await.is_some());
    assert!(more_events.next().await.is_some());
}
