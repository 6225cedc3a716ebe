//! The states of a model as rows of numbers, and the step from one to the next.

mod effects;
mod members;
mod restart;
mod turn;

use meshlock_core::NodeId;
use meshlock_properties::{History, Occurrence};

use crate::action::Action;
use crate::canonical::Canonical;
use crate::counterexample::Fate;
use crate::environment::Environment;
use crate::finding::Finding;
use crate::intern::{FixedMap, Interner, Sequences, map_bytes};
use crate::layout::Layout;
use crate::local::Local;
use crate::model::{Model, ModelError};
use turn::Turn;

/// One state: the numbers of its nodes, channel contents, environment and history. See [`Layout`].
pub(crate) type Row = [u32];

/// Everything known about the states of one model.
pub(crate) struct Space {
    pub(crate) model: Model,
    pub(crate) layout: Layout,
    pub(crate) local: Local,
    pub(crate) channels: Sequences,
    pub(crate) environments: Interner<Environment, EnvironmentFacts>,
    pub(crate) histories: Interner<History>,
    observed: FixedMap<(u32, Occurrence), u32>,
    fresh_contents: FixedMap<(u32, u32, u32), u32>,
    reduce: bool,
    canonical: Option<Canonical>,
    /// Environments to write in, so that a step allocates only what is new.
    spare: Option<Environment>,
    pushed: Vec<u16>,
    /// Tokens under way in the state that is checked: the number of the message, and of the token.
    pub(crate) tokens: Vec<(usize, u32)>,
    /// What became of messages, while a run is being recorded.
    pub(crate) noted: Option<Noted>,
}

/// What became of messages in one step.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) sent: Vec<Sent>,
    pub(crate) vanished: Vec<Vanished>,
}

/// A message that was sent: into which channel, itself, and by which of the nodes that moved in this step.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) channel: usize,
    pub(crate) message: u32,
    pub(crate) by: usize,
}

/// A message that will not be delivered: its channel, itself, and why.
#[derive(Clone, Copy)]
pub(crate) struct Vanished {
    pub(crate) channel: usize,
    pub(crate) message: u32,
    pub(crate) fate: Fate,
}

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// A step, in which these nodes were granted something, as bits.
    Made { granted: u64 },
    /// It is not possible here.
    Impossible,
    /// It has to wait, because a channel is full.
    MustWait,
}

/// What is asked of an environment again and again.
pub(crate) struct EnvironmentFacts {
    /// For each node a number that is the same for nodes connected now.
    pub(crate) parts: Box<[u32]>,
    pub(crate) notices: bool,
    /// The nodes that have still to hear of a definition that others know, as bits.
    pub(crate) behind: u64,
    /// The nodes whose timers may run out when nothing is in flight, as bits.
    pub(crate) due: u64,
    /// The links that may be cut or formed now, as far as links alone decide.
    pub(crate) changes: Box<[Action]>,
}

impl Space {
    /// The space of a model, with the tables still empty.
    pub(crate) fn new(model: Model, reduce: bool, canonical: bool) -> Result<Self, ModelError> {
        model.validate()?;
        let layout = Layout::of(&model);
        Ok(Self::tables(model, layout, reduce, canonical))
    }

    fn tables(model: Model, layout: Layout, reduce: bool, canonical: bool) -> Self {
        Self {
            layout,
            local: Local::new(model.rules, model.setting),
            channels: Sequences::new(),
            environments: Interner::new(),
            histories: Interner::new(),
            observed: FixedMap::default(),
            fresh_contents: FixedMap::default(),
            reduce,
            canonical: canonical.then(|| Canonical::new(model.setting.order)),
            spare: None,
            pushed: Vec::new(),
            tokens: Vec::new(),
            noted: None,
            model,
        }
    }

