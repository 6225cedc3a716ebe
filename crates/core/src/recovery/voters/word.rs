//! What nodes and voters tell everybody. Words are facts or questions that travel by flooding.
//!
//! Questions name no list: a voter answers in the list that it has opened, names it, and the answer counts there only.
//! So a node need not know which list is in force in order to ask.

use super::super::census::{Census, Member};
use super::list::{List, ListId, Voter};
use super::record::{Facts, StartId};
use crate::vocabulary::NodeId;

/// Something that everybody is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Word {
    /// A node is there, and asks the voters to say that they heard it.
    Round {
        /// Who.
        node: NodeId,
        /// Grows.
        round: u64,
    },
    /// A voter has heard a round.
    Answer {
        /// The list in which it counts.
        list: ListId,
        /// Who answers.
        voter: Voter,
        /// Whom.
        node: NodeId,
        /// Which of its rounds.
        round: u64,
    },
    /// A voter has not heard a node for W, since this round. It is void for who knows a later round.
    Suspicion {
        /// The list in which it counts.
        list: ListId,
        /// Who suspects.
        voter: Voter,
        /// Whom.
        node: NodeId,
        /// The last round it knows.
        round: u64,
    },
    /// A voter will never renew a node again. Under one list, by its majority: the node is gone.
    Refusal {
        /// The list in which it counts.
        list: ListId,
        /// Who refuses.
        voter: Voter,
        /// Whom.
        node: NodeId,
    },
    /// A new incarnation wants to take part.
    Register {
        /// Who.
        node: NodeId,
        /// Which process.
        start: StartId,
        /// The greatest count of itself that its disk knew: it vouches that all of these are over.
        knew: u32,
    },
    /// A voter's answer to that, with all it knows.
    Registration {
        /// The list in which it counts.
        list: ListId,
        /// Who answers.
        voter: Voter,
        /// Whom.
        node: NodeId,
        /// Which process.
        start: StartId,
        /// It is on record. Otherwise it must come back as a later incarnation than any the census has.
        accepted: bool,
        /// What the newcomer has to take over.
        census: Census,
    },
    /// The heir shows its census, in order to decide in it.
    Ratify {
        /// Who.
        node: NodeId,
        /// Grows with every attempt of this node.
        attempt: u64,
        /// All that it knows.
        census: Census,
    },
    /// A voter's answer to that.
    Ratification {
        /// The list in which it counts.
        list: ListId,
        /// Who answers.
        voter: Voter,
        /// Whom.
        node: NodeId,
        /// Which attempt.
        attempt: u64,
        /// What the voter knows, if the heir does not know all of it. Otherwise it agrees.
        beyond: Option<Census>,
    },
    /// A member has a disk on which it could keep a voter's record.
    Ready {
        /// As which node it says so.
        node: NodeId,
        /// As whom it would vote.
        voter: Voter,
    },
    /// A list that may follow its parent.
    List(List),
    /// A voter does nothing any more under a list, and tells its successor all it knows.
    Closing {
        /// The list that it closed.
        list: ListId,
        /// Who.
        voter: Voter,
        /// The only list for which it counts.
        successor: ListId,
        /// What it knows.
        facts: Facts,
    },
    /// The operator wants a member removed for good.
    Removal {
        /// Whom.
        member: Member,
        /// A person vouches that it has stopped: nobody has to wait for its standing to end.
        vouched: bool,
    },
    /// A voter has a removal on record. Under one list, by its majority: it is a fact.
    Removed {
        /// The list in which it counts.
        list: ListId,
        /// Who says so.
        voter: Voter,
        /// Who is removed.
        member: Member,
    },
    /// A member counts nothing any more under any list before a forced one, and tells all it knows to those who open that.
    Yield {
        /// The forced list.
        list: ListId,
        /// Who.
        member: Member,
        /// What it knows, as a node and as a voter.
        facts: Facts,
    },
}

/// What a word is about. Of two words about the same, the newer counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Of a [`Word::Round`].
    Round(NodeId),
    /// Of a [`Word::Answer`].
    Answer(Voter, NodeId),
    /// Of a [`Word::Suspicion`].
    Suspicion(ListId, Voter, NodeId),
    /// Of a [`Word::Refusal`].
    Refusal(ListId, Voter, NodeId),
    /// Of a [`Word::Register`].
    Register(NodeId, StartId),
    /// Of a [`Word::Registration`].
    Registration(Voter, NodeId, StartId),
    /// Of a [`Word::Ratify`].
    Ratify(NodeId),
    /// Of a [`Word::Ratification`].
    Ratification(Voter, NodeId),
    /// Of a [`Word::Ready`].
    Ready(Member),
    /// Of a [`Word::List`].
    List(ListId),
    /// Of a [`Word::Closing`].
    Closing(ListId, Voter, ListId),
    /// Of a [`Word::Removal`].
    Removal(Member, bool),
    /// Of a [`Word::Removed`].
    Removed(ListId, Voter, Member),
    /// Of a [`Word::Yield`].
    Yield(ListId, Member),
}

