//! A whole mesh of real nodes with real sockets in one process: for trying out, for tests and for benchmarks.
//!
//! Every node has a directory, keys and links of its own, as if it were alone on a machine. Who may be linked with whom
//! is decided by a [`Gate`] at every node, so that a topology can be given, and changed while they run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meshlock_core::NodeId;
use tokio::sync::watch;

use crate::config::{NodeConfig, Settings, Time};
use crate::hub::Hub;
use crate::links::Gate;
use crate::mesh::{self, Existing, Member, MeshError};
use crate::node::{Node, NodeOptions, StartError, Stopped};
use crate::record::Recorder;

/// What a local mesh is started with.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// How many nodes.
    pub nodes: u16,
    /// A directory for their files and sockets; it must be short enough for the path of a socket.
    pub dir: PathBuf,
    /// What the nodes are called: this and a number from 0, which is also that of the member.
    pub name: String,
    /// Settings that all of them share: resources, times.
    pub settings: Settings,
    /// Records everything that happens, at all nodes.
    pub record: Option<Recorder>,
    /// Whether clients are served over Unix sockets.
    pub serves_clients: bool,
}

impl LocalOptions {
    /// Some nodes in a directory.
    pub fn new(nodes: u16, dir: impl Into<PathBuf>) -> Self {
        Self {
            nodes,
            dir: dir.into(),
            name: "n".into(),
            settings: Settings::default(),
            record: None,
            serves_clients: true,
        }
    }
}

/// How long each node waits for clients when it stops, unless the settings say otherwise: short, because no user wants to wait for the
/// end of something that was tried out.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// Two nodes of a local mesh, by index.
pub type Pair = (usize, usize);

/// A mesh in this process. A node keeps its index for good, also after others were taken out.
#[derive(Debug)]
pub struct LocalMesh {
    options: LocalOptions,
    nodes: Vec<LocalNode>,
    /// The links that may be.
    links: Mutex<BTreeSet<Pair>>,
}

#[derive(Debug)]
struct LocalNode {
    /// Gone once it was taken out, or while it is dead.
    node: Option<Node>,
    /// It was killed, and may be started again.
    is_dead: bool,
    member: Member,
    /// The last that is known; it changes when the node begins anew.
    id: NodeId,
    name: String,
    dir: PathBuf,
    /// Where it listens, also after it was started again.
    address: SocketAddr,
    gate: watch::Sender<Gate>,
}

impl LocalNode {
    fn id(&self) -> NodeId {
        self.node.as_ref().map_or(self.id, |node| node.hub().with(|machine, _| machine.settings().id))
    }
}

impl LocalMesh {
    /// Makes keys and directories, and starts the nodes with these links.
    pub async fn start(options: &LocalOptions, links: &BTreeSet<Pair>) -> Result<Self, StartError> {
        let dirs = make_members(options)?;
        let mut mesh = Self { options: options.clone(), nodes: Vec::new(), links: Mutex::new(links.clone()) };
        for dir in &dirs {
            mesh.start_node(dir).await?;
        }
        mesh.open_gates();
        Ok(mesh)
    }

    /// Starts a member without links.
    async fn start_node(&mut self, dir: &Path) -> Result<(), StartError> {
        let node = self.run(dir, None).await?;
        self.nodes.push(node);
        Ok(())
    }

    /// Runs a member without links, where it was before if that is possible.
    async fn run(&self, dir: &Path, before: Option<SocketAddr>) -> Result<LocalNode, StartError> {
        let (gate, seen) = watch::channel(Gate::Only(BTreeSet::new()));
        let mut config = config(&self.options, dir).map_err(StartError::Clients)?;
        config.listen.splice(0..0, before);
        let (record, serves_clients) = (self.options.record.clone(), self.options.serves_clients);
        let options = NodeOptions { gate: seen, record, serves_clients, ..NodeOptions::new(config) };
        let node = Node::start(options).await?;
        let id = node.hub().with(|machine, _| machine.settings().id);
        let (name, member, address) = (node.identity().name.clone(), node.identity().member, node.address());
        let (dir, node) = (dir.to_owned(), Some(node));
        Ok(LocalNode { node, is_dead: false, member, id, name, dir, address, gate })
    }

