//! The queue of future events, in the total order of time and sequence, so that equal times never tie.
//!
//! What is due within a moment is in a heap; everything later is in a [`Wheel`] that only knows roughly when. So the heap
//! stays small however many nodes there are, and most entries are written once and moved once or twice, in the order of
//! their addition.

mod ballot;
mod wheel;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::time::Time;
pub(crate) use ballot::{Ballot, Kind};
use wheel::Wheel;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Ask {
        client: u32,
    },
    Release {
        request: u32,
    },
    /// A client has waited long enough.
    GiveUp {
        request: u32,
    },
    /// A timer of a protocol runs out.
    Timer {
        node: u32,
        epoch: u64,
        /// A timer of a former incarnation is forgotten.
        life: u16,
    },
    Land {
        frame: u32,
    },
    Free {
        node: u32,
    },
    /// What was held back on a link goes now, if it has not gone yet.
    Held {
        from: u32,
        to: u32,
    },
    Leg {
        node: u32,
        version: u32,
    },
    /// A node leaves its cell of the grid.
    Cell {
        node: u32,
        version: u32,
    },
    /// The distance of two nodes crosses the range.
    Cross {
        a: u32,
        b: u32,
        /// How many legs the two have started in all: neither has started another one if it is still the same.
        legs: u32,
        up: bool,
    },
    /// A random change of an abstract network.
    Change,
    /// A scripted change of an abstract network.
    Scripted {
        index: u32,
    },
    Sample,
    /// The fixed warm-up is over.
    WarmedUp,
    /// The time for a node to leave is over.
    Depart {
        node: u32,
    },
    /// A node crashes, if it is still in this incarnation.
    Crash {
        node: u32,
        life: u16,
    },
    ScriptedCrash {
        index: u32,
    },
    Return {
        node: u32,
    },
    Remove {
        node: u32,
    },
    /// The lease of a client whose node crashed is over.
    LeaseOver {
        request: u32,
    },
    /// A [`Ballot`], in parts: nested, it would make every entry larger.
    Voters {
        kind: Kind,
        life: u16,
        /// The node or voter.
        node: u32,
        until: Time,
    },
}

/// A large run has millions of them.
const _: () = assert!(size_of::<Due>() == 16);

