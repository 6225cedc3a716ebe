//! What can go wrong, with the fix in words.

use std::io;
use std::time::Duration;

use meshlock_api::duration::display;
use meshlock_api::{OutOfReach, Problem, RequestInfo};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No node listens there.
    #[error(
        "no node answers at {place} ({cause}): start one there (`meshlock node`), or set MESHLOCK_SOCKET or MESHLOCK_URL \
         to where one listens"
    )]
    NoNode {
        /// Where we looked.
        place: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The socket is there, and this user may not open it.
    #[error(
        "this user may not open the socket {place}: its node serves its own user alone, unless `socket-group` in the \
         section [api] of the node's file (or MESHLOCK_SOCKET_GROUP) names a group of yours"
    )]
    Forbidden {
        /// The socket.
        place: String,
    },
    /// The node accepted a question and then did not answer it.
    #[error("the node at {place} does not answer ({cause}): is it stopped, or stuck?")]
    Silent {
        /// Where it is.
        place: String,
        /// How we know.
        cause: String,
    },
    /// Another user could have put the socket there.
    #[error(
        "the socket {socket} is not trusted: {place}: {why}. A process of another user behind it could read every request \
         and grant anything. Have it removed, or set MESHLOCK_SOCKET to the socket of your own node"
    )]
    Untrusted {
        /// The socket.
        socket: String,
        /// What is wrong: a directory above it, or itself.
        place: String,
        /// What is wrong with that.
        why: String,
    },
    /// An address that makes no sense.
    #[error("{0}")]
    Address(String),
    /// The node refused, and says why.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// Not granted in time.
    #[error(
        "{resource:?} was not granted within {}: {}",
        display(*.after), why_not(.resource, .out_of_reach.as_ref())
    )]
    TimedOut {
        /// The resource.
        resource: String,
        /// How long we waited.
        after: Duration,
        /// It could not have been granted at all: its token is out of reach.
        out_of_reach: Option<OutOfReach>,
    },
    /// The request came to an end that we did not ask for.
    #[error(
        "the request for {:?} is {}: {}",
        .0.resource, .0.state.name(), .0.reason.as_deref().unwrap_or("it was ended at its node")
    )]
    Over(Box<RequestInfo>),
    /// The answer makes no sense.
    #[error("the answer of {place} cannot be understood ({cause}): is it a node of meshlock, of this version?")]
    Garbled {
        /// Who answered.
        place: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The system has no random numbers for an id.
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(String),
    /// The node in this program cannot start, or cannot stop cleanly.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Node(Box<dyn std::error::Error + Send + Sync>),
    /// The thread behind [`blocking`](crate::blocking) clients cannot start.
    #[error("cannot start the thread of a blocking client: {0}")]
    NoThread(io::Error),
    /// A call of [`blocking`](crate::blocking) inside of an asynchronous runtime, which it would stall.
    #[error("a blocking call inside of an asynchronous runtime would stall it; use meshlock::Client there")]
    InsideRuntime,
}

fn why_not(resource: &str, out_of_reach: Option<&OutOfReach>) -> String {
    match out_of_reach {
        Some(lost) => format!("its token is {lost}"),
        None => format!("others hold it; `meshlock status {resource}` shows them"),
    }
}

impl Error {
    /// Whether the same call may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoNode { .. } | Self::Silent { .. } => true,
            Self::Refused(problem) => problem.reason == meshlock_api::Reason::Unavailable,
            Self::Untrusted { .. }
            | Self::Forbidden { .. }
            | Self::Address(_)
            | Self::TimedOut { .. }
            | Self::Over(_)
            | Self::Garbled { .. }
            | Self::NoRandomness(_)
            | Self::NoThread(_)
            | Self::InsideRuntime => false,
            #[cfg(feature = "embedded")]
            Self::Node(_) => false,
        }
    }
}
