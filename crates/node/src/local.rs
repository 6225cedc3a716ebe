//! A whole mesh of real nodes with real sockets in one process: for trying out, for tests and for benchmarks.
//!
//! Every node has a directory, keys and links of its own, as if it were alone on a machine. Who may be linked with whom
//! is decided by a [`Gate`] at every node, so that a topology can be given, and changed while they run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::config::{NodeConfig, Settings};
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
    /// What the nodes are called: this and a number from 1.
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

/// Two nodes of a local mesh, by index.
pub type Pair = (usize, usize);

/// A mesh in this process.
#[derive(Debug)]
pub struct LocalMesh {
    nodes: Vec<LocalNode>,
}

#[derive(Debug)]
struct LocalNode {
    node: Node,
    gate: watch::Sender<Gate>,
}

impl LocalMesh {
    /// Makes keys and directories, and starts the nodes with these links.
    pub async fn start(options: &LocalOptions, links: &BTreeSet<Pair>) -> Result<Self, StartError> {
        let dirs = make_members(options)?;
        let mut nodes = Vec::new();
        for (index, dir) in dirs.iter().enumerate() {
            let (gate, seen) = watch::channel(gate(index, links));
            let config = config(options, dir).map_err(StartError::Clients)?;
            let serves_clients = options.serves_clients;
            let record = options.record.clone();
            let options = NodeOptions { gate: seen, record, serves_clients, ..NodeOptions::new(config) };
            nodes.push(LocalNode { node: Node::start(options).await?, gate });
        }
        let mesh = Self { nodes };
        mesh.introduce();
        Ok(mesh)
    }

    /// Tells everybody the addresses of those after it.
    fn introduce(&self) {
        for (index, from) in self.nodes.iter().enumerate() {
            for to in self.nodes.iter().skip(index + 1) {
                from.node.add_peer(to.node.address().to_string());
            }
        }
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One of the nodes.
    pub fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index).map(|local| &local.node)
    }

    /// All nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(|local| &local.node)
    }

    /// The hub of a node.
    pub fn hub(&self, index: usize) -> Option<Arc<Hub>> {
        self.node(index).map(|node| Arc::clone(node.hub()))
    }

    /// Lets exactly these links be. Others are closed with what is on them; new ones come up as soon as they can.
    pub fn set_links(&self, links: &BTreeSet<Pair>) {
        for (index, local) in self.nodes.iter().enumerate() {
            let wanted = gate(index, links);
            local.gate.send_if_modified(|gate| {
                let changed = *gate != wanted;
                *gate = wanted;
                changed
            });
        }
    }

    /// The links that are up at both ends.
    pub fn links(&self) -> BTreeSet<Pair> {
        let neighbours: Vec<BTreeSet<Member>> = self
            .nodes()
            .map(|node| node.hub().with(|machine, _| machine.neighbour_ids().map(Member::of).collect()))
            .collect();
        let sees = |a: usize, b: usize| neighbours[a].contains(&member(b));
        let pairs = (0..self.len()).flat_map(|a| (a + 1..self.len()).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| sees(a, b) && sees(b, a)).collect()
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
        for local in self.nodes {
            ends.push(local.node.stop().await);
        }
        ends
    }
}

/// Members have the numbers of their indices: the first one founds the mesh.
fn member(index: usize) -> Member {
    Member(u16::try_from(index).unwrap_or(u16::MAX))
}

fn gate(index: usize, links: &BTreeSet<Pair>) -> Gate {
    let other = |&(a, b): &Pair| match () {
        () if a == index => Some(member(b)),
        () if b == index => Some(member(a)),
        () => None,
    };
    Gate::Only(links.iter().filter_map(other).collect())
}

fn make_members(options: &LocalOptions) -> Result<Vec<PathBuf>, MeshError> {
    let name = |index: u16| format!("{}{}", options.name, index + 1);
    let dir = |index: u16| options.dir.join(name(index));
    let dirs: Vec<PathBuf> = (0..options.nodes).map(dir).collect();
    let mesh = options.settings.mesh.name.as_deref().unwrap_or("up");
    for (index, path) in (0..).zip(&dirs) {
        if mesh::is_member(path) {
            continue; // started again where it was stopped
        }
        match dirs.first() {
            Some(founder) if index > 0 => {
                let invitation = mesh::invite(founder, &name(index), Vec::new())?;
                mesh::join(path, &invitation, Existing::Keep)?;
            }
            Some(_) | None => drop(mesh::found(path, mesh, &name(index), Existing::Keep)?),
        }
    }
    Ok(dirs)
}

fn config(options: &LocalOptions, dir: &Path) -> Result<NodeConfig, String> {
    let mut settings = options.settings.clone();
    settings.node.listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)).to_string());
    settings.node.discovery = Some(false);
    settings.api.socket = Some(dir.join("sock"));
    NodeConfig::resolve(settings, dir).map_err(|problems| problems.to_string())
}
