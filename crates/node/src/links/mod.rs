//! Neighbours: found on the local medium or by address, authenticated, watched, reconnected.
//!
//! A link is one connection with one ordered stream of frames in each direction. This module makes links and reports
//! them to a [`LinkUser`]; what the frames say is not its business.
//!
//! ```text
//!   dialing (addresses, beacons) --+                                      +--> LinkUser::up
//!                                  +-- handshake -- hello -- table -------+--> LinkUser::received
//!   listener ----------------------+   (both ways)  (who)    (one each)   +--> LinkUser::down
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `manager` | [`Links`]: starts and stops everything |
//! | `tls` | who is let in: holders of the authority's certificates, and no other peer sees one |
//! | `transport`, `quic`, `udp`, `timer`, `tcp`, `frames` | connections and whole frames on them |
//! | `hello`, `link`, `table` | one link from its first frame to its end; at most one to each member |
//! | `control`, `doubles` | what links say on their own account; two live nodes with one identity |
//! | `queue` | what waits to be sent, bounded |
//! | `dialing`, `waiting` | retries with backoff |
//! | `beacon`, `discovery`, `interfaces` | finding others on the local medium |

mod beacon;
mod config;
mod context;
mod control;
mod dialing;
mod discovery;
mod doubles;
mod frames;
#[doc(hidden)]
pub mod fuzz;
mod hello;
mod interfaces;
mod link;
mod manager;
mod queue;
mod quic;
mod table;
mod tcp;
mod timer;
mod tls;
mod transport;
mod udp;
mod waiting;

use std::net::SocketAddr;

use meshlock_core::NodeId;

pub use config::{Discovery, Gate, LONGEST_LOSS_AFTER, LinkConfig, SHORTEST_LOSS_AFTER, StartError, Transport};
pub use control::DoubleIdentity;
pub use hello::{HELLO_VERSION, Hello};
pub use manager::Links;
pub use queue::{FrameReceiver, FrameSender, LONGEST_QUEUE, QueueFull, frame_queue};

/// A neighbour at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number in the protocols: member and incarnation.
    pub node: NodeId,
    /// Its name, as its certificate says.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
}

/// A link. A new connection to the same neighbour is another link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// The user of links. Calls about one link come in order: `up`, any number of `received`, `down`; there is at most one
/// link to a node at a time, and its `down` comes before the `up` of the next. None of them blocks.
pub trait LinkUser: Send + Sync + 'static {
    /// A link has come up. What is to be sent over it comes out of the receiver, whole frames in order; when the sender
    /// is dropped the link is closed. An error refuses the link with this reason: then it was never up.
    fn up(&self, link: LinkId, peer: &Peer) -> Result<FrameReceiver, String>;

    /// A frame has arrived. An error closes the link with this reason, and hurts nothing else.
    fn received(&self, link: LinkId, frame: &[u8]) -> Result<(), String>;

    /// The link is gone.
    fn down(&self, link: LinkId, reason: &str);

    /// Two live nodes have one identity, perhaps that of this node.
    fn alarm(&self, _double: &DoubleIdentity) {}
}

/// A frame to be sent, shared by all links it goes to.
pub type Outgoing = std::sync::Arc<[u8]>;

/// The longest frame that is sent or accepted, in bytes.
pub const LONGEST_FRAME: usize = 1 << 20;
