//! Steps of single nodes, computed once: `handle` is pure, so its result for a state and an event can be cached. What
//! rules and rendering need of nodes and messages is kept beside them.

use std::mem::size_of;

use meshlock_core::view::{Returning, TokenView, View};
use meshlock_core::{Effect, Event, Grant, GrantId, Misuse, NodeId, Protocol, Rejection};
use meshlock_properties::{Rule, RuleSet, Setting, check_step, turns};
use meshlock_protocols::{Message, Node};

use crate::bits::Bits;
use crate::finding::Finding;
use crate::intern::{FixedMap, Interner, map_bytes, next_id};

/// All node states, messages and local steps seen so far.
pub(crate) struct Local {
    nodes: Interner<Node, View>,
    messages: Interner<Message, MessageFacts>,
    events: Interner<Event<u32>>,
    /// By node and event.
    known: FixedMap<(u32, u32), LocalStep>,
    /// By node, sender and message. Most steps are of this kind, so they are found without a detour over `events`.
    received: FixedMap<(u32, u32, u32), LocalStep>,
    effects: Interner<Box<[LocalEffect]>>,
    findings: Vec<Finding>,
    misuses: Vec<Misuse>,
    stale: FixedMap<(u32, u32, u32), bool>,
    tokens: FixedMap<(u32, u32, u32), u32>,
    token_views: Vec<TokenView>,
    rules: RuleSet,
    setting: Setting,
    /// The steps that were asked for, while a run is being recorded.
    pub(crate) record: Option<Vec<(u32, Event<u32>)>>,
}

/// What a message means to rules.
#[derive(Clone, Copy)]
pub(crate) struct MessageFacts {
    pub(crate) kind: &'static str,
    pub(crate) returning: Option<Returning>,
}

/// What one event makes of one node state.
#[derive(Clone, Copy)]
pub(crate) struct LocalStep {
    pub(crate) after: u32,
    pub(crate) effects: u32,
    finding: u32,
    misuse: u32,
}

/// An effect with its message by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LocalEffect {
    Send { to: NodeId, message: u32 },
    Broadcast { message: u32 },
    Granted { grant: Grant },
    Turn { grant: GrantId, passes: bool },
    Arm { epoch: u64 },
    Reject { from: NodeId, reason: Rejection },
}

const NONE: u32 = u32::MAX;

impl Local {
    pub(crate) fn new(rules: RuleSet, setting: Setting) -> Self {
        Self::of(Interner::new(), Interner::new(), rules, setting)
    }

    /// The same nodes and messages for another thread, which finds out about their steps by itself.
    pub(crate) fn share(&mut self) -> Self {
        Self::of(self.nodes.share(), self.messages.share(), self.rules, self.setting)
    }

    fn of(
        nodes: Interner<Node, View>,
        messages: Interner<Message, MessageFacts>,
        rules: RuleSet,
        setting: Setting,
    ) -> Self {
        Self {
            nodes,
            messages,
            events: Interner::new(),
            known: FixedMap::default(),
            received: FixedMap::default(),
            effects: Interner::new(),
            findings: Vec::new(),
            misuses: Vec::new(),
            stale: FixedMap::default(),
            tokens: FixedMap::default(),
            token_views: Vec::new(),
            rules,
            setting,
            record: None,
        }
    }

    pub(crate) fn node(&self, id: u32) -> &Node {
        self.nodes.get(id)
    }

    pub(crate) fn view(&self, id: u32) -> &View {
        self.nodes.facts(id)
    }

    /// The node states in which a request waits.
    pub(crate) fn nodes_that_wait(&self) -> Bits {
        Bits::of(0..self.nodes.len(), |id| !self.view(next_id(id)).waiting.is_empty())
    }

    pub(crate) fn message(&self, id: u32) -> &Message {
        self.messages.get(id)
    }

    pub(crate) fn message_facts(&self, id: u32) -> MessageFacts {
        *self.messages.facts(id)
    }

    pub(crate) fn token_view(&self, id: u32) -> &TokenView {
        &self.token_views[id as usize]
    }

    pub(crate) fn add_node(&mut self, node: Node) -> u32 {
        self.nodes.insert_with(node, Node::view).0
    }

    pub(crate) fn add_message(&mut self, message: Message) -> u32 {
        let facts =
            |message: &Message| MessageFacts { kind: Node::kind(message), returning: Node::returning_in(message) };
        self.messages.insert_with(message, facts).0
    }

    /// What this event makes of this node; `Err` is a caller's mistake.
    pub(crate) fn step(&mut self, node: u32, event: Event<u32>) -> Result<LocalStep, Misuse> {
        if let Some(record) = &mut self.record {
            record.push((node, event.clone()));
        }
        let step = if let Event::Receive { from, message } = event {
            let key = (node, from.0, message);
            if let Some(&step) = self.received.get(&key) {
                step
            } else {
                let step = self.compute(node, event);
                self.received.insert(key, step);
                step
            }
        } else {
            let key = (node, self.events.insert_ref(&event));
            if let Some(&step) = self.known.get(&key) {
                step
            } else {
                let step = self.compute(node, event);
                self.known.insert(key, step);
                step
            }
        };
        if step.misuse == NONE { Ok(step) } else { Err(self.misuses[step.misuse as usize]) }
    }