    /// Kills a node, as `kill -9` would: no goodbye, nothing is given away or saved. False if it does not run. The links
    /// that it may have stay as they are.
    pub async fn kill(&mut self, index: usize) -> bool {
        let Some(local) = self.nodes.get_mut(index) else { return false };
        local.id = local.id();
        let Some(node) = local.node.take() else { return false };
        local.is_dead = true;
        node.kill().await;
        true
    }

    /// Whether a node was killed and not started again.
    pub fn is_dead(&self, index: usize) -> bool {
        self.nodes.get(index).is_some_and(|local| local.is_dead)
    }

    /// Starts a node again that was killed, from its directory: as its next incarnation. False if it was not killed. Its
    /// links come back as soon as they can.
    pub async fn restart(&mut self, index: usize) -> Result<bool, StartError> {
        let Some(local) = self.nodes.get(index).filter(|local| local.is_dead) else { return Ok(false) };
        let started = self.run(&local.dir, Some(local.address)).await?;
        if let Some(local) = self.nodes.get_mut(index) {
            *local = started;
        }
        self.open_gates();
        // It dials them all itself: those that dialed it before may have grown patient.
        if let Some(back) = self.node(index) {
            let wanted = self.wanted_links();
            for other in wanted.iter().filter_map(|pair| other_end(*pair, index)).filter_map(|other| self.node(other)) {
                back.add_peer(other.address().to_string());
            }
        }
        Ok(true)
    }

    /// Starts one more member with links to these, and returns its index. What it needs to know of the mesh it hears
    /// from them.
    pub async fn add(&mut self, linked_with: &BTreeSet<usize>) -> Result<usize, StartError> {
        let index = self.nodes.len();
        let number = u16::try_from(index).map_err(|_| StartError::Clients("there are too many nodes".into()))?;
        let dir = make_member(&self.options, number)?;
        self.start_node(&dir).await?;
        self.lock_links().extend(linked_with.iter().filter(|other| **other < index).map(|other| (*other, index)));
        self.open_gates();
        Ok(index)
    }

    /// Takes a node out, to be stopped by the caller; its links stay up until then, so that it can give away what
    /// others need.
    pub fn take(&mut self, index: usize) -> Option<Node> {
        let local = self.nodes.get_mut(index)?;
        local.id = local.id();
        local.node.take()
    }

