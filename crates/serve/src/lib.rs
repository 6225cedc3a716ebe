//! HTTP connections with limits that hold: for the clients of a node, and for the browsers that look at it.
//!
//! Hyper has most of what is needed, but its limits are those of one connection. Here is what they leave open: who has to
//! go when all places are taken, how long a silent or slow peer is waited for, and how large a header may really be.
//!
//! | module | what it is |
//! |---|---|
//! | `server` | accepts, finds places, ends in bounded time |
//! | `places` | who is served, and who has to go for a newcomer |
//! | `delivery` | what to do if an answer was not read |
//! | `patience` | how long a slow peer may take |
//! | `takeover` | connections that stop to be HTTP |
//! | `size` | how large headers and bodies may be |

mod delivery;
mod patience;
mod places;
mod server;
mod size;
mod takeover;

pub use delivery::Delivery;
pub use patience::Limits;
pub use server::{Listener, Port, serve, stopped};
pub use size::{BodyError, LARGEST_HEADER, read_body};
pub use takeover::{Presence, ReadHalf, Socket, Taken, Takeover, WriteHalf};
