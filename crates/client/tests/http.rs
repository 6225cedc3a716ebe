//! A client that reaches its node over a Unix socket, and over TCP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod suite;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use meshlock::api::Reason;
use meshlock::{Client, Error, Loss, Part, blocking};
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

#[test]
fn a_program_without_async_holds_several_resources_under_one_guard() {
    let (hub, socket) = (hub(), socket());
    let _serving = Serving::start(Arc::clone(&hub), &socket);
    let client = blocking::Client::connect_with(Client::builder().socket(&socket)).unwrap();
    let lifts = meshlock::api::NewResource { capacity: Some(3), ..Default::default() };
    client.define("lifts", lifts).unwrap();
    let guard = client.lock_all([Part::of("lifts").units(2), "dock".into()]).owner("ann").acquire().unwrap();
    assert_eq!((guard.name(), guard.parts().len(), guard.is_lost()), ("lifts + dock", 2, false));
    assert_eq!(guard.part("lifts").unwrap().slots, [0, 1]);
    assert!(guard.part("dock").unwrap().fence.is_some() && guard.part("crane").is_none());
    assert_eq!(guard.run(|| 7), Ok(7));

    // The other way round, and not to be had: nothing of it is held afterwards.
    assert!(client.lock_all(["dock", "lifts"]).try_acquire().unwrap().is_none());
    let late = client.lock_all(["dock", "lifts"]).timeout(Duration::from_millis(50)).acquire().unwrap_err();
    assert!(matches!(late, Error::TimedOut { .. }), "{late}");
    let third = client.lock("lifts").try_acquire().unwrap().expect("one of three is free");
    drop(third);

    // Lost as one, and told so; a guard that is dropped has given back.
    let ticket = hub.find(&guard.id()).unwrap();
    hub.with(|machine, now| machine.revoke(now, ticket, "the crane needs it"));
    let loss = guard.lost_within(Duration::from_secs(60)).unwrap();
    assert!(matches!(loss, Some(Loss::Taken { reason: Some(reason), .. }) if reason == "the crane needs it"));
    assert!(guard.run(|| ()).is_err() && matches!(guard.release(), Err(Error::Over(_))));
    drop(client.lock_all(["dock", "lifts"]).acquire().unwrap());
    client.lock_all(["dock", "lifts"]).try_acquire().unwrap().expect("free").release().unwrap();
}

#[tokio::test]
async fn a_blocking_call_in_async_code_is_an_error_and_no_panic() {
    let error = blocking::Client::connect_with(Client::builder().socket(socket())).unwrap_err();
    assert!(matches!(error, Error::InsideRuntime), "{error}");
}

/// A network in between that can break, and a node of an earlier version if that is wanted.
struct Between {
    url: String,
    cut: tokio::sync::watch::Sender<u32>,
}

impl Between {
    async fn new(node: &str, has_streams: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let node = node.strip_prefix("http://").unwrap().to_owned();
        let (cut, cuts) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (node, mut cuts) = (node.clone(), cuts.clone());
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    let mut first = [0; 14];
                    let count = client.peek(&mut first).await.unwrap_or(0);
                    if !has_streams && first[..count].starts_with(b"GET /v1/stream") {
                        let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}";
                        let _ = client.write_all(answer.as_bytes()).await;
                        let _ = client.read(&mut [0; 4096]).await;
                        return;
                    }
                    let mut server = tokio::net::TcpStream::connect(node).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        _ = cuts.changed() => {}
                    }
                });
            }
        });
        Self { url, cut }
    }

    /// Breaks all connections that there are.
    fn cut(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_costs_neither_grants_nor_places() {
    let hub = hub();
    let serving = Serving::start(Arc::clone(&hub), &socket());
    let between = Between::new(&serving.address, true).await;
    let client = Client::builder().url(&between.url).token(TOKEN).connect().await.unwrap();
    let guard = client.lock("dock").id("held").lease(Duration::from_secs(6)).await.unwrap();
    let waiting = tokio::spawn(client.lock("dock").id("waiter").into_future());
    until("it waits", async || hub.look("waiter").is_ok()).await;
    between.cut();
    let before = guard.expires();
    until("it was renewed after that", async || guard.expires() > before || guard.is_lost()).await;
    assert!(!guard.is_lost());
    let waiter = hub.look("waiter").unwrap();
    assert_eq!(waiter.state, meshlock::api::State::Queued, "{waiter:?}");
    // It belongs to the new connection: what happens to it is pushed there.
    let ticket = hub.find("held").unwrap();
    hub.with(|machine, now| machine.revoke(now, ticket, "for a test"));
    assert!(matches!(guard.lost().await, Loss::Taken { reason: Some(reason), .. } if reason == "for a test"));
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_node_of_an_earlier_version_is_asked_by_http() {
    let serving = Serving::start(hub(), &socket());
    let between = Between::new(&serving.address, false).await;
    let client = Client::builder().url(&between.url).token(TOKEN).connect().await.unwrap();
    let guard = client.lock("dock").lease(Duration::from_millis(300)).await.unwrap();
    let before = guard.expires();
    until("it is renewed", async || guard.expires() > before).await;
    assert!(guard.anchor().await.unwrap().is_none());
    assert!(client.lock("dock").try_lock().await.unwrap().is_none());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_release_and_the_next_acquire_share_a_round_trip() {
    let world = world().await;
    let mut guard = world.client.lock("dock").await.unwrap();
    for _ in 0..100 {
        let (released, next) = tokio::join!(guard.release(), world.client.lock("dock").into_future());
        released.unwrap();
        guard = next.unwrap();
    }
}

#[test]
fn a_guard_that_is_dropped_outside_of_its_runtime_gives_back_at_once() {
    let (hub, socket) = (hub(), socket());
    let _serving = Serving::start(Arc::clone(&hub), &socket);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let client = first.block_on(Client::builder().socket(&socket).connect()).unwrap();
    let guard = first.block_on(client.lock("dock").id("held").into_future()).unwrap();
    drop(first); // the task that reads is gone, the connection is not
    assert_eq!(hub.look("held").unwrap().state, meshlock::api::State::Granted);
    drop(guard);
    let second = runtime();
    let guard = second.block_on(client.lock("dock").into_future()).unwrap();
    assert_eq!(hub.look("held").unwrap().state, meshlock::api::State::Released);
    // A runtime that is there, but is not driven, reads nothing; another one takes over.
    let third = runtime();
    third.block_on(guard.release()).unwrap();
    drop(second);
}

#[tokio::test]
async fn a_program_that_ends_leaves_nothing_behind() {
    let world = world().await;
    let guard = world.client.lock("dock").id("held").lease(Duration::from_secs(3_600)).await.unwrap();
    let waiting = tokio::spawn(world.client.lock("dock").id("waits").into_future());
    until("it waits", async || world.hub.look("waits").is_ok()).await;
    waiting.abort();
    std::mem::forget(guard.anchor().await.unwrap()); // an anchor changes nothing when the guard gives back
    let World { hub, client } = world;
    drop((guard, client));
    until("all is over", async || hub.requests().is_empty()).await;
}
