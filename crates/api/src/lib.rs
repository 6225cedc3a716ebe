//! What a client and a node of meshlock say to each other, as plain types that are written as JSON.
//!
//! | module | what it is |
//! |---|---|
//! | [`request`] | asking for units or a session, and how a request is doing |
//! | [`resource`] | what can be locked: its kind, capacity and protocol |
//! | [`status`] | who holds what and who waits, at every node that answers |
//! | [`stream`] | the lines of one connection that carries all requests of a client |
//! | [`event`] | what happens, as it happens |
//! | [`problem`] | why something was refused |
//! | [`duration`] | times such as `500ms`, `10s` or `2m` in flags, files and addresses |
//! | [`text`] | texts of clients: what may stand in them, and how they are shown |
//! | [`socket`] | where a node listens and its clients look, by default |
//!
//! The same types serve the HTTP interface, the client library and a node that runs inside a program.

#![warn(missing_docs)]

pub mod duration;
pub mod event;
pub mod problem;
pub mod request;
pub mod resource;
pub mod revocation;
pub mod socket;
pub mod status;
pub mod stream;
pub mod text;

pub use event::{Event, What};
pub use problem::{Problem, Reason};
pub use request::{Expiry, MOST_PARTS, Mode, NewPart, NewRequest, PartInfo, Place, RequestInfo, State, Urgency};
pub use resource::{Definition, Kind, NewResource, Order, Policy, Protocol, ResourceChange, ResourceInfo};
pub use revocation::{AuditGrant, AuditRecord, Audited, NewRevocation, Revocation};
pub use status::{Link, MeshStatus, Missing, NodeInfo, OpenRepair, OutOfReach, RecoveryStatus, ResourceStatus, Row};
