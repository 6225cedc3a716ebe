//! A client that reaches its node over a Unix socket, and over TCP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod suite;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use meshlock::api::Reason;
use meshlock::{Client, Error, Loss, blocking};
use meshlock_node::http::{HttpConfig, Server};
use meshlock_node::hub::Hub;
use suite::{World, all_stories, hub, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

const TOKEN: &str = "a-token-of-32-characters-or-more";

/// A server with a thread of its own: it answers also while the test's own thread is stopped.
struct Serving {
    address: String,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Serving {
    fn start(hub: Arc<Hub>, socket: &Path) -> Self {
        let (started, address) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let config = HttpConfig {
            socket: Some(socket.to_owned()),
            tcp: Some(([127, 0, 0, 1], 0).into()),
            token: Some(TOKEN.into()),
            ..HttpConfig::default()
        };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::start(config, hub).await.unwrap();
                started.send(format!("http://{}", server.tcp_address().unwrap())).unwrap();
                // Also when the test has ended without a word.
                let _ = stopped.await;
                server.stop().await;
            });
        });
        Self { address: address.recv().unwrap(), stop, thread }
    }

    fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap();
    }
}

/// A socket that no other test uses. Their paths must be short, so they are not in the target directory.
fn socket() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("meshlock-client-{}-{number}.sock", std::process::id()))
}

async fn world() -> World {
    let (hub, socket) = (hub(), socket());
    // It ends with the test's process.
    std::mem::forget(Serving::start(Arc::clone(&hub), &socket));
    let client = Client::builder().socket(&socket).connect().await.unwrap();
    World { client, hub }
}

all_stories!(world);

#[tokio::test]
async fn over_tcp_the_token_is_needed() {
    let serving = Serving::start(hub(), &socket());
    let url = || Client::builder().url(&serving.address);
    let stranger = url().connect().await.unwrap();
    let refused = stranger.lock("dock").await.unwrap_err();
    assert!(matches!(&refused, Error::Refused(problem) if problem.reason == Reason::Unauthorized), "{refused}");
    let client = url().token(TOKEN).connect().await.unwrap();
    client.lock("dock").await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn answers_are_understood_without_a_date_and_with_a_broken_one() {
    for date in ["", "date: Thu, 01 Jan 1969 00:00:00 GMT\r\n", "date: \u{1f4c5} yesterday\r\n"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let node = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let answer = format!("HTTP/1.1 200 OK\r\n{date}content-length: 2\r\n\r\n{{}}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream
        };
        let (connected, _stream) = tokio::join!(Client::builder().url(url).connect(), node);
        assert!(connected.is_ok(), "{date:?}: {connected:?}");
    }
}

#[tokio::test]
async fn without_a_node_the_error_names_the_fix() {
    let socket = socket();
    let error = Client::builder().socket(&socket).connect().await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&socket.display().to_string()) && text.contains("meshlock node"), "{text}");
}

#[tokio::test]
async fn a_node_that_is_gone_for_the_length_of_the_lease_is_a_loss() {
    let socket = socket();
    let serving = Serving::start(hub(), &socket);
    let client = Client::builder().socket(&socket).connect().await.unwrap();
    let guard = client.lock("dock").lease(Duration::from_millis(300)).await.unwrap();
    serving.stop();
    let loss = guard.lost().await;
    assert!(matches!(loss, Loss::NoAnswer | Loss::LeaseOver), "{loss}");
    assert!(guard.is_lost());
}

#[tokio::test]
async fn a_short_absence_of_the_server_is_no_loss() {
    let (hub, socket) = (hub(), socket());
    let serving = Serving::start(Arc::clone(&hub), &socket);
    let client = Client::builder().socket(&socket).connect().await.unwrap();
    let guard = client.lock("dock").lease(Duration::from_secs(6)).await.unwrap();
    let waiting = tokio::spawn(client.lock("dock").id("waiter").into_future());
    until("it waits", async || hub.look("waiter").is_ok()).await;
    serving.stop();
    let _serving = Serving::start(Arc::clone(&hub), &socket);
    let before = guard.expires();
    until("it was renewed after that", async || guard.expires() > before || guard.is_lost()).await;
    assert!(!guard.is_lost());
    guard.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_node_that_forgot_everything_is_a_loss_for_holders_and_a_new_start_for_waiters() {
    let socket = socket();
    let first = Serving::start(hub(), &socket);
    let client = Client::builder().socket(&socket).connect().await.unwrap();
    let lease = Duration::from_secs(3);
    let guard = client.lock("dock").lease(lease).await.unwrap();
    let waiting = tokio::spawn(client.lock("dock").lease(lease).into_future());
    until("it waits", async || client.query("dock").await.unwrap().waiters.len() == 1).await;
    first.stop();
    let _second = Serving::start(hub(), &socket);
    let loss = guard.lost().await;
    assert!(matches!(loss, Loss::Forgotten(_)), "{loss}");
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[test]
fn a_program_without_async_locks_too() {
    let (hub, socket) = (hub(), socket());
    let _serving = Serving::start(hub, &socket);
    let client = blocking::Client::connect_with(Client::builder().socket(&socket)).unwrap();
    let guard = client.lock("dock").lease(Duration::from_millis(300)).acquire().unwrap();
    let before = guard.expires();
    while guard.expires() == before {
        std::thread::sleep(Duration::from_millis(1)); // it is renewed in the background
    }
    assert_eq!((guard.run(|| 7), guard.is_lost()), (Ok(7), false));
    assert!(client.lock("dock").try_acquire().unwrap().is_none());
    drop(guard);
    assert!(client.query("dock").unwrap().holders.is_empty(), "a drop returns when it was given back");

    let guard = client.lock("dock").acquire().unwrap();
    let fence = guard.fence();
    client.release(&guard.id()).unwrap();
    let loss = guard.lost_within(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!(guard.run(|| 8), Err(loss));
    assert!(guard.release().is_err());
    assert!(client.lock("dock").acquire().unwrap().fence() > fence);
}

#[tokio::test]
async fn a_blocking_call_in_async_code_is_an_error_and_no_panic() {
    let error = blocking::Client::connect_with(Client::builder().socket(socket())).unwrap_err();
    assert!(matches!(error, Error::InsideRuntime), "{error}");
}
