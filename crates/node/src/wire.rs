//! What nodes say to each other, as bytes: one byte of version, then the frame by postcard.
//!
//! A frame that cannot be read, or of another version, is an error with words for the log; the link it came over is
//! closed. Nothing in here trusts a length or a count from the wire.

use std::sync::Arc;

use meshlock_api::{Definition, Mode, State, Urgency};
use meshlock_core::{NodeId, flood, group, relay, reverse_link};
use serde::{Deserialize, Serialize};

/// The version of everything in this module. Nodes of different versions do not talk.
pub const VERSION: u8 = 1;

/// One frame on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// Resources that the sender knows. The first frame on every link; then whatever is new.
    Catalogue(Vec<Entry>),
    /// A step of the protocol of one resource.
    Protocol {
        /// The number of the resource in the catalogue.
        resource: u32,
        /// What it says.
        message: Payload,
    },
    /// Somebody wants to know how everybody is doing. Goes to everybody, once.
    Query(Query),
    /// An answer to it, on its way back.
    Report(Report),
    /// All whom the sender passed a question on to have answered.
    Done {
        /// Whose question.
        origin: NodeId,
        /// Its number.
        number: u64,
    },
    /// Members that were removed, signed by the mesh's authority.
    Removals(Vec<Vec<u8>>),
}

/// A message of one of the protocols that a node runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    /// Of `reverse-link`.
    ReverseLink(reverse_link::Message),
    /// Of `flood`.
    Flood(flood::Message),
    /// Of `group`, over the relay.
    Group(relay::Message<group::Message>),
}

/// A resource as all nodes know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, by which messages name it. Numbers are given under the registry's lock.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What the mesh agreed on.
    pub definition: Definition,
    /// How often it was changed, under the registry's lock.
    pub version: u64,
    /// The node that made it, where its token began.
    pub home: NodeId,
}

/// A question to everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Query {
    /// Who asks.
    pub origin: NodeId,
    /// Its questions are numbered.
    pub number: u64,
    /// Which resource; all of them if missing.
    pub resource: Option<u32>,
}

/// How one node is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which question this answers.
    pub origin: NodeId,
    /// Its number.
    pub number: u64,
    /// Who answers.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its neighbours by name, with their addresses.
    pub links: Vec<(String, String)>,
    /// The numbers of the resources whose token is there.
    pub tokens: Vec<u32>,
    /// Its clients' requests, by the number of the resource.
    pub rows: Vec<(u32, Row)>,
}

/// A holder or a waiter; what clients see as [`meshlock_api::Row`], with every field on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of meshlock_api::Row")]
pub struct Row {
    pub id: String,
    pub owner: Option<String>,
    pub state: State,
    pub units: u32,
    pub urgency: Urgency,
    pub session: Option<String>,
    pub mode: Option<Mode>,
    pub age_ms: u64,
    pub fence: Option<u64>,
    pub rank: Option<i64>,
}

impl Row {
    /// As clients see it.
    pub fn at(&self, node: &str) -> meshlock_api::Row {
        meshlock_api::Row {
            node: node.to_owned(),
            id: self.id.clone(),
            owner: self.owner.clone(),
            state: self.state,
            units: self.units,
            urgency: self.urgency,
            session: self.session.clone(),
            mode: self.mode,
            age_ms: self.age_ms,
            fence: self.fence,
            rank: self.rank,
        }
    }
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Nothing at all.
    #[error("an empty frame")]
    Empty,
    /// From a newer or older meshlock.
    #[error("a frame of version {0}, but this node speaks version {VERSION}; run the same meshlock everywhere")]
    Version(u8),
    /// Damaged.
    #[error("a damaged frame: {0}")]
    Damaged(postcard::Error),
    /// Something after the end.
    #[error("a frame with {0} bytes too many")]
    Trailing(usize),
}

/// Writes a frame.
pub fn encode<T: Serialize>(frame: &T) -> Arc<[u8]> {
    // Writing into a vector cannot fail for our types: no maps of unknown length, no floats to refuse.
    let bytes = postcard::to_extend(frame, vec![VERSION]).unwrap_or_default();
    bytes.into()
}

/// Reads a frame.
pub fn decode<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, WireError> {
    let (&version, body) = bytes.split_first().ok_or(WireError::Empty)?;
    if version != VERSION {
        return Err(WireError::Version(version));
    }
    match postcard::take_from_bytes(body).map_err(WireError::Damaged)? {
        (frame, []) => Ok(frame),
        (_, rest) => Err(WireError::Trailing(rest.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> Frame {
        Frame::Query(Query { origin: NodeId(3), number: 9, resource: Some(2) })
    }

    #[test]
    fn a_frame_comes_back_as_it_was() {
        assert_eq!(decode(&encode(&query())), Ok(query()));
    }

    #[test]
    fn damage_has_words() {
        let whole = encode(&query());
        assert_eq!(decode::<Frame>(&[]), Err(WireError::Empty));
        assert_eq!(decode::<Frame>(&[99, 0]), Err(WireError::Version(99)));
        assert!(matches!(decode::<Frame>(&whole[..whole.len() - 1]), Err(WireError::Damaged(_))));
        let longer: Vec<u8> = whole.iter().copied().chain([7]).collect();
        assert_eq!(decode::<Frame>(&longer), Err(WireError::Trailing(1)));
    }
}
