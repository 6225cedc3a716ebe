//! What nodes say to each other, as bytes: one byte of version, then the frame by postcard.
//!
//! A frame that cannot be read, or of another version, is an error with words for the log; the link it came over is
//! closed. Nothing in here trusts a length or a count from the wire.

use std::sync::Arc;

use meshlock_api::{Definition, Mode, State, Urgency};
use meshlock_core::recovery::voters::{ListId, Voter};
use meshlock_core::recovery::{self as repair, Census};
use meshlock_core::{NodeId, Slots, flood, group, messages_among, relay, reverse_link};
use serde::{Deserialize, Serialize};

use crate::links::{LONGEST_FRAME, Outgoing};

/// The version of everything in this module. Nodes of different versions do not talk.
pub const VERSION: u8 = 7;

/// The number of a resource in its mesh.
pub type Number = meshlock_core::recovery::Resource;

/// One frame on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// Resources that the sender knows. The first frame on every link; then whatever is new.
    Catalogue(Vec<Entry>),
    /// A step of the protocol of one resource.
    Protocol {
        /// The number of the resource in the catalogue.
        resource: Number,
        /// What it says.
        message: Payload,
    },
    /// A question about all nodes. Goes to each of them once.
    Query(Query),
    /// A part of an answer to it, on its way back.
    Report(Report),
    /// All whom the sender passed a question on to have answered.
    Done {
        /// Whose question.
        origin: NodeId,
        /// Its number.
        number: u64,
    },
    /// Members that were removed.
    Removals(Removals),
    /// Who came and who is gone, as far as the sender knows. The first frame on every link of a mesh that recovers, and
    /// ahead of everything else whenever it grew.
    Census(Census),
    /// What a node had when its census grew. Goes to all.
    Repair(Box<repair::Report>),
    /// What voters say and are asked. Goes to all.
    Words(Vec<repair::voters::Word>),
    /// A part of a frame that is longer than a link takes. The others follow on the same link, with nothing between.
    Piece {
        /// Nothing follows: the frame is complete.
        last: bool,
        /// The next bytes of it.
        #[serde(with = "plain_bytes")]
        bytes: Vec<u8>,
    },
    /// The rounds of all nodes behind the sender, on their way to a voter that called for them.
    Called(Called),
    /// A voter's answers to them, on their way back.
    Answered(Answered),
}

/// The rounds that a voter called for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The voter.
    pub caller: NodeId,
    /// The round with which it called.
    pub number: u64,
    /// Who is there, and which is its last round; at most [`MOST_ROUNDS`].
    pub rounds: Vec<(NodeId, u64)>,
}

/// What a voter answers to the rounds that it called for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The node that called.
    pub caller: NodeId,
    /// The round with which it called.
    pub number: u64,
    /// The list in which the answers count.
    pub list: ListId,
    /// As whom it votes there.
    pub voter: Voter,
    /// Whom it has heard, and in which round; at most [`MOST_ROUNDS`].
    pub rounds: Vec<(NodeId, u64)>,
}

/// The most rounds in one frame: one of each member that there can be.
pub const MOST_ROUNDS: usize = 1 << 16;

/// The most removals in one frame: verifying them must not keep a node from its work.
pub const MOST_REMOVALS: usize = 250;

/// What a node says about removed members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Removals {
    /// A digest of whom the sender knows to be removed, and of its charter. Who knows others tells all it knows.
    Digest([u8; 16]),
    /// Statements of the mesh's authority, at most [`MOST_REMOVALS`]: removals, and the charter.
    Signed(Vec<Vec<u8>>),
}

/// The longest frame that is sent in pieces. Tokens of `flood` and `group` grow with the number of nodes there ever
/// were: this is enough for a quarter of a million.
pub const LONGEST_WHOLE: usize = 16 << 20;

/// How many bytes of a frame go into one piece.
const PIECE: usize = LONGEST_FRAME - 64;