    fn compute(&mut self, node: u32, event: Event<u32>) -> LocalStep {
        let messages = &self.messages;
        let event = event.map(|message| messages.get(message).clone());
        let mut machine = self.nodes.get(node).clone();
        let id = machine.id();
        let effects = match machine.handle(event.clone()) {
            Ok(effects) => effects,
            Err(misuse) => {
                self.misuses.push(misuse);
                return LocalStep {
                    after: node,
                    effects: NONE,
                    finding: NONE,
                    misuse: next_id(self.misuses.len() - 1),
                };
            }
        };
        let after = self.add_node(machine);
        let mut effects: Vec<LocalEffect> = effects.into_iter().flat_map(|effect| self.translate(effect)).collect();
        let granted: Vec<Grant> = effects.iter().filter_map(LocalEffect::grant).collect();
        let mut finding = NONE;
        if !granted.is_empty() {
            let views = (self.view(node), self.view(after));
            if self.rules.has(Rule::Backfill) {
                let turns = turns(&self.setting, id, &event, views, &granted);
                effects.extend(turns.into_iter().map(|(grant, passes)| LocalEffect::Turn { grant, passes }));
            }
            if let Err(violation) = check_step(self.rules, &self.setting, id, &event, views, &granted) {
                finding = next_id(self.findings.len());
                self.findings.push(violation.into());
            }
        }
        LocalStep { after, effects: self.effects.insert(effects.into()).0, finding, misuse: NONE }
    }

    fn translate(&mut self, effect: Effect<Message>) -> Vec<LocalEffect> {
        match effect {
            Effect::Send { to, message } => vec![LocalEffect::Send { to, message: self.add_message(message) }],
            Effect::Multicast { to, message } => {
                let message = self.add_message(message);
                to.into_iter().map(|to| LocalEffect::Send { to, message }).collect()
            }
            Effect::Broadcast { message } => vec![LocalEffect::Broadcast { message: self.add_message(message) }],
            Effect::Granted { grant } => vec![LocalEffect::Granted { grant }],
            Effect::Arm { timer, .. } => vec![LocalEffect::Arm { epoch: timer.epoch }],
            Effect::Reject { from, reason } => vec![LocalEffect::Reject { from, reason }],
        }
    }

    /// The effect of a step at this place, in order.
    pub(crate) fn effect(&self, step: LocalStep, place: usize) -> Option<LocalEffect> {
        self.effects.get(step.effects).get(place).cloned()
    }

    /// What the rules over single steps say of it.
    pub(crate) fn finding(&self, step: LocalStep) -> Option<&Finding> {
        self.findings.get(step.finding as usize)
    }

    /// Whether a step changed and did nothing.
    pub(crate) fn is_idle(&self, node: u32, step: LocalStep) -> bool {
        step.after == node && self.effects.get(step.effects).is_empty()
    }

    /// Whether this node ignores this message now and later.
    pub(crate) fn is_stale(&mut self, node: u32, from: NodeId, message: u32) -> bool {
        let (nodes, messages) = (&self.nodes, &self.messages);
        let look = || nodes.get(node).is_stale(from, messages.get(message));
        *self.stale.entry((node, from.0, message)).or_insert_with(look)
    }

    /// The number of the token that this message would bring to this node.
    pub(crate) fn token_in(&mut self, node: u32, from: NodeId, message: u32) -> Option<u32> {
        let (nodes, messages, views) = (&self.nodes, &self.messages, &mut self.token_views);
        let look = || match nodes.get(node).token_in(from, messages.get(message)) {
            Some(view) => {
                views.push(view);
                next_id(views.len() - 1)
            }
            None => NONE,
        };
        let known = *self.tokens.entry((node, from.0, message)).or_insert_with(look);
        (known != NONE).then_some(known)
    }

    /// How many node states, messages and local steps there are.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.nodes.len(), self.messages.len(), self.known.len() + self.received.len()]
    }

    /// The memory of the tables; the parts of nodes and messages outside of their own size are estimated.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes(2 * GUESSED_HEAP) + self.messages.bytes(GUESSED_HEAP / 4) + self.memo_bytes()
    }

    /// The memory of what is not shared with other threads.
    pub(crate) fn memo_bytes(&self) -> usize {
        self.events.bytes(0)
            + map_bytes(&self.known)
            + map_bytes(&self.received)
            + self.effects.bytes(2 * size_of::<LocalEffect>())
            + map_bytes(&self.stale)
            + map_bytes(&self.tokens)
            + self.token_views.len() * (size_of::<TokenView>() + GUESSED_HEAP / 4)
    }
}

impl LocalEffect {
    fn grant(&self) -> Option<Grant> {
        match self {
            Self::Granted { grant } => Some(grant.clone()),
            Self::Send { .. } | Self::Broadcast { .. } | Self::Turn { .. } | Self::Arm { .. } | Self::Reject { .. } => {
                None
            }
        }
    }
}

/// What a node is taken to own outside of its own size: a handful of short lists.
const GUESSED_HEAP: usize = 256;
