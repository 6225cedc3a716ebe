//! Ideal routing: messages to nodes that are not neighbours, hop by hop on a shortest path of the moment.
//!
//! Nothing is lost: where there is no path a letter waits for a link, where a link breaks it is sent another way.
//! Letters from one node to another are opened in order. No real routing is as good: results on top of it are an upper
//! bound.

use std::collections::BTreeMap;

use meshlock_protocols::Message;

use super::World;
use crate::frames::{Hop, Letter};
use crate::observe::Observer;

/// Letters that wait, and the order of those in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Letters {
    /// By origin and destination: how many were posted and how many opened.
    counts: BTreeMap<(u32, u32), (u64, u64)>,
    /// No path from where they are.
    pub(super) stranded: Vec<(u32, Letter, Message)>,
    /// Arrived before an earlier one.
    pub(super) early: BTreeMap<(u32, u32, u64), Message>,
}

impl World {
    pub(super) fn post(&mut self, from: u32, to: u32, message: Message, observer: &mut dyn Observer) {
        if from == to || to as usize >= self.nodes.len() {
            return self.lose(from, to, &message, observer);
        }
        let (posted, _) = self.letters.counts.entry((from, to)).or_default();
        *posted += 1;
        let letter = Letter { origin: from, to, number: *posted };
        self.forward(from, letter, message, observer);
    }

    pub(super) fn forward(&mut self, here: u32, letter: Letter, message: Message, observer: &mut dyn Observer) {
        // What a node takes along is sent again from where it came.
        let here = if self.is_gone(here) { letter.origin } else { here };
        if self.is_gone(here) || self.is_gone(letter.to) {
            return self.lose(letter.origin, letter.to, &message, observer);
        }
        let next = self.links.next_hop(here, letter.to);
        let hop = next.and_then(|node| Some(Hop { node, link: self.links.generation(here, node)?, delivered: false }));
        match hop {
            Some(hop) => self.dispatch(here, vec![hop], message, true, Some(letter), observer),
            None => self.letters.stranded.push((here, letter, message)),
        }
    }

    /// A letter has come to a node: it is opened there or sent on.
    pub(super) fn pass_on(&mut self, here: u32, letter: Letter, message: Message, observer: &mut dyn Observer) {
        let Letter { origin, to, number } = letter;
        if here != to {
            return self.forward(here, letter, message, observer);
        }
        self.letters.early.insert((origin, to, number), message);
        loop {
            let (_, opened) = self.letters.counts.entry((origin, to)).or_default();
            let Some(message) = self.letters.early.remove(&(origin, to, *opened + 1)) else { return };
            *opened += 1;
            self.receive(to, origin, message, observer);
        }
    }

    /// There is a new link: perhaps there is a path now.
    pub(super) fn try_stranded(&mut self, observer: &mut dyn Observer) {
        for (here, letter, message) in std::mem::take(&mut self.letters.stranded) {
            self.forward(here, letter, message, observer);
        }
    }
}
