//! Real nodes with real sockets in one process.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::time::Duration;

use meshlock_api::{NewRequest, RequestInfo, State};
use meshlock_audit::audit;
use meshlock_core::NodeId;
use meshlock_node::config::{NodeConfig, Settings};
use meshlock_node::local::{LocalMesh, LocalOptions, Pair};
use meshlock_node::mesh::{Existing, found};
use meshlock_node::node::{Node, NodeOptions};
use meshlock_node::record::Recorder;
use meshlock_trace::merge;

/// Long enough for any machine; only reached when something is wrong.
const GUARD: Duration = Duration::from_secs(60);

fn line(nodes: usize) -> BTreeSet<Pair> {
    (1..nodes).map(|node| (node - 1, node)).collect()
}

fn wants(resource: &str) -> NewRequest {
    NewRequest { resource: resource.into(), ..NewRequest::default() }
}

async fn lock(mesh: &LocalMesh, at: usize, request: NewRequest) -> RequestInfo {
    let hub = mesh.hub(at).expect("a node");
    let asked = hub.ask(request).expect("accepted");
    hub.wait(&asked.id, GUARD).await.expect("known")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_travels_along_a_line_and_over_a_link_that_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = LocalOptions::new(4, dir.path());
    let mesh = LocalMesh::start(&options, &line(4)).await.expect("started");
    mesh.wait_for_links(&line(4)).await;
    let held = lock(&mesh, 3, wants("dock")).await;
    assert_eq!(held.state, State::Granted);

    // The far end waits behind a cut, and is served when the link is back.
    mesh.set_links(&BTreeSet::from([(0, 1), (2, 3)]));
    mesh.wait_for_links(&BTreeSet::from([(0, 1), (2, 3)])).await;
    let waiting = mesh.hub(0).expect("a node").ask(wants("dock")).expect("accepted");
    mesh.hub(3).expect("a node").release(&held.id).expect("held");
    assert_eq!(mesh.hub(0).expect("a node").look(&waiting.id).expect("known").state, State::Queued);
    mesh.set_links(&line(4));
    let served = mesh.hub(0).expect("a node").wait(&waiting.id, GUARD).await.expect("known");
    assert_eq!(served.state, State::Granted);
    assert!(served.fence > held.fence);

    let status = mesh.hub(2).expect("a node").status(Some("dock"), GUARD).await.expect("known");
    assert_eq!(status.nodes.len(), 4);
    assert_eq!(status.resources[0].holders[0].node, "n0");
    for end in mesh.stop().await {
        end.expect("clean");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_were_stopped_cleanly_go_on_where_they_were() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = LocalOptions::new(2, dir.path());
    let mesh = LocalMesh::start(&options, &line(2)).await.expect("started");
    let before = lock(&mesh, 1, wants("dock")).await;
    mesh.hub(1).expect("a node").release(&before.id).expect("held");
    let mut ends = mesh.stop().await.into_iter().map(|end| end.expect("clean"));
    ends.next();
    let last = ends.next().expect("two nodes");
    assert!(last.kept.contains(&"dock".to_owned()), "the last one had nobody to pass it to: {last:?}");

    let mesh = LocalMesh::start(&options, &line(2)).await.expect("started again");
    let after = lock(&mesh, 0, wants("dock")).await;
    assert_eq!(after.state, State::Granted);
    assert!(after.fence > before.fence);
    mesh.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_whose_nodes_began_with_1_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    found(&dir.path().join("n1"), "up", "n1", Existing::Keep).expect("as earlier versions made it");
    let refused = LocalMesh::start(&LocalOptions::new(2, dir.path()), &line(2)).await.expect_err("two meshes");
    assert!(refused.to_string().contains("has a node n1 and no node n0"), "{refused}");
    assert!(!dir.path().join("n0").exists());
}

/// A node in this directory, alone.
fn alone(dir: &std::path::Path) -> NodeOptions {
    let settings = "[node]\nlisten = '127.0.0.1:0'\ndiscovery = false";
    let mut settings = Settings::from_toml("test", settings).expect("valid");
    settings.api.socket = Some(dir.join("sock"));
    NodeOptions::new(NodeConfig::resolve(settings, dir).expect("valid"))
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = std::time::Instant::now() + GUARD;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_node_that_cannot_start_or_is_dropped_leaves_no_tasks() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let dir = tempfile::tempdir().expect("a directory");
    let before = alive();
    drop(Node::start(alone(dir.path())).await.expect("started"));
    until("all tasks ended with the node", || alive() == before).await;
    std::fs::create_dir(dir.path().join("sock")).expect("something is in the way");
    assert!(Node::start(alone(dir.path())).await.is_err(), "no place for the socket");
    until("all tasks ended with the attempt", || alive() == before).await;
}

#[tokio::test]
async fn a_start_that_fails_loses_nothing_that_was_saved() {
    let dir = tempfile::tempdir().expect("a directory");
    let node = Node::start(alone(dir.path())).await.expect("started");
    let id = node.hub().with(|machine, _| machine.settings().id);
    let first = node.hub().ask(wants("dock")).expect("accepted");
    node.hub().release(&first.id).expect("held");
    node.stop().await.expect("clean");

    std::fs::create_dir(dir.path().join("sock")).expect("something is in the way");
    assert!(Node::start(alone(dir.path())).await.is_err(), "no place for the socket");
    std::fs::remove_dir(dir.path().join("sock")).expect("removed");
    let node = Node::start(alone(dir.path())).await.expect("started");
    assert_eq!(node.hub().with(|machine, _| machine.settings().id), id, "it goes on as itself");
    let next = node.hub().ask(wants("dock")).expect("accepted");
    assert!(next.state == State::Granted && next.fence > first.fence, "{next:?}");
    node.hub().release(&next.id).expect("held");
    node.stop().await.expect("clean");
}

#[tokio::test]
async fn a_stop_that_cannot_wait_for_a_client_keeps_its_grant_and_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let start = async || {
        let mut options = alone(dir.path());
        options.config.stop_within = Duration::ZERO;
        Node::start(options).await.expect("started")
    };
    let node = start().await;
    let mine = NewRequest { id: Some("mine".into()), owner: Some("ann".into()), ..wants("dock") };
    let held = node.hub().ask(mine).expect("accepted");
    let ended = node.stop().await.expect("clean");
    assert_eq!((ended.held.len(), ended.held[0].id.as_str()), (1, "mine"));
    assert_eq!((ended.held[0].resource.as_str(), ended.held[0].owner.as_deref()), ("dock", Some("ann")));

    let node = start().await;
    let again = node.hub().renew("mine", None).expect("known");
    assert_eq!((again.state, again.fence), (State::Granted, held.fence));
    let next = node.hub().ask(wants("dock")).expect("accepted");
    assert_eq!(next.state, State::Queued);
    node.hub().release("mine").expect("known");
    assert_eq!(node.hub().look(&next.id).expect("known").state, State::Granted);
    node.hub().release(&next.id).expect("held");
    assert_eq!(node.stop().await.expect("clean").held, []);
}

