//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use alloc::vec::Vec;

use super::{
    height::Height,
    message::{Body, Message},
    node::{Effects, Node},
    queue::{Claim, Claimer, Entry},
    recovery::{Picture, RecoveryRules},
    rules::Rules,
    token::{Loan, Owed, Token},
};
use crate::{
    protocol::{Effect, Misuse},
    recovery::Remake,
    slots::Slots,
    vocabulary::{Fence, GrantId, NodeId, RequestId},
};

crate::bugs! {
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
    /// Every copy of a release is carried on by itself.
    NeverMergeReleases,
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
    /// A node that gets its token back is not told again what it has forgotten.
    TellClaimOnce,
    /// Only the giver of the token knows the new height: the others for whom the link turns are not told.
    TellOnlyGiver,
    /// The holder believes the capacity in the token, although it knows a newer one.
    AdoptOlderCapacity,
    /// A node that leaves keeps the token.
    LeaveWithToken,
    /// Goes on after a stop without its copy of the token.
    ForgetCopyOnResume,
    /// Goes on after a stop without the releases it has to bring on.
    ForgetCustodyOnResume,
    /// A copy of the token for one who is gone is kept.
    KeepCopyForGone,
    /// Releases are not sent again when somebody is gone.
    SendReleasesOnce,
    /// What the gone used stays in the ledger.
    KeepLoansOfGone,
    /// What this node's clients do not hold any more stays in the ledger.
    KeepOwnLoans,
    /// A node reports what it promised to refuse as if it had arrived.
    ReportPromises,
    /// The fences of a new token begin after those that were heard of.
    FencesFromReports,
    /// The passes of a new token begin again.
    PassesFromZero,
    /// The ledger of a new token is empty.
    ForgetLoansInUse,
    /// Any number of requests may pass a front that waits for units.
    PassWithoutCap,
    /// The count of those who passed begins anew with every grant.
    ForgetPasses,
    /// Who passes at another node is not counted.
    CountOwnPassesOnly,
    /// A claim that was passed, and passes a more urgent one, takes the count along.
    TakePassesAlong,
    /// Every grant gets the lowest numbers there are.
    NumberEachFromZero,
    /// Numbers follow those of the units in use, as if releases came back in the order of granting.
    NumberByCount,
    /// The highest free numbers below what the resource had at first are given out.
    NumberFromTop,
    /// The token is passed without the numbers of what is in use.
    PassWithoutNumbers,
    /// The ledger of a new token does not say which units are in use.
    ForgetSlotsInUse,
    /// The giver of the token is not told that it arrived.
    NeverConfirmPass,
    /// Releases are not confirmed.
    NeverConfirmReleases,
    /// A neighbour that leaves has to wait for confirmations until it is sent something else.
    ConfirmWheneverItSuits,
    /// Nobody is asked about a token on a failed link.
    NeverAskAboutCopy,
    /// Stays where it has raised itself although the token did not arrive.
    StayRaised,
}

impl Node {
    /// Plants a bug into this node.
    pub fn plant(&mut self, bug: Bug) {
        self.planted = crate::planted::Planted::bug(bug as u8);
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    pub(super) fn enqueue(&mut self, entry: Entry) {
        if self.has(Bug::IgnoreRanks) {
            self.queue.entries.push_back(entry);
        } else {
            Rules::enqueue(self, entry);
        }
    }

    pub(super) fn on_cancel(&mut self, request: RequestId) -> Result<(), Misuse> {
        if self.has(Bug::KeepCancelled) { self.waiting(request).map(drop) } else { Rules::on_cancel(self, request) }
    }

    pub(super) fn put_claim(&mut self, neighbour: NodeId, claim: Claim) {
        if self.has(Bug::IgnoreRanks) {
            self.queue.remove_peer(neighbour);
            self.queue.entries.push_back(Entry { claimer: Claimer::Peer(neighbour), claim });
        } else {
            Rules::put_claim(self, neighbour, claim);
        }
    }

    pub(super) fn on_ask(&mut self, from: NodeId, claim: Claim) {
        let believed = self.has(Bug::BelieveStaleAsk);
        let expecting = self.peers.get_mut(&from).filter(|_| believed).and_then(|peer| peer.expecting.take());
        Rules::on_ask(self, from, claim);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.expecting = peer.expecting.take().or(expecting);
        }
    }

