//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`crate::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use crate::{
    group::message::{Message, Start},
    group::node::{Effects, Node},
    group::recovery::{Attendant, RecoveryRules},
    group::rules::Rules,
    group::token::Token,
    protocol::{Effect, Misuse, Rejection},
    recovery::{Census, Remake},
    vocabulary::{Fence, NodeId, RequestId, Session, Units},
};

crate::bugs! {
    /// A follower does not tell that it is out, not even when asked.
    LoseComplete,
    /// A complete that runs ahead of the token is dropped.
    DropEarlyComplete,
    /// The token does not remember what was taken up.
    ForgetAccepted,
    /// The open session may be joined while others wait.
    JoinWhileOthersWait,
    /// The next session is opened while followers are inside.
    OpenOverFollowers,
    /// A session that follows another at once leaves the token with the name of the one before.
    SessionNotSet,
    /// Only the holder remembers requests.
    HeardOnlyByHolder,
    /// Waiting gains nothing.
    AgeNothing,
    /// A repeated token is taken again.
    AcceptTokenTwice,
    /// A start for a withdrawn request is followed.
    GrantCancelled,
    /// Goes on after a stop without its copy of the token.
    ForgetCopyOnResume,
    /// Heeds what processes that are gone have said.
    HearTheGone,
    /// Follows a start of a session whose captain is gone.
    FollowGoneCaptain,
    /// Takes a token that was meant for its former incarnation.
    TakeTokenOfFormerSelf,
    /// Remembers the records of processes that are gone.
    KeepRecordsOfGone,
    /// Waits for followers that are gone.
    KeepGoneFollowers,
    /// Leaves processes that are gone in the queue.
    KeepGoneInQueue,
    /// Keeps and reports a copy of the token that went to a process that is gone.
    KeepCopyForGone,
    /// Does not report its copy of the token.
    ReportNoCopy,
    /// Does not report which transfers arrived.
    ReportNoArrival,
    /// Reports tokens that it gave away as arrived.
    ReportSeenAsArrived,
    /// Numbers the transfers of a new token from 1.
    RemakeTransferFromOne,
    /// Begins the fences of a new token from 1.
    RemakeFenceFromOne,
    /// Makes a new token without those who are inside.
    RemakeWithoutAttendants,
    /// Makes a new token that takes those who are inside for such as wait.
    RemakeWithoutStamps,
    /// Gives the session that goes on another fence.
    RemakeWithOtherFence,
}

