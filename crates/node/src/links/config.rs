//! What the links of a node are told when they start.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use meshlock_core::NodeId;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::mesh::{Identity, Member};

/// The shortest limit after which a silent neighbour counts as lost.
pub const SHORTEST_LOSS_AFTER: Duration = Duration::from_millis(100);

/// The longest such limit.
pub const LONGEST_LOSS_AFTER: Duration = Duration::from_secs(60);

/// What the links of a node are told when they start.
#[derive(Debug)]
pub struct LinkConfig {
    /// Who this node is.
    pub identity: Arc<Identity>,
    /// Its number in the protocols; its member is that of the identity. When it changes, because the node begins anew,
    /// all links are made anew.
    pub node: watch::Receiver<NodeId>,
    /// Drawn when its directory took up its invitation: tells two machines with one invitation apart.
    pub installation: u64,
    /// Where it listens and whence it dials. Port 0 takes any free one.
    pub listen: SocketAddr,
    /// Others by address, `host:port`. Names are resolved again at each try.
    pub peers: Vec<String>,
    /// Finding others on the local medium, without addresses.
    pub discovery: Option<Discovery>,
    /// How long a neighbour may be silent before its link counts as lost.
    pub loss_after: Duration,
    /// What carries the links. All nodes of a mesh use the same.
    pub transport: Transport,
    /// Members that are members no longer.
    pub removed: watch::Receiver<BTreeSet<Member>>,
    /// With whom links are made at all.
    pub gate: watch::Receiver<Gate>,
}

impl LinkConfig {
    /// The limit for silent neighbours if it is not configured.
    pub const LOSS_AFTER: Duration = Duration::from_millis(2500);
}

/// With whom links are made: shapes a topology, and moves nodes about in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// All members.
    #[default]
    Everybody,
    /// These, if they can be reached; links to others are closed.
    Only(BTreeSet<Member>),
}

impl Gate {
    /// Whether links to this member may be.
    pub fn admits(&self, member: Member) -> bool {
        match self {
            Self::Everybody => true,
            Self::Only(members) => members.contains(&member),
        }
    }
}

/// What carries the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// QUIC: short delays on lossy networks; links survive when the dialing side changes its address.
    #[default]
    Quic,
    /// TCP with TLS: less work per frame on quiet wired networks.
    Tcp,
}

/// Finding others on the local medium by multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// How often this node says that it is there; a quarter as often when nothing has changed for a while.
    pub interval: Duration,
    /// The IPv4 group.
    pub group: Ipv4Addr,
    /// The port of the group, for IPv4 and IPv6.
    pub port: u16,
}

impl Default for Discovery {
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), group: Ipv4Addr::new(239, 255, 74, 11), port: 7412 }
    }
}

/// Why links cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The limit for silent neighbours is out of bounds.
    #[error(
        "a neighbour cannot count as lost after {0:?}: choose between {SHORTEST_LOSS_AFTER:?} and \
             {LONGEST_LOSS_AFTER:?}"
    )]
    LossAfter(Duration),
    /// Beacons without a pause, or to a group that is none.
    #[error("discovery needs an interval of at least 10 ms and a multicast group (224.0.0.0 to 239.255.255.255), not \
             {:?} and {}", .0.interval, .0.group)]
    Discovery(Discovery),
    /// The identity cannot be used.
    #[error("the identity of this node cannot be used: {0}; ask for a new invitation")]
    Identity(String),
    /// The number in the protocols is not one of this member.
    #[error("node {} is member {}, but the identity is that of member {}", node.0, Member::of(*node).0, member.0)]
    Node {
        /// The number in the protocols.
        node: NodeId,
        /// The member of the identity.
        member: Member,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}; choose another address, or port 0 for any free port")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
}
