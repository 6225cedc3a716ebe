//! A node in this program: no daemon, no socket, and an uncontended lock costs about a microsecond.

use std::net::SocketAddr;
use std::path::PathBuf;

use meshlock_node::config::{NodeConfig, Settings};
use meshlock_node::mesh::{self, Existing, Invitation};
use meshlock_node::node as daemon;

use crate::client::Client;
use crate::error::Error;

/// A node that runs in this program. [`stop`](Self::stop) it before the program ends: one that is dropped has crashed as
/// far as the mesh can tell, and tokens that are in it are lost.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), meshlock::Error> {
/// # let place = tempfile::tempdir().unwrap();
/// # let directory = place.path();
/// let node = meshlock::Node::builder(directory).listen(([127, 0, 0, 1], 0)).discovery(false).start().await?;
/// let client = node.client();
/// let guard = client.lock("dock-3").await?;
/// guard.release().await?;
/// node.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Node {
    node: daemon::Node,
    directory: PathBuf,
}

/// How a node is to be started. What is not said comes from `meshlock.toml` in its directory, or is the default.
#[derive(Clone, Debug)]
#[must_use = "nothing happens until it is started"]
pub struct NodeBuilder {
    directory: PathBuf,
    text: String,
    settings: Settings,
    invitation: Option<String>,
    serves_clients: bool,
}

/// How a node ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// Resources whose token was here and went to a neighbour.
    pub passed: Vec<String>,
    /// Resources that stay here until the node starts again: no neighbour could take the token, or a client did not give
    /// back in time. Others wait for them meanwhile.
    pub kept: Vec<String>,
}

impl Node {
    /// A node with its keys and its state in this directory, which is made if it is not there. No other process may use
    /// it at the same time.
    pub fn builder(directory: impl Into<PathBuf>) -> NodeBuilder {
        NodeBuilder {
            directory: directory.into(),
            text: String::new(),
            settings: Settings::default(),
            invitation: None,
            serves_clients: false,
        }
    }

    /// A client of this node.
    pub fn client(&self) -> Client {
        Client::embedded(self.node.hub().clone())
    }

    /// Its name in the mesh.
    pub fn name(&self) -> &str {
        &self.node.identity().name
    }

    /// Where other nodes reach it.
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// An invitation for one more member of the mesh, which finds the mesh at `peers` (`host:port`), or by beacons on the
    /// same network. Only the node that founded the mesh can invite. Secret, and for one node only.
    pub fn invite(&self, name: &str, peers: impl IntoIterator<Item = impl Into<String>>) -> Result<String, Error> {
        let peers = peers.into_iter().map(Into::into).collect();
        mesh::invite(&self.directory, name, peers).map(|invitation| invitation.to_string()).map_err(failed)
    }

    /// Stops cleanly: guards are lost, tokens go to neighbours, the rest is saved for the next start.
    pub async fn stop(self) -> Result<Stopped, Error> {
        let daemon::Stopped { passed, mut kept, held } = self.node.stop().await.map_err(failed)?;
        kept.extend(held.into_iter().map(|grant| grant.resource));
        kept.sort();
        kept.dedup();
        Ok(Stopped { passed, kept })
    }
}

impl NodeBuilder {
    /// Takes up this invitation if the directory has no membership yet. Without one the node founds a mesh of its own.
    pub fn invitation(mut self, invitation: impl Into<String>) -> Self {
        self.invitation = Some(invitation.into());
        self
    }

    /// Where other nodes reach it. Port 0 takes any that is free.
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.settings.node.listen = Some(address.into().to_string());
        self
    }

    /// Another node to connect to, as `host:port`. May be given several times.
    pub fn peer(mut self, peer: impl Into<String>) -> Self {
        self.settings.node.peers.get_or_insert_default().push(peer.into());
        self
    }

    /// Whether nodes on the same network find each other by beacons. They do if it is not said.
    pub fn discovery(mut self, discovery: bool) -> Self {
        self.settings.node.discovery = Some(discovery);
        self
    }

    /// Whether programs beside this one may use the node too, over its Unix socket. They may not if it is not said.
    pub fn serve_clients(mut self, serve: bool) -> Self {
        self.serves_clients = serve;
        self
    }

    /// More settings, as the text of a `meshlock.toml`. They count before those of the file in the directory.
    pub fn settings(mut self, toml: impl Into<String>) -> Self {
        self.text = toml.into();
        self
    }

    /// Starts the node, on this runtime.
    pub async fn start(self) -> Result<Node, Error> {
        let Self { directory, text, settings, invitation, serves_clients } = self;
        if let Some(invitation) = invitation.filter(|_| !mesh::is_member(&directory)) {
            let invitation = Invitation::parse(&invitation).map_err(failed)?;
            mesh::join(&directory, &invitation, Existing::Keep).map_err(failed)?;
        }
        let mut settings = settings.over(Settings::from_toml("settings", &text).map_err(failed)?);
        settings.node.dir = Some(directory.clone());
        let config = NodeConfig::of_program(settings).map_err(failed)?;
        let problems = config.check();
        if !problems.0.is_empty() {
            return Err(failed(problems));
        }
        let mut options = daemon::NodeOptions::new(config);
        options.serves_clients = serves_clients;
        let node = daemon::Node::start(options).await.map_err(failed)?;
        Ok(Node { node, directory })
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Node(Box::new(error))
}
