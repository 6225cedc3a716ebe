//! One key and one desk: node 0 keeps the key and hands it out in the order in which it is asked.
//!
//! ```text
//! 1 -> 0  Ask        0 -> 1  Key        1 -> 0  Back
//! ```

use std::collections::{BTreeMap, VecDeque};

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::view::{Returning, TokenView, View, Waiting};
use meshlock_core::{
    Delay, Effect, Event, Fence, Grant, Misuse, NodeId, Protocol, Rank, Rejection, RequestId, Slots, Timer, Units,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeskBug {
    None,
    /// Hands out a second key while the first is away.
    TwoKeys,
    /// Throws away what is asked while the key is away.
    Forgets,
    /// Says "later", and is asked again at once.
    Chatters,
    /// Serves the lowest node first.
    PrefersLow,
    /// Sends an answer to a node it has no link to.
    SendsAstray,
    Rejects,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Desk {
    id: NodeId,
    bug: DeskBug,
    /// Asks again if there is no answer.
    repeats: bool,
    /// Of its timer.
    epoch: u64,
    /// The key with the number of its last use, where it is.
    key: Option<u64>,
    waiting: Option<RequestId>,
    holding: Option<Grant>,
    /// The greatest request number used here.
    last: RequestId,
    /// At the desk: the waiting nodes, oldest first, with request numbers.
    queue: VecDeque<(NodeId, RequestId)>,
    /// At the desk: the greatest request number heard of each node.
    heard: BTreeMap<NodeId, RequestId>,
    /// At the desk: to whom the key went, for which request, and how often keys were used then.
    given: Option<(NodeId, RequestId, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum DeskMessage {
    Ask { node: NodeId, request: RequestId },
    Key { node: NodeId, request: RequestId, uses: u64 },
    Back { uses: u64 },
    Later { node: NodeId, request: RequestId },
}

const DESK: NodeId = NodeId(0);

impl Desk {
    pub fn nodes(count: u32, bug: DeskBug) -> Vec<Self> {
        let node = |id| Self {
            id: NodeId(id),
            bug,
            repeats: false,
            epoch: 0,
            key: (id == 0).then_some(0),
            waiting: None,
            holding: None,
            last: RequestId(0),
            queue: VecDeque::new(),
            heard: BTreeMap::new(),
            given: None,
        };
        (0..count).map(node).collect()
    }

    /// The same nodes, asking again when a timer runs out.
    pub fn repeating(count: u32) -> Vec<Self> {
        Self::nodes(count, DeskBug::None).into_iter().map(|node| Self { repeats: true, ..node }).collect()
    }

    fn hand_out(&mut self, effects: &mut Vec<Effect<DeskMessage>>) {
        if self.bug == DeskBug::PrefersLow {
            self.queue.make_contiguous().sort_unstable();
        }
        let Some(uses) = self.key else { return };
        let Some((node, request)) = self.queue.pop_front() else { return };
        if self.bug != DeskBug::TwoKeys {
            self.key = None;
        }
        self.given = Some((node, request, uses));
        let to = if self.bug == DeskBug::SendsAstray { NodeId(9) } else { node };
        effects.push(Effect::Send { to, message: DeskMessage::Key { node, request, uses } });
    }

    fn on_ask(&mut self, from: NodeId, request: RequestId, effects: &mut Vec<Effect<DeskMessage>>) {
        if self.bug == DeskBug::Rejects {
            effects.push(Effect::Reject { from, reason: Rejection::UnknownNode });
            return;
        }
        let heard = self.heard.entry(from).or_default();
        if request <= *heard {
            match self.given {
                // Asked again: the key did not arrive.
                Some((to, answered, uses)) if (to, answered) == (from, request) => {
                    effects.push(Effect::Send { to, message: DeskMessage::Key { node: to, request, uses } });
                }
                _ => {}
            }
            return;
        }
        if self.key.is_none() && self.bug == DeskBug::Chatters {
            effects.push(Effect::Send { to: from, message: DeskMessage::Later { node: from, request } });
            return;
        }
        *heard = request;
        if self.key.is_some() || self.bug != DeskBug::Forgets {
            self.queue.push_back((from, request));
        }
    }

    fn on_message(&mut self, from: NodeId, message: DeskMessage, effects: &mut Vec<Effect<DeskMessage>>) {
        match message {
            DeskMessage::Ask { request, .. } => self.on_ask(from, request, effects),
            DeskMessage::Key { request, uses, .. } => {
                if self.waiting != Some(request) {
                    return; // a copy
                }
                let uses = uses + 1;
                self.waiting = None;
                self.key = Some(uses);
                let grant =
                    Grant { request, units: Units(1), session: None, fence: Some(Fence(uses)), slots: Slots::NONE };
                self.holding = Some(grant.clone());
                effects.push(Effect::Granted { grant });
            }
            DeskMessage::Back { uses } => {
                self.key = Some(uses);
                self.given = None;
            }
            DeskMessage::Later { node, request } => {
                if self.waiting == Some(request) {
                    effects.push(Effect::Send { to: DESK, message: DeskMessage::Ask { node, request } });
                }
            }
        }
    }

    fn ask(&self, request: RequestId, effects: &mut Vec<Effect<DeskMessage>>) {
        effects.push(Effect::Send { to: DESK, message: DeskMessage::Ask { node: self.id, request } });
        if self.repeats {
            let timer = Timer { epoch: self.epoch };
            effects.push(Effect::Arm { timer, after: Delay { least_ms: 10, most_ms: 20 } });
        }
    }
}

impl Protocol for Desk {
    type Message = DeskMessage;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<DeskMessage>) -> Result<Vec<Effect<DeskMessage>>, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, demand } => {
                Misuse::check_units(&demand, Units(1))?;
                if self.waiting.is_some() || self.holding.is_some() || self.id == DESK {
                    return Err(Misuse::Busy);
                }
                self.waiting = Some(request);
                self.last = request;
                self.epoch += u64::from(self.repeats);
                self.ask(request, &mut effects);
            }
            Event::Cancel { .. } => return Err(Misuse::Unsupported("cancel")),
            Event::Reprioritize { .. } => return Err(Misuse::Unsupported("reprioritize")),
            Event::Resize { .. } | Event::Leave | Event::Resume | Event::Census { .. } | Event::Remake { .. } => {
                return Err(Misuse::Unsupported("do this"));
            }
            Event::Release { request, .. } => {
                if self.holding.take().is_none() {
                    return Err(Misuse::UnknownRequest(request));
                }
                let uses = self.key.take().unwrap_or_default();
                effects.push(Effect::Send { to: DESK, message: DeskMessage::Back { uses } });
            }
            Event::LinkUp { .. } | Event::LinkDown { .. } => {}
            Event::Receive { from, message } => self.on_message(from, message, &mut effects),
            Event::Expired { timer } => {
                if let Some(request) = self.waiting.filter(|_| timer.epoch == self.epoch) {
                    self.ask(request, &mut effects);
                }
            }
        }
        if self.id == DESK {
            self.hand_out(&mut effects);
        }
        Ok(effects)
    }

    fn view(&self) -> View {
        let free = Units(u32::from(self.holding.is_none()));
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|&request| Waiting { request, rank: Rank(0), units: Units(1), session: None });
        View {
            role: if self.holding.is_some() { "inside" } else { "outside" }.to_owned(),
            token: self.key.map(|_| TokenView { free, ..TokenView::default() }),
            waiting: waiting.collect(),
            holding: self.holding.clone().into_iter().collect(),
            ..View::default()
        }
    }

    fn token_in(&self, _: NodeId, message: &DeskMessage) -> Option<TokenView> {
        match message {
            DeskMessage::Ask { .. } | DeskMessage::Later { .. } => None,
            DeskMessage::Key { request, .. } if self.waiting != Some(*request) => None,
            DeskMessage::Key { .. } | DeskMessage::Back { .. } => {
                Some(TokenView { free: Units(1), ..TokenView::default() })
            }
        }
    }

    fn returning_in(_: &DeskMessage) -> Option<Returning> {
        None
    }

    fn kind(message: &DeskMessage) -> &'static str {
        match message {
            DeskMessage::Ask { .. } => "Ask",
            DeskMessage::Key { .. } => "Key",
            DeskMessage::Back { .. } => "Back",
            DeskMessage::Later { .. } => "Later",
        }
    }

    fn is_stale(&self, from: NodeId, message: &DeskMessage) -> bool {
        match message {
            DeskMessage::Ask { request, .. } => {
                let answers = self.given.is_some_and(|(to, answered, _)| (to, answered) == (from, *request));
                let queued = self.queue.contains(&(from, *request));
                self.heard.get(&from).is_some_and(|heard| request <= heard) && !answers && !queued
            }
            DeskMessage::Key { request, .. } => self.last >= *request && self.waiting != Some(*request),
            DeskMessage::Back { .. } | DeskMessage::Later { .. } => false,
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        let me = self.id;
        visitor.number(Line::of("epoch", me), &mut self.epoch);
        let held = self.holding.as_mut().map(|grant| &mut grant.request);
        for request in [Some(&mut self.last), self.waiting.as_mut(), held].into_iter().flatten() {
            visitor.number(Line::of("request", me), &mut request.0);
        }
        for (node, request) in self.queue.iter_mut().map(|(node, request)| (*node, request)) {
            visitor.number(Line::of("request", node), &mut request.0);
        }
        for (node, request) in &mut self.heard {
            visitor.number(Line::of("request", *node), &mut request.0);
        }
        if let Some((node, request, uses)) = &mut self.given {
            visitor.number(Line::of("request", *node), &mut request.0);
            visitor.number(Line::stepping("clock"), uses);
        }
        if let Some(uses) = &mut self.key {
            visitor.number(Line::stepping("clock"), uses);
        }
        if let Some(fence) = self.holding.as_mut().and_then(|grant| grant.fence.as_mut()) {
            visitor.number(Line::stepping("clock"), &mut fence.0);
        }
    }

    fn visit_message_counters(message: &mut DeskMessage, visitor: &mut dyn CounterVisitor) {
        match message {
            DeskMessage::Ask { node, request } | DeskMessage::Later { node, request } => {
                visitor.number(Line::of("request", *node), &mut request.0);
            }
            DeskMessage::Key { node, request, uses } => {
                visitor.number(Line::of("request", *node), &mut request.0);
                visitor.number(Line::stepping("clock"), uses);
            }
            DeskMessage::Back { uses } => visitor.number(Line::stepping("clock"), uses),
        }
    }
}