    pub(super) fn agree_on_capacity(&mut self) {
        if self.has(Bug::AdoptOlderCapacity)
            && let Some(token) = &self.token
        {
            self.capacity = token.capacity;
        }
        Rules::agree_on_capacity(self);
    }

    pub(super) fn hand_in_releases(&mut self) {
        let again = if self.has(Bug::CountReleaseTwice) { self.custody.copies.len() } else { 0 };
        Rules::hand_in_releases(self);
        if let Some(token) = &mut self.token {
            token.ledger.drain(..again.min(token.ledger.len()));
        }
    }

    pub(super) fn may_enter(&self, token: &Token, claim: &Claim) -> bool {
        if self.has(Bug::IgnoreUnits) {
            !token.excludes(claim)
        } else if self.has(Bug::IgnoreSessions) {
            token.free() >= claim.units
        } else {
            Rules::may_enter(self, token, claim)
        }
    }

    pub(super) fn may_join(&self, token: &Token) -> bool {
        self.has(Bug::JoinWithoutCap) || Rules::may_join(self, token)
    }

    pub(super) fn may_pass(&self, owed: &Owed) -> bool {
        (self.has(Bug::PassWithoutCap) && self.config.passes > 0) || Rules::may_pass(self, owed)
    }

    pub(super) fn owe(&mut self, front: &Claim, enters: Option<&Claim>) {
        let was_passed = |token: &Token| token.owed.is_some_and(|owed| enters.is_some_and(|claim| owed.is(claim)));
        let forgets = self.has(Bug::TakePassesAlong) && self.token.as_ref().is_some_and(was_passed);
        Rules::owe(self, front, enters);
        if let Some(token) = self.token.as_mut().filter(|_| forgets) {
            token.owed = None;
        }
    }

    pub(super) fn settle_debt(&mut self) {
        Rules::settle_debt(self);
        if self.has(Bug::ForgetPasses)
            && let Some(token) = &mut self.token
        {
            token.owed = None;
        }
    }

    pub(super) fn number(&self, token: &Token, claim: &Claim) -> Slots {
        let taken = |slot: &u32| token.ledger.iter().any(|loan| loan.slots.iter().any(|used| used == *slot));
        let units = claim.units.0;
        if !self.config.numbered {
            Slots::NONE
        } else if self.has(Bug::NumberEachFromZero) {
            (0..units).collect()
        } else if self.has(Bug::NumberByCount) {
            (0..units).map(|at| at + token.used() as u32).collect()
        } else if self.has(Bug::NumberFromTop) {
            let mut top: Vec<u32> = (0..self.config.capacity.0).rev().filter(|slot| !taken(slot)).collect();
            top.truncate(units as usize);
            top.into_iter().rev().collect()
        } else {
            Rules::number(self, token, claim)
        }
    }

    pub(super) fn enter(&mut self, request: RequestId, claim: &Claim, out: &mut Effects) {
        Rules::enter(self, request, claim, out);
        let local = Some(Fence(self.holding.len() as u64));
        if self.has(Bug::LocalFences)
            && let (Some(held), Some(Effect::Granted { grant })) = (self.holding.last_mut(), out.last_mut())
        {
            (held.fence, grant.fence) = (local, local);
        }
    }

    pub(super) fn pass(&mut self, to: NodeId, out: &mut Effects) {
        if self.has(Bug::ForgetPreempted) {
            self.queue.entries.retain(|entry| matches!(entry.claimer, Claimer::Peer(_)));
        }
        if self.has(Bug::CountOwnPassesOnly)
            && let Some(token) = &mut self.token
        {
            token.owed = None;
        }
        if self.has(Bug::PassWithoutNumbers)
            && let Some(token) = &mut self.token
        {
            token.ledger.iter_mut().for_each(|loan| loan.slots = Slots::NONE);
        }
        Rules::pass(self, to, out);
        if self.has(Bug::NoCopy) {
            self.limbo = None;
        }
        if self.has(Bug::DropAskBehindToken)
            && let Some(Effect::Send { message: Message { body: Body::Token { ask, .. }, .. }, .. }) = out.last_mut()
        {
            *ask = None;
        }
    }

