//! The states of a model as rows of numbers, and the step from one to the next.

use meshlock_core::{Demand, Event, NodeId, Protocol, Rank, RequestId, Timer, Urgency};
use meshlock_properties::{History, Occurrence, Violation};

use crate::action::Action;
use crate::canonical::Canonical;
use crate::counterexample::Fate;
use crate::environment::{Environment, LinkState};
use crate::finding::Finding;
use crate::intern::{FixedMap, Interner, Sequences, map_bytes};
use crate::layout::Layout;
use crate::local::{Local, LocalEffect, LocalStep};
use crate::model::{Failing, Model, ModelError, Pick};

/// One state: the numbers of its nodes, channel contents, environment and history. See [`Layout`].
pub(crate) type Row = [u32];

/// Everything known about the states of one model.
pub(crate) struct Space<P: Protocol> {
    pub(crate) model: Model<P>,
    pub(crate) layout: Layout,
    pub(crate) local: Local<P>,
    pub(crate) channels: Sequences,
    pub(crate) environments: Interner<Environment>,
    pub(crate) environment_facts: Vec<EnvironmentFacts>,
    pub(crate) histories: Interner<History>,
    observed: FixedMap<(u32, Occurrence), u32>,
    fresh_contents: FixedMap<(u32, u32, u32), u32>,
    reduce: bool,
    canonical: Option<Canonical>,
    /// Environments to write in, so that a step allocates only what is new.
    spare: Option<Environment>,
    pushed: Vec<u16>,
    /// The messages that came to nothing, while a run is being recorded.
    pub(crate) vanished: Option<Vec<Vanished>>,
}

/// A message that will not be delivered: its channel, itself, and why.
#[derive(Clone, Copy)]
pub(crate) struct Vanished {
    pub(crate) channel: usize,
    pub(crate) message: u32,
    pub(crate) fate: Fate,
}

/// What is asked of an environment again and again.
pub(crate) struct EnvironmentFacts {
    /// For each node a number that is the same for nodes connected now.
    pub(crate) parts: Box<[u32]>,
    pub(crate) notices: bool,
    /// The nodes whose timers may run out when nothing is in flight, as bits.
    pub(crate) due: u64,
    /// The links that may be cut or formed now, as far as links alone decide.
    pub(crate) changes: Box<[Action]>,
}

/// A step that is being made.
struct Turn<'a> {
    next: &'a mut Row,
    /// The environment, once it changed.
    environment: Option<Environment>,
    /// The nodes that changed, as bits.
    changed: u64,
    /// The nodes that were granted something, as bits.
    granted: u64,
}

impl<P: Protocol> Space<P> {
    /// The space of a model, with the tables still empty.
    pub(crate) fn new(model: Model<P>, reduce: bool, canonical: bool) -> Result<Self, ModelError> {
        model.validate()?;
        let layout = Layout::of(&model);
        Ok(Self::tables(model, layout, reduce, canonical))
    }

    fn tables(model: Model<P>, layout: Layout, reduce: bool, canonical: bool) -> Self {
        Self {
            layout,
            local: Local::new(model.rules, model.setting),
            channels: Sequences::new(),
            environments: Interner::new(),
            environment_facts: Vec::new(),
            histories: Interner::new(),
            observed: FixedMap::default(),
            fresh_contents: FixedMap::default(),
            reduce,
            canonical: canonical.then(|| Canonical::new(model.setting.order)),
            spare: None,
            pushed: Vec::new(),
            vanished: None,
            model,
        }
    }

