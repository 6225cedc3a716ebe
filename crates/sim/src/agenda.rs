//! The queue of future events, in the total order of time and sequence, so that equal times never tie.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        versions: (u32, u32),
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
    Voters(Ballot),
}

/// What happens between nodes and voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ballot {
    /// A node tells voters that it is there.
    Round {
        node: u32,
        life: u16,
    },
    /// Enough of them have answered a node that had no standing: it may act until this moment.
    Answered {
        node: u32,
        life: u16,
        until: Time,
    },
    /// The standing of a node is over, unless it was renewed.
    Expires {
        node: u32,
        life: u16,
    },
    /// Voters may have heard nothing of an incarnation for too long.
    Suspect {
        node: u32,
        life: u16,
    },
    /// A voter hears what most of them have found.
    Tell {
        voter: u32,
    },
    Register {
        node: u32,
    },
    Ratify {
        node: u32,
    },
}

impl Ballot {
    /// Whether it comes again and again without an end.
    const fn is_routine(self) -> bool {
        match self {
            Self::Round { .. } | Self::Expires { .. } | Self::Suspect { .. } => true,
            Self::Answered { .. } | Self::Tell { .. } | Self::Register { .. } | Self::Ratify { .. } => false,
        }
    }
}

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
    heap: BinaryHeap<Reverse<(Time, u64, Due)>>,
    sequence: u64,
    /// Entries that are neither movement nor a timer: as long as there are any, something is in flight.
    work: usize,
    timers: usize,
}

impl Agenda {
    /// Adds an event. One at [`Time::NEVER`] is left out.
    pub(crate) fn add(&mut self, at: Time, due: Due) {
        if at == Time::NEVER {
            return;
        }
        self.sequence += 1;
        self.count(due, 1);
        self.heap.push(Reverse((at, self.sequence, due)));
    }

    /// Takes out what happens next.
    pub(crate) fn next(&mut self) -> Option<(Time, Due)> {
        let Reverse((at, _, due)) = self.heap.pop()?;
        self.count(due, -1);
        Some((at, due))
    }

    pub(crate) fn peek(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
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
        if matches!(due, Due::Voters(ballot) if ballot.is_routine()) {
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
}