    pub(super) fn pass_on_if_leaving(&mut self, out: &mut Effects) {
        if !self.has(Bug::LeaveWithToken) {
            Rules::pass_on_if_leaving(self, out);
        }
    }

    pub(super) fn take_back_dead_ask(&mut self, out: &mut Effects) {
        let kept = self.has(Bug::KeepAskAfterReversal) || (self.has(Bug::RaiseBeforeTakingBack) && self.is_lowest());
        if kept && !self.queue.is_empty() {
            return;
        }
        if self.has(Bug::NeverWithdraw) {
            self.asked = self.asked.filter(|_| !self.has_dead_ask());
        }
        Rules::take_back_dead_ask(self, out);
    }

    pub(super) fn look_if_lowest(&mut self, out: &mut Effects) {
        if self.has(Bug::RaiseWithoutLooking) && self.is_stranded() {
            self.free_turns = self.free_turns.max(1);
        }
        Rules::look_if_lowest(self, out);
    }

    pub(super) fn send_releases(&mut self, out: &mut Effects) {
        Rules::send_releases(self, out);
        if self.has(Bug::ForgetCustody) && self.lowest_below().is_some() {
            self.custody = Default::default();
        }
    }

    pub(super) fn merge_releases(&mut self) {
        if !self.has(Bug::NeverMergeReleases) {
            Rules::merge_releases(self);
        }
    }

    pub(super) fn keep_release(&mut self, grant: GrantId) {
        let merged = self.has(Bug::MergeReleases) && self.custody.copies.iter().any(|copy| copy.grant == grant);
        if !merged {
            Rules::keep_release(self, grant);
        }
    }

    pub(super) fn keep_asking(&mut self, out: &mut Effects) {
        if self.has(Bug::NeverUpdateAsk) && self.asked.is_some() {
            return;
        }
        let sent = out.len();
        Rules::keep_asking(self, out);
        if self.has(Bug::AgeWithoutCarrying)
            && let Some(Effect::Send { message: Message { body: Body::Ask(claim), .. }, .. }) = out.get_mut(sent)
        {
            claim.rank.0 -= i64::try_from(self.clock.0).unwrap_or(0);
        }
    }

    pub(super) fn on_token(
        &mut self,
        from: NodeId,
        height: Height,
        token: Token,
        ask: Option<Claim>,
        out: &mut Effects,
    ) {
        let decided = self.decided;
        if self.has(Bug::AcceptOldToken) {
            self.decided = decided.min(token.pass - 1);
        }
        Rules::on_token(self, from, height, token, ask, out);
        self.decided = self.decided.max(decided);
    }

    pub(super) fn go_below(&mut self, giver: Height) {
        if !self.has(Bug::PassWithoutLowering) {
            Rules::go_below(self, giver);
        }
    }

    pub(super) fn doubt(&mut self, neighbour: NodeId, out: &mut Effects) {
        let is_on_link = self.limbo.as_ref().is_some_and(|limbo| limbo.to == neighbour);
        if self.has(Bug::GuessArrived) && is_on_link {
            self.limbo = None;
        } else if self.has(Bug::GuessLost) && is_on_link {
            self.recover_token(out);
        } else {
            Rules::doubt(self, neighbour, out);
        }
    }

    pub(super) fn promise_to_refuse(&mut self, pass: u64) {
        if !self.has(Bug::NoPromise) {
            Rules::promise_to_refuse(self, pass);
        }
    }

    pub(super) fn tell_claim_again(&mut self, holder: NodeId, out: &mut Effects) {
        if !self.has(Bug::TellClaimOnce) {
            Rules::tell_claim_again(self, holder, out);
        }
    }

