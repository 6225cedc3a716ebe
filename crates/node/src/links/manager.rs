//! Starts and stops the links of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use super::beacon::Beacons;
use super::context::Context;
use super::dialing::keep_dialing;
use super::discovery::discover;
use super::link::{Direction, live};
use super::table::LinkTable;
use super::tls::Tls;
use super::transport::{Endpoint, canonical};
use super::waiting::Warnings;
use super::{LONGEST_LOSS_AFTER, LinkConfig, LinkUser, SHORTEST_LOSS_AFTER, StartError};
use crate::mesh::{Identity, Member};

/// Connections that may be busy with handshake and hello at the same time; more are ignored.
const MOST_HANDSHAKES: usize = 64;

/// From so many on, a dialer must first prove that its address is its own.
const MANY_HANDSHAKES: usize = 16;

/// The shortest time between beacons.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The links of a node. Dropped or stopped, all of them close.
pub struct Links {
    /// Only until they stop.
    context: Option<Arc<Context>>,
    endpoint: Arc<Endpoint>,
    address: SocketAddr,
    runtime: Handle,
    peers: Mutex<BTreeSet<String>>,
    foreign_beacons: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    /// Closes when the last task has ended.
    ended: mpsc::Receiver<Infallible>,
}

impl Links {
    /// Listens, dials, and reports to `user` from now on. Must be called inside a Tokio runtime with time and I/O.
    pub fn start(config: LinkConfig, user: Arc<dyn LinkUser>) -> Result<Self, StartError> {
        let LinkConfig { identity, node, installation, listen, peers, discovery, loss_after, transport, removed, gate } =
            config;
        if !(SHORTEST_LOSS_AFTER..=LONGEST_LOSS_AFTER).contains(&loss_after) {
            return Err(StartError::LossAfter(loss_after));
        }
        if let Some(discovery) = discovery.filter(|d| d.interval < SHORTEST_INTERVAL || !d.group.is_multicast()) {
            return Err(StartError::Discovery(discovery));
        }
        let first = *node.borrow();
        if Member::of(first) != identity.member {
            return Err(StartError::Node { node: first, member: identity.member });
        }
        let tls = Tls::of(&identity).map_err(StartError::Identity)?;
        let no_randomness = |_| StartError::Identity("the system has no randomness to give".to_owned());
        let beacons = Beacons::new(&identity.secret).map_err(no_randomness)?;
        let mut run = [0; 8];
        SystemRandom::new().fill(&mut run).map_err(no_randomness)?;

        let opened = Endpoint::open(transport, listen, tls, &reset_seed(&identity), loss_after);
        let opened = opened.and_then(|endpoint| Ok((endpoint.address()?, endpoint)));
        let (address, endpoint) = opened.map_err(|error| StartError::Listen { address: listen, error })?;
        let (endpoint, address) = (Arc::new(endpoint), canonical(address));

        let (stop, stopping) = watch::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let foreign_beacons = Arc::new(AtomicU64::new(0));
        let context = Arc::new(Context {
            me: identity.member,
            node,
            run: u64::from_be_bytes(run),
            installation,
            began: Instant::now(),
            user,
            endpoint: Arc::clone(&endpoint),
            table: LinkTable::new(),
            removed,
            gate,
            stop: stopping,
            handshakes: Arc::new(Semaphore::new(MOST_HANDSHAKES)),
            attempts: Mutex::new(BTreeMap::new()),
            held_off: Mutex::default(),
            warnings: Warnings::default(),
            links: AtomicU64::new(0),
            stirred: Notify::new(),
            foreign_beacons: Arc::clone(&foreign_beacons),
            _alive: alive,
        });
        tracing::info!(%address, node = first.0, name = identity.name, mesh = identity.mesh, ?transport, "listening");
        let runtime = Handle::current();
        runtime.spawn(listening(Arc::clone(&context)));
        if let Some(discovery) = discovery {
            runtime.spawn(discover(Arc::clone(&context), discovery, beacons, address));
        }
        let links = Self {
            context: Some(context),
            endpoint,
            address,
            runtime,
            peers: Mutex::new(BTreeSet::new()),
            foreign_beacons,
            stop,
            ended,
        };
        peers.into_iter().for_each(|peer| links.add_peer(peer));
        Ok(links)
    }

    /// Where links are accepted, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Dials this `host:port` until the links stop. One that is known already is not dialed twice.
    pub fn add_peer(&self, peer: impl Into<String>) {
        let peer = peer.into();
        let is_new = self.peers.lock().unwrap_or_else(PoisonError::into_inner).insert(peer.clone());
        if let (true, Some(context)) = (is_new, &self.context) {
            self.runtime.spawn(keep_dialing(Arc::clone(context), peer));
        }
    }

    /// How many beacons came from strangers, or were damaged.
    pub fn foreign_beacons(&self) -> u64 {
        self.foreign_beacons.load(Ordering::Relaxed)
    }

    /// Closes everything and waits until that is done: every link that was up has gone down with reason "stopped".
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        self.context = None;
        // Nothing is ever sent: this waits until the last task has dropped its end.
        let _ = self.ended.recv().await;
        self.endpoint.close().await;
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Links").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Only this member can make it, in every life the same.
fn reset_seed(identity: &Identity) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, identity.key.secret_der());
    hmac::sign(&key, b"reset key").as_ref().to_vec()
}

/// Lets members in.
async fn listening(context: Arc<Context>) {
    loop {
        let knock = tokio::select! {
            () = context.stopped() => return,
            knock = context.endpoint.knock() => knock,
        };
        let Some(knock) = knock else { return };
        let Ok(permit) = Arc::clone(&context.handshakes).try_acquire_owned() else {
            context.warn(knock.address(), "too many handshakes at once");
            knock.ignore();
            continue;
        };
        let busy = MOST_HANDSHAKES - context.handshakes.available_permits();
        let knock = if busy > MANY_HANDSHAKES { knock.proven() } else { Some(knock) };
        let Some(knock) = knock else { continue };
        let context = Arc::clone(&context);
        tokio::spawn(async move {
            let address = knock.address();
            let accepted = tokio::select! {
                () = context.stopped() => return,
                accepted = context.endpoint.accept(knock) => accepted,
            };
            match accepted {
                Ok(channel) => {
                    live(&context, channel, Direction::Accepted, Some(permit)).await;
                }
                Err(failure) if failure.suspicious => context.warn(address, &failure.reason),
                Err(failure) => tracing::debug!(%address, reason = failure.reason, "knocked, and went"),
            }
        });
    }
}
