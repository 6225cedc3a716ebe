//! The interface for clients: HTTP with JSON, over a Unix socket or over TCP with a bearer token.
//!
//! `docs/http-api.md` is the guide for users, `docs/openapi.json` the reference for programs; a test holds it against
//! this code.
//!
//! | module | what it is |
//! |---|---|
//! | `server` | listens on the socket and on TCP, ends in bounded time; connections are driven by `meshlock-serve` |
//! | `socket` | the socket file: whose it is, who may use it |
//! | `guard` | who may ask over TCP |
//! | `routes` | which function answers which address |
//! | `requests`, `resources`, `mesh`, `operators`, `streams` | those functions |
//! | `stream`, `outlet` | one connection for all requests of a client: what comes in, what goes out |
//! | `parts` | bodies, queries and names as they come in, with mistakes told as problems |
//! | `answer` | status codes |
//! | `limits` | what may come in, for that description |
//! | `openapi` | the description of all this for programs |

mod answer;
mod guard;
mod limits;
mod mesh;
mod openapi;
mod operators;
mod outlet;
mod parts;
mod requests;
mod resources;
mod routes;
mod server;
mod socket;
mod stream;
mod streams;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use meshlock_serve::Limits;
pub use openapi::document as openapi_document;
pub use server::{HttpError, Server};

/// Takes a signed removal of a member, to be verified and spread. An error says why it is refused.
pub type TakeRemoval = Arc<dyn Fn(Vec<u8>) -> Result<(), String> + Send + Sync>;

/// Where a node serves its clients.
#[derive(Clone)]
pub struct HttpConfig {
    /// The socket file. A process that can open it may do everything.
    pub socket: Option<PathBuf>,
    /// The group that may open the socket file beside its owner.
    pub socket_group: Option<String>,
    /// An address for clients elsewhere. Needs a token.
    pub tcp: Option<SocketAddr>,
    /// What clients over TCP have to know.
    pub token: Option<String>,
    /// How many clients may be connected at a time, for each of the two. For one more, the one that was silent for longest
    /// is disconnected; if all are being answered, it is refused.
    pub max_clients: usize,
    /// Takes signed removals; without it they are refused.
    pub removals: Option<TakeRemoval>,
    /// The directory of the audit; without it there is none to be read.
    pub audit: Option<PathBuf>,
    /// How long slow clients may take.
    pub limits: Limits,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            socket: None,
            socket_group: None,
            tcp: None,
            token: None,
            max_clients: 4_096,
            removals: None,
            audit: None,
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token stays out of logs.
        f.debug_struct("HttpConfig")
            .field("socket", &self.socket)
            .field("socket_group", &self.socket_group)
            .field("tcp", &self.tcp)
            .field("max_clients", &self.max_clients)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