    /// The state at the start.
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
        &self.environment_facts[row[self.layout.environment()] as usize]
    }

    /// Whether a message is on its way.
    pub(crate) fn in_flight(&self, row: &Row) -> bool {
        row[self.layout.nodes..self.layout.environment()].iter().any(|content| *content != Sequences::EMPTY)
    }

    /// Nothing is under way: no message, no notice, and no timer that could still mend something.
    pub(crate) fn is_quiet(&self, row: &Row) -> bool {
        let facts = self.environment_facts(row);
        !facts.notices && facts.due == 0 && !self.in_flight(row)
    }

    /// Makes one step into `next` and returns the nodes that were granted something, as bits. `Ok(None)` if the
    /// action is not possible here. On `Err`, `next` shows the state in which the mistake was made.
    pub(crate) fn apply(&mut self, row: &Row, action: Action, next: &mut Row) -> Result<Option<u64>, Finding> {
        next.copy_from_slice(row);
        self.pushed.clear();
        let mut turn = Turn { next, environment: None, changed: 0, granted: 0 };
        let result = self.act(&mut turn, action);
        if !matches!(result, Ok(false)) {
            self.count_rounds(&mut turn, action);
        }
        if let Some(environment) = turn.environment.take() {
            turn.next[self.layout.environment()] = self.add_environment(&environment);
            self.spare = Some(environment);
        }
        if !result? {
            return Ok(None);
        }
        let Turn { next, changed, granted, .. } = turn;
        if self.reduce {
            self.drop_stale(next, changed);
        }
        self.renumber(next);
        Ok(Some(granted))
    }

    /// Whether the action was possible.
    fn act(&mut self, turn: &mut Turn<'_>, action: Action) -> Result<bool, Finding> {
        match action {
            Action::Deliver { channel, place } => {
                let at = self.layout.channel(channel.into());
                let Some((message, rest)) = self.channels.take(turn.next[at], place.into()) else { return Ok(false) };
                let channel = self.layout.channels[usize::from(channel)];
                turn.next[at] = rest;
                self.oblige(turn, channel.to, Event::Receive { from: channel.from, message })
            }
            Action::Notice { link, end } => {
                let link_place = self.layout.links[usize::from(link)];
                let environment = self.change(turn);
                let LinkState::Dying(mut noticed) = environment.links[usize::from(link)] else { return Ok(false) };
                noticed[usize::from(end)] = true;
                environment.links[usize::from(link)] =
                    if noticed == [true, true] { LinkState::Down } else { LinkState::Dying(noticed) };
                let into = link_place.channel_into(end);
                let content = std::mem::replace(&mut turn.next[self.layout.channel(into)], Sequences::EMPTY);
                self.note_vanished(into, content, Sequences::EMPTY, Fate::Cut);
                self.oblige(turn, link_place.end(end), Event::LinkDown { neighbour: link_place.end(1 - end) })
            }
            Action::Release { node, place } => {
                let view = self.local.view(turn.next[usize::from(node)]);
                let Some(&grant) = view.holding.get(usize::from(place)) else { return Ok(false) };
                let event = Event::Release { request: grant.request, units: grant.units };
                let Some(step) = self.ask(turn, node, event) else { return Ok(false) };
                let node = NodeId(node.into());
                self.observe(turn, Occurrence::Released { node, request: grant.request })?;
                self.finish(turn, node, step).map(|()| true)
            }
            Action::Expire { node } | Action::ExpireEarly { node } => {
                let place = usize::from(node);
                let early = matches!(action, Action::ExpireEarly { .. });
                let environment = self.change(turn);
                let Some(epoch) = environment.timers[place].take() else { return Ok(false) };
                if early {
                    environment.early_timers = environment.early_timers.saturating_sub(1);
                }
                self.oblige(turn, NodeId(node.into()), Event::Expired { timer: Timer { epoch } })
            }
            Action::Request { node, demand } => self.request(turn, node, demand),
            Action::Cancel { node, place } => {
                let view = self.local.view(turn.next[usize::from(node)]);
                let Some(request) = view.waiting.get(usize::from(place)).map(|waiting| waiting.request) else {
                    return Ok(false);
                };
                let Some(step) = self.ask(turn, node, Event::Cancel { request }) else { return Ok(false) };
                let environment = self.change(turn);
                environment.cancels = environment.cancels.saturating_sub(1);
                let node = NodeId(node.into());
                self.observe(turn, Occurrence::Cancelled { node, request })?;
                self.finish(turn, node, step).map(|()| true)
            }
            Action::Reprioritize { node, place, urgency } => self.reprioritize(turn, node, place, urgency),
            Action::Cut { link } => {
                let failing = self.model.failing;
                let environment = self.change(turn);
                environment.links[usize::from(link)] = Environment::cut(failing);
                environment.link_changes = environment.link_changes.saturating_sub(1);
                match failing {
                    Failing::Gentle => self.tell_both(turn, link, |neighbour| Event::LinkDown { neighbour }),
                    Failing::Harsh => Ok(true),
                }
            }
            Action::Form { link } => {
                let environment = self.change(turn);
                environment.links[usize::from(link)] = LinkState::Up;
                environment.link_changes = environment.link_changes.saturating_sub(1);
                self.tell_both(turn, link, |neighbour| Event::LinkUp { neighbour })
            }
            Action::Lose { channel, place } => {
                let at = self.layout.channel(channel.into());
                let Some((_, rest)) = self.channels.take(turn.next[at], place.into()) else { return Ok(false) };
                self.note_vanished(channel.into(), turn.next[at], rest, Fate::Lost);
                turn.next[at] = rest;
                let environment = self.change(turn);
                environment.losses = environment.losses.saturating_sub(1);
                Ok(true)
            }
        }
    }

    fn request(&mut self, turn: &mut Turn<'_>, node: u8, demand: u8) -> Result<bool, Finding> {
        let place = usize::from(node);
        let work = &self.model.workload.nodes[place];
        let Some(&demand) = work.demands.get(usize::from(demand)) else { return Ok(false) };
        let (pick, list, endless) = (work.pick, work.demands.len(), self.model.workload.endless);
        let request = RequestId(self.environment(turn.next).next_request[place]);
        let Some(step) = self.ask(turn, node, Event::Request { request, demand }) else { return Ok(false) };
        let environment = self.change(turn);
        environment.next_request[place] += 1;
        environment.made[place] = match (endless, pick) {
            (false, _) => environment.made[place] + 1,
            (true, Pick::Any) => 0,
            (true, Pick::InOrder) => (environment.made[place] + 1) % crate::intern::next_id(list),
        };
        let rank = self.rank(step, request, demand.urgency);
        let Demand { units, session, .. } = demand;
        let node = NodeId(node.into());
        self.observe(turn, Occurrence::Requested { node, request, rank, units, session })?;
        self.finish(turn, node, step).map(|()| true)
    }

    fn reprioritize(&mut self, turn: &mut Turn<'_>, node: u8, place: u8, urgency: u8) -> Result<bool, Finding> {
        let before = turn.next[usize::from(node)];
        let waiting = self.local.view(before).waiting.get(usize::from(place)).copied();
        let urgency = self.model.budgets.urgencies.get(usize::from(urgency)).copied();
        let (Some(waiting), Some(urgency)) = (waiting, urgency) else { return Ok(false) };
        let request = waiting.request;
        let Some(step) = self.ask(turn, node, Event::Reprioritize { request, urgency }) else { return Ok(false) };
        if self.local.is_idle(before, step) {
            return Ok(false); // the urgency it has already
        }
        let environment = self.change(turn);
        environment.reprioritisations = environment.reprioritisations.saturating_sub(1);
        let rank = self.rank(step, request, urgency);
        let node = NodeId(node.into());
        self.observe(turn, Occurrence::Reprioritized { node, request, rank })?;
        self.finish(turn, node, step).map(|()| true)
    }

    /// The rank of a request after a step. One that was granted at once does not show it any more.
    fn rank(&self, step: LocalStep, request: RequestId, urgency: Urgency) -> Rank {
        let waiting = &self.local.view(step.after).waiting;
        let shown = waiting.iter().find(|waiting| waiting.request == request).map(|waiting| waiting.rank);
        shown.or_else(|| self.model.setting.order.rank(urgency, Default::default())).unwrap_or_default()
    }

    /// An event of the application; `None` if it is a mistake now.
    fn ask(&mut self, turn: &Turn<'_>, node: u8, event: Event<u32>) -> Option<LocalStep> {
        self.local.step(turn.next[usize::from(node)], event).ok()
    }

    /// An event that no node may refuse.
    fn oblige(&mut self, turn: &mut Turn<'_>, node: NodeId, event: Event<u32>) -> Result<bool, Finding> {
        let name = event_name(&event);
        match self.local.step(turn.next[node.0 as usize], event) {
            Ok(step) => self.finish(turn, node, step).map(|()| true),
            Err(misuse) => Err(Finding::Refused { node, event: name, misuse }),
        }
    }

    fn tell_both(
        &mut self,
        turn: &mut Turn<'_>,
        link: u16,
        event: impl Fn(NodeId) -> Event<u32>,
    ) -> Result<bool, Finding> {
        let link = self.layout.links[usize::from(link)].link;
        self.oblige(turn, link.low(), event(link.high()))?;
        self.oblige(turn, link.high(), event(link.low()))
    }

    /// Puts a local step into effect.
    fn finish(&mut self, turn: &mut Turn<'_>, node: NodeId, step: LocalStep) -> Result<(), Finding> {
        let place = node.0 as usize;
        if turn.next[place] != step.after {
            turn.next[place] = step.after;
            turn.changed |= 1 << place;
        }
        let mut at = 0;
        let mut rejected = None;
        while let Some(effect) = self.local.effect(step, at) {
            at += 1;
            match effect {
                LocalEffect::Send { to, message } => self.send(turn, place, to, message)?,
                LocalEffect::Broadcast { message } => {
                    for channel in 0..self.layout.channels.len() {
                        if self.layout.channels[channel].from == node && self.carries(turn, channel) == Carries::Yes {
                            self.push(turn, channel, message)?;
                        }
                    }
                }
                LocalEffect::Granted { grant } => {
                    turn.granted |= 1 << place;
                    self.observe(turn, Occurrence::Granted { node, grant })?;
                }
                LocalEffect::Arm { epoch } => {
                    if self.current(turn).timers[place] != Some(epoch) {
                        self.change(turn).timers[place] = Some(epoch);
                    }
                }
                LocalEffect::Reject { from, reason } => rejected = Some(Finding::Rejected { node, from, reason }),
            }
        }
        if let Some(finding) = self.local.finding(step) {
            return Err(finding.clone());
        }
        match rejected {
            Some(finding) if !self.model.allow_rejects => Err(finding),
            Some(_) | None => Ok(()),
        }
    }

    fn send(&mut self, turn: &mut Turn<'_>, node: usize, to: NodeId, message: u32) -> Result<(), Finding> {
        let carries = self.layout.channel_between(node, to).map(|channel| (channel, self.carries(turn, channel)));
        match carries {
            Some((channel, Carries::Yes)) => self.push(turn, channel, message),
            Some((channel, Carries::Swallows)) => {
                if let Some(vanished) = &mut self.vanished {
                    vanished.push(Vanished { channel, message, fate: Fate::Cut });
                }
                Ok(())
            }
            Some((_, Carries::No)) | None if self.model.allow_stray_sends => Ok(()),
            Some((_, Carries::No)) | None => {
                let kind = self.local.message_facts(message).kind;
                let node = NodeId(crate::intern::next_id(node));
                Err(if to == node { Finding::SelfSend { node, kind } } else { Finding::StraySend { node, to, kind } })
            }
        }
    }

    /// What becomes of a message put into a channel now.
    fn carries(&self, turn: &Turn<'_>, channel: usize) -> Carries {
        let channel = self.layout.channels[channel];
        let Some(link) = channel.link else { return Carries::Yes };
        match self.current(turn).links[usize::from(link)] {
            LinkState::Up => Carries::Yes,
            LinkState::Down => Carries::No,
            LinkState::Dying(noticed) => {
                let end = usize::from(self.layout.links[usize::from(link)].link.high() == channel.from);
                if noticed[end] { Carries::No } else { Carries::Swallows }
            }
        }
    }

    fn push(&mut self, turn: &mut Turn<'_>, channel: usize, message: u32) -> Result<(), Finding> {
        let content = &mut turn.next[self.layout.nodes + channel];
        *content = match self.model.fifo {
            true => self.channels.append(*content, message),
            false => self.channels.insert_sorted(*content, message),
        };
        self.pushed.push(u16::try_from(channel).unwrap_or(u16::MAX));
        if self.channels.len(*content) > self.model.max_channel {
            let channel = self.layout.channels[channel];
            let what = format!("more than {} messages are on their way to node {}", self.model.max_channel, channel.to);
            return Err(Finding::endless(Some(channel.from), what));
        }
        Ok(())
    }

    /// Takes an occurrence into the history.
    fn observe(&mut self, turn: &mut Turn<'_>, occurrence: Occurrence) -> Result<(), Violation> {
        let at = self.layout.history();
        let key = (turn.next[at], occurrence);
        if let Some(&after) = self.observed.get(&key) {
            turn.next[at] = after;
            return Ok(());
        }
        let mut history = self.histories.get(turn.next[at]).clone();
        history.observe(&occurrence)?;
        let (after, _) = self.histories.insert(history);
        self.observed.insert(key, after);
        turn.next[at] = after;
        Ok(())
    }

    fn current<'a>(&'a self, turn: &'a Turn<'_>) -> &'a Environment {
        match &turn.environment {
            Some(environment) => environment,
            None => self.environment(turn.next),
        }
    }

    fn change<'a>(&mut self, turn: &'a mut Turn<'_>) -> &'a mut Environment {
        let known = self.environments.get(turn.next[self.layout.environment()]);
        let spare = &mut self.spare;
        turn.environment.get_or_insert_with(|| match spare.take() {
            Some(mut environment) => {
                environment.copy_from(known);
                environment
            }
            None => known.clone(),
        })
    }

    fn count_rounds(&mut self, turn: &mut Turn<'_>, action: Action) {
        if let Action::Expire { node } = action {
            let rounds = self.model.timers.rounds;
            self.change(turn).note_fired(node.into(), rounds);
        }
        let world_moved = match action {
            Action::Deliver { .. } | Action::Expire { .. } | Action::ExpireEarly { .. } => false,
            Action::Notice { .. }
            | Action::Release { .. }
            | Action::Request { .. }
            | Action::Cancel { .. }
            | Action::Reprioritize { .. }
            | Action::Cut { .. }
            | Action::Form { .. }
            | Action::Lose { .. } => true,
        };
        if world_moved || turn.granted != 0 {
            let environment = self.current(turn);
            if environment.fired != 0 || environment.rounds != 0 {
                self.change(turn).begin_rounds_anew();
            }
        }
    }

    pub(crate) fn add_environment(&mut self, environment: &Environment) -> u32 {
        let id = self.environments.insert_ref(environment);
        if id as usize == self.environment_facts.len() {
            let facts = self.facts_of(environment);
            self.environment_facts.push(facts);
        }
        id
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
        let Some(vanished) = &mut self.vanished else { return };
        let mut kept = self.channels.iter(after).peekable();
        for message in self.channels.iter(before) {
            if kept.next_if_eq(&message).is_none() {
                vanished.push(Vanished { channel, message, fate });
            }
        }
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

    /// The memory of all tables.
    pub(crate) fn bytes(&self) -> usize {
        let environment = self.layout.links.len() * 3 + self.layout.nodes * 28;
        self.local.bytes()
            + self.channels.bytes()
            + self.environments.bytes(environment)
            + self.environment_facts.len() * (size_of::<EnvironmentFacts>() + self.layout.nodes * 4)
            + self.histories.bytes(128)
            + map_bytes(&self.observed)
            + map_bytes(&self.fresh_contents)
            + self.canonical.as_ref().map_or(0, Canonical::bytes)
    }
}

/// What becomes of a message put into a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Yes,
    /// The link is cut and the sender does not know: the message vanishes.
    Swallows,
    No,
}

fn event_name(event: &Event<u32>) -> &'static str {
    match event {
        Event::Request { .. } => "a request",
        Event::Cancel { .. } => "a cancellation",
        Event::Reprioritize { .. } => "a change of urgency",
        Event::Release { .. } => "a release",
        Event::LinkUp { .. } => "a link that came up",
        Event::LinkDown { .. } => "a link that went down",
        Event::Receive { .. } => "a message",
        Event::Expired { .. } => "a timer",
    }
}
