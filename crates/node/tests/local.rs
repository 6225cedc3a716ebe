//! Real nodes with real sockets in one process.

use std::collections::BTreeSet;
use std::time::Duration;

use meshlock_api::{NewRequest, RequestInfo, State};
use meshlock_node::local::{LocalMesh, LocalOptions, Pair};

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
    assert_eq!(status.resources[0].holders[0].node, "n1");
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
