//! Finds the line of a trace that sent an arriving or lost message, or armed an expiring timer.

use std::collections::BTreeMap;

use meshlock_core::{Effect, Event, NodeId};
use meshlock_protocols::Message;

use crate::counterexample::{Fate, Move, Step, Vanished};

/// Messages and timers in flight, with the lines that sent and armed them.
#[derive(Clone, Debug)]
pub(crate) struct Causes {
    /// By sender and receiver, in the order of sending.
    sent: BTreeMap<(NodeId, NodeId), Vec<(Message, u64)>>,
    armed: BTreeMap<(NodeId, u64), u64>,
    /// Messages arrive as they were sent; otherwise causes are unknown.
    known: bool,
}

impl Causes {
    /// Nothing is in flight. Where numbers are replaced after each step, causes are unknown.
    pub(crate) const fn new(renumbered: bool) -> Self {
        Self { sent: BTreeMap::new(), armed: BTreeMap::new(), known: !renumbered }
    }

    /// Takes in what one node of a step made of its event, told in this line, and returns what it answers.
    pub(super) fn moves(&mut self, step: &Step, place: usize, made: &Move, line: u64) -> Option<u64> {
        if !self.known {
            return None;
        }
        let cause = if let Event::Receive { from, message } = &made.event {
            self.take(*from, made.node, message, Which::Oldest)
        } else if let Event::Expired { timer } = &made.event {
            self.armed.remove(&(made.node, timer.epoch))
        } else {
            None
        };
        for effect in &made.effects {
            if let Effect::Arm { timer, .. } = effect {
                self.armed.insert((made.node, timer.epoch), line);
            }
        }
        for sent in step.sent.iter().filter(|sent| sent.by == place) {
            self.sent.entry((sent.from, sent.to)).or_default().push((sent.message.clone(), line));
        }
        cause
    }

    /// The line that sent a message which was lost or removed in this step.
    pub(super) fn vanishes(&mut self, step: &Step, gone: &Vanished) -> Option<u64> {
        // A message sent over a cut link vanishes at once; an equal one before it may still arrive.
        let swallowed = gone.fate == Fate::Cut && step.moves.iter().any(|made| made.node == gone.from);
        let which = if swallowed { Which::Newest } else { Which::Oldest };
        if self.known { self.take(gone.from, gone.to, &gone.message, which) } else { None }
    }

    /// Takes a message from those in flight. Of equal ones the oldest arrives first; without order, any of them will do.
    fn take(&mut self, from: NodeId, to: NodeId, message: &Message, which: Which) -> Option<u64> {
        let queue = self.sent.get_mut(&(from, to))?;
        let equal = |(sent, _): &(Message, u64)| sent == message;
        let place = match which {
            Which::Oldest => queue.iter().position(equal),
            Which::Newest => queue.iter().rposition(equal),
        };
        Some(queue.remove(place?).1)
    }
}

#[derive(Clone, Copy)]
enum Which {
    Oldest,
    Newest,
}
