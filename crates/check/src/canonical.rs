//! Renumbers growing counters, so that a state comes back although its numbers have grown.
//!
//! On each line of numbers (see [`meshlock_core::counters`]) 0 stays where it is, the order is kept, and gaps larger
//! than the line's reach are cut down to it. The renumbered form of a node, message, history or environment is computed
//! once for each set of new numbers.
//!
//! Renumbered states have small numbers, so the numbers of a line are a word with a bit for each: those of a state are
//! the union of those of its parts, in order, without sorting. Numbers that do not fit into a word are sorted.

use std::mem::size_of;

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::{Aging, NodeId, Order, Protocol};
use meshlock_protocols::Node;

use crate::environment::Environment;
use crate::intern::{FixedMap, Interner, Sequences, map_bytes, next_id};
use crate::space::{Row, Space};

/// The lines seen so far, and the numbers of everything seen so far.
pub(crate) struct Canonical {
    lines: Lines,
    /// For each part, by number: its counters.
    numbers: [Vec<Option<Numbers>>; 4],
    /// By part, number and new counters: what it becomes.
    renumbered: FixedMap<(Part, u32, u32), u32>,
    values: Interner<Vec<i64>>,
    scratch: Vec<i64>,
    /// For each line the numbers of the state that is looked at as bits, and where they begin in `old`.
    words: Vec<(u64, usize)>,
    /// Whether all of them fit into bits.
    fits: bool,
    old: Vec<Number>,
    new: Vec<i64>,
}

/// The counters of a part.
#[derive(Clone)]
struct Numbers {
    /// Sorted, each once.
    all: Box<[Number]>,
    /// For each line that it has numbers on the same as bits; `None` if they do not fit.
    words: Option<Box<[(u16, u64)]>>,
}

impl Numbers {
    fn of(mut numbers: Vec<Number>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        let mut words: Vec<(u16, u64)> = Vec::new();
        for (line, value) in &numbers {
            if words.last().is_none_or(|(last, _)| last != line) {
                words.push((*line, 0));
            }
            let bit = u32::try_from(*value).ok().and_then(|value| 1_u64.checked_shl(value));
            let (Some(bit), Some((_, word))) = (bit, words.last_mut()) else {
                return Self { all: numbers.into(), words: None };
            };
            *word |= bit;
        }
        Self { all: numbers.into(), words: Some(words.into()) }
    }
}

/// What a number of a row stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Node,
    Message,
    History,
    Environment,
}

/// A line and a value on it.
type Number = (u16, i64);

struct Lines {
    /// Whether ranks age: then they lie on the line of the clock, else they are no counters at all.
    ages: bool,
    reach: Vec<i64>,
    known: FixedMap<(&'static str, Option<NodeId>), u16>,
}

impl Lines {
    fn new(order: Order) -> Self {
        let ages = matches!(order, Order::Priority { aging: Aging(1..) });
        Self { ages, reach: Vec::new(), known: FixedMap::default() }
    }

    /// The line of a number, unless it is left alone.
    fn find(&mut self, line: Line) -> Option<u16> {
        match line {
            Line::DUE => self.ages.then(|| self.id(Line::CLOCK)),
            _ => Some(self.id(line)),
        }
    }

    fn id(&mut self, line: Line) -> u16 {
        let fresh = u16::try_from(self.reach.len()).expect("a protocol has a handful of lines for each node");
        let id = *self.known.entry((line.name, line.of)).or_insert(fresh);
        if id == fresh {
            self.reach.push(2);
        }
        let reach = &mut self.reach[usize::from(id)];
        *reach = line.reach.max(*reach);
        id
    }
}

struct Collect<'a> {
    lines: &'a mut Lines,
    numbers: Vec<Number>,
}

impl CounterVisitor for Collect<'_> {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        self.numbers.extend(self.lines.find(line).map(|line| (line, value)));
        value
    }
}

struct Replace<'a> {
    lines: &'a mut Lines,
    old: &'a [Number],
    new: &'a [i64],
}

impl CounterVisitor for Replace<'_> {
    fn visit(&mut self, line: Line, value: i64) -> i64 {
        let Some(line) = self.lines.find(line) else { return value };
        self.old.binary_search(&(line, value)).map_or(value, |at| self.new[at])
    }
}

impl Canonical {
    pub(crate) fn new(order: Order) -> Self {
        Self {
            lines: Lines::new(order),
            numbers: [const { Vec::new() }; 4],
            renumbered: FixedMap::default(),
            values: Interner::new(),
            scratch: Vec::new(),
            words: Vec::new(),
            fits: true,
            old: Vec::new(),
            new: Vec::new(),
        }
    }

