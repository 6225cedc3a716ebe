//! Messages that were sent and have neither arrived nor been lost.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::value::RawValue;

/// More than this is not kept: a recording of one node does not tell what arrives elsewhere, and in a large mesh no
/// viewer shows so many.
const MOST: usize = 5_000;

/// All of them, in the order of sending.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay {
    letters: BTreeMap<u64, Letter>,
    /// By sender and receiver: numbers of letters, in order.
    ways: BTreeMap<(u32, u32), VecDeque<u64>>,
    last: u64,
}

/// One message on its way to one receiver.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Letter {
    line: u64,
    from: u32,
    to: u32,
    sent: u64,
    message: Box<RawValue>,
}

impl UnderWay {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Letter> {
        self.letters.values()
    }

    pub(super) fn send(&mut self, line: u64, from: u32, to: u32, sent: u64, message: &RawValue) {
        if self.letters.len() >= MOST
            && let Some((number, oldest)) = self.letters.pop_first()
        {
            self.forget((oldest.from, oldest.to), number);
        }
        self.last += 1;
        self.letters.insert(self.last, Letter { line, from, to, sent, message: message.to_owned() });
        self.ways.entry((from, to)).or_default().push_back(self.last);
    }

    /// Takes the one that was sent in line `cause`, or the oldest if that is not known.
    pub(super) fn take(&mut self, cause: Option<u64>, from: u32, to: u32) {
        let Some(way) = self.ways.get(&(from, to)) else { return };
        let is_it = |number: &&u64| self.letters.get(*number).is_some_and(|letter| Some(letter.line) == cause);
        let Some(number) = way.iter().find(is_it).or(way.front()).copied() else { return };
        self.letters.remove(&number);
        self.forget((from, to), number);
    }

    /// Everything from one node to another is lost.
    pub(super) fn cut(&mut self, from: u32, to: u32) {
        for number in self.ways.remove(&(from, to)).unwrap_or_default() {
            self.letters.remove(&number);
        }
    }

    fn forget(&mut self, way: (u32, u32), number: u64) {
        if let Some(numbers) = self.ways.get_mut(&way) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.ways.remove(&way);
            }
        }
    }
}
