//! Bugs that can be planted into the repaired protocol; see [`crate::planted`].

/// One rule left out or twisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Bug {
    /// A holder that waits for units and gives the token to a more urgent neighbour forgets its own request (p1).
    ForgetPreempted,
    /// The new holder does not go below the old one.
    PassWithoutLowering,
    /// The token is passed without the ask for what is left behind.
    DropAskBehindToken,
    /// A release strikes a second entry from the ledger.
    CountReleaseTwice,
    /// Only the first claim is ever reported; a more urgent one later is not (p4, p5).
    NeverUpdateAsk,
    /// Aging is computed with the clock of each hop instead of being carried.
    AgeWithoutCarrying,
    /// A token that was refused, or accepted before, is accepted.
    AcceptOldToken,
    /// A cancelled request stays in the queue.
    KeepCancelled,
    /// An ask stays where it is although that node is no longer below.
    KeepAskAfterReversal,
    /// The ask is taken back only after raising.
    RaiseBeforeTakingBack,
    /// Asks are dropped without telling the node that was asked.
    NeverWithdraw,
    /// Asks sent before the token arrived are believed.
    BelieveStaleAsk,
    /// A token on a failed link is taken for lost.
    GuessLost,
    /// A token on a failed link is taken for arrived.
    GuessArrived,
    /// A receiver says that the token did not arrive, but does not promise to refuse it.
    NoPromise,
    /// A second copy of a release is confirmed without being kept.
    MergeReleases,
    /// Releases are not kept until they are confirmed.
    ForgetCustody,
    /// A node without a downward link raises itself without asking where the token is.
    RaiseWithoutLooking,
    /// Sessions are not looked at.
    IgnoreSessions,
    /// Any number of requests may join past the front.
    JoinWithoutCap,
    /// Units are not looked at.
    IgnoreUnits,
    /// Fences are counted at each node instead of in the token.
    LocalFences,
    /// The queue is served in order of arrival.
    IgnoreRanks,
    /// The copy of the token is not kept until it has arrived.
    NoCopy,
    /// A new neighbour is not told about open questions.
    ForgetQuestions,
    /// A claim that was passed by on a short cut does not stand again when the token comes back.
    ForgetPassedBy,
    /// Only the giver of the token hears of the new height, not the others for whom the link turns.
    TellOnlyGiver,
    /// Whoever gets the token believes its capacity, although it knows a newer one.
    AdoptOlderCapacity,
    /// A node that leaves keeps the token.
    LeaveWithToken,
    /// Goes on after a stop without its copy of the token.
    ForgetCopyOnResume,
    /// Goes on after a stop without the releases it has to bring on.
    ForgetCustodyOnResume,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 31] = [
        Self::ForgetPreempted,
        Self::PassWithoutLowering,
        Self::DropAskBehindToken,
        Self::CountReleaseTwice,
        Self::NeverUpdateAsk,
        Self::AgeWithoutCarrying,
        Self::AcceptOldToken,
        Self::KeepCancelled,
        Self::KeepAskAfterReversal,
        Self::RaiseBeforeTakingBack,
        Self::NeverWithdraw,
        Self::BelieveStaleAsk,
        Self::GuessLost,
        Self::GuessArrived,
        Self::NoPromise,
        Self::MergeReleases,
        Self::ForgetCustody,
        Self::RaiseWithoutLooking,
        Self::IgnoreSessions,
        Self::JoinWithoutCap,
        Self::IgnoreUnits,
        Self::LocalFences,
        Self::IgnoreRanks,
        Self::NoCopy,
        Self::ForgetQuestions,
        Self::ForgetPassedBy,
        Self::TellOnlyGiver,
        Self::AdoptOlderCapacity,
        Self::LeaveWithToken,
        Self::ForgetCopyOnResume,
        Self::ForgetCustodyOnResume,
    ];
}