    pub(crate) fn start(&mut self) -> Box<Row> {
        let mut row = Vec::with_capacity(self.layout.width());
        for place in 0..self.layout.nodes {
            let node = self.model.nodes[place].clone();
            row.push(self.local.add_node(node));
        }
        row.extend(self.layout.channels.iter().map(|_| Sequences::EMPTY));
        let environment = Environment::of(&self.model, &self.layout);
        row.push(self.add_environment(&environment));
        row.push(self.histories.insert(History::new(self.model.rules, self.model.setting)).0);
        let mut row = row.into_boxed_slice();
        self.renumber(&mut row);
        row
    }

    /// The same space for another thread: numbers mean the same to both.
    pub(crate) fn share(&mut self) -> Self {
        let (reduce, canonical) = self.reductions();
        let fresh = Self::tables(self.model.clone(), self.layout.clone(), reduce, canonical);
        let (environments, histories) = (self.environments.share(), self.histories.share());
        Self { local: self.local.share(), channels: self.channels.share(), environments, histories, ..fresh }
    }

    /// The same state in a space with empty tables, for long walks.
    pub(crate) fn moved_to_fresh_tables(self, row: &Row) -> (Self, Box<Row>) {
        let Self { model, layout, local, channels, environments, histories, reduce, canonical, .. } = self;
        let mut fresh = Self::tables(model, layout, reduce, canonical.is_some());
        let mut moved: Box<Row> = row.into();
        for node in &mut moved[..fresh.layout.nodes] {
            *node = fresh.local.add_node(local.node(*node).clone());
        }
        for content in &mut moved[fresh.layout.nodes..fresh.layout.environment()] {
            let messages = channels.iter(*content).map(|message| local.message(message).clone());
            let messages: Vec<u32> = messages.map(|message| fresh.local.add_message(message)).collect();
            *content = fresh.channels.build(&messages);
        }
        let (environment, history) = (fresh.layout.environment(), fresh.layout.history());
        moved[environment] = fresh.add_environment(environments.get(row[environment]));
        moved[history] = fresh.histories.insert_ref(histories.get(row[history]));
        (fresh, moved)
    }

    /// Whether stale messages are removed, and whether counters are renumbered.
    pub(crate) const fn reductions(&self) -> (bool, bool) {
        (self.reduce, self.canonical.is_some())
    }

    pub(crate) fn environment(&self, row: &Row) -> &Environment {
        self.environments.get(row[self.layout.environment()])
    }

    pub(crate) fn environment_facts(&self, row: &Row) -> &EnvironmentFacts {
        self.environments.facts(row[self.layout.environment()])
    }

    pub(crate) fn in_flight(&self, row: &Row) -> bool {
        row[self.layout.nodes..self.layout.environment()].iter().any(|content| *content != Sequences::EMPTY)
    }

    /// Nothing is in flight: no message, no notice, no definition, no stopped node, no timer that could still change
    /// something, and no repair that waits for somebody.
    pub(crate) fn is_quiet(&self, row: &Row) -> bool {
        let facts = self.environment_facts(row);
        let none_is_away = self.environment(row).away == 0;
        let still = none_is_away && !facts.notices && facts.behind == 0 && facts.due == 0 && !self.in_flight(row);
        still && !self.is_recovering(row)
    }

    /// Makes one step into `next`. On `Err`, `next` shows the state in which the mistake was made.
    pub(crate) fn apply(&mut self, row: &Row, action: Action, next: &mut Row) -> Result<Applied, Finding> {
        next.copy_from_slice(row);
        self.pushed.clear();
        let mut turn = Turn { next, environment: None, changed: 0, granted: 0, overfull: false };
        let result = self.act(&mut turn, action);
        if !matches!(result, Ok(false)) {
            self.count_rounds(&mut turn, action);
        }
        if let Some(environment) = turn.environment.take() {
            turn.next[self.layout.environment()] = self.add_environment(&environment);
            self.spare = Some(environment);
        }
        if turn.overfull {
            return Ok(Applied::MustWait);
        }
        if !result? {
            return Ok(Applied::Impossible);
        }
        let Turn { next, changed, granted, .. } = turn;
        if self.reduce {
            self.drop_stale(next, changed);
        }
        self.renumber(next);
        Ok(Applied::Made { granted })
    }

