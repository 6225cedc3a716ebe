//! What one node knows of one resource at the moment its census grows, and what the heir makes of all of them.

use alloc::vec::Vec;

use crate::counters::CounterVisitor;
use crate::vocabulary::NodeId;
use crate::{flood, group, reverse_link};

/// What a node reports of one resource: a picture of itself, taken when its census grew and before anything else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Row {
    /// The token is here.
    pub token: bool,
    /// The number of the pass under which the token was given away, if a copy of it is kept. Not if it was given to
    /// one who is gone.
    pub copy: Option<u64>,
    /// The greatest pass that has arrived *here*. What was only promised to be refused does not count.
    pub accepted: u64,
    /// What else the protocol has to say.
    pub picture: Picture,
}

/// What a protocol needs in order to fill a new token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Picture {
    /// Of `reverse-link`.
    ReverseLink(reverse_link::Picture),
    /// Of `flood`.
    Flood(flood::Picture),
    /// Of `group`.
    Group(group::Picture),
}

/// The token of a resource is lost: the receiver of this, the heir, makes it anew. See
/// [`Event::Remake`](crate::Event::Remake).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Remake {
    /// The fences and passes of the new token begin here: above everything that the lost one ever gave.
    pub first: u64,
    /// What every living member reported, the heir included.
    pub rows: Vec<(NodeId, Row)>,
}

impl Row {
    /// Shows every growing number to `visitor`; see [`crate::counters`].
    pub fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        match &mut self.picture {
            Picture::ReverseLink(picture) => picture.visit_counters(&mut self.copy, &mut self.accepted, visitor),
            Picture::Flood(picture) => picture.visit_counters(&mut self.copy, &mut self.accepted, visitor),
            Picture::Group(picture) => picture.visit_counters(&mut self.copy, &mut self.accepted, visitor),
        }
    }
}

impl Remake {
    /// The first number of everything that a repair in a census of this rank makes.
    pub const fn first_number(rank: u64) -> u64 {
        rank << 32
    }

    /// The greatest number of a pass that any row has.
    pub fn greatest_pass(&self) -> u64 {
        self.rows.iter().map(|(_, row)| row.accepted.max(row.copy.unwrap_or(0))).max().unwrap_or(0)
    }
}

/// Whether rows show that the token is alive: it is at one of the reporters, or on its way between two of them.
///
/// A copy of a pass that has arrived somewhere is only a copy. One that has not arrived may still arrive.
pub fn is_alive<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> bool {
    let accepted = rows.clone().map(|row| row.accepted).max().unwrap_or(0);
    let mut rows = rows;
    rows.any(|row| row.token || row.copy.is_some_and(|pass| pass > accepted))
}
