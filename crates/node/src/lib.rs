//! The network node of meshlock: the protocols of `meshlock-core` on real links, for real clients.
//!
//! ```text
//!   clients ---- http ----+                     +---- links (QUIC, beacons) ---- other nodes
//!                         +---- hub (machine) --+
//!   embedded program -----+                     +---- timer
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`http`] | the interface for clients |
//! | [`hub`] | the machine shared by links, clients and the timer |
//! | [`machine`] | everything a node decides: resources, requests, leases; a plain value without I/O, clock or thread |
//! | [`wire`] | what nodes say to each other, as bytes |
//! | [`links`] | neighbours: found, authenticated, watched |
//! | [`mesh`] | who is a member: keys, invitations, removals |
//! | [`node`] | all of it put together, with a clean end |
//! | `removals` | removed members: believed, obeyed, kept, passed on |
//! | [`audit_log`] | who held what, on disk |
//! | [`reload`] | what of the configuration changes at run time |
//! | [`record`] | traces of what happens, resource by resource |
//! | [`config`] | flags, environment and `meshlock.toml` |
//! | [`local`] | a whole mesh in one process, to try things out |

#![warn(missing_docs)]

pub mod audit_log;
pub mod config;
pub mod http;
pub mod hub;
pub mod links;
pub mod local;
pub mod machine;
pub mod mesh;
pub mod node;
pub mod record;
mod recovery;
pub mod reload;
mod removals;
pub mod wire;
