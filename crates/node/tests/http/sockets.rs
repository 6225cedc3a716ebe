//! The socket file, the start and the end of a server, and many clients.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use meshlock_node::http::{HttpConfig, HttpError, Server};
use meshlock_node::hub::Hub;
use meshlock_node::machine::Machine;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

use crate::client::{Node, settings};

fn hub() -> Arc<Hub> {
    Hub::new(Machine::new(settings())).0
}

fn on(socket: &Path) -> HttpConfig {
    HttpConfig { socket: Some(socket.to_owned()), ..HttpConfig::default() }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[tokio::test]
async fn only_the_owner_may_use_the_socket() {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("run/meshlock/node.sock");
    let server = Server::start(on(&socket), hub()).await.expect("a server");
    assert_eq!((mode(&socket), mode(&folder.path().join("run/meshlock"))), (0o600, 0o700));
    assert_eq!(server.tcp_address(), None);
    server.stop().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_group_may_use_the_socket_too() {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("node.sock");
    let mine = nix::unistd::Group::from_gid(nix::unistd::getgid()).expect("groups can be read").expect("a group");
    let config = HttpConfig { socket_group: Some(mine.name), ..on(&socket) };
    let server = Server::start(config, hub()).await.expect("a server");
    assert_eq!((mode(&socket), fs::metadata(&socket).expect("it is there").gid()), (0o660, mine.gid.as_raw()));
    drop(server);
    assert!(!socket.exists());
    let config = HttpConfig { socket_group: Some("no-such-group-here".into()), ..on(&socket) };
    let error = Server::start(config, hub()).await.expect_err("refused").to_string();
    assert!(error.contains("no-such-group-here"), "{error}");
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("node.sock");
    drop(UnixListener::bind(&socket).expect("a socket"));
    assert!(socket.exists());
    let server = Server::start(on(&socket), hub()).await.expect("a server");
    UnixStream::connect(&socket).await.expect("it listens");
    server.stop().await;
}

#[tokio::test]
async fn a_second_server_is_refused_and_leaves_the_first_alone() {
    let node = Node::start().await;
    let error = Server::start(on(&node.socket), hub()).await.expect_err("refused").to_string();
    assert!(error.starts_with("another node serves"), "{error}");
    assert_eq!(node.get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn other_files_are_left_alone() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("notes.txt");
    fs::write(&file, "important").expect("written");
    assert!(matches!(Server::start(on(&file), hub()).await, Err(HttpError::NoSocket(_))));
    assert_eq!(fs::read_to_string(&file).expect("still there"), "important");
    // A name that somebody else took over meanwhile.
    let socket = folder.path().join("node.sock");
    let server = Server::start(on(&socket), hub()).await.expect("a server");
    fs::remove_file(&socket).expect("removed");
    fs::write(&socket, "somebody else's").expect("written");
    server.stop().await;
    assert!(socket.exists());
}

#[tokio::test]
async fn a_start_that_makes_no_sense_is_refused() {
    let tcp = Some(([127, 0, 0, 1], 0).into());
    let nowhere = Server::start(HttpConfig::default(), hub()).await;
    assert!(matches!(nowhere, Err(HttpError::NowhereToListen)));
    for token in [None, Some(String::new())] {
        let config = HttpConfig { tcp, token, ..HttpConfig::default() };
        assert!(matches!(Server::start(config, hub()).await, Err(HttpError::NoToken)));
    }
    let config = HttpConfig { tcp, token: Some("two words".into()), ..HttpConfig::default() };
    assert!(matches!(Server::start(config, hub()).await, Err(HttpError::BadToken)));
    let taken = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let tcp = Some(taken.local_addr().expect("an address"));
    let config = HttpConfig { tcp, token: Some("token".into()), ..HttpConfig::default() };
    assert!(matches!(Server::start(config, hub()).await, Err(HttpError::Tcp { .. })));
    let config = on(Path::new(&format!("/{}", "too-long/".repeat(30))));
    assert!(matches!(Server::start(config, hub()).await, Err(HttpError::Socket { .. })));
}

#[tokio::test]
async fn a_thousand_idle_clients_hinder_nobody() {
    let node = Node::start().await;
    let mut idle = Vec::new();
    while idle.len() < 1_000 {
        match UnixStream::connect(&node.socket).await {
            Ok(client) => idle.push(client),
            // Both ends are in this process; where few files may be open, fewer clients have to do.
            Err(error) => {
                assert!(idle.len() >= 100, "after {} clients: {error}", idle.len());
                idle.truncate(idle.len() - 50);
                break;
            }
        }
    }
    for round in 0..100 {
        let id = format!("r{round}");
        node.post("/v1/requests", json!({"id": id, "resource": "r"})).await.is(200, "GRANTED");
        node.delete(&format!("/v1/requests/{id}")).await.is(200, "RELEASED");
    }
    let Node { server, .. } = node;
    server.stop().await;
}