/// No node makes more rounds or attempts.
const GREATEST: u64 = 1 << 48;

impl Word {
    /// What it is about.
    pub fn key(&self) -> Key {
        match self {
            Self::Round { node, .. } => Key::Round(*node),
            Self::Answer { voter, node, .. } => Key::Answer(*voter, *node),
            Self::Suspicion { list, voter, node, .. } => Key::Suspicion(*list, *voter, *node),
            Self::Refusal { list, voter, node } => Key::Refusal(*list, *voter, *node),
            Self::Register { node, start, .. } => Key::Register(*node, *start),
            Self::Registration { voter, node, start, .. } => Key::Registration(*voter, *node, *start),
            Self::Ratify { node, .. } => Key::Ratify(*node),
            Self::Ratification { voter, node, .. } => Key::Ratification(*voter, *node),
            Self::Ready { node, .. } => Key::Ready(node.member()),
            Self::List(list) => Key::List(list.id()),
            Self::Closing { list, voter, successor, .. } => Key::Closing(*list, *voter, *successor),
            Self::Removal { member, vouched } => Key::Removal(*member, *vouched),
            Self::Removed { list, voter, member } => Key::Removed(*list, *voter, *member),
            Self::Yield { list, member, .. } => Key::Yield(*list, *member),
        }
    }

    /// The greater of two words about the same is the newer. Equal: the same again.
    pub fn age(&self) -> (u32, u64) {
        match self {
            Self::Round { round, .. } | Self::Suspicion { round, .. } => (0, *round),
            Self::Answer { list, round, .. } => (list.number, *round),
            Self::Registration { list, .. } => (list.number, 0),
            Self::Ratify { attempt, .. } => (0, *attempt),
            Self::Ratification { list, attempt, .. } => (list.number, *attempt),
            Self::Ready { node, .. } => (0, u64::from(node.incarnation())),
            Self::Refusal { .. }
            | Self::Register { .. }
            | Self::List(_)
            | Self::Closing { .. }
            | Self::Removal { .. }
            | Self::Removed { .. }
            | Self::Yield { .. } => (0, 0),
        }
    }

    /// The node whose life it is about. Nothing of the kind matters once that node is gone.
    pub const fn about(&self) -> Option<NodeId> {
        match self {
            Self::Round { node, .. }
            | Self::Answer { node, .. }
            | Self::Suspicion { node, .. }
            | Self::Refusal { node, .. }
            | Self::Register { node, .. }
            | Self::Registration { node, .. }
            | Self::Ratify { node, .. }
            | Self::Ratification { node, .. } => Some(*node),
            Self::Ready { .. }
            | Self::List(_)
            | Self::Closing { .. }
            | Self::Removal { .. }
            | Self::Removed { .. }
            | Self::Yield { .. } => None,
        }
    }

    /// The list under which a voter says it.
    pub const fn list(&self) -> Option<ListId> {
        match self {
            Self::Answer { list, .. }
            | Self::Suspicion { list, .. }
            | Self::Refusal { list, .. }
            | Self::Registration { list, .. }
            | Self::Ratification { list, .. }
            | Self::Closing { list, .. }
            | Self::Removed { list, .. }
            | Self::Yield { list, .. } => Some(*list),
            Self::Round { .. }
            | Self::Register { .. }
            | Self::Ratify { .. }
            | Self::Ready { .. }
            | Self::List(_)
            | Self::Removal { .. } => None,
        }
    }

    /// Whether an honest peer can have said it.
    pub fn is_possible(&self) -> bool {
        match self {
            Self::Round { round, .. } | Self::Answer { round, .. } => (1..GREATEST).contains(round),
            Self::Suspicion { round, .. } => *round < GREATEST,
            Self::Register { node, knew, .. } => *knew <= 2 * u32::from(node.incarnation()),
            Self::Registration { census, .. } => census.is_possible(),
            Self::Ratify { attempt, census, .. } => *attempt < GREATEST && census.is_possible(),
            Self::Ratification { attempt, beyond, .. } => {
                *attempt < GREATEST && beyond.as_ref().is_none_or(Census::is_possible)
            }
            Self::Ready { node, voter } => node.member() == voter.member,
            Self::List(list) => list.is_possible(),
            Self::Closing { list, successor, facts, .. } => {
                list.number.checked_add(1) == Some(successor.number) && facts.census.is_possible()
            }
            Self::Yield { list, facts, .. } => list.is_forced() && facts.census.is_possible(),
            Self::Refusal { .. } | Self::Removal { .. } | Self::Removed { .. } => true,
        }
    }
}
