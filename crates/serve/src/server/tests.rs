use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::*;
use crate::size::read_body;

/// A server with so many places, on which `/slow` waits until it is told.
struct Bed {
    address: SocketAddr,
    go_on: Arc<Notify>,
    waits: Arc<Notify>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

async fn bed(most: usize) -> Bed {
    let (go_on, waits) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, arrived) = (Arc::clone(&go_on), Arc::clone(&waits));
    let slow = async move || {
        arrived.notify_one();
        told.notified().await;
        "at last"
    };
    let body = async |request: Request| match read_body(request, 100, Duration::from_millis(50)).await {
        Ok(body) => format!("{} bytes", body.len()),
        Err(error) => error.to_string(),
    };
    let router = Router::new().route("/", get(async || "here")).route("/slow", get(slow)).route("/", post(body));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopping) = watch::channel(false);
    let task = tokio::spawn(serve(listener, Port { router, limits: Limits::default(), most, stop: stopping }));
    Bed { address, go_on, waits, stop, task }
}

impl Bed {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    /// Sends a request as it stands; everything that comes until the connection ends.
    async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        send(&mut stream, request).await;
        all_of(&mut stream).await
    }
}

async fn send(stream: &mut TcpStream, request: &str) {
    stream.write_all(request.as_bytes()).await.expect("sent");
}

async fn all_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // One that is cut off has said all that it will.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("text")
}

const HERE: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const SLOW: &str = "GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn answers_carry_no_date_so_a_clock_before_1970_cannot_break_them() {
    let answer = bed(4).await.ask(HERE).await.to_lowercase();
    assert!(answer.starts_with("http/1.1 200") && !answer.contains("\r\ndate:"), "{answer}");
}

#[tokio::test]
async fn a_newcomer_gets_in_however_many_are_silent() {
    let bed = bed(4).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(bed.connect().await);
    }
    for _ in 0..3 {
        assert!(bed.ask(HERE).await.starts_with("HTTP/1.1 200"));
    }
    // Those that came first had to go.
    for stream in &mut silent[..6] {
        assert_eq!(all_of(stream).await, "");
    }
}

#[tokio::test]
async fn who_was_silent_for_longest_goes_first() {
    let bed = bed(2).await;
    let mut first = bed.connect().await;
    let mut second = bed.connect().await;
    let mut answer = [0; 4];
    for stream in [&mut second, &mut first] {
        send(stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        stream.read_exact(&mut answer).await.expect("an answer");
    }
    assert!(bed.ask(HERE).await.starts_with("HTTP/1.1 200"));
    assert!(all_of(&mut second).await.ends_with("here"), "it was answered and then closed");
    send(&mut first, HERE).await;
    assert!(all_of(&mut first).await.ends_with("here"), "it is still served");
}

#[tokio::test]
async fn nobody_goes_who_is_being_answered() {
    let bed = bed(2).await;
    let mut waiting = [bed.connect().await, bed.connect().await];
    for stream in &mut waiting {
        send(stream, SLOW).await;
        bed.waits.notified().await;
    }
    let refused = bed.ask("").await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("unavailable"), "{refused}");
    for stream in &mut waiting {
        bed.go_on.notify_one();
        assert!(all_of(stream).await.ends_with("at last"));
    }
}

#[tokio::test]
async fn headers_have_a_limit_that_holds() {
    let bed = bed(4).await;
    let header = |size| format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {}\r\n\r\n", "y".repeat(size));
    let address = |size| format!("GET /?{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "y".repeat(size));
    for (size, status) in [(31 * 1_024, "200"), (LARGEST_HEADER, "431"), (40_000, "431")] {
        for request in [header(size), address(size)] {
            let answer = bed.ask(&request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{size}: {answer}");
        }
    }
    // Hyper itself reads no more of these; the answer may be lost because something was sent after it.
    for size in [100_000, 1 << 20] {
        let mut stream = bed.connect().await;
        let _ = stream.write_all(header(size).as_bytes()).await;
        assert!(!all_of(&mut stream).await.starts_with("HTTP/1.1 200"), "{size}");
    }
}

#[tokio::test]
async fn bodies_are_read_up_to_a_limit_and_not_waited_for_long() {
    let bed = bed(4).await;
    let post = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length:";
    for (rest, answer) in
        [("5\r\n\r\n12345", "5 bytes"), ("5\r\n\r\n12", "in time"), ("101\r\n\r\n", "larger than 100")]
    {
        let said = bed.ask(&format!("{post} {rest}")).await;
        assert!(said.contains(answer), "{rest}: {said}");
    }
}

#[tokio::test]
async fn the_end_waits_for_answers_under_way() {
    let bed = bed(4).await;
    let mut waiting = bed.connect().await;
    send(&mut waiting, SLOW).await;
    bed.waits.notified().await;
    bed.stop.send_replace(true);
    bed.go_on.notify_one();
    bed.task.await.expect("it ends");
    assert!(all_of(&mut waiting).await.ends_with("at last"));
}
