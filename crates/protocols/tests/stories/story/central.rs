//! The smallest lock for a network where any node reaches any other: node 1 decides. For tests of what is around it.
//!
//! A waiting node asks again when its timer runs out, and the coordinator answers the one it let in as often as it is
//! asked, so this lock bears loss. A node that enters tells all others, which count it.

use std::collections::VecDeque;

use meshlock_core::counters::{CounterVisitor, Line};
use meshlock_core::view::{Returning, TokenView, Waiting};
use meshlock_core::{
    Delay, Effect, Event, Fence, Grant, Misuse, NodeId, Protocol, Rank, Rejection, RequestId, Slots, Timer, Units, View,
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Word {
    /// To the coordinator: may I?
    Ask(RequestId),
    /// From the coordinator: you may.
    Yes(RequestId),
    /// To the coordinator: I am done.
    Done(RequestId),
    /// To all: I am inside.
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Central {
    id: NodeId,
    waiting: Option<RequestId>,
    inside: Option<RequestId>,
    request: RequestId,
    /// How often others said that they are inside.
    pub(crate) entries_heard: u64,
    /// At the coordinator: who asked, in order; the first is inside.
    queue: VecDeque<(NodeId, RequestId)>,
}

const COORDINATOR: NodeId = NodeId(1);
const SOON: Delay = Delay { least_ms: 10, most_ms: 10 };

type Effects = Vec<Effect<Word>>;

impl Central {
    pub(crate) fn new(id: NodeId) -> Self {
        Self { id, waiting: None, inside: None, request: RequestId(0), entries_heard: 0, queue: VecDeque::new() }
    }

    fn ask(&self, effects: &mut Effects) {
        if let Some(request) = self.waiting {
            effects.push(Effect::Send { to: COORDINATOR, message: Word::Ask(request) });
            effects.push(Effect::Arm { timer: Timer { epoch: request.0 }, after: SOON });
        }
    }

    fn hear(&mut self, from: NodeId, word: Word, effects: &mut Effects) {
        match word {
            Word::Ask(_) | Word::Done(_) if self.id != COORDINATOR => {
                effects.push(Effect::Reject { from, reason: Rejection::UnexpectedAnswer });
            }
            Word::Ask(request) => {
                if !self.queue.contains(&(from, request)) {
                    self.queue.push_back((from, request));
                }
                if self.queue.front() == Some(&(from, request)) {
                    effects.push(Effect::Send { to: from, message: Word::Yes(request) });
                }
            }
            Word::Done(request) => {
                let inside = self.queue.front().copied();
                self.queue.retain(|entry| *entry != (from, request));
                match self.queue.front() {
                    Some((to, request)) if self.queue.front().copied() != inside => {
                        effects.push(Effect::Send { to: *to, message: Word::Yes(*request) });
                    }
                    _ => {}
                }
            }
            Word::Yes(request) if self.waiting == Some(request) => {
                self.inside = self.waiting.take();
                effects.push(Effect::Granted { grant: grant(request) });
                effects.push(Effect::Broadcast { message: Word::Inside });
            }
            Word::Yes(_) => {}
            Word::Inside => self.entries_heard += 1,
        }
    }
}

fn grant(request: RequestId) -> Grant {
    Grant { request, units: Units(1), session: None, fence: None::<Fence>, slots: Slots::NONE }
}

impl Protocol for Central {
    type Message = Word;

    fn id(&self) -> NodeId {
        self.id
    }

    fn handle(&mut self, event: Event<Word>) -> Result<Effects, Misuse> {
        let mut effects = Vec::new();
        match event {
            Event::Request { request, .. } => {
                if self.waiting.is_some() || self.inside.is_some() {
                    return Err(Misuse::Busy);
                }
                self.waiting = Some(request);
                self.request = request;
                self.ask(&mut effects);
            }
            Event::Release { request, .. } => {
                if self.inside != Some(request) {
                    return Err(Misuse::UnknownRequest(request));
                }
                self.inside = None;
                effects.push(Effect::Send { to: COORDINATOR, message: Word::Done(request) });
            }
            Event::Receive { from, message } => self.hear(from, message, &mut effects),
            Event::Expired { timer } if timer.epoch == self.request.0 => self.ask(&mut effects),
            Event::Expired { .. } => {}
            Event::Cancel { .. }
            | Event::Reprioritize { .. }
            | Event::Resize { .. }
            | Event::Leave
            | Event::Resume
            | Event::Census { .. }
            | Event::Remake { .. } => {
                return Err(Misuse::Unsupported("do this"));
            }
            Event::LinkUp { .. } | Event::LinkDown { .. } => panic!("the relay keeps links to itself"),
        }
        Ok(effects)
    }

    fn view(&self) -> View {
        let waiting = |request| Waiting { request, rank: Rank(0), units: Units(1), session: None };
        View {
            role: "node".to_string(),
            waiting: self.waiting.map(waiting).into_iter().collect(),
            holding: self.inside.map(grant).into_iter().collect(),
            ..View::default()
        }
    }

    /// A yes is as good as a token.
    fn token_in(&self, _from: NodeId, message: &Word) -> Option<TokenView> {
        let accepted = matches!(message, Word::Yes(request) if self.waiting == Some(*request));
        accepted.then(|| TokenView { free: Units(1), ..TokenView::default() })
    }

    fn returning_in(message: &Word) -> Option<Returning> {
        matches!(message, Word::Done(_)).then_some(Returning { grant: None, units: Units(1) })
    }

    fn kind(message: &Word) -> &'static str {
        match message {
            Word::Ask(_) => "ASK",
            Word::Yes(_) => "YES",
            Word::Done(_) => "DONE",
            Word::Inside => "INSIDE",
        }
    }

    fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        visitor.number(Line::of("request", self.id), &mut self.request.0);
    }

    fn visit_message_counters(_message: &mut Word, _visitor: &mut dyn CounterVisitor) {}
}
