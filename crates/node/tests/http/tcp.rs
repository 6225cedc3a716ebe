//! Who may ask over TCP.

use hyper::Method;
use serde_json::json;

use crate::client::{Node, Reply, TOKEN, exchange, request};

/// Asks over TCP with these headers.
async fn ask(node: &Node, path: &str, headers: &[(&'static str, &str)]) -> Reply {
    let mut request = request(Method::GET, path, "");
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a value"));
    }
    Reply::read(exchange(node.connect_tcp().await, request).await).await
}

#[tokio::test]
async fn the_token_opens_everything() {
    let node = Node::start().await;
    let bearer = format!("Bearer {TOKEN}");
    let all = ["/v1/requests", "/v1/resources", "/v1/status", "/v1/health", "/metrics", "/openapi.json"];
    for path in all {
        let reply = ask(&node, path, &[("authorization", &bearer), ("host", "gateway.example")]).await;
        assert_eq!(reply.status, 200, "{path}");
    }
    let mut post = request(Method::POST, "/v1/requests", &json!({"resource": "r"}).to_string());
    post.headers_mut().insert("authorization", bearer.parse().expect("a value"));
    Reply::read(exchange(node.connect_tcp().await, post).await).await.is(200, "GRANTED");
}

#[tokio::test]
async fn without_the_token_there_is_only_health() {
    let node = Node::start().await;
    let all = [
        "/v1/requests",
        "/v1/requests/a",
        "/v1/requests/a/events",
        "/v1/events",
        "/v1/resources",
        "/v1/status",
        "/metrics",
        "/openapi.json",
        "/nothing",
    ];
    for path in all {
        let reply = ask(&node, path, &[]).await;
        reply.is_problem(401, "unauthorized");
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
        assert_eq!(reply.headers["connection"], "close");
        assert!(reply.field("message").contains("missing"));
    }
    for wrong in ["Bearer", "Bearer wrong", &format!("Bearer {TOKEN}x"), &format!("Basic {TOKEN}"), TOKEN] {
        let reply = ask(&node, "/v1/requests", &[("authorization", wrong)]).await;
        reply.is_problem(401, "unauthorized");
        assert!(reply.field("message").contains("wrong"), "{wrong}");
    }
    assert_eq!(ask(&node, "/v1/health", &[]).await.status, 200);
    assert_eq!(ask(&node, "/v1/health", &[("host", "127.0.0.1:80")]).await.status, 200);
}

#[tokio::test]
async fn web_pages_are_not_served() {
    let node = Node::start().await;
    let bearer = format!("Bearer {TOKEN}");
    let origin = ("origin", "http://evil.example");
    for path in ["/v1/health", "/v1/requests"] {
        ask(&node, path, &[origin]).await.is_problem(403, "unauthorized");
        ask(&node, path, &[origin, ("authorization", &bearer)]).await.is_problem(403, "unauthorized");
    }
    // A page whose name was made to point at this machine.
    ask(&node, "/v1/health", &[("host", "evil.example")]).await.is_problem(403, "unauthorized");
}