    /// Replaces a state by the one that stands for all that differ from it in counters only.
    pub(crate) fn renumber(&mut self, space: &mut Space, row: &mut Row) {
        self.gather(space, row);
        if !self.close_gaps() {
            return;
        }
        for node in row.iter_mut().take(space.layout.nodes) {
            *node = self.replace(space, Part::Node, *node);
        }
        for place in 0..space.layout.channels.len() {
            let content = &mut row[space.layout.channel(place)];
            if *content == Sequences::EMPTY {
                continue;
            }
            let messages: Vec<u32> = space.channels.iter(*content).collect();
            let replaced: Vec<u32> = messages.iter().map(|id| self.replace(space, Part::Message, *id)).collect();
            if messages != replaced {
                *content = match space.model.fifo {
                    true => space.channels.build(&replaced),
                    false => replaced.iter().fold(Sequences::EMPTY, |all, id| space.insert_without_order(all, *id)),
                };
            }
        }
        for (part, at) in [(Part::History, space.layout.history()), (Part::Environment, space.layout.environment())] {
            row[at] = self.replace(space, part, row[at]);
        }
    }

    /// Collects all numbers of a state, sorted by line; none if bits show that they have no gap to be closed.
    fn gather(&mut self, space: &Space, row: &Row) {
        self.old.clear();
        self.words.clear();
        self.fits = true;
        for_each_part(space, row, |part, id| self.collect(space, part, id));
        self.words.resize(self.lines.reach.len(), (0, 0));
        if !self.fits {
            for_each_part(space, row, |part, id| {
                let numbers = self.numbers[part as usize][id as usize].as_ref();
                self.old.extend(numbers.iter().flat_map(|numbers| &*numbers.all));
            });
            self.old.extend((0..self.lines.reach.len()).filter_map(|line| Some((u16::try_from(line).ok()?, 0))));
            self.old.sort_unstable();
            self.old.dedup();
            return;
        }
        for (word, _) in &mut self.words {
            *word |= 1; // 0 is on every line
        }
        if self.words.iter().zip(&self.lines.reach).all(|((word, _), reach)| !has_gap(*word, *reach)) {
            return;
        }
        for (line, (word, from)) in self.words.iter_mut().enumerate() {
            *from = self.old.len();
            let line = u16::try_from(line).unwrap_or(u16::MAX);
            self.old.extend((0..64).filter(|value| *word >> value & 1 == 1).map(|value| (line, value)));
        }
    }

    fn collect(&mut self, space: &Space, part: Part, id: u32) {
        let known = &mut self.numbers[part as usize];
        if known.len() <= id as usize {
            known.resize(id as usize + 1, None);
        }
        let lines = &mut self.lines;
        let numbers = known[id as usize].get_or_insert_with(|| {
            let mut visitor = Collect { lines, numbers: Vec::new() };
            visit(space, part, id, &mut visitor);
            Numbers::of(visitor.numbers)
        });
        let Some(words) = &numbers.words else {
            self.fits = false;
            return;
        };
        for (line, word) in words {
            if self.words.len() <= usize::from(*line) {
                self.words.resize(usize::from(*line) + 1, (0, 0));
            }
            self.words[usize::from(*line)].0 |= word;
        }
    }

    /// Finds the new numbers; whether any differs.
    fn close_gaps(&mut self) -> bool {
        self.new.clear();
        self.new.extend(self.old.iter().map(|(_, value)| *value));
        let mut from = 0;
        while from < self.old.len() {
            let line = self.old[from].0;
            let length = self.old[from..].iter().take_while(|number| number.0 == line).count();
            let reach = self.lines.reach[usize::from(line)];
            close_gaps(&mut self.new[from..from + length], reach);
            from += length;
        }
        self.old.iter().zip(&self.new).any(|(old, new)| old.1 != *new)
    }

    fn replace(&mut self, space: &mut Space, part: Part, id: u32) -> u32 {
        let Some(Some(Numbers { all, .. })) = self.numbers[part as usize].get(id as usize) else { return id };
        let (old, new) = (&self.old, &self.new);
        self.scratch.clear();
        if self.fits {
            let words = &self.words;
            self.scratch.extend(all.iter().map(|(line, value)| {
                let (word, from) = words[usize::from(*line)];
                let before = word & ((1 << value) - 1);
                new[from + before.count_ones() as usize]
            }));
        } else {
            self.scratch.extend(all.iter().map(|number| old.binary_search(number).map_or(number.1, |at| new[at])));
        }
        if self.scratch.iter().zip(all).all(|(new, old)| *new == old.1) {
            return id;
        }
        let values = self.values.insert_ref(&self.scratch);
        if let Some(&known) = self.renumbered.get(&(part, id, values)) {
            return known;
        }
        let mut visitor = Replace { lines: &mut self.lines, old: &self.old, new: &self.new };
        let replaced = match part {
            Part::Node => {
                let mut node = space.local.node(id).clone();
                node.visit_counters(&mut visitor);
                space.local.add_node(node)
            }
            Part::Message => {
                let mut message = space.local.message(id).clone();
                Node::visit_message_counters(&mut message, &mut visitor);
                space.local.add_message(message)
            }
            Part::History => {
                let mut history = space.histories.get(id).clone();
                history.visit_counters(&mut visitor, space.model.clock_reach);
                space.histories.insert(history).0
            }
            Part::Environment => {
                let mut environment = space.environments.get(id).clone();
                visit_environment(&mut environment, &mut visitor);
                space.add_environment(&environment)
            }
        };
        self.renumbered.insert((part, id, values), replaced);
        replaced
    }

