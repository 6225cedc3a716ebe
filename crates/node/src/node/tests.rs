//! Whole nodes on disks that fail, and removals by the hundred.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use meshlock_api::{NewRequest, RequestInfo, State};

use super::{Node, NodeOptions, StartError};
use crate::config::{NodeConfig, Settings};
use crate::local::{LocalMesh, LocalOptions};
use crate::mesh::faults::FailingDisk;
use crate::mesh::{Authority, Kept, Member, Removal, state};
use crate::wire::MOST_REMOVALS;

/// In memory where that is possible: hundreds of files are synced here.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Ends a test that waits in vain. A machine that is busy with others takes its time.
const GUARD: Duration = Duration::from_secs(300);

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(GUARD, waiting).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

async fn lock(mesh: &LocalMesh, at: usize, resource: &str) -> RequestInfo {
    let hub = mesh.hub(at).unwrap();
    let asked = hub.ask(NewRequest { resource: resource.into(), ..NewRequest::default() }).unwrap();
    hub.wait(&asked.id, Duration::from_secs(60)).await.unwrap()
}

fn links(links: &[(usize, usize)]) -> BTreeSet<(usize, usize)> {
    links.iter().copied().collect()
}

/// The founder cannot note that there are others, in one way or another: it serves its own clients, has no link, and gets
/// one as soon as the disk works.
async fn founder_without_a_disk(steps: &'static [&'static str]) {
    let place = tempfile::tempdir().unwrap();
    let mesh = LocalMesh::start(&LocalOptions::new(2, place.path()), &links(&[])).await.unwrap();
    let founder = place.path().join("n0");
    let disk = FailingDisk::new(&founder.join("state"), move |_, step, path| {
        steps.contains(&step) && (path.ends_with("state") || path.to_string_lossy().contains("met"))
    });
    mesh.set_links(&links(&[(0, 1)]));
    until("the third try", || disk.failed() >= 3).await;
    assert_eq!(mesh.links(), links(&[]), "no link before it is durable that there are others");
    assert_eq!(lock(&mesh, 0, "dock").await.state, State::Granted, "its own clients do not mind");
    assert_eq!(mesh.links(), links(&[]));
    drop(disk);
    mesh.wait_for_links(&links(&[(0, 1)])).await;
    assert!(state::has_met_others(&founder).unwrap());
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_founder_that_cannot_note_others_has_no_links() {
    founder_without_a_disk(&["create"]).await;
    // Here the file is seen, but a loss of power may take it away again.
    founder_without_a_disk(&["sync directory"]).await;
}

/// A small file system of its own, where that is permitted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(place.path())
            .output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(Self(place))
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let _ = fs::write(self.0.path().join("filler"), vec![0; 1 << 20]);
        assert!(fs::write(self.0.path().join("more"), [0; 5000]).is_err(), "it is full");
    }

    fn make_room(&self) {
        fs::remove_file(self.0.path().join("filler")).unwrap();
        let _ = fs::remove_file(self.0.path().join("more"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_file_system_makes_no_second_token() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: mounting is not permitted");
        return;
    };
    let options = LocalOptions::new(2, disk.0.path());
    let mut mesh = LocalMesh::start(&options, &links(&[])).await.unwrap();
    let before = lock(&mesh, 0, "dock").await;
    disk.fill();
    mesh.set_links(&links(&[(0, 1)]));
    assert_eq!(lock(&mesh, 0, "gate").await.state, State::Granted);
    // It crashes, and cannot even start as long as the disk is full: it could not note which life that is.
    drop(mesh.take(0));
    drop(mesh.take(1));
    until("the end of the crashed", || state::check_stopped(&disk.0.path().join("n0")).is_ok()).await;
    until("the end of the other", || state::check_stopped(&disk.0.path().join("n1")).is_ok()).await;
    assert!(LocalMesh::start(&options, &links(&[])).await.is_err());
    disk.make_room();
    let mesh = LocalMesh::start(&options, &links(&[(0, 1)])).await.unwrap();
    mesh.wait_for_links(&links(&[(0, 1)])).await;
    let after = lock(&mesh, 1, "dock").await;
    assert!(after.fence > before.fence, "made anew by the only one who can have had it, above all old fences");
    let status = mesh.hub(1).unwrap().status(Some("dock"), Duration::from_secs(60)).await.unwrap();
    assert_eq!(status.resources[0].holders.len(), 1);
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_fails_loses_nothing_that_was_saved() {
    let place = tempfile::tempdir().unwrap();
    let start = |listen: SocketAddr| {
        let mut settings = Settings::default();
        settings.node.listen = Some(listen.to_string());
        settings.node.discovery = Some(false);
        settings.api.socket = Some(place.path().join("sock"));
        Node::start(NodeOptions::new(NodeConfig::resolve(settings, place.path()).unwrap()))
    };
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let node = start(anywhere).await.unwrap();
    let id = node.hub().with(|machine, _| machine.settings().id);
    let held = node.hub().ask(NewRequest { resource: "dock".into(), ..NewRequest::default() }).unwrap();
    node.hub().release(&held.id).unwrap();
    node.stop().await.unwrap();

    let taken = std::net::UdpSocket::bind(anywhere).unwrap();
    for _ in 0..2 {
        assert!(matches!(start(taken.local_addr().unwrap()).await, Err(StartError::Links(_))));
    }
    let node = start(anywhere).await.unwrap();
    assert_eq!(node.hub().with(|machine, _| (machine.settings().id, machine.tokens_here().len())), (id, 2));
}

fn stored(dir: &Path) -> usize {
    Kept::list(dir).unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_removals_than_fit_a_frame_reach_everybody() {
    let place = directory();
    let options = LocalOptions::new(3, place.path());
    let mesh = LocalMesh::start(&options, &links(&[(0, 1)])).await.unwrap();
    mesh.wait_for_links(&links(&[(0, 1)])).await;
    let authority = Authority::load(&place.path().join("n0")).unwrap();
    let signed = |member| Removal::sign(&authority, Member(member)).unwrap();
    // Member 2 is the third node, and the last to be told of.
    let more = u16::try_from(MOST_REMOVALS).unwrap() + 10;
    let removals: Vec<Removal> = (1_000..1_000 + more).chain([2]).map(signed).collect();
    Removal::store_all(&place.path().join("n0"), &removals).unwrap();
    until("all of them at a neighbour", || stored(&place.path().join("n1")) == removals.len()).await;

    // One more, to who knows the others already; and a link that comes up later is enough, too.
    signed(5_000).store(&place.path().join("n0")).unwrap();
    until("one more", || stored(&place.path().join("n1")) == removals.len() + 1).await;
    let refused = mesh.hub(1).unwrap();
    mesh.set_links(&links(&[(0, 1), (1, 2)]));
    assert!(refused.with(|machine, _| machine.neighbour_ids().all(|node| Member::of(node) != Member(2))));
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_that_meet_tell_each_other_of_removals() {
    let place = directory();
    let mesh = LocalMesh::start(&LocalOptions::new(2, place.path()), &links(&[])).await.unwrap();
    let authority = Authority::load(&place.path().join("n0")).unwrap();
    let removals = |members: std::ops::Range<u16>| -> Vec<Removal> {
        members.map(|member| Removal::sign(&authority, Member(member)).unwrap()).collect()
    };
    Removal::store_all(&place.path().join("n0"), &removals(100..150)).unwrap();
    Removal::store_all(&place.path().join("n1"), &removals(140..400)).unwrap();
    mesh.set_links(&links(&[(0, 1)]));
    until("everything at both", || ["n0", "n1"].iter().all(|name| stored(&place.path().join(name)) == 300)).await;
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_cannot_be_stored_is_obeyed_and_stored_later() {
    let place = directory();
    let line = links(&[(0, 1), (1, 2)]);
    let mesh = LocalMesh::start(&LocalOptions::new(3, place.path()), &line).await.unwrap();
    mesh.wait_for_links(&line).await;
    let disk = FailingDisk::new(&place.path().join("n1"), |_, _, path| path.to_string_lossy().contains("remov"));
    Authority::remove(&place.path().join("n0"), Some(Member(0)), "n2").unwrap();
    mesh.wait_for_links(&links(&[(0, 1)])).await;
    until("a try to store it", || disk.failed() > 0).await;
    assert_eq!(stored(&place.path().join("n1")), 0);
    drop(disk);
    until("the file", || stored(&place.path().join("n1")) == 1).await;
    drop(mesh);
}
