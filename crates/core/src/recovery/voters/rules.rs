//! The rules by name. `docs/recovery-voters.md` says what breaks without each of them.
//!
//! They are methods of a trait only because of the checker's own tests: with the feature `mutants`, `bug.rs` gives
//! [`Voting`](super::Voting) an inherent method of the same name for each of them; see [`crate::planted`].

use alloc::vec::Vec;

use super::super::census::{Census, Member};
use super::list::{List, ListId, Voter};
use super::record::{Facts, VoterRecord};
use super::time::{Span, Time};
use super::word::Word;
use crate::vocabulary::NodeId;

/// What a voter does under a list, until it has closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Answers rounds.
    Renew,
    /// Suspects and refuses.
    Refuse,
    /// Registers, ratifies, removes.
    Record,
}

pub(super) trait Rules {
    // Everybody.

    /// Whether what voters say under a list counts here: not if this node has given it up for a forced one.
    fn counts_under(&self, list: &List) -> bool;
    /// The greatest round that a majority of one list has answered, it or a later one.
    fn answered_round(&self) -> Option<u64>;
    /// Standing counts from when the round was made.
    fn standing_from(&self, made: Time, now: Time) -> Time;
    /// The last round serves a call as well as a new one would. It counts from when it was made.
    fn serves_again(&mut self, now: Time) -> bool;
    /// A majority of one list has registered this node; what each of them knows.
    fn registrations(&self) -> Option<Vec<Census>>;
    /// The newcomer takes over what these voters know.
    fn take_over(&self, records: Vec<Census>) -> Census;
    /// A majority of one list agrees to this attempt.
    fn is_ratified(&self, attempt: u64) -> bool;
    /// A majority of one list refuses this node.
    fn is_declared_gone(&self, node: NodeId) -> bool;
    /// A majority of one list has the removal on record.
    fn is_declared_removed(&self, member: Member) -> bool;

    // Voters.

    /// As whom this node votes in a list: the disk decides.
    fn role(&self, list: &List) -> Option<Voter>;
    /// The list under which the voter does its duty: open, and not closed.
    fn serving(&self, duty: Duty) -> Option<(ListId, Voter)>;
    /// What has to be durable.
    fn durable(&self) -> Option<VoterRecord>;
    /// How long a node must have been silent.
    fn silence(&self) -> Span;
    /// From when silence counts, for a node that this voter has not heard since it started or opened its list.
    fn first_heard(&self, now: Time) -> Time;
    /// Refused and banned nodes are never renewed.
    fn may_renew(&self, node: NodeId) -> bool;
    /// A majority suspects the node, and this voter has not heard it itself for W.
    fn may_refuse(&self, now: Time, list: &List, node: NodeId) -> bool;
    /// A newcomer is on record, before the answer.
    fn keep_newcomer(&mut self, facts: Facts);
    /// The heir knows all that this voter has on record.
    fn knows_enough(&self, census: &Census) -> bool;
    /// The heir's census is on record, before the answer.
    fn keep_ratified(&mut self, census: &Census);
    /// A removal is on record W after nobody renewed any more, unless a person vouches.
    fn may_remove(&self, now: Time, member: Member, vouched: bool) -> bool;

    // Lists.

    /// Which list this voter may close for a successor: the one it is open in, once, when a majority of the new voters is
    /// ready.
    fn may_close(&self, successor: &List) -> bool;
    /// What a closing says, for all who open the successor.
    fn closing(&self) -> Option<Word>;
    /// The closings of a majority of the parent's voters; for a forced list, what all who go on know.
    fn opens_with(&self, list: &List) -> Option<Vec<Facts>>;
    /// What a member tells who gives up all lists before a forced one.
    fn yielding(&self) -> Option<Word>;
    /// Those whom a forced list leaves out: no incarnation of theirs is renewed or registered any more.
    fn left_out(&self, list: &List) -> Vec<Member>;
    /// Records move along; refusals become bans; silence counts from now.
    fn open(&mut self, list: List, records: Vec<Facts>, now: Time);
}
