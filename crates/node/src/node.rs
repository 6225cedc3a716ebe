//! A node that runs: membership, machine, links and clients put together, and a clean end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::audit_log::AuditLog;
use crate::config::{NodeConfig, socket, token};
use crate::http::{HttpConfig, Server};
use crate::hub::Hub;
use crate::links::{Discovery, DoubleIdentity, FrameReceiver, Gate, LinkConfig, LinkId, LinkUser, Links, Peer};
use crate::machine::{HeldGrant, Machine, SavedError, Settings};
use crate::mesh::promises::ClientPlace;
use crate::mesh::state::{self, Run, Unusable};
use crate::mesh::{self, Charter, Identity, Incarnation, Kept, Member, MeshError};
use crate::record::Recorder;
use crate::recovery::{self, Begun};
use crate::reload::{self, Reloaded};
use crate::removals::RemovedMembers;

/// The shortest time between complaints that links cannot come up.
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(10);

/// What a node is started with.
#[derive(Debug)]
pub struct NodeOptions {
    /// From flags, environment and file.
    pub config: NodeConfig,
    /// With whom links are made; keep the sender to change it.
    pub gate: watch::Receiver<Gate>,
    /// Where beacons are sent, if the configuration wants them at all.
    pub discovery: Discovery,
    /// Records everything that happens.
    pub record: Option<Recorder>,
    /// Whether clients are served over sockets; a program that has the node in itself may not need them.
    pub serves_clients: bool,
}

impl NodeOptions {
    /// Links with all members, over QUIC, and clients are served.
    pub fn new(config: NodeConfig) -> Self {
        let (_, gate) = watch::channel(Gate::Everybody);
        let discovery = Discovery { interval: config.discovery_interval, ..Discovery::default() };
        Self { config, gate, discovery, record: None, serves_clients: true }
    }
}

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Membership or its files.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The file names another mesh.
    #[error(
        "this node is a member of mesh {has:?}, but the configuration names {wants:?}; change mesh.name, or join {wants:?} \
         with another directory"
    )]
    OtherMesh {
        /// The membership.
        has: String,
        /// The configuration.
        wants: String,
    },
    /// The member was removed from its mesh.
    #[error("{}", mesh::removed_words(mesh, name))]
    Removed {
        /// The mesh.
        mesh: String,
        /// The name of the member.
        name: String,
    },
    /// The configuration does not go with the mesh.
    #[error("{0}")]
    Configuration(String),
    /// Links.
    #[error(transparent)]
    Links(#[from] crate::links::StartError),
    /// The sockets for clients.
    #[error("{0}")]
    Clients(String),
}

/// A node that runs. Dropped without [`stop`](Self::stop) it has crashed, as far as the mesh can tell;
/// [`kill`](Self::kill) does that and tells when it is over.
#[derive(Debug)]
pub struct Node {
    hub: Arc<Hub>,
    links: Links,
    server: Option<Server>,
    run: Run,
    identity: Arc<Identity>,
    stop_within: Duration,
    socket: Option<PathBuf>,
    recovers: bool,
    audit: Option<AuditLog>,
    was_removed: watch::Receiver<bool>,
    /// They end with the node, however that ends.
    tasks: JoinSet<()>,
}

/// How a node ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Resources whose token was here and went to a neighbour.
    pub passed: Vec<String>,
    /// Resources whose token, or something that others wait for, is kept here until the node is started again.
    pub kept: Vec<String>,
    /// Grants that are kept, because their clients did not say in time that they stopped. They are held again when the
    /// node is started again.
    pub held: Vec<HeldGrant>,
}