    pub(crate) fn bytes(&self) -> usize {
        self.numbers
            .iter()
            .map(|part| part.len() * (size_of::<Option<Numbers>>() + 12 * size_of::<Number>()))
            .sum::<usize>()
            + map_bytes(&self.renumbered)
            + self.values.bytes(64)
    }
}

/// Calls `look` with every part of a state.
fn for_each_part(space: &Space, row: &Row, mut look: impl FnMut(Part, u32)) {
    for node in &row[..space.layout.nodes] {
        look(Part::Node, *node);
    }
    for content in &row[space.layout.nodes..space.layout.environment()] {
        for message in space.channels.iter(*content) {
            look(Part::Message, message);
        }
    }
    look(Part::History, row[space.layout.history()]);
    look(Part::Environment, row[space.layout.environment()]);
}

/// Whether two numbers that follow each other in a word, which has 0, are further apart than `reach`.
fn has_gap(word: u64, reach: i64) -> bool {
    let (mut rest, mut last) = (word & (word - 1), 0);
    while rest != 0 {
        let number = i64::from(rest.trailing_zeros());
        if number - last > reach {
            return true;
        }
        last = number;
        rest &= rest - 1;
    }
    false
}

/// Moves sorted different numbers, 0 among them, towards 0 until no gap is larger than `reach`.
fn close_gaps(numbers: &mut [i64], reach: i64) {
    let zero = numbers.partition_point(|number| *number < 0);
    let mut old = 0;
    for at in zero + 1..numbers.len() {
        let gap = numbers[at].saturating_sub(old).min(reach);
        old = numbers[at];
        numbers[at] = numbers[at - 1] + gap;
    }
    old = 0;
    for at in (0..zero).rev() {
        let gap = old.saturating_sub(numbers[at]).min(reach);
        old = numbers[at];
        numbers[at] = numbers[at + 1] - gap;
    }
}

fn visit(space: &Space, part: Part, id: u32, visitor: &mut dyn CounterVisitor) {
    match part {
        Part::Node => space.local.node(id).clone().visit_counters(visitor),
        Part::Message => Node::visit_message_counters(&mut space.local.message(id).clone(), visitor),
        Part::History => space.histories.get(id).clone().visit_counters(visitor, space.model.clock_reach),
        Part::Environment => visit_environment(&mut space.environments.get(id).clone(), visitor),
    }
}

fn visit_environment(environment: &mut Environment, visitor: &mut dyn CounterVisitor) {
    for (node, next) in environment.next_request.iter_mut().enumerate() {
        visitor.number(Line::of("request", NodeId(next_id(node))), next);
    }
    for (node, epoch) in environment.timers.iter_mut().enumerate() {
        if let Some(epoch) = epoch {
            visitor.number(Line::of("epoch", NodeId(next_id(node))), epoch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(mut numbers: Vec<i64>, reach: i64) -> Vec<i64> {
        close_gaps(&mut numbers, reach);
        numbers
    }

    #[test]
    fn order_and_small_gaps_stay_and_large_gaps_shrink() {
        assert_eq!(closed(vec![0, 5, 6], 2), [0, 2, 3]);
        assert_eq!(closed(vec![0, 1, 2, 4, 9], 2), [0, 1, 2, 4, 6]);
        assert_eq!(closed(vec![-60, -58, -57, 0], 2), [-5, -3, -2, 0]);
        assert_eq!(closed(vec![-9, 0, 9], 4), [-4, 0, 4]);
        assert_eq!(closed(vec![0], 2), [0]);
    }

    #[test]
    fn bits_show_the_same_gaps_as_numbers() {
        for word in (0..1 << 12).map(|bits| bits << 1 | 1_u64) {
            for reach in 2..5 {
                let numbers: Vec<i64> = (0..64).filter(|value| word >> value & 1 == 1).collect();
                assert_eq!(has_gap(word, reach), closed(numbers.clone(), reach) != numbers, "{numbers:?} {reach}");
            }
        }
        assert!(has_gap(1 << 63 | 1, 62) && !has_gap(1 << 63 | 1, 63));
    }

    #[test]
    fn numbers_that_do_not_fit_into_bits_are_listed_alone() {
        let words = |numbers: &[Number]| Numbers::of(numbers.to_vec()).words.map(|words| words.to_vec());
        assert_eq!(words(&[(1, 63), (0, 2), (1, 0), (0, 2)]), Some(vec![(0, 4), (1, 1 << 63 | 1)]));
        assert_eq!(words(&[(0, 64)]), None);
        assert_eq!(words(&[(0, -1)]), None);
        assert_eq!(words(&[]), Some(Vec::new()));
    }

    #[test]
    fn closing_twice_changes_nothing_more() {
        let once = closed(vec![-100, -3, -2, 0, 7, 8, 100], 3);
        assert_eq!(closed(once.clone(), 3), once);
    }
}
