//! The messages of the printed algorithm, its token, and how a process is set up.

use std::collections::BTreeMap;
use std::vec::Vec;

use crate::printed::group::{Queue, Repairs};
use meshlock_core::group::Level;
use meshlock_core::vocabulary::{NodeId, Session};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// `request(i, SN, X, Z)`: process i wants to attend session X with priority Z.
    Request {
        /// i.
        node: NodeId,
        /// SN.
        number: u64,
        /// X.
        session: Session,
        /// Z; missing where the text leaves it out (G10).
        level: Option<Level>,
    },
    /// `start(i)`: enter as follower of i.
    Start {
        /// i.
        captain: NodeId,
    },
    /// `complete(i)`: the follower that sends it is out.
    Complete,
    /// `token(queue, type, followers)`.
    Token {
        /// queue and type.
        token: Token,
        /// followers.
        followers: i64,
    },
}

/// The token without its count of followers, which each process keeps beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// token.queue.
    pub queue: Queue,
    /// token.type.
    pub session: Option<Session>,
    /// With G7's repair: the number of the last request taken up, for each process.
    pub accepted: BTreeMap<NodeId, u64>,
}

/// How a process is set up. All but `id` must be the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Config {
    pub id: NodeId,
    /// All processes. The one with the smallest id is P1 and has the token first.
    pub members: Vec<NodeId>,
    /// K.
    pub levels: Level,
    pub repairs: Repairs,
}