impl Node {
    /// Starts a node; without a membership it founds a mesh of its own.
    pub async fn start(options: NodeOptions) -> Result<Self, StartError> {
        let NodeOptions { config, gate, discovery, record, serves_clients } = options;
        let identity = Arc::new(mesh::found_default_with(
            &config.dir,
            config.mesh.as_deref(),
            &config.founding.for_links(config.loss_after),
        )?);
        if let Some(wants) = config.mesh.as_ref().filter(|wants| **wants != identity.mesh) {
            return Err(StartError::OtherMesh { has: identity.mesh.clone(), wants: wants.clone() });
        }
        let kept = Kept::load(&config.dir, &identity)?;
        if kept.members().contains(&identity.member) {
            return Err(StartError::Removed { mesh: identity.mesh.clone(), name: identity.name.clone() });
        }
        let stored_charter = Charter::load(&config.dir, &identity)?;
        let charter = checked(&config, stored_charter.clone())?;
        let (run, machine, recovery) = begin(&config, &identity, charter.as_ref(), record.as_ref())?;
        let (hub, removals) = Hub::new(machine);
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&hub).keep_time());
        let audit = begin_audit(&config, &hub);
        let (node, node_now) = watch::channel(identity.member.node(run.incarnation));
        let mut gate = gate;
        let recovers = recovery.is_some();
        if let Some(Begun { keep, promises, wait }) = recovery {
            let clients = if config.tcp.is_some() { ClientPlace::Elsewhere } else { ClientPlace::Here };
            hub.note_in(promises, clients);
            if !wait.is_zero() {
                tracing::warn!("clients of the former run may rely on what they hold for {wait:?}: no links before");
                let (closed, open) = recovery::closed_for(wait, gate);
                gate = closed;
                tasks.spawn(open);
            }
            let (hub, identity) = (Arc::clone(&hub), Arc::clone(&identity));
            let keep = Arc::new(Mutex::new(keep));
            let dir = config.dir.clone();
            let founding_voters = charter.as_ref().map_or_else(Vec::new, |charter| charter.voters().to_vec());
            tasks.spawn(recovery::Keeper { hub, dir, founding_voters, keep, identity, node }.watch());
        }

        let (removed, removed_members) =
            RemovedMembers::new(config.dir.clone(), Arc::clone(&identity), Arc::clone(&hub), kept, stored_charter);
        let (tell_removal, told_removals) = mpsc::unbounded_channel();
        tasks.spawn(recovery::remove(Arc::clone(&hub), removed.facts(), removed_members.clone()));
        let was_removed = removed.own();
        tasks.spawn(removed.watch(removals, told_removals));

        let link_config = |listen| LinkConfig {
            identity: Arc::clone(&identity),
            node: node_now.clone(),
            installation: run.installation,
            listen,
            peers: config.peers.clone(),
            discovery: config.discovery.then_some(discovery),
            loss_after: config.loss_after,
            transport: config.transport,
            removed: removed_members.clone(),
            gate: gate.clone(),
        };
        let user: Arc<dyn LinkUser> = Arc::new(Remembering::new(Arc::clone(&hub), config.dir.clone(), identity.member));
        let started = start_links(&config.listen, link_config, &user).map_err(StartError::from);
        let started = match started {
            Err(error) => Err(error),
            Ok(links) if !serves_clients => Ok((links, None)),
            Ok(links) => match serve(&config, &hub, tell_removal).await {
                Ok(server) => Ok((links, Some(server))),
                Err(error) => {
                    links.stop().await;
                    Err(error)
                }
            },
        };
        let (links, server) = match started {
            Ok(started) => started,
            Err(error) => {
                // What the last run saved was taken away: it must be there for the next start too.
                tasks.shutdown().await;
                if hub.with(|machine, _| machine.may_go_on()) {
                    run.end(&hub.with(|machine, _| machine.save()))?;
                }
                return Err(error);
            }
        };
        let socket = serves_clients.then(|| config.socket.clone());
        let stop_within = config.stop_within;
        Ok(Self { hub, links, server, run, identity, stop_within, socket, recovers, audit, was_removed, tasks })
    }

    /// For clients in this process.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Who this is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where other nodes reach it.
    pub fn address(&self) -> SocketAddr {
        self.links.address()
    }

    /// Connects to another node by address, and reconnects until the node stops.
    pub fn add_peer(&self, peer: impl Into<String>) {
        self.links.add_peer(peer);
    }

    /// Takes over what can change while the node runs, and names what cannot. What was asked for by flags at the start
    /// stays, if it is in `new` as well.
    pub fn reload(&mut self, old: &NodeConfig, new: &NodeConfig) -> Reloaded {
        let mut changed = Vec::new();
        for peer in new.peers.iter().filter(|peer| !old.peers.contains(peer)) {
            self.links.add_peer(peer.clone());
            changed.push(format!("node.peers: connects to {peer} from now on"));
        }
        let mut needs_restart = reload::needs_restart(old, new);
        if old.peers.iter().any(|peer| !new.peers.contains(peer)) {
            needs_restart.push("node.peers (those that are no longer named are still connected to)");
        }
        if old.stop_within != new.stop_within {
            self.stop_within = new.stop_within;
            changed.push("node.stop-within".to_owned());
        }
        if old.create_on_first_use != new.create_on_first_use {
            changed.push("mesh.create-on-first-use".to_owned());
        }
        let file = new.file.as_ref().map(|file| file.display().to_string());
        let declared = (new.resources.clone(), file, new.create_on_first_use);
        changed.extend(self.hub.with(|machine, now| machine.redeclare(now, declared)));
        Reloaded { changed, needs_restart }
    }

    /// Waits until this member was removed from its mesh, its next start will know that, and its tokens went to neighbours
    /// as far as they could. From then on the node is of no use: it refuses all clients with
    /// [these words](mesh::removed_words), and [`stop`](Self::stop) ends it.
    pub async fn removed(&self) {
        if self.was_removed.clone().wait_for(|removed| *removed).await.is_err() {
            return std::future::pending().await;
        }
        // Neighbours close their links soon.
        self.wait_until(|machine| !machine.is_leaving() || !machine.has_neighbours()).await;
    }

    /// The Unix socket for clients.
    pub fn socket(&self) -> Option<&PathBuf> {
        self.socket.as_ref()
    }

    /// The TCP address for clients.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.server.as_ref().and_then(Server::tcp_address)
    }

    /// Stops cleanly: clients are told that they lose what they hold, tokens go to neighbours, the rest is saved. That
    /// includes what clients hold that did not say in time that they stopped, and whose leases are not over.
    pub async fn stop(mut self) -> Result<Stopped, MeshError> {
        let tokens = self.hub.with(|machine, _| machine.tokens_here());
        self.hub.with(|machine, now| machine.stop(now));
        // First clients stop what they do, then tokens go: each within its time.
        self.wait_until(|machine| !machine.anybody_lingers()).await;
        self.wait_until(|machine| !machine.is_leaving() || !machine.has_neighbours()).await;
        if let Some(server) = self.server {
            server.stop().await;
        }
        // Who leaves nothing behind says goodbye, so that nobody waits for it, and is another node when it comes back.
        let leaves = self.recovers && self.hub.with(|machine, _| machine.say_goodbye());
        self.links.stop().await;
        self.tasks.shutdown().await;
        self.hub.end_audit();
        if let Some(audit) = self.audit.take() {
            audit.finish();
        }
        let (kept, held, saved) =
            self.hub.with(|machine, _| (machine.still_needed_for(), machine.lingering(), machine.save()));
        if leaves {
            self.hub.clear_promises();
        } else if self.hub.with(|machine, _| machine.may_go_on()) {
            self.run.end(&saved)?;
        }
        let passed = tokens.into_iter().filter(|name| !kept.contains(name)).collect();
        Ok(Stopped { passed, kept, held })
    }
}