    pub(crate) fn add_environment(&mut self, environment: &Environment) -> u32 {
        let Self { environments, model, layout, .. } = self;
        environments.insert_ref_with(environment, |environment| EnvironmentFacts::of(model, layout, environment))
    }

    /// Removes what its receiver is certain to ignore from the channels where that may have changed.
    fn drop_stale(&mut self, next: &mut Row, changed: u64) {
        for place in 0..self.layout.channels.len() {
            let content = next[self.layout.nodes + place];
            let channel = self.layout.channels[place];
            let receiver = channel.to.0;
            if content == Sequences::EMPTY
                || (changed >> receiver & 1 == 0 && !self.pushed.iter().any(|pushed| usize::from(*pushed) == place))
            {
                continue;
            }
            let fresh = self.without_stale(next[receiver as usize], channel.from, content);
            self.note_vanished(place, content, fresh, Fate::Stale);
            next[self.layout.nodes + place] = fresh;
        }
    }

    /// Records what is in one content of a channel and not in the other, which is the same with messages removed.
    fn note_vanished(&mut self, channel: usize, before: u32, after: u32, fate: Fate) {
        let Some(Noted { vanished, .. }) = &mut self.noted else { return };
        let mut kept = self.channels.iter(after).peekable();
        for message in self.channels.iter(before) {
            if kept.next_if_eq(&message).is_none() {
                vanished.push(Vanished { channel, message, fate });
            }
        }
    }

    /// Records that a message was sent by the node that moved last.
    fn note_sent(&mut self, channel: usize, message: u32) {
        let moved = self.local.record.as_ref().map_or(0, Vec::len);
        if let Some(Noted { sent, .. }) = &mut self.noted {
            sent.push(Sent { channel, message, by: moved.saturating_sub(1) });
        }
    }

    /// One message more in the content of a channel that keeps no order.
    pub(crate) fn insert_without_order(&mut self, content: u32, message: u32) -> u32 {
        let Self { channels, local, .. } = self;
        channels.insert_sorted(content, message, &|a, b| local.message(a) < local.message(b))
    }

    fn without_stale(&mut self, receiver: u32, from: NodeId, content: u32) -> u32 {
        let Some((head, rest)) = self.channels.split(content) else { return content };
        let key = (receiver, from.0, content);
        if let Some(&known) = self.fresh_contents.get(&key) {
            return known;
        }
        let rest = self.without_stale(receiver, from, rest);
        let fresh = if self.local.is_stale(receiver, from, head) { rest } else { self.channels.cons(head, rest) };
        self.fresh_contents.insert(key, fresh);
        fresh
    }

    fn renumber(&mut self, row: &mut Row) {
        if let Some(mut canonical) = self.canonical.take() {
            canonical.renumber(self, row);
            self.canonical = Some(canonical);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let environment = self.layout.links.len() * 3 + self.layout.nodes * 28;
        self.local.bytes()
            + self.channels.bytes()
            + self.environments.bytes(environment + self.layout.nodes * 4)
            + self.histories.bytes(128)
            + self.own_bytes()
    }

    /// The memory of what is not shared with other threads.
    pub(crate) fn memo_bytes(&self) -> usize {
        self.local.memo_bytes() + self.channels.memo_bytes() + self.own_bytes()
    }

    fn own_bytes(&self) -> usize {
        let canonical = self.canonical.as_ref().map_or(0, Canonical::bytes);
        map_bytes(&self.observed) + map_bytes(&self.fresh_contents) + canonical
    }
}

#[cfg(test)]
mod stale;
#[cfg(test)]
mod tests;
