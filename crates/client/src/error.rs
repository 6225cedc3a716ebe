//! What can go wrong, with the fix in words.

use std::io;
use std::time::Duration;

use meshlock_api::duration::display;
use meshlock_api::{OutOfReach, Problem, RequestInfo};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody listens there.
    #[error(
        "no node answers at {place} ({cause}): start one with `meshlock node`, or say where it is with --socket, \
         --url, MESHLOCK_SOCKET or MESHLOCK_URL"
    )]
    NoNode {
        /// Where we looked.
        place: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The node accepted a question and then did not answer it.
    #[error("the node at {place} does not answer ({cause}): is it stopped, or stuck?")]
    Silent {
        /// Where it is.
        place: String,
        /// How we know.
        cause: String,
    },
    /// Somebody else could have put the socket there.
    #[error(
        "the socket {socket} is not trusted: {place}: {why}. Whoever made it would see what you ask and could grant \
         anything. Have it removed, or name the socket of your own node with --socket or MESHLOCK_SOCKET"
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
        /// Nobody could have been granted it: its token is out of reach.
        out_of_reach: Option<OutOfReach>,
    },
    /// The request came to an end that we did not ask for.
    #[error(
        "the request for {:?} is {}: {}",
        .0.resource, .0.state.name(), .0.reason.as_deref().unwrap_or("somebody ended it")
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
}

fn why_not(resource: &str, out_of_reach: Option<&OutOfReach>) -> String {
    match out_of_reach {
        Some(lost) => format!("its token is {lost}"),
        None => format!("others hold it; `meshlock status {resource}` shows them"),
    }
}

impl Error {
    /// Whether the same question may be answered a moment later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoNode { .. } | Self::Silent { .. } => true,
            Self::Refused(problem) => problem.reason == meshlock_api::Reason::Unavailable,
            Self::Untrusted { .. }
            | Self::Address(_)
            | Self::TimedOut { .. }
            | Self::Over(_)
            | Self::Garbled { .. }
            | Self::NoRandomness(_) => false,
        }
    }
}
