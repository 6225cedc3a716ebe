//! What nodes believe, keep and pass on of what the authority signed.

use super::*;
use crate::links::{FrameReceiver, LinkId, LinkUser, Peer};
use crate::machine::{Machine, Settings};
use crate::mesh::faults::FailingDisk;
use crate::mesh::{Authority, Existing, Founding, Recovery, found_with};

/// What ann knows, the founder of a mesh in which bob was removed before.
fn mesh(dir: PathBuf) -> (Authority, RemovedMembers) {
    let mut authority = Authority::found("hall").unwrap();
    let ann = authority.admit("ann").unwrap();
    Removal::sign(&authority, Member(1)).unwrap().store(&dir).unwrap();
    let kept = Kept::load(&dir, &ann).unwrap();
    let (hub, _) = Hub::new(Machine::new(Settings::founder("hall", "ann")));
    let (removed, _) = RemovedMembers::new(dir, Arc::new(ann), hub, kept, None);
    (authority, removed)
}

#[test]
fn who_was_removed_can_be_declared_gone_later() {
    let place = tempfile::tempdir().unwrap();
    let (authority, mut removed) = mesh(place.path().to_owned());
    let facts = removed.facts();
    let before = removed.digest();
    let plain = Removal::sign(&authority, Member(1)).unwrap().bytes().to_vec();
    removed.learn(None, [plain], false);
    assert!(removed.unstored.is_empty() && !facts.has_changed().unwrap(), "nothing new");
    let gone = Removal::sign_gone(&authority, Member(1), 3).unwrap();
    removed.learn(None, [gone.bytes().to_vec()], false);
    assert!(removed.unstored.contains_key(&gone.key()));
    assert!(removed.leaving.is_empty(), "it has no links any more");
    assert_ne!(removed.digest(), before, "neighbours that meet tell each other");
    assert!(facts.borrow().is_removed(1) && facts.borrow().count(2) == 1);
    Removal::store_all(place.path(), &removed.unstored.values().cloned().collect::<Vec<_>>()).unwrap();
    let kept = Kept::load(place.path(), &removed.identity).unwrap();
    assert_eq!(kept.facts(), *facts.borrow(), "and after the next start");
}

#[test]
fn what_a_command_wrote_is_found() {
    let place = tempfile::tempdir().unwrap();
    let (authority, mut removed) = mesh(place.path().to_owned());
    let facts = removed.facts();
    removed.look_at_files();
    assert!(!facts.has_changed().unwrap());
    Removal::sign_gone(&authority, Member(1), 3).unwrap().store(place.path()).unwrap();
    removed.look_at_files();
    assert!(facts.borrow().is_removed(1) && removed.unstored.is_empty(), "it is stored already");
}

/// The node of the founder of a mesh that recovers nothing, and its neighbour bob.
struct Hall {
    place: tempfile::TempDir,
    node: RemovedMembers,
    bob: FrameReceiver,
}

const BOB: NodeId = NodeId(1);

impl Hall {
    fn founded() -> Self {
        let place = tempfile::tempdir().unwrap();
        let founding = Founding { recovery: Some(Recovery::None), ..Founding::default() };
        let founded = found_with(place.path(), "hall", "ann", Existing::Keep, &founding).unwrap();
        let charter = Charter::load(place.path(), &founded.identity).unwrap();
        let (hub, _) = Hub::new(Machine::new(Settings::founder("hall", "ann")));
        let peer = Peer { node: BOB, name: "bob".into(), address: ([127, 0, 0, 1], 1).into() };
        let bob = hub.up(LinkId(1), &peer).unwrap();
        let identity = Arc::new(founded.identity);
        let (node, _) = RemovedMembers::new(place.path().to_owned(), identity, hub, Kept::default(), charter);
        let mut hall = Self { place, node, bob };
        hall.told();
        hall
    }

    /// A charter that the authority signs, which is not on the disk of ann's node.
    fn charter(&self, number: u32, recovery: Recovery) -> Vec<u8> {
        let authority = Authority::load(self.place.path()).unwrap();
        Charter::numbered(&authority, number, recovery).to_bytes().to_vec()
    }

    /// What bob says arrives.
    fn hear(&mut self, charter: &[u8]) {
        self.node.hear(BOB, Removals::Signed(vec![[b"meshlock charter\0", charter].concat()]));
    }

    async fn store(&mut self) {
        self.node.store();
        let stored = finished(&mut self.node.storing).await;
        self.node.stored(stored);
    }