impl Due {
    /// Whether it only moves the network, or comes from outside of it.
    pub(crate) const fn is_movement(self) -> bool {
        use Due::{Cell, Change, Crash, Cross, Leg, Sample, Scripted, ScriptedCrash, WarmedUp};
        let crashes = matches!(self, Crash { .. } | ScriptedCrash { .. });
        crashes
            || matches!(self, Leg { .. } | Cell { .. } | Cross { .. } | Change | Scripted { .. } | Sample | WarmedUp)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    /// Everything that is earlier than all in `later`.
    soon: BinaryHeap<Entry>,
    later: Wheel,
    sequence: u64,
    /// Entries that are neither movement nor a timer: as long as there are any, something is in flight.
    work: usize,
    timers: usize,
}

/// An entry of the heap. The greatest is the next.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    /// Entries of the wheel come without one: those of equal times are taken out in the order in which they were put in,
    /// and ahead of whatever is added to the heap afterwards.
    sequence: u64,
    due: Due,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Agenda {
    /// Adds an event. One at [`Time::NEVER`] is left out.
    pub(crate) fn add(&mut self, at: Time, due: Due) {
        if at == Time::NEVER {
            return;
        }
        self.count(due, 1);
        if !self.later.add(at, due) {
            self.push(at, due);
        }
    }

    /// Takes out what happens next.
    pub(crate) fn next(&mut self) -> Option<(Time, Due)> {
        if self.soon.is_empty() {
            let Self { soon, later, sequence, .. } = self;
            later.turn(|at, due| {
                *sequence += 1;
                soon.push(Entry { at, sequence: *sequence, due });
            });
        }
        let Entry { at, due, .. } = self.soon.pop()?;
        self.count(due, -1);
        Some((at, due))
    }

    pub(crate) fn peek(&self) -> Option<Time> {
        self.soon.peek().map(|entry| entry.at).or_else(|| self.later.first())
    }

    fn push(&mut self, at: Time, due: Due) {
        self.sequence += 1;
        self.soon.push(Entry { at, sequence: self.sequence, due });
    }

    /// Whether a message, a client or a transmitter is active.
    pub(crate) const fn has_work(&self) -> bool {
        self.work > 0
    }

    /// Whether a protocol waits for a timer.
    pub(crate) const fn has_timers(&self) -> bool {
        self.timers > 0
    }

    fn count(&mut self, due: Due, by: isize) {
        if matches!(due, Due::Voters { kind, .. } if kind.is_routine()) {
            return; // what it may lead to is asked for where a run is found quiet
        }
        if matches!(due, Due::Timer { .. }) {
            self.timers = self.timers.wrapping_add_signed(by);
        } else if !due.is_movement() {
            self.work = self.work.wrapping_add_signed(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut agenda = Agenda::default();
        for node in [3, 1, 2] {
            agenda.add(Time(5), Due::Leg { node, version: 0 });
        }
        agenda.add(Time(4), Due::Change);
        let order: Vec<Due> = std::iter::from_fn(|| agenda.next()).map(|(_, due)| due).collect();
        assert_eq!(
            order,
            [
                Due::Change,
                Due::Leg { node: 3, version: 0 },
                Due::Leg { node: 1, version: 0 },
                Due::Leg { node: 2, version: 0 }
            ]
        );
    }

    #[test]
    fn work_and_timers_are_counted_apart() {
        let mut agenda = Agenda::default();
        agenda.add(Time(1), Due::Sample);
        agenda.add(Time(2), Due::Timer { node: 0, epoch: 1, life: 0 });
        assert!(!agenda.has_work() && agenda.has_timers());
        agenda.add(Time(3), Due::Land { frame: 0 });
        agenda.add(Time::NEVER, Due::Release { request: 0 });
        assert!(agenda.has_work());
        while agenda.next().is_some() {}
        assert!(!agenda.has_work() && !agenda.has_timers());
    }

    /// Against the plain list of what was added, in the order of time and then of addition.
    #[test]
    fn the_order_is_total_whatever_is_added_when() {
        use crate::random::{Purpose, Streams};
        let mut stream = Streams::new(5).stream(Purpose::Channel, 0);
        let mut agenda = Agenda::default();
        let mut expected: Vec<(Time, u32)> = Vec::new();
        let (mut now, mut added) = (Time::ZERO, 0);
        for round in 0..20_000_u32 {
            // Mostly near, often at the very same moment, some far away, a few in the past.
            for _ in 0..stream.below(3) {
                let span = 1 << stream.below(48);
                let at = match stream.below(8) {
                    0 => now,
                    1 => Time(now.0.saturating_sub(stream.below(span))),
                    2 => Time((now.0 >> 20 << 20) + stream.below(4) * 1_000_000),
                    _ => Time(now.0 + stream.below(span)),
                };
                added += 1;
                agenda.add(at, Due::Release { request: added });
                expected.push((at, added));
            }
            let first = expected.iter().copied().min();
            assert_eq!(agenda.peek(), first.map(|(at, _)| at), "round {round}");
            if stream.below(5) > 1 {
                let next = agenda.next();
                assert_eq!(next, first.map(|(at, request)| (at, Due::Release { request })), "round {round}");
                expected.retain(|entry| Some(*entry) != first);
                now = first.map_or(now, |(at, _)| at);
            }
        }
        assert!(expected.len() > 100, "{}", expected.len());
        expected.sort_unstable();
        let rest: Vec<Time> = std::iter::from_fn(|| agenda.next()).map(|(at, _)| at).collect();
        assert_eq!(rest, expected.iter().map(|(at, _)| *at).collect::<Vec<Time>>());
    }

    #[test]
    fn the_last_moment_there_is_can_be_planned() {
        let mut agenda = Agenda::default();
        for at in [u64::MAX - 1, 0, 1 << 63] {
            agenda.add(Time(at), Due::Change);
        }
        let order: Vec<u64> = std::iter::from_fn(|| agenda.next()).map(|(at, _)| at.0).collect();
        assert_eq!(order, [0, 1 << 63, u64::MAX - 1]);
        assert_eq!((agenda.next(), agenda.peek()), (None, None));
    }
}