/// Bytes at once instead of one after the other.
mod plain_bytes {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        from.deserialize_bytes(Bytes)
    }
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

messages_among!(Payload {
    ReverseLink(reverse_link::Message),
    Flood(flood::Message),
    Group(relay::Message<group::Message>),
});

/// A resource as all nodes know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, by which messages name it. Numbers are given under the registry's lock.
    pub number: Number,
    /// Its name.
    pub name: String,
    /// What the mesh agreed on.
    pub definition: Definition,
    /// How often it was changed, under the registry's lock.
    pub version: u64,
    /// The node that made it, where its token began.
    pub home: NodeId,
}

/// The version of a resource that was removed has this bit; below it is the last fence. No change has such a version.
pub const REMOVED: u64 = 1 << 63;

impl Entry {
    /// Whether it says that the resource was removed.
    pub const fn is_removed(&self) -> bool {
        self.version >= REMOVED
    }

    /// That it was removed, by this node, after a last grant with this fence.
    pub(crate) fn removed(&self, last_fence: u64, home: NodeId) -> Self {
        Self { version: REMOVED | last_fence, home, ..self.clone() }
    }

    /// Fences of the next resource of this name begin above this; 0 if it was not removed.
    pub(crate) const fn last_fence(&self) -> u64 {
        if self.is_removed() { self.version & !REMOVED } else { 0 }
    }
}

/// A question to all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Query {
    /// Who asks.
    pub origin: NodeId,
    /// Its questions are numbered, and the numbers grow.
    pub number: u64,
    /// How many links it has crossed when it arrives.
    pub hops: u16,
    /// What it wants to know.
    pub about: About,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum About {
    /// Who holds and who waits, and where tokens are: one resource, or all of them.
    Requests(Option<Number>),
    /// Where the tokens of these resources are, nothing else.
    Tokens(Vec<Number>),
    /// A request that an operator wants to take away from its client. Who has it does so, and says how it is doing.
    Revoke(Box<Revoke>),
}

/// What an operator wants to take away.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Revoke {
    /// The node that has the request; all that have one of this id if it is not said.
    pub node: Option<String>,
    /// The id of the request.
    pub id: String,
    /// Who wants it.
    pub by: String,
    /// The node where they said so.
    pub at: String,
    /// Why.
    pub reason: String,
    /// Do it. Otherwise this is a question how the request is doing.
    pub acts: bool,
    /// Do not wait for the client to stop.
    pub force: bool,
}

impl Revoke {
    /// Whether all texts are as short as those that clients can give.
    pub fn is_possible(&self) -> bool {
        let texts = [self.node.as_ref(), Some(&self.id), Some(&self.by), Some(&self.at), Some(&self.reason)];
        texts.into_iter().flatten().all(|text| text.len() <= meshlock_api::text::LONGEST_TEXT)
    }
}

/// A part of what one node answers. Parts come in order, and every part is short enough for one frame.
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
    /// Nothing follows.
    pub last: bool,
    /// What it has to say: at most [`MOST_FACTS`].
    pub facts: Vec<Fact>,
}

/// How many facts there are in one part of a report: each of them is below 1,000 bytes.
pub const MOST_FACTS: usize = 1_000;

/// How many runs of numbers of units there are in one of them; where there are more, none is told.
pub const MOST_RUNS: usize = 50;