    /// The charters that bob was told since the last time.
    fn told(&mut self) -> Vec<Vec<u8>> {
        let signed = |frame: Outgoing| match wire::decode::<Frame>(&frame) {
            Ok(Frame::Removals(Removals::Signed(signed))) => signed,
            Ok(_) | Err(_) => Vec::new(),
        };
        let all = self.bob.waiting().into_iter().flat_map(signed);
        all.filter_map(|bytes| Charters::in_statement(&bytes).map(<[u8]>::to_vec)).collect()
    }

    fn on_disk(&self) -> u32 {
        Charter::load(self.place.path(), &self.node.identity).unwrap().unwrap().number()
    }
}

#[tokio::test]
async fn a_newer_charter_is_stored_before_it_is_passed_on() {
    let mut hall = Hall::founded();
    let newer = hall.charter(2, Recovery::Restart);
    let before = hall.node.digest();
    hall.hear(&newer);
    assert!(hall.node.may_store());
    let disk = FailingDisk::from(&hall.place.path().join("state"), 0);
    hall.store().await;
    assert!(hall.told().is_empty() && hall.node.digest() == before, "it is not on disk");
    drop(disk);
    hall.store().await;
    assert_eq!((hall.on_disk(), hall.told()), (2, vec![newer.clone()]));
    assert_ne!(hall.node.digest(), before, "neighbours that meet compare it");
    // Who has another digest is told again; who tells the same is not believed twice.
    hall.node.hear(BOB, Removals::Digest(before));
    assert_eq!(hall.told(), std::slice::from_ref(&newer));
    hall.hear(&newer);
    assert!(!hall.node.may_store() && hall.told().is_empty());
}

#[tokio::test]
async fn of_two_charters_at_once_the_newer_stays() {
    for turned in [false, true] {
        let mut hall = Hall::founded();
        let (second, third) = (hall.charter(2, Recovery::Restart), hall.charter(3, Recovery::Restart));
        let order = if turned { [&third, &second] } else { [&second, &third] };
        order.into_iter().for_each(|charter| hall.hear(charter));
        hall.store().await;
        assert_eq!((hall.on_disk(), hall.told()), (3, vec![third.clone()]), "turned: {turned}");
        // One arrives while the other is being stored.
        let (fourth, fifth) = (hall.charter(4, Recovery::Restart), hall.charter(5, Recovery::Restart));
        hall.hear(&fourth);
        hall.node.store();
        hall.hear(&fifth);
        let stored = finished(&mut hall.node.storing).await;
        hall.node.stored(stored);
        assert!(hall.node.may_store(), "the fifth is not stored yet");
        hall.store().await;
        assert_eq!((hall.on_disk(), hall.told()), (5, vec![fourth, fifth]));
    }
}

#[test]
fn a_charter_that_the_mesh_cannot_have_is_neither_stored_nor_passed_on() {
    let mut hall = Hall::founded();
    let newer = hall.charter(2, Recovery::Restart);
    let stranger = {
        let other = Authority::found("hall").unwrap();
        Charter::numbered(&other, 9, Recovery::Restart).to_bytes().to_vec()
    };
    let mut forged = newer.clone();
    *forged.last_mut().unwrap() ^= 1;
    let to_voters = hall.charter(3, Recovery::Voters);
    for wrong in [stranger, forged, to_voters, vec![], vec![7; 1 << 20], newer[..newer.len() - 1].to_vec()] {
        hall.hear(&wrong);
        assert!(!hall.node.may_store(), "{:?}", &wrong[..wrong.len().min(20)]);
    }
    assert!(hall.told().is_empty());
    assert_eq!(hall.on_disk(), 1);
}

#[test]
fn a_charter_that_a_command_wrote_is_passed_on() {
    let mut hall = Hall::founded();
    Authority::decide_recovery(hall.place.path(), Recovery::Restart, None).unwrap();
    hall.node.look_at_files();
    assert_eq!(hall.told().len(), 1);
    hall.node.look_at_files();
    assert!(hall.told().is_empty(), "once");
}

#[test]
fn a_neighbour_of_an_older_version_ignores_charters() {
    let place = tempfile::tempdir().unwrap();
    let (authority, removed) = mesh(place.path().to_owned());
    let charter = Charter::numbered(&authority, 2, Recovery::Restart);
    let statement = [b"meshlock charter\0", charter.to_bytes()].concat();
    // All that such a version does with a statement that it does not know.
    assert!(Removal::verify(&statement, &removed.identity).is_err());
}
