//! What has to be done at some time: leases, timeouts, timers of protocols.

use std::collections::BTreeSet;

use meshlock_core::{NodeId, Timer};

use super::{Now, Ticket};
use crate::wire::Number;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// Voters or the standing of this node. First: when a standing ends, leases end because of it.
    Voting,
    /// A lease or a timeout may be over.
    Request(Ticket),
    /// A timer of the protocol of a resource.
    Timer(Number, Timer),
    /// Whether tokens that are waited for are in reach.
    Reach,
    /// The next part of the report to a question.
    Report(NodeId, u64),
    /// The catalogue is to be kept on disk.
    Catalogue,
    /// Nothing may be held any more, which is to be noted.
    Promises,
    /// Clients that wait are told of their places.
    Places,
    /// What clients hold could not be noted: whether that works again.
    Noting,
    /// The rounds of neighbours were waited for long enough, for the call of this member.
    Call(u16),
}

/// All alarms by time. Those of requests are taken out when the request is over, so that short ones leave nothing.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    due: BTreeSet<(Now, Alarm)>,
    /// The first was taken out, of a kind that is seldom waited for to the end.
    is_eased: bool,
    #[cfg(test)]
    sets: usize,
}

impl Alarms {
    pub(crate) fn set(&mut self, at: Now, alarm: Alarm) {
        self.due.insert((at, alarm));
        #[cfg(test)]
        {
            self.sets += 1;
        }
    }

    /// How often one was set.
    #[cfg(test)]
    pub(crate) fn sets(&self) -> usize {
        self.sets
    }

    pub(crate) fn unset(&mut self, at: Now, alarm: Alarm) {
        // Calls come all the time, and nearly all are answered long before. Requests are too many to tell of each.
        self.is_eased |= matches!(alarm, Alarm::Call(_)) && self.due.first() == Some(&(at, alarm));
        self.due.remove(&(at, alarm));
    }

    /// Whether a timer that waits for the next alarm had better look again, so as not to ring in vain.
    pub(crate) fn take_eased(&mut self) -> bool {
        std::mem::take(&mut self.is_eased)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    pub(crate) fn next(&self) -> Option<Now> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&mut self, now: Now) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|(_, alarm)| alarm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_waits_for_a_call_that_was_answered_looks_again() {
        let mut alarms = Alarms::default();
        let (soon, later) = (Now(1), Now(2));
        alarms.set(soon, Alarm::Call(3));
        alarms.set(later, Alarm::Call(4));
        alarms.set(later, Alarm::Places);
        assert!(!alarms.take_eased());
        alarms.unset(later, Alarm::Call(4));
        assert!(!alarms.take_eased(), "the next alarm is still the same");
        alarms.unset(soon, Alarm::Call(3));
        assert!(alarms.take_eased() && !alarms.take_eased());
        assert_eq!(alarms.next(), Some(later));
        alarms.unset(later, Alarm::Places);
        assert!(!alarms.take_eased(), "others are left to ring");
    }
}
