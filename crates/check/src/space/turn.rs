//! One step: what an action does to the world, and which nodes hear of it.

use meshlock_core::{Demand, Event, NodeId, Rank, RequestId, Timer, Units, Urgency};
use meshlock_properties::Occurrence;

use super::{Row, Space};
use crate::action::Action;
use crate::counterexample::Fate;
use crate::environment::{Environment, LinkState};
use crate::finding::Finding;
use crate::intern::Sequences;
use crate::local::LocalStep;
use crate::model::{Failing, Pick};

/// A step that is being made.
pub(super) struct Turn<'a> {
    pub(super) next: &'a mut Row,
    /// The environment, once it changed.
    pub(super) environment: Option<Environment>,
    /// The nodes that changed, as bits.
    pub(super) changed: u64,
    /// The nodes that were granted something, as bits.
    pub(super) granted: u64,
    /// A channel is too full for what it has to take.
    pub(super) overfull: bool,
}

impl Space {
    /// Whether the action was possible.
    pub(super) fn act(&mut self, turn: &mut Turn<'_>, action: Action) -> Result<bool, Finding> {
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
                let before = environment.links[usize::from(link)];
                environment.links[usize::from(link)] = match before {
                    LinkState::Dying(mut noticed) => {
                        noticed[usize::from(end)] = true;
                        if noticed == [true, true] { LinkState::Down } else { LinkState::Dying(noticed) }
                    }
                    LinkState::Failed(by) if by != end => LinkState::Down,
                    LinkState::Failed(_) | LinkState::Up | LinkState::Down => return Ok(false),
                };
                let into = link_place.channel_into(end);
                let content = std::mem::replace(&mut turn.next[self.layout.channel(into)], Sequences::EMPTY);
                self.note_vanished(into, content, Sequences::EMPTY, Fate::Cut);
                self.oblige(turn, link_place.end(end), Event::LinkDown { neighbour: link_place.end(1 - end) })?;
                if matches!(before, LinkState::Failed(_)) {
                    self.join_ends(turn, link.into())?;
                }
                Ok(true)
            }
            Action::Release { node, place } => {
                let view = self.local.view(turn.next[usize::from(node)]);
                let Some(grant) = view.holding.get(usize::from(place)).cloned() else { return Ok(false) };
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
            // A first node hears of the definition after the newest, also if it has not heard of those before.
            Action::Resize { node } => {
                let newest = *self.current(turn).versions().end();
                self.define(turn, node, newest.saturating_add(1))
            }
            Action::Learn { node } => {
                let next = self.current(turn).told[usize::from(node)].saturating_add(1);
                self.define(turn, node, next)
            }
            Action::Leave { node } => {
                let Some(step) = self.ask(turn, node, Event::Leave) else { return Ok(false) };
                let environment = self.change(turn);
                environment.leaves = environment.leaves.saturating_sub(1);
                self.finish(turn, NodeId(node.into()), step).map(|()| true)
            }
            Action::Stop { node } => self.stop(turn, node),
            Action::Start { node } => self.start_again(turn, node),
            Action::Member { incident, node, at } => self.befall(turn, incident, node, at),
        }
    }

    /// A node hears of a definition of the resource. Until all have heard of it, either capacity may apply. Like a real
    /// node, it cancels waiting requests that can no longer be granted.
    fn define(&mut self, turn: &mut Turn<'_>, node: u8, version: u8) -> Result<bool, Finding> {
        self.change(turn).told[usize::from(node)] = version;
        let capacity = |version: u8| match usize::from(version).checked_sub(1) {
            Some(place) => self.model.budgets.capacities.get(place).copied(),
            None => Some(self.model.setting.capacity),
        };
        let most = self.current(turn).versions().filter_map(capacity).max();
        let Some((capacity, most)) = capacity(version).zip(most) else { return Ok(false) };
        self.observe(turn, Occurrence::Resized { capacity: most })?;
        self.oblige(turn, NodeId(node.into()), Event::Resize { version: version.into(), capacity })?;
        self.cancel_waiting(turn, node, |units| units > capacity)
    }

    /// A node cancels those of its waiting requests whose units are like this; false if its protocol does not let it.
    pub(super) fn cancel_waiting(
        &mut self,
        turn: &mut Turn<'_>,
        node: u8,
        which: impl Fn(Units) -> bool,
    ) -> Result<bool, Finding> {
        let waiting = self.local.view(turn.next[usize::from(node)]).waiting.iter();
        let requests: Vec<RequestId> = waiting.filter(|w| which(w.units)).map(|w| w.request).collect();
        for request in requests {
            let Some(step) = self.ask(turn, node, Event::Cancel { request }) else { return Ok(false) };
            let node = NodeId(node.into());
            self.observe(turn, Occurrence::Cancelled { node, request })?;
            self.finish(turn, node, step)?;
        }
        Ok(true)
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
    pub(super) fn ask(&mut self, turn: &Turn<'_>, node: u8, event: Event<u32>) -> Option<LocalStep> {
        self.local.step(turn.next[usize::from(node)], event).ok()
    }

    /// An event that no node may refuse.
    pub(super) fn oblige(&mut self, turn: &mut Turn<'_>, node: NodeId, event: Event<u32>) -> Result<bool, Finding> {
        let name = event_name(&event);
        match self.local.step(turn.next[node.0 as usize], event) {
            Ok(step) => self.finish(turn, node, step).map(|()| true),
            Err(misuse) => Err(Finding::Refused { node, event: name, misuse }),
        }
    }

    pub(super) fn tell_both(
        &mut self,
        turn: &mut Turn<'_>,
        link: u16,
        event: impl Fn(NodeId) -> Event<u32>,
    ) -> Result<bool, Finding> {
        let link = self.layout.links[usize::from(link)].link;
        self.oblige(turn, link.low(), event(link.high()))?;
        self.oblige(turn, link.high(), event(link.low()))
    }

    pub(super) fn current<'a>(&'a self, turn: &'a Turn<'_>) -> &'a Environment {
        match &turn.environment {
            Some(environment) => environment,
            None => self.environment(turn.next),
        }
    }

    pub(super) fn change<'a>(&mut self, turn: &'a mut Turn<'_>) -> &'a mut Environment {
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

    pub(super) fn count_rounds(&mut self, turn: &mut Turn<'_>, action: Action) {
        let rounds = self.model.timers.rounds;
        if let Action::Expire { node } = action {
            self.change(turn).note_fired(node.into());
        }
        if matches!(action, Action::Expire { .. } | Action::ExpireEarly { .. }) {
            self.change(turn).close_round(rounds);
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
            | Action::Lose { .. }
            | Action::Resize { .. }
            | Action::Learn { .. }
            | Action::Leave { .. }
            | Action::Stop { .. }
            | Action::Start { .. }
            | Action::Member { .. } => true,
        };
        if world_moved || turn.granted != 0 {
            let environment = self.current(turn);
            if environment.fired != 0 || environment.rounds != 0 {
                self.change(turn).begin_rounds_anew();
            }
        }
    }
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
        Event::Resize { .. } => "a change of the capacity",
        Event::Leave => "a leave",
        Event::Resume => "going on after a stop",
        Event::Census { .. } => "a census",
        Event::Remake { .. } => "a new token",
    }
}