    pub(super) fn go_back_down(&mut self, raised_from: Option<Height>) {
        if !self.has(Bug::StayRaised) {
            Rules::go_back_down(self, raised_from);
        }
    }

    pub(super) fn tell_height(&mut self, body: Body, out: &mut Effects) {
        if !self.has(Bug::TellOnlyGiver) {
            Rules::tell_height(self, body, out);
        }
    }

    pub(super) fn ask_about_copy(&mut self, out: &mut Effects) {
        if !self.has(Bug::NeverAskAboutCopy) {
            Rules::ask_about_copy(self, out);
        }
    }

    pub(super) fn confirm_pass(&mut self, to: &[NodeId]) -> Option<u64> {
        let arrived = Rules::confirm_pass(self, to);
        arrived.filter(|_| !self.has(Bug::NeverConfirmPass))
    }

    pub(super) fn confirm_releases(&mut self, to: NodeId) -> Vec<GrantId> {
        let received = Rules::confirm_releases(self, to);
        if self.has(Bug::NeverConfirmReleases) { Vec::new() } else { received }
    }

    pub(super) fn confirm_at_once(&mut self, out: &mut Effects) {
        if !self.has(Bug::ConfirmWheneverItSuits) {
            Rules::confirm_at_once(self, out);
        }
    }

    pub(super) fn tell_open_questions(&mut self, neighbour: NodeId, out: &mut Effects) {
        if !self.has(Bug::ForgetQuestions) {
            Rules::tell_open_questions(self, neighbour, out);
        }
    }

    pub(super) fn drop_copy_for_gone(&mut self, out: &mut Effects) {
        if !self.has(Bug::KeepCopyForGone) {
            RecoveryRules::drop_copy_for_gone(self, out);
        }
    }

    pub(super) fn send_releases_again(&mut self) {
        if !self.has(Bug::SendReleasesOnce) {
            RecoveryRules::send_releases_again(self);
        }
    }

    pub(super) fn strike_what_is_over(&mut self) {
        let before = self.token.as_ref().map(|token| token.ledger.clone()).unwrap_or_default();
        RecoveryRules::strike_what_is_over(self);
        let Some(token) = &mut self.token else { return };
        let kept = |loan: &Loan| match self.census.is_gone(loan.grant.node) {
            true => self.planted.has(Bug::KeepLoansOfGone as u8),
            false => self.planted.has(Bug::KeepOwnLoans as u8),
        };
        let struck = before.into_iter().filter(|loan| kept(loan) && !token.ledger.contains(loan));
        let struck: Vec<Loan> = struck.collect();
        token.ledger.extend(struck);
    }

    pub(super) fn arrived(&self) -> u64 {
        if self.has(Bug::ReportPromises) { self.decided } else { RecoveryRules::arrived(self) }
    }

    pub(super) fn new_base(&self, remake: &Remake, granted: Fence) -> u64 {
        if self.has(Bug::FencesFromReports) { 0 } else { RecoveryRules::new_base(self, remake, granted) }
    }

    pub(super) fn new_pass(&self, remake: &Remake) -> u64 {
        if self.has(Bug::PassesFromZero) { 1 } else { RecoveryRules::new_pass(self, remake) }
    }

    pub(super) fn new_ledger<'a>(&self, pictures: impl Iterator<Item = &'a Picture>) -> Vec<Loan> {
        let mut ledger =
            if self.has(Bug::ForgetLoansInUse) { Vec::new() } else { RecoveryRules::new_ledger(self, pictures) };
        if self.has(Bug::ForgetSlotsInUse) {
            ledger.iter_mut().for_each(|loan| loan.slots = Slots::NONE);
        }
        ledger
    }

    pub(super) fn on_resume(&mut self) {
        Rules::on_resume(self);
        if self.has(Bug::ForgetCopyOnResume) {
            self.limbo = None;
        }
        if self.has(Bug::ForgetCustodyOnResume) {
            self.custody = Default::default();
        }
    }
}