    /// How many nodes there are or were: indices are below this.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One of the nodes, unless it was taken out.
    pub fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index).and_then(|local| local.node.as_ref())
    }

    /// All nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter_map(|local| local.node.as_ref())
    }

    /// The hub of a node.
    pub fn hub(&self, index: usize) -> Option<Arc<Hub>> {
        self.node(index).map(|node| Arc::clone(node.hub()))
    }

    /// What a node is called, also after it was taken out.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.nodes.get(index).map(|local| local.name.as_str())
    }

    /// A node as protocols and recordings know it now, or knew it before it was killed or taken out.
    pub fn id(&self, index: usize) -> Option<NodeId> {
        self.nodes.get(index).map(LocalNode::id)
    }

    /// The index of a node that protocols and recordings know by this id, or knew when it was an earlier incarnation.
    pub fn index(&self, id: NodeId) -> Option<usize> {
        let member = Member::of(id);
        self.nodes.iter().position(|local| local.member == member)
    }

    /// Lets exactly these links be, each made by the later of its nodes. Others are closed with what is on them; new ones come up as soon as they can.
    pub fn set_links(&self, links: &BTreeSet<Pair>) {
        self.lock_links().clone_from(links);
        self.open_gates();
    }

    /// The links that may be.
    pub fn wanted_links(&self) -> BTreeSet<Pair> {
        self.lock_links().clone()
    }

    fn lock_links(&self) -> MutexGuard<'_, BTreeSet<Pair>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_gates(&self) {
        let links = self.wanted_links();
        for (index, local) in self.nodes.iter().enumerate() {
            let wanted = self.gate(index, &links);
            local.gate.send_if_modified(|gate| {
                let changed = *gate != wanted;
                *gate = wanted;
                changed
            });
        }
        // Only those that may be linked: to dial all others would cost a handshake for every two nodes. The later one dials,
        // so that nobody keeps dialing one that was added and is gone.
        for (one, other) in links {
            if let (Some(from), Some(to)) = (self.node(one.max(other)), self.node(one.min(other))) {
                from.add_peer(to.address().to_string());
            }
        }
    }

    fn gate(&self, index: usize, links: &BTreeSet<Pair>) -> Gate {
        let others = links.iter().filter_map(|pair| other_end(*pair, index));
        Gate::Only(others.filter_map(|other| self.nodes.get(other)).map(|local| local.member).collect())
    }

    /// The links that are up at both ends.
    pub fn links(&self) -> BTreeSet<Pair> {
        let neighbours: Vec<BTreeSet<Member>> = (0..self.len()).map(|index| self.neighbours(index)).collect();
        let sees = |a: usize, b: usize| neighbours[a].contains(&self.nodes[b].member);
        let pairs = (0..self.len()).flat_map(|a| (a + 1..self.len()).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| sees(a, b) && sees(b, a)).collect()
    }

    fn neighbours(&self, index: usize) -> BTreeSet<Member> {
        let seen = |node: &Node| node.hub().with(|machine, _| machine.neighbour_ids().map(Member::of).collect());
        self.node(index).map(seen).unwrap_or_default()
    }

    /// Waits until exactly these links are up.
    pub async fn wait_for_links(&self, links: &BTreeSet<Pair>) {
        let wanted: BTreeSet<Pair> = links.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        while self.links() != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Stops all nodes cleanly.
    pub async fn stop(self) -> Vec<Result<Stopped, MeshError>> {
        let mut ends = Vec::new();
        for node in self.nodes.into_iter().filter_map(|local| local.node) {
            ends.push(node.stop().await);
        }
        ends
    }
}

fn other_end((one, other): Pair, index: usize) -> Option<usize> {
    match () {
        () if one == index => Some(other),
        () if other == index => Some(one),
        () => None,
    }
}

fn make_members(options: &LocalOptions) -> Result<Vec<PathBuf>, MeshError> {
    (0..options.nodes).map(|number| make_member(options, number)).collect()
}

/// The directory of a member, which is made unless it is there from an earlier run. The first one founds the mesh.
fn make_member(options: &LocalOptions, number: u16) -> Result<PathBuf, MeshError> {
    let name = |number: u16| format!("{}{number}", options.name);
    let dir = |number: u16| options.dir.join(name(number));
    let path = dir(number);
    if mesh::is_member(&path) {
        return Ok(path); // started again where it was stopped
    }
    if number == 0 && mesh::is_member(&dir(1)) {
        // Of a version that began with 1: its nodes would be in one mesh, and this one in another.
        let (first, second) = (name(0), name(1));
        let place = options.dir.display();
        return Err(MeshError::Config(format!(
            "{place} has a node {second} and no node {first}, as earlier versions made it: use another directory"
        )));
    }
    if number == 0 {
        let mesh = options.settings.mesh.name.as_deref().unwrap_or("up");
        let founding = options.settings.mesh.founding().for_links(loss_after(options));
        mesh::found_with(&path, mesh, &name(number), Existing::Keep, &founding)?;
    } else {
        let invitation = mesh::invite(&dir(0), &name(number), Vec::new())?;
        mesh::join(&path, &invitation, Existing::Keep)?;
    }
    Ok(path)
}

/// How long a link of these nodes may be silent.
fn loss_after(options: &LocalOptions) -> Duration {
    options.settings.node.loss_after.map_or(Duration::ZERO, |Time(time)| time)
}

fn config(options: &LocalOptions, dir: &Path) -> Result<NodeConfig, String> {
    let mut settings = options.settings.clone();
    settings.node.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)).to_string());
    settings.node.discovery = Some(false);
    settings.node.stop_within.get_or_insert(Time(STOP_WITHIN));
    settings.api.socket = Some(dir.join("sock"));
    NodeConfig::resolve(settings, dir).map_err(|problems| problems.to_string())
}
