//! Real nodes, looked at and taken part in. Everything is waited for, nothing is timed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use meshlock_api::NewResource;
use meshlock_node::config::Settings;
use meshlock_node::local::LocalOptions;
use meshlock_node::record::Outlet;
use serde_json::Value;
use tempfile::TempDir;

use super::super::{RESOURCES, STANDING, settle_standing};
use super::*;

/// Long enough for any machine; only reached when something is wrong.
const GUARD: Duration = Duration::from_secs(120);

/// Reads along what is recorded, by resource.
#[derive(Clone, Debug, Default)]
struct Seen {
    lines: Arc<Mutex<BTreeMap<String, Vec<Value>>>>,
}

struct Page {
    seen: Seen,
    resource: String,
}

impl Outlet for Seen {
    fn open(&mut self, resource: &str) -> io::Result<Option<Box<dyn Write + Send>>> {
        Ok(Some(Box::new(Page { seen: self.clone(), resource: resource.to_owned() })))
    }

    fn name(&self, resource: &str) -> String {
        resource.to_owned()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = serde_json::from_slice(bytes)?;
        self.seen.lines.lock().expect("whole").entry(self.resource.clone()).or_default().push(line);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seen {
    fn any(&self, resource: &str, what: impl Fn(&Value) -> bool) -> bool {
        self.lines.lock().expect("whole").get(resource).is_some_and(|lines| lines.iter().any(what))
    }

    fn granted(&self, resource: &str, node: NodeId, request: u64) -> bool {
        self.any(resource, |line| {
            line["node"] == node.0
                && line["effects"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|effect| effect["granted"]["grant"]["request"] == request)
        })
    }

    fn event(&self, resource: &str, node: NodeId, name: &str, field: &str, value: u64) -> bool {
        self.any(resource, |line| line["node"] == node.0 && line["event"][name][field] == value)
    }
}

struct Bed {
    live: Arc<LiveMesh>,
    seen: Seen,
    _dir: TempDir,
}

impl Bed {
    async fn start(shape: &str, nodes: u16) -> Self {
        let dir = tempfile::Builder::new().prefix("ml").tempdir().expect("a directory");
        let (shape, nodes, links) = Shape::read(Some(shape), Some(nodes)).expect("a shape");
        let mut options = LocalOptions::new(nodes, dir.path());
        options.settings = Settings::from_toml("built in", RESOURCES).expect("right");
        settle_standing(&mut options.settings, STANDING);
        options.serves_clients = false;
        let (tapes, seen) = (Tapes::new(4), Seen::default());
        let recorder = Recorder::live(vec![Box::new(tapes.clone()), Box::new(seen.clone())]).expect("started");
        options.record = Some(recorder.clone());
        let mesh = LocalMesh::start(&options, &links).await.expect("started");
        let (recorder, title) = (Some(recorder), "test".into());
        let parts = Parts { title, mesh, tapes, recorder, shape, world: None, robots: None };
        let live = LiveMesh::new(parts);
        live.watch();
        Self { live, seen, _dir: dir }
    }

    fn tape(&self, resource: &str) -> usize {
        let names = self.live.about().tapes;
        names.iter().position(|tape| tape.name == resource).unwrap_or_else(|| panic!("no {resource} in {names:?}"))
    }

    async fn id(&self, index: usize) -> NodeId {
        self.live.mesh.lock().await.as_ref().and_then(|mesh| mesh.id(index)).expect("a node")
    }

    async fn act(&self, action: Action) -> Result<Done, String> {
        self.live.act(action).await.map_err(|refusal| refusal.0)
    }

    /// Asks for units of a resource, and returns the number of the request.
    async fn ask(&self, resource: &str, node: NodeId, units: u32, session: Option<u64>) -> Result<u64, String> {
        let tape = self.tape(resource);
        let ask = async || loop {
            let done = self.act(Action::Request { tape, node, units, priority: 0, session }).await;
            // A node that has just come needs the voters first.
            if !done.as_ref().is_err_and(|words| words.contains("grants nothing now")) {
                return done;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let done = tokio::time::timeout(GUARD, ask()).await.expect("the node may act in the end")?;
        Ok(done.request.expect("a number"))
    }

    async fn release(&self, resource: &str, node: NodeId, request: u64) -> Result<Done, String> {
        self.act(Action::Release { tape: self.tape(resource), node, request }).await
    }

    /// Everybody knows what can be locked.
    async fn until_known(&self) {
        let hubs: Vec<Arc<Hub>> = {
            let mesh = self.live.mesh.lock().await;
            mesh.iter().flat_map(LocalMesh::nodes).map(|node| Arc::clone(node.hub())).collect()
        };
        until("everybody knows everything", || hubs.iter().all(|hub| hub.resources().len() == 4)).await;
        let acts = |hub: &Arc<Hub>| hub.with(|machine, _| machine.suspended().is_none());
        until("everybody may act", || hubs.iter().all(acts)).await;
    }

    async fn until_granted(&self, resource: &str, node: NodeId, request: u64) {
        until("a grant", || self.seen.granted(resource, node, request)).await;
    }

    async fn end(self) {
        for end in self.live.stop().await {
            end.expect("clean");
        }
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let look = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(GUARD, look).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_for_by_hand_is_held_until_it_is_released_by_hand() {
    let bed = Bed::start("line", 3).await;
    bed.until_known().await;
    let (near, far) = (bed.id(0).await, bed.id(2).await);
    let all = bed.ask("docks", far, 3, None).await.expect("taken");
    bed.until_granted("docks", far, all).await;
    let one = bed.ask("docks", near, 1, None).await.expect("taken");
    assert!(!bed.seen.granted("docks", near, one));
    bed.release("docks", far, all).await.expect("it is held");
    bed.until_granted("docks", near, one).await;
    assert!(bed.seen.event("docks", far, "release", "request", all));
    // One that waits is given up.
    let late = bed.ask("docks", far, 3, None).await.expect("taken");
    bed.release("docks", far, late).await.expect("it waits");
    assert!(bed.seen.event("docks", far, "cancel", "request", late));
    let again = bed.release("docks", far, late).await.expect_err("it is over");
    assert!(again.contains("not made on this page, or is over"), "{again}");

    // Readers go together, a writer alone; sessions are known by the numbers of the trace, as a browser rounds them.
    let (first, second) = (bed.ask("map", near, 1, None).await, bed.ask("map", far, 1, None).await);
    bed.until_granted("map", near, first.expect("a reader")).await;
    bed.until_granted("map", far, second.expect("a reader")).await;
    let meeting = bed.ask("room", near, 1, Some(7)).await.expect("taken");
    bed.until_granted("room", near, meeting).await;
    let hub = bed.live.up(near).await.expect("up").1;
    let number = hub.session_names()[0].1;
    let joined = bed.ask("room", far, 1, Some((number as f64) as u64)).await.expect("taken");
    bed.until_granted("room", far, joined).await;
    bed.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_cut_and_restored() {
    let bed = Bed::start("ring", 3).await;
    bed.until_known().await;
    let (a, b) = (bed.id(0).await, bed.id(1).await);
    let linked = |from: NodeId, to: NodeId| bed.seen.event("gate", from, "link-up", "neighbour", u64::from(to.0));
    until("the link", || linked(a, b) && linked(b, a)).await;
    bed.act(Action::Link { between: (b, a), up: false }).await.expect("cut");
    let cut = |from: NodeId, to: NodeId| bed.seen.event("gate", from, "link-down", "neighbour", u64::from(to.0));
    until("the end of the link", || cut(a, b) && cut(b, a)).await;
    let again = bed.act(Action::Link { between: (a, b), up: false }).await.expect_err("cut already");
    assert!(again.contains("n0 and n1 are not linked"), "{again}");
    bed.act(Action::Link { between: (a, b), up: true }).await.expect("restored");
    let ups = |seen: &Seen| {
        let lines = seen.lines.lock().expect("whole");
        let up = |line: &&Value| line["node"] == a.0 && line["event"]["link-up"]["neighbour"] == b.0;
        lines["gate"].iter().filter(up).count()
    };
    until("the link again", || ups(&bed.seen) == 2).await;
    bed.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_come_and_go() {
    let bed = Bed::start("ring", 3).await;
    bed.until_known().await;
    let added = bed.act(Action::Add { at: None }).await.expect("started").node.expect("its id");
    bed.until_known().await;
    let request = bed.ask("gate", added, 1, None).await.expect("taken");
    bed.until_granted("gate", added, request).await;
    // It goes with the lock in its hands; another one gets it.
    bed.act(Action::Remove { node: added }).await.expect("it leaves");
    assert!(bed.seen.any("gate", |line| line["move"]["node"] == added.0 && line["move"]["gone"] == true));
    let gone = bed.ask("gate", added, 1, None).await.expect_err("gone");
    assert!(gone.contains("n3 has left"), "{gone}");

    // The founder too: what it has goes to others, and resources can still be made.
    let founder = bed.id(0).await;
    bed.act(Action::Remove { node: founder }).await.expect("it leaves");
    let second = bed.id(1).await;
    let request = bed.ask("gate", second, 1, None).await.expect("taken");
    bed.until_granted("gate", second, request).await;
    let (_, hub) = bed.live.up(second).await.expect("up");
    hub.define("later", &NewResource::default(), GUARD).await.expect("made");
    let mut changes = bed.live.changes();
    while !bed.live.about().tapes.iter().any(|tape| tape.name == "later") {
        tokio::time::timeout(GUARD, changes.changed()).await.expect("in time").expect("told");
    }
    assert_eq!(bed.live.about().tapes.len(), bed.live.tapes().len());
    let request = bed.ask("later", second, 1, None).await.expect("taken");
    bed.until_granted("later", second, request).await;

    let third = bed.id(2).await;
    bed.act(Action::Remove { node: second }).await.expect("it leaves");
    let last = bed.act(Action::Remove { node: third }).await.expect_err("the last");
    assert!(last.contains("n2 is the last node"), "{last}");
    bed.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_killed_with_the_lock_and_comes_back() {
    let bed = Bed::start("complete", 3).await;
    bed.until_known().await;
    let (waiter, victim) = (bed.id(1).await, bed.id(2).await);
    let held = bed.ask("gate", victim, 1, None).await.expect("taken");
    bed.until_granted("gate", victim, held).await;
    let waits = bed.ask("gate", waiter, 1, None).await.expect("taken");
    bed.act(Action::Kill { node: victim }).await.expect("killed");
    let crashed = |line: &Value| line["move"]["node"] == victim.0 && line["move"]["crashed"] == true;
    assert!(bed.seen.any("gate", crashed));
    let dead = bed.act(Action::Kill { node: victim }).await.expect_err("dead already");
    assert!(dead.contains("n2 is dead: start it again"), "{dead}");
    // The mesh notices by itself, makes the token anew at the heir, and serves who waits.
    bed.until_granted("gate", waiter, waits).await;
    assert!(bed.seen.any("gate", |line| line["node"] == 0 && !line["event"]["remake"].is_null()));

    let back = bed.act(Action::Restart { node: victim }).await.expect("started").node.expect("its id");
    assert_eq!((back.member(), back.incarnation() > 0), (victim.member(), true));
    let alive = bed.act(Action::Restart { node: back }).await.expect_err("alive");
    assert!(alive.contains("n2 was not killed"), "{alive}");
    bed.release("gate", waiter, waits).await.expect("it is held");
    bed.until_known().await;
    // The page may still know it by its former id.
    let again = bed.ask("gate", victim, 1, None).await.expect("taken");
    bed.until_granted("gate", bed.id(2).await, again).await;
    assert!(!bed.seen.any("gate", |line| !line["end"]["violation"].is_null()));
    bed.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_done_is_refused_with_the_reason() {
    let bed = Bed::start("line", 2).await;
    bed.until_known().await;
    let (node, stranger) = (bed.id(0).await, NodeId(999));
    let (docks, map, room) = (bed.tape("docks"), bed.tape("map"), bed.tape("room"));
    let ask = |tape, node, units| Action::Request { tape, node, units, priority: 0, session: None };
    let cases = [
        (ask(docks, stranger, 1), "no node 999 in this mesh: its nodes are n0, n1"),
        (ask(99, node, 1), "no resource number 99"),
        (ask(docks, node, 0), "ask for at least 1"),
        (ask(docks, node, 4), "\"docks\" has 3 in all"),
        (ask(map, node, 2), "ask for 1 unit to read"),
        (ask(room, node, 1), "say which one to attend"),
        (Action::Release { tape: docks, node, request: 1 }, "was not made on this page"),
        (Action::Release { tape: docks, node: stranger, request: 1 }, "no node 999"),
        (Action::Link { between: (node, node), up: true }, "n0 cannot be linked with itself"),
        (Action::Link { between: (node, stranger), up: true }, "no node 999"),
        (Action::Remove { node: stranger }, "no node 999"),
        (Action::Move { node, to: [1.0, 1.0] }, "no places: start with --scenario"),
        (Action::Range { metres: 5.0 }, "no places"),
        (Action::Pace { factor: 5.0 }, "no places"),
        (Action::Pause, "real nodes"),
    ];
    for (action, words) in cases {
        let told = bed.act(action.clone()).await.expect_err("refused");
        assert!(told.contains(words), "{action:?}: {told}");
    }
    // Whoever alone has what others need stays.
    bed.act(Action::Link { between: (node, bed.id(1).await), up: false }).await.expect("cut");
    let (first, second) = (bed.live.up(node).await.expect("up").1, bed.live.up(bed.id(1).await).await.expect("up").1);
    let alone = |hub: &Hub| hub.with(|machine, _| !machine.has_neighbours());
    until("both are alone", || alone(&first) && alone(&second)).await;
    let told = bed.act(Action::Remove { node }).await.expect_err("it has the tokens");
    assert!(told.contains("no neighbour that could take it"), "{told}");
    assert!(told.contains("docks") && told.contains("the right to make resources"), "{told}");
    bed.end().await;
}
