//! Renumbers growing counters, so that a state comes back although its numbers have grown.
//!
//! On each line of numbers (see [`meshlock_core::counters`]) 0 stays where it is, the order is kept, and gaps larger
//! than the line's reach are cut down to it. The renumbered form of a node, message, history or environment is computed
//! once for each set of new numbers.

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
    /// For each part, by number: its counters, sorted, each once.
    numbers: [Vec<Option<Box<[Number]>>>; 4],
    /// By part, number and new counters: what it becomes.
    renumbered: FixedMap<(Part, u32, u32), u32>,
    values: Interner<Vec<i64>>,
    scratch: Vec<i64>,
    old: Vec<Number>,
    new: Vec<i64>,
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

    /// Collects all numbers of a state, sorted by line.
    fn gather(&mut self, space: &Space, row: &Row) {
        self.old.clear();
        for node in &row[..space.layout.nodes] {
            self.collect(space, Part::Node, *node);
        }
        for content in &row[space.layout.nodes..space.layout.environment()] {
            for message in space.channels.iter(*content) {
                self.collect(space, Part::Message, message);
            }
        }
        self.collect(space, Part::History, row[space.layout.history()]);
        self.collect(space, Part::Environment, row[space.layout.environment()]);
        self.old.extend((0..self.lines.reach.len()).filter_map(|line| Some((u16::try_from(line).ok()?, 0))));
        self.old.sort_unstable();
        self.old.dedup();
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
            let mut numbers = visitor.numbers;
            numbers.sort_unstable();
            numbers.dedup();
            numbers.into()
        });
        self.old.extend_from_slice(numbers);
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
        let Some(Some(numbers)) = self.numbers[part as usize].get(id as usize) else { return id };
        let (old, new) = (&self.old, &self.new);
        self.scratch.clear();
        self.scratch.extend(numbers.iter().map(|number| old.binary_search(number).map_or(number.1, |at| new[at])));
        if self.scratch.iter().zip(numbers).all(|(new, old)| *new == old.1) {
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
            .map(|part| part.len() * (size_of::<Option<Box<[Number]>>>() + 8 * size_of::<Number>()))
            .sum::<usize>()
            + map_bytes(&self.renumbered)
            + self.values.bytes(64)
    }
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
    fn closing_twice_changes_nothing_more() {
        let once = closed(vec![-100, -3, -2, 0, 7, 8, 100], 3);
        assert_eq!(closed(once.clone(), 3), once);
    }
}