/// One thing that a node knows about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// A neighbour.
    Link {
        /// Its number.
        id: NodeId,
        /// Its name.
        name: String,
        /// Where it is reached.
        address: String,
    },
    /// A node that was a neighbour not long ago.
    Gone {
        /// Its number.
        id: NodeId,
        /// Its name.
        name: String,
        /// How long ago.
        ms_ago: u64,
    },
    /// A resource, in numbers.
    Resource {
        /// Its number.
        resource: Number,
        /// What the node knows of the token.
        token: Token,
        /// How many of its clients hold.
        holders: u32,
        /// How many units they hold.
        units: u64,
        /// How many of its clients wait.
        waiters: u32,
    },
    /// The token is there and says: so many units are in use at this node.
    Lent {
        /// The resource.
        resource: Number,
        /// Where they are in use.
        to: NodeId,
        /// How many.
        units: u64,
    },
    /// A request of one of its clients.
    Row(Number, Row),
    /// The node itself.
    Condition {
        /// The version of meshlock.
        version: String,
        /// Milliseconds since 1970 by its clock.
        unix_ms: u64,
        /// The first resources that its file declares otherwise than the mesh.
        conflicts: Vec<String>,
    },
    /// A request of one of its clients that an operator wants to take back.
    Revocable {
        /// What it asked for.
        resource: String,
        /// Who asked.
        owner: Option<String>,
        /// How it is doing.
        state: State,
        /// It is over, and its client has stopped or its lease is over.
        stopped: bool,
        /// How much of its lease is left.
        expires_in_ms: u64,
    },
}

/// What a node knows of the token of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Token {
    /// It is there.
    Here,
    /// It was there once.
    Left {
        /// How often it had been given away by then: of two nodes the one with more saw it later.
        pass: u64,
        /// How long ago.
        ms_ago: u64,
        /// Whom it went to, if it is known by name.
        to: Option<String>,
    },
    /// It was never there.
    Unseen,
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
    pub slots: Slots,
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
            slots: self.slots.iter().collect(),
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

/// A frame as it goes over a link: as it is, or in pieces if it is too long. Nothing at all if it is longer than
/// [`LONGEST_WHOLE`].
pub fn pieces(frame: &Outgoing) -> Option<Vec<Outgoing>> {
    if frame.len() <= LONGEST_FRAME {
        return Some(vec![Arc::clone(frame)]);
    }
    if frame.len() > LONGEST_WHOLE {
        return None;
    }
    let count = frame.len().div_ceil(PIECE);
    let piece = |(at, bytes): (usize, &[u8])| encode(&Frame::Piece { last: at + 1 == count, bytes: bytes.to_vec() });
    Some(frame.chunks(PIECE).enumerate().map(piece).collect())
}

/// Writes a frame.
///
/// # Panics
///
/// If the type cannot be written, such as a map whose length is not known; ours all can. A frame that is missing would
/// break a promise to its receiver, so the node must not go on.
pub fn encode<T: Serialize>(frame: &T) -> Arc<[u8]> {
    let bytes = postcard::to_extend(frame, vec![VERSION]);
    bytes.unwrap_or_else(|error| panic!("a frame that cannot be written: {error}")).into()
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
        Frame::Query(Query { origin: NodeId(3), number: 9, hops: 1, about: About::Requests(Some(2)) })
    }

    #[test]
    fn a_frame_comes_back_as_it_was() {
        assert_eq!(decode(&encode(&query())), Ok(query()));
    }

    /// The other frames have theirs in `tests/corpus/frames.txt`. A change of any of them gives [`VERSION`] the next
    /// number: nodes that differ then say so instead of misunderstanding each other.
    #[test]
    fn the_bytes_of_removals_are_what_they_were() {
        let digest = Frame::Removals(Removals::Digest([7; 16]));
        assert_eq!(encode(&digest)[..], [&[VERSION, 5, 0][..], &[7; 16]].concat());
        let signed = Frame::Removals(Removals::Signed(vec![vec![8, 9], Vec::new()]));
        assert_eq!(encode(&signed)[..], [VERSION, 5, 1, 2, 2, 8, 9, 0]);
    }

    #[test]
    #[should_panic(expected = "a frame that cannot be written")]
    fn what_cannot_be_written_is_not_sent_as_nothing() {
        struct OfUnknownLength;
        impl Serialize for OfUnknownLength {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::ser::SerializeSeq::end(serializer.serialize_seq(None)?)
            }
        }
        encode(&OfUnknownLength);
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
