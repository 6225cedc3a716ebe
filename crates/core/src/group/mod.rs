//! Prioritized group mutual exclusion: requests for the open session may join it, other sessions wait.
//!
//! A. Swaroop and A. K. Singh, "A Distributed Group Mutual Exclusion Algorithm for Soft Real Time Systems". One token
//! opens one session after the other. Its holder is the captain; others that want the same session are let in as
//! followers by a `start` and report back by a `complete`. Every process can send to every other one.
//!
//! | module | what it is |
//! |---|---|
//! | [`Node`] | the repaired protocol, for any network: messages may be late, reordered, doubled or lost |
//! | [`readers_writer`] | readers and writers as sessions |
//!
//! `docs/protocols/group.md` tells the whole story.

#![cfg_attr(feature = "mutants", allow(unused_imports, reason = "`bug.rs` shadows the methods of `Rules`"))]

#[cfg(feature = "mutants")]
mod bug;
pub mod config;
mod holder;
mod look;
pub mod message;
mod node;
pub mod readers_writer;
mod recovery;
mod rules;
pub mod token;

#[cfg(feature = "mutants")]
pub use bug::Bug;
pub use config::{Config, Members};
pub use message::{Message, Record, Stamp, Start, Wish};
pub use node::Node;
pub use recovery::Picture;
pub use token::Token;

use core::fmt;

use crate::protocol::Misuse;
use crate::vocabulary::{Demand, Rank, Session, Units, Urgency};

/// The state of a process by the paper's names (section III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum State {
    /// Requesting.
    R,
    /// Not requesting.
    N,
    /// In its critical section as captain.
    EC,
    /// In its critical section as follower.
    EF,
    /// Holding an idle token.
    HI,
    /// Holding the token because followers are still inside.
    HS,
}

impl State {
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::N => "N",
            Self::EC => "EC",
            Self::EF => "EF",
            Self::HI => "HI",
            Self::HS => "HS",
        }
    }

    /// Whether a process in this state has the token.
    pub const fn holds_token(self) -> bool {
        match self {
            Self::EC | Self::HI | Self::HS => true,
            Self::R | Self::N | Self::EF => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A level of priority, from 1 to the resource's greatest (the paper's Z and K). Higher is more urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Level(pub u32);

impl Level {
    /// The least urgent.
    pub const LOWEST: Self = Self(1);

    /// Whether it is one of the levels 1 to `levels`.
    pub const fn is_within(self, levels: Self) -> bool {
        1 <= self.0 && self.0 <= levels.0
    }

    /// The same as a rank, for views.
    pub const fn rank(self) -> Rank {
        Rank(self.0 as i64)
    }

    /// The level of an urgency, or what is wrong with it.
    fn asked(urgency: Urgency, levels: Self) -> Result<Self, Misuse> {
        let Urgency::Priority(priority) = urgency else {
            return Err(Misuse::WrongUrgency { wants_deadline: false });
        };
        match u32::try_from(priority.0).map(Self) {
            Ok(level) if level.is_within(levels) => Ok(level),
            Ok(_) | Err(_) => Err(Misuse::NoSuchLevel { asked: priority.0, levels: levels.0 }),
        }
    }
}

/// What a group protocol needs of a demand: one unit, a session, a level.
pub fn asked(demand: &Demand, levels: Level) -> Result<(Session, Level), Misuse> {
    Misuse::check_units(demand, Units(1))?;
    let session = demand.session.ok_or(Misuse::SessionNeeded)?;
    Ok((session, Level::asked(demand.urgency, levels)?))
}