fn all_linked(nodes: usize) -> BTreeSet<Pair> {
    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_node_is_survived_comes_back_as_another_one_and_its_recording_runs_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let recorder = Recorder::new(&dir.path().join("run.jsonl")).expect("it can be written");
    let mut options = LocalOptions::new(3, dir.path());
    let text = "[mesh]\nrecovery = \"voters\"\nstanding = \"2s\"\n[node]\nloss-after = \"600ms\"\n";
    options.settings = Settings::from_toml("test", text).expect("right");
    options.record = Some(recorder.clone());
    let links = all_linked(3);
    let mut mesh = LocalMesh::start(&options, &links).await.expect("started");
    mesh.wait_for_links(&links).await;
    let lock_at = async |mesh: &LocalMesh, at: usize| loop {
        // A node loses its standing while it is starved of processor time, and its clients what they hold.
        let held = lock(mesh, at, wants("dock")).await;
        if held.state == State::Granted {
            return held;
        }
    };
    let held = lock_at(&mesh, 2).await;
    let waiting = mesh.hub(1).expect("a node").ask(wants("dock")).expect("accepted");

    // The voters notice, and what it held goes to who waits for it.
    assert!(mesh.kill(2).await && mesh.is_dead(2) && !mesh.kill(2).await);
    recorder.crashed("n2");
    mesh.wait_for_links(&BTreeSet::from([(0, 1)])).await;
    let served = mesh.hub(1).expect("a node").wait(&waiting.id, GUARD).await.expect("known");
    assert_eq!(served.state, State::Granted);
    assert!(served.fence > held.fence, "{served:?} after {held:?}");
    let _ = mesh.hub(1).expect("a node").release(&served.id);

    // It comes back with its links, under a new id.
    assert!(mesh.restart(2).await.expect("its directory is free") && !mesh.is_dead(2));
    assert!(!mesh.restart(2).await.expect("nothing to do"));
    mesh.wait_for_links(&links).await;
    let id = mesh.id(2).expect("a node");
    assert_eq!((id.member(), mesh.index(id), mesh.index(NodeId(2))), (2, Some(2), Some(2)));
    assert!(id.incarnation() > 0);
    let again = lock_at(&mesh, 2).await;
    assert!(again.fence > served.fence);

    // The heir itself, with the lock elsewhere, and back before anybody has declared it gone.
    assert!(mesh.kill(0).await);
    recorder.crashed("n0");
    assert!(mesh.restart(0).await.expect("its directory is free"));
    mesh.wait_for_links(&links).await;
    let _ = mesh.hub(2).expect("a node").release(&again.id);
    assert!(lock_at(&mesh, 0).await.fence > again.fence);
    for end in mesh.stop().await {
        end.expect("clean");
    }
    recorder.finish().expect("written");

    for resource in ["dock", "meshlock%3Aregistry"] {
        let path = dir.path().join(format!("run.{resource}.jsonl"));
        let audited = audit(BufReader::new(File::open(&path).expect("recorded"))).expect("readable");
        assert_eq!((audited.difference, audited.skipped), (None, vec![]), "{resource}");
        assert_eq!((audited.events, audited.unchecked_messages), (audited.replayed, 0), "{resource}");
        assert!(audited.nodes >= 5 && audited.ended, "{resource}: {}", audited.nodes);
        let mut merged = Vec::new();
        merge(vec![(resource.into(), BufReader::new(File::open(&path).expect("recorded")))], &mut merged)
            .expect("merged");
        assert_eq!(audit(Cursor::new(merged)).expect("readable").difference, None, "{resource}");
    }
}