impl Node {
    /// Plants a bug into this node.
    pub fn plant(&mut self, bug: Bug) {
        self.planted = crate::planted::Planted::bug(bug as u8);
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    pub(super) fn on_message(
        &mut self,
        from: NodeId,
        message: Message,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        let dropped = self.token.is_none()
            && ((self.has(Bug::HeardOnlyByHolder) && matches!(message, Message::Request { .. }))
                || (self.has(Bug::DropEarlyComplete) && matches!(message, Message::Complete { .. })));
        if dropped { Ok(()) } else { Rules::on_message(self, from, message, effects) }
    }

    pub(super) fn on_release(&mut self, request: RequestId, units: Units, effects: &mut Effects) -> Result<(), Misuse> {
        Rules::on_release(self, request, units, effects)?;
        if self.has(Bug::LoseComplete) {
            effects.retain(|effect| !matches!(effect, Effect::Send { message: Message::Complete { .. }, .. }));
        }
        Ok(())
    }

    pub(super) fn on_start(&mut self, start: Start, effects: &mut Effects) -> Result<(), Rejection> {
        let own = self.heard.get(&self.id).filter(|own| own.stamp.number == start.number && own.wish.is_none());
        if self.has(Bug::GrantCancelled) && self.inside.is_none() && own.is_some() {
            self.enter(start.number, start.session, start.fence, Some(start.captain), effects);
            return Ok(());
        }
        Rules::on_start(self, start, effects)
    }

    pub(super) fn is_stale_start(&self, start: &Start) -> bool {
        !self.has(Bug::GrantCancelled) && Rules::is_stale_start(self, start)
    }

    pub(super) fn on_ask(
        &self,
        from: NodeId,
        node: NodeId,
        number: RequestId,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        if self.has(Bug::LoseComplete) { Ok(()) } else { Rules::on_ask(self, from, node, number, effects) }
    }

    pub(super) fn has_seen(&self, token: &Token) -> bool {
        let taken_again = self.has(Bug::AcceptTokenTwice) && self.token.is_none();
        !taken_again && Rules::has_seen(self, token)
    }

    pub(super) fn take_up(&mut self, token: &mut Token, effects: &mut Effects) {
        let accepted = self.has(Bug::ForgetAccepted).then(|| token.accepted.clone());
        Rules::take_up(self, token, effects);
        if let Some(accepted) = accepted {
            token.accepted = accepted;
        }
    }

    pub(super) fn may_join(&self, token: &Token, session: Session) -> bool {
        let joins_others = self.has(Bug::JoinWhileOthersWait) && self.is_open(token) && token.session == Some(session);
        joins_others || Rules::may_join(self, token, session)
    }

    pub(super) fn is_over(&self, token: &Token) -> bool {
        if self.has(Bug::OpenOverFollowers) { self.inside.is_none() } else { Rules::is_over(self, token) }
    }

    pub(super) fn age_waiting(&self, token: &mut Token) {
        if !self.has(Bug::AgeNothing) {
            Rules::age_waiting(self, token);
        }
    }

    pub(super) fn open_session(&self, token: &mut Token, session: Session) {
        let former = token.session.filter(|_| self.has(Bug::SessionNotSet));
        Rules::open_session(self, token, session);
        token.session = former.or(token.session);
    }

    pub(super) fn on_resume(&mut self, effects: &mut Effects) {
        Rules::on_resume(self, effects);
        if self.has(Bug::ForgetCopyOnResume) {
            self.copy = None;
        }
    }

    pub(super) fn is_deaf_to(&self, from: NodeId) -> bool {
        !self.has(Bug::HearTheGone) && RecoveryRules::is_deaf_to(self, from)
    }

    pub(super) fn is_void_start(&self, start: &Start) -> bool {
        !self.has(Bug::FollowGoneCaptain) && RecoveryRules::is_void_start(self, start)
    }

    pub(super) fn is_for_me(&self, token: &Token) -> bool {
        self.has(Bug::TakeTokenOfFormerSelf) || RecoveryRules::is_for_me(self, token)
    }

    pub(super) fn forget_records_of_gone(&mut self) {
        if !self.has(Bug::KeepRecordsOfGone) {
            RecoveryRules::forget_records_of_gone(self);
        }
    }

    pub(super) fn strike_gone_followers(&self, token: &mut Token) {
        if !self.has(Bug::KeepGoneFollowers) {
            RecoveryRules::strike_gone_followers(self, token);
        }
    }

    pub(super) fn strike_gone_in_queue(&self, token: &mut Token) {
        if !self.has(Bug::KeepGoneInQueue) {
            RecoveryRules::strike_gone_in_queue(self, token);
        }
    }

    pub(super) fn live_copy(&self, census: &Census) -> Option<u64> {
        if self.has(Bug::KeepCopyForGone) {
            return self.copy.as_ref().map(|copy| copy.token.transfer);
        }
        RecoveryRules::live_copy(self, census).filter(|_| !self.has(Bug::ReportNoCopy))
    }

    pub(super) fn drop_copy_for_gone(&mut self) {
        if !self.has(Bug::KeepCopyForGone) {
            RecoveryRules::drop_copy_for_gone(self);
        }
    }

    pub(super) fn latest_arrival(&self) -> u64 {
        match RecoveryRules::latest_arrival(self) {
            _ if self.has(Bug::ReportNoArrival) => 0,
            arrived if self.has(Bug::ReportSeenAsArrived) => arrived.max(self.seen),
            arrived => arrived,
        }
    }

    pub(super) fn new_transfer(&self, remake: &Remake) -> u64 {
        if self.has(Bug::RemakeTransferFromOne) { 0 } else { RecoveryRules::new_transfer(self, remake) }
    }

    pub(super) fn new_fence(&self, remake: &Remake) -> Fence {
        if self.has(Bug::RemakeFenceFromOne) { Fence(0) } else { RecoveryRules::new_fence(self, remake) }
    }

    pub(super) fn let_attendants_stay(&self, token: &mut Token, attendants: &[Attendant]) {
        if self.has(Bug::RemakeWithoutAttendants) {
            return;
        }
        let new_fence = token.clock;
        RecoveryRules::let_attendants_stay(self, token, attendants);
        if self.has(Bug::RemakeWithoutStamps) {
            token.accepted.clear();
        }
        if self.has(Bug::RemakeWithOtherFence) {
            token.clock = new_fence;
        }
    }
}