impl Node {
    /// Ends as a crash does: no goodbye, no token is given away, nothing is saved, and clients lose their connections.
    /// When it returns, the node can be started again from its directory, as its next incarnation.
    ///
    /// Neighbours see their links break at once, as if the process had been killed on a machine that goes on.
    pub async fn kill(mut self) {
        self.hub.kill();
        drop(self.server.take());
        self.tasks.shutdown().await;
        self.links.stop().await;
    }

    /// Waits for answers of clients and of other machines, but not longer than a stop may take.
    async fn wait_until(&self, done: impl Fn(&Machine) -> bool) {
        let until = Instant::now() + self.stop_within;
        while !self.hub.with(|machine, _| done(machine)) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The directory of the audit, in that of the node.
const AUDIT: &str = "audit";

/// A node without an audit is better than no node.
fn begin_audit(config: &NodeConfig, hub: &Hub) -> Option<AuditLog> {
    if !config.audit {
        return None;
    }
    match AuditLog::start(config.dir.join(AUDIT)) {
        Ok((sender, log)) => {
            hub.audit_in(sender);
            Some(log)
        }
        Err(error) => {
            tracing::warn!("no audit: no thread for it could be started: {error}");
            None
        }
    }
}

/// How the mesh recovers, if that goes with this node's configuration.
fn checked(config: &NodeConfig, charter: Option<Charter>) -> Result<Option<Charter>, StartError> {
    let Some(charter) = charter else { return Ok(None) };
    let (links, told) = charter.check_node(config.loss_after, &config.founding);
    told.iter().for_each(|words| tracing::warn!("{words}"));
    links.map_err(StartError::Configuration)?;
    Ok(Some(charter).filter(|charter| charter.recovery() != mesh::Recovery::None))
}

/// Begins a run, and makes the machine of what the last one saved, or a new one.
fn begin(
    config: &NodeConfig,
    identity: &Arc<Identity>,
    charter: Option<&Charter>,
    record: Option<&Recorder>,
) -> Result<(Run, Machine, Option<Begun>), StartError> {
    let since_1970 = mesh::clock::since_1970();
    // A founder that never had a link cannot have its tokens anywhere else: a crash need not be the end of them.
    let founds = identity.member == Member(0) && !state::has_met_others(&config.dir)?;
    let settings = |incarnation: Incarnation| Settings {
        mesh: identity.mesh.clone(),
        id: identity.member.node(incarnation),
        name: identity.name.clone(),
        founds_registry: founds,
        first_fence: u64::from(incarnation.0) << 40,
        create_on_first_use: config.create_on_first_use,
        declared: config.resources.clone(),
        declared_in: config.file.as_ref().map(|file| file.display().to_string()),
        seed: since_1970.as_nanos() as u64 ^ u64::from(identity.member.0),
        began_unix_ms: u64::try_from(since_1970.as_millis()).unwrap_or_default(),
        most_requests: 100_000,
    };
    let (run, resumed) = state::begin_run(&config.dir, |incarnation, saved| {
        let resumed = Machine::resume(settings(incarnation), saved).map_err(|error| match error {
            SavedError::Newer(_) | SavedError::Older => Unusable::OtherVersion(error.to_string()),
            SavedError::Unreadable(_) | SavedError::SomebodyElse(..) => Unusable::Damaged(error.to_string()),
        })?;
        Ok((resumed, saved.to_vec()))
    })?;
    let settings = settings(run.incarnation);
    let Some(charter) = charter else {
        let mut machine = resumed.map_or_else(|| Machine::new(settings), |(machine, _)| machine);
        if let Some(recorder) = record {
            machine.set_recorder(recorder.observer(machine.settings()));
        }
        return Ok((run, machine, None));
    };
    let saved = resumed.map(|(_, saved)| saved);
    let (machine, begun) = recovery::begin(identity, charter, &run, settings, saved.as_deref(), record)?;
    Ok((run, machine, Some(begun)))
}

fn start_links(
    listen: &[SocketAddr],
    config: impl Fn(SocketAddr) -> LinkConfig,
    user: &Arc<dyn LinkUser>,
) -> Result<Links, crate::links::StartError> {
    let (last, others) = match listen.split_last() {
        Some((last, others)) => (*last, others),
        None => (SocketAddr::from(([0; 4], crate::config::PORT)), listen),
    };
    for address in others {
        if let Ok(links) = Links::start(config(*address), Arc::clone(user)) {
            return Ok(links);
        }
    }
    Links::start(config(last), Arc::clone(user))
}

async fn serve(
    config: &NodeConfig,
    hub: &Arc<Hub>,
    removals: mpsc::UnboundedSender<Vec<u8>>,
) -> Result<Server, StartError> {
    socket::prepare_directory(&config.socket).map_err(StartError::Clients)?;
    let token = match &config.token_file {
        Some(file) => Some(token::read_or_make(file)?),
        None => None,
    };
    let told = move |removal: Vec<u8>| removals.send(removal).map_err(|_| "the node is shutting down".to_owned());
    let http = HttpConfig {
        socket: Some(config.socket.clone()),
        socket_group: config.socket_group.clone(),
        tcp: config.tcp,
        token,
        max_clients: config.max_clients,
        audit: config.audit.then(|| config.dir.join(AUDIT)),
        removals: Some(Arc::new(told)),
        ..HttpConfig::default()
    };
    Server::start(http, Arc::clone(hub)).await.map_err(|error| StartError::Clients(error.to_string()))
}

/// A founder notes durably that there are others, before the first of them is heard. As long as that fails it has no
/// links.
struct Remembering {
    hub: Arc<Hub>,
    dir: PathBuf,
    noted: Mutex<Noted>,
}

enum Noted {
    /// Not since this founder was started, and when it was complained about last.
    Never(Option<Instant>),
    Durably,
}

impl Remembering {
    fn new(hub: Arc<Hub>, dir: PathBuf, member: Member) -> Self {
        // Only tokens of a founder that never had a link are made anew.
        let noted = if member == Member(0) { Noted::Never(None) } else { Noted::Durably };
        Self { hub, dir, noted: Mutex::new(noted) }
    }

    fn note(&self) -> Result<(), String> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let Noted::Never(complained) = &mut *noted else { return Ok(()) };
        if let Err(error) = state::note_others(&self.dir) {
            if complained.is_none_or(|last| last.elapsed() > BETWEEN_COMPLAINTS) {
                *complained = Some(Instant::now());
                tracing::error!(
                    "no links, because this node cannot note that there are others: {error}; it serves its own clients \
                     and tries again. Make room on the disk"
                );
            }
            return Err("it cannot store that it has a link; see its log".to_owned());
        }
        *noted = Noted::Durably;
        Ok(())
    }
}

impl LinkUser for Remembering {
    fn up(&self, link: LinkId, peer: &Peer) -> Result<FrameReceiver, String> {
        self.note()?;
        self.hub.up(link, peer)
    }

    fn received(&self, link: LinkId, frame: &[u8]) -> Result<(), String> {
        self.hub.received(link, frame)
    }

    fn down(&self, link: LinkId, reason: &str) {
        self.hub.down(link, reason);
    }

    fn alarm(&self, double: &DoubleIdentity) {
        self.hub.alarm(double);
    }
}

#[cfg(test)]
mod tests;
