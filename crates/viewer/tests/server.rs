//! The server as a browser, and others, meet it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use meshlock_core::NodeId;
use meshlock_viewer::source::{Acting, Kind, TapeName};
use meshlock_viewer::{About, Action, Done, Refusal, ServeError, Server, Serving, Source, Tape, TapeWriter};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// One tape, and a node that can be removed.
struct Shown {
    tape: Arc<Tape>,
    changes: watch::Sender<u64>,
}

impl Source for Shown {
    fn about(&self) -> About {
        About {
            version: "0".into(),
            source: Kind::Sim,
            title: "test".into(),
            tapes: vec![TapeName { name: String::new() }],
            can: vec!["remove"],
            notes: Vec::new(),
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        vec![Arc::clone(&self.tape)]
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn act(&self, action: Action) -> Acting<'_> {
        Box::pin(async move {
            if let Action::Remove { node: node @ NodeId(1) } = action {
                return Ok(Done { node: Some(node), request: None });
            }
            Err(Refusal::new("there is no such node"))
        })
    }
}

const HEADER: &str = r#"{"meshlock-trace":1,"source":"sim","protocol":"flood","variant":"repaired","nodes":[]}"#;

async fn start(token: Option<&str>) -> (Server, TapeWriter) {
    let (tape, mut writer) = Tape::written(1 << 20);
    writeln!(writer, "{HEADER}").unwrap();
    let source = Shown { tape, changes: watch::Sender::new(0) };
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let serving = Serving { address, any_port: false, token: token.map(Into::into) };
    (Server::start(serving, Arc::new(source)).await.unwrap(), writer)
}

/// Sends a request as it stands and reads to the end; the status and everything.
async fn ask(server: &Server, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

async fn get(server: &Server, path: &str) -> (u16, String) {
    ask(server, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await
}

async fn post(server: &Server, body: &str) -> (u16, String) {
    let head = "POST /api/act HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    ask(server, &format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn the_page_and_its_data_are_served_with_a_strict_policy() {
    let (server, _writer) = start(None).await;
    let (status, page) = get(&server, "/").await;
    assert_eq!(status, 200);
    assert!(page.contains("text/html") && page.contains("<!doctype html>"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'") && page.contains("nosniff"));
    let (status, about) = get(&server, "/api/about").await;
    assert_eq!((status, &body(&about)["title"]), (200, &Value::from("test")));
    let (_, summary) = get(&server, "/api/tapes/0").await;
    assert_eq!(body(&summary)["header"]["protocol"], "flood");
}

#[tokio::test]
async fn bad_requests_are_answered_with_words() {
    let (server, _writer) = start(None).await;
    for path in [
        "/nothing.js",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/api/tapes/1",
        "/api/tapes/0/chunks/7",
        "/api/check",
        "/api/check/at/start",
        "/api/nothing",
    ] {
        assert_eq!(get(&server, path).await.0, 404, "{path}");
    }
    for path in [
        "/api/tapes/x",
        "/api/tapes/99999999999999999999",
        "/api/tapes/0/next?line=x&kind=grant",
        "/api/tapes/0/next?line=1&kind=nonsense",
        "/api/tapes/0/find?nonsense=1",
        "/api/check/at/1.x",
    ] {
        assert_eq!(get(&server, path).await.0, 400, "{path}");
    }
    for text in ["", "{", "{}", r#"{"do":"fly"}"#, r#"{"do":"remove"}"#, r#"{"do":"remove","node":1,"more":2}"#] {
        let (status, answer) = post(&server, text).await;
        assert_eq!(status, 400, "{text}");
        assert!(body(&answer)["message"].as_str().is_some_and(|words| words.contains("no action")), "{answer}");
    }
    let (status, _) = post(&server, &format!(r#"{{"do":"{}"}}"#, "x".repeat(100_000))).await;
    assert_eq!(status, 413);
    assert_eq!(ask(&server, "nonsense\r\n\r\n").await.0, 400);
}

#[tokio::test]
async fn actions_are_done_or_refused_with_words() {
    let (server, _writer) = start(None).await;
    let (status, answer) = post(&server, r#"{"do":"remove","node":1}"#).await;
    assert_eq!((status, &body(&answer)["node"]), (200, &Value::from(1)));
    let (status, answer) = post(&server, r#"{"do":"remove","node":2}"#).await;
    assert_eq!((status, &body(&answer)["message"]), (400, &Value::from("there is no such node")));
}

#[tokio::test]
async fn growth_is_told_at_once() {
    let (server, mut writer) = start(None).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(b"GET /api/updates HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut seen = String::new();
    let mut read = async |words: &str| {
        while !seen.contains(words) {
            let mut part = [0; 4_096];
            let length = stream.read(&mut part).await.unwrap();
            assert!(length > 0, "the stream ended before {words}: {seen}");
            seen.push_str(std::str::from_utf8(&part[..length]).unwrap());
        }
    };
    read(r#""lines":1,"#).await;
    writeln!(writer, r#"{{"time_ns":5,"join":{{"id":0,"name":"n"}}}}"#).unwrap();
    read(r#""lines":2,"last":5,"#).await;
    drop(writer);
    read(r#""grows":false"#).await;
}

#[tokio::test]
async fn other_machines_need_the_token() {
    let (tape, _writer) = Tape::written(1 << 20);
    let source = Arc::new(Shown { tape, changes: watch::Sender::new(0) });
    let address = SocketAddr::from(([0, 0, 0, 0], 0));
    let serving = Serving { address, any_port: false, token: Some(String::new()) };
    let refused = Server::start(serving, source).await.unwrap_err();
    assert!(matches!(refused, ServeError::NeedsToken(_)), "{refused}");

    let (server, _writer) = start(Some("secret")).await;
    assert_eq!(get(&server, "/").await.0, 200);
    assert_eq!(get(&server, "/api/about").await.0, 401);
    let with =
        "GET /api/about HTTP/1.1\r\nhost: elsewhere\r\nauthorization: Bearer secret\r\nconnection: close\r\n\r\n";
    assert_eq!(ask(&server, with).await.0, 200);
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_or_another_is_found() {
    let (server, _writer) = start(None).await;
    let again = async |any_port| {
        let (tape, _writer) = Tape::written(1 << 20);
        let source = Arc::new(Shown { tape, changes: watch::Sender::new(0) });
        Server::start(Serving { address: server.address(), any_port, token: None }, source).await.map(|s| s.address())
    };
    let (first, second) = (again(false).await, again(true).await);
    assert!(first.unwrap_err().to_string().contains("cannot serve the viewer on"));
    assert!(second.is_ok());
}

#[tokio::test]
async fn silent_connections_make_room() {
    let (server, _writer) = start(None).await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(server.address()).await.unwrap());
    }
    let (status, about) = get(&server, "/api/about").await;
    assert_eq!((status, &body(&about)["title"]), (200, &Value::from("test")));
}

#[tokio::test]
async fn every_answer_tells_which_run_of_the_program_it_comes_from() {
    let instance = async |server: &Server, path| {
        let (_, answer) = get(server, path).await;
        let line = answer.lines().find_map(|line| line.strip_prefix("meshlock-instance: ").map(str::to_owned));
        line.unwrap_or_else(|| panic!("{path}: {answer}"))
    };
    let ((one, _one), (other, _other)) = (start(None).await, start(None).await);
    let first = instance(&one, "/").await;
    for path in ["/api/about", "/api/tapes/0", "/api/tapes/7", "/nothing.js", "/api/check"] {
        assert_eq!(instance(&one, path).await, first, "{path}");
    }
    assert_ne!(instance(&other, "/api/about").await, first);
}
