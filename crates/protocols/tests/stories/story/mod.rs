//! A stage for tests that read like stories: named nodes, links with messages on them, and verbs.
//!
//! The teller decides everything: who asks, which message arrives next, which is lost, when links change and timers
//! run out. Every event that a node handles leaves one line, `node event -> effects`, and [`Story::expect_trace`]
//! compares all lines with the text in the test. Along the way the stage insists on what the protocol's trait
//! promises: a refused call and a rejected message leave the node as it was.
//!
//! Nodes are numbered from 1 in the order of the cast, requests from 1 at each node.

pub(crate) mod central;
mod channels;
mod trace;

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::{Demand, Effect, Event, Misuse, NodeId, Protocol, RequestId, Timer, Units, Urgency, View};

use channels::Channels;

/// How many messages [`Story::settles`] delivers before it gives up.
const PATIENCE: usize = 5_000;

pub(crate) struct Story<P: Protocol> {
    cast: Vec<&'static str>,
    nodes: BTreeMap<NodeId, P>,
    /// Links that are up, smaller id first. Not used when any node reaches any other.
    links: BTreeSet<(NodeId, NodeId)>,
    any_to_any: bool,
    channels: Channels<P::Message>,
    timers: Vec<(NodeId, Timer)>,
    /// Requests made so far at each node.
    asked: BTreeMap<NodeId, u64>,
    /// Grants not released yet, oldest first.
    granted: Vec<(NodeId, RequestId, Units)>,
    tell: fn(&P::Message) -> String,
    lines: Vec<String>,
    last_refusal: Option<Misuse>,
}

/// The cast.
impl<P: Protocol> Story<P> {
    /// Puts the nodes on stage; `make` gets the id of each. No links yet.
    pub(crate) fn new(cast: &[&'static str], mut make: impl FnMut(NodeId) -> P) -> Self {
        let ids = (1..).map(NodeId).take(cast.len());
        Self {
            cast: cast.to_vec(),
            nodes: ids.map(|id| (id, make(id))).collect(),
            links: BTreeSet::new(),
            any_to_any: false,
            channels: Channels::default(),
            timers: Vec::new(),
            asked: BTreeMap::new(),
            granted: Vec::new(),
            tell: |message| P::kind(message).to_string(),
            lines: Vec::new(),
            last_refusal: None,
        }
    }

    /// Sets links up before the story begins: both ends are told, nothing is written into the trace.
    pub(crate) fn linked(mut self, links: &[(&str, &str)]) -> Self {
        for (a, b) in links {
            self.link_up(a, b);
        }
        self.begins();
        self
    }

    /// Any node reaches any other, without links.
    pub(crate) fn any_to_any(mut self) -> Self {
        self.any_to_any = true;
        self
    }

    /// Uses these words for messages instead of [`Protocol::kind`].
    pub(crate) fn telling(mut self, tell: fn(&P::Message) -> String) -> Self {
        self.tell = tell;
        self
    }

    pub(crate) fn id(&self, name: &str) -> NodeId {
        let at = self.cast.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no node is called {name}"));
        NodeId(u32::try_from(at + 1).expect("a cast is small"))
    }

    fn name(&self, id: NodeId) -> String {
        let at = usize::try_from(id.0).expect("a cast is small").wrapping_sub(1);
        self.cast.get(at).map_or_else(|| format!("node {id}"), ToString::to_string)
    }
}

/// What applications do.
impl<P: Protocol> Story<P> {
    /// The application at `who` asks, under the next number.
    pub(crate) fn asks(&mut self, who: &str, demand: Demand) -> &mut Self {
        let node = self.id(who);
        let number = self.asked.entry(node).or_default();
        *number += 1;
        let request = RequestId(*number);
        self.event(node, Event::Request { request, demand })
    }

    /// The oldest waiting request of `who` is cancelled.
    pub(crate) fn cancels(&mut self, who: &str) -> &mut Self {
        let request = self.oldest_waiting(who);
        self.event(self.id(who), Event::Cancel { request })
    }

    /// The oldest waiting request of `who` gets another urgency.
    pub(crate) fn reprioritizes(&mut self, who: &str, urgency: Urgency) -> &mut Self {
        let request = self.oldest_waiting(who);
        self.event(self.id(who), Event::Reprioritize { request, urgency })
    }

    pub(crate) fn releases(&mut self, who: &str) -> &mut Self {
        let node = self.id(who);
        let (_, request, units) =
            *self.granted.iter().find(|(at, ..)| *at == node).unwrap_or_else(|| panic!("{who} holds no grant"));
        self.event(node, Event::Release { request, units })
    }

    /// The resource is defined anew, as `who` hears.
    pub(crate) fn hears_of_capacity(&mut self, who: &str, version: u64, capacity: u32) -> &mut Self {
        self.event(self.id(who), Event::Resize { version, capacity: Units(capacity) })
    }

    /// The node of `who` is about to go.
    pub(crate) fn leaves(&mut self, who: &str) -> &mut Self {
        self.event(self.id(who), Event::Leave)
    }

    fn oldest_waiting(&self, who: &str) -> RequestId {
        let waiting = self.view(who).waiting;
        waiting.iter().map(|w| w.request).min().unwrap_or_else(|| panic!("{who} waits for nothing"))
    }
}

/// What the network does.
impl<P: Protocol> Story<P> {
    /// A link comes up, noticed by `a`, then by `b`.
    pub(crate) fn link_up(&mut self, a: &str, b: &str) -> &mut Self {
        let (a, b) = (self.id(a), self.id(b));
        assert!(self.links.insert((a.min(b), a.max(b))), "the link is up already");
        self.event(a, Event::LinkUp { neighbour: b }).event(b, Event::LinkUp { neighbour: a })
    }

    /// A link goes down with everything on it, noticed by `a`, then by `b`.
    pub(crate) fn link_down(&mut self, a: &str, b: &str) -> &mut Self {
        let (a, b) = (self.id(a), self.id(b));
        assert!(self.links.remove(&(a.min(b), a.max(b))), "there is no such link");
        self.channels.clear(a, b);
        self.channels.clear(b, a);
        self.event(a, Event::LinkDown { neighbour: b }).event(b, Event::LinkDown { neighbour: a })
    }

    /// The oldest message from `a` to `b` arrives.
    pub(crate) fn delivers(&mut self, a: &str, b: &str) -> &mut Self {
        let (from, to) = (self.id(a), self.id(b));
        let message = self.channels.pop(from, to).unwrap_or_else(|| panic!("nothing is in flight from {a} to {b}"));
        self.event(to, Event::Receive { from, message })
    }

    /// A forged message arrives at `b`, as if from `a`.
    pub(crate) fn forges(&mut self, a: &str, b: &str, message: P::Message) -> &mut Self {
        let from = self.id(a);
        self.event(self.id(b), Event::Receive { from, message })
    }

    /// The next message put on the way from `a` to `b` will be lost.
    pub(crate) fn loses_next(&mut self, a: &str, b: &str) -> &mut Self {
        let (from, to) = (self.id(a), self.id(b));
        self.channels.lose_next(from, to);
        self
    }

    /// The oldest message in flight from `a` to `b` is lost.
    pub(crate) fn loses(&mut self, a: &str, b: &str) -> &mut Self {
        let (from, to) = (self.id(a), self.id(b));
        assert!(self.channels.pop(from, to).is_some(), "nothing is in flight from {a} to {b}");
        self
    }

    /// Every timer armed so far runs out, in the order of arming. One that its node ignores leaves no line.
    pub(crate) fn timers_fire(&mut self) -> &mut Self {
        for (node, timer) in std::mem::take(&mut self.timers) {
            self.event(node, Event::Expired { timer });
        }
        self
    }

    /// The timers of one node run out.
    pub(crate) fn timer_fires(&mut self, who: &str) -> &mut Self {
        let node = self.id(who);
        let (mine, others) = std::mem::take(&mut self.timers).into_iter().partition(|(at, _)| *at == node);
        self.timers = others;
        for (_, timer) in mine as Vec<(NodeId, Timer)> {
            self.event(node, Event::Expired { timer });
        }
        self
    }

    /// Everything in flight arrives, and all that follows from it, in the order of sending.
    ///
    /// # Panics
    /// If there is no end to it.
    pub(crate) fn settles(&mut self) -> &mut Self {
        assert!(
            self.comes_to_rest(),
            "messages without end; the trace begins\n{}",
            trace::table(&self.lines[..self.lines.len().min(40)])
        );
        self
    }

    /// Delivers as [`settles`](Self::settles) does; false if that has no end.
    pub(crate) fn comes_to_rest(&mut self) -> bool {
        for _ in 0..PATIENCE {
            let Some((from, to, message)) = self.channels.pop_oldest() else { return true };
            self.event(to, Event::Receive { from, message });
        }
        self.channels.len() == 0
    }
}

/// What becomes of a node.
impl<P: Protocol> Story<P> {
    /// The node of `who` is put in place of itself as `change` makes it, as after a restart. No line in the trace.
    pub(crate) fn becomes(&mut self, who: &str, change: impl FnOnce(&P) -> P) -> &mut Self {
        let node = self.id(who);
        let actor = self.nodes.get_mut(&node).expect("the node is on stage");
        *actor = change(actor);
        self
    }
}

/// What is expected.
impl<P: Protocol> Story<P> {
    /// The trace starts here: what was written so far is dropped.
    pub(crate) fn begins(&mut self) -> &mut Self {
        self.lines.clear();
        self
    }

    /// The trace so far is this text, line by line; the amount of white space does not matter.
    pub(crate) fn expect_trace(&mut self, expected: &str) -> &mut Self {
        if let Err(difference) = trace::compare(expected, &self.lines) {
            panic!("the trace differs\n{difference}");
        }
        self
    }

    /// These hold grants now, each named once for every grant, in any order.
    pub(crate) fn expect_holding<const N: usize>(&mut self, names: [&str; N]) -> &mut Self {
        self.expect_names("holding", &names, |view| view.holding.len())
    }

    /// These wait now, each named once for every request, in any order.
    pub(crate) fn expect_waiting<const N: usize>(&mut self, names: [&str; N]) -> &mut Self {
        self.expect_names("waiting", &names, |view| view.waiting.len())
    }

    pub(crate) fn expect_token_at<const N: usize>(&mut self, names: [&str; N]) -> &mut Self {
        self.expect_names("with the token", &names, |view| usize::from(view.token.is_some()))
    }

    pub(crate) fn expect_refused(&mut self, misuse: Misuse) -> &mut Self {
        assert_eq!(self.last_refusal, Some(misuse), "of the last call");
        self
    }

    fn expect_names(&mut self, what: &str, names: &[&str], count: impl Fn(&View) -> usize) -> &mut Self {
        let mut expected = names.to_vec();
        expected.sort_by_key(|name| self.id(name));
        let found = self.cast.iter().flat_map(|name| std::iter::repeat_n(*name, count(&self.view(name))));
        let found: Vec<_> = found.collect();
        assert_eq!(found, expected, "those {what}; the trace is\n{}", trace::table(&self.lines));
        self
    }

    /// What can be seen of `who`.
    pub(crate) fn view(&self, who: &str) -> View {
        self.node(who).view()
    }

    pub(crate) fn node(&self, who: &str) -> &P {
        &self.nodes[&self.id(who)]
    }

    /// The messages in flight from `a` to `b`, oldest first.
    pub(crate) fn under_way(&self, a: &str, b: &str) -> Vec<&P::Message> {
        self.channels.on(self.id(a), self.id(b))
    }

    pub(crate) fn is_linked(&self, a: &str, b: &str) -> bool {
        let (a, b) = (self.id(a), self.id(b));
        self.links.contains(&(a.min(b), a.max(b)))
    }

    /// The pairs with something in flight, in order.
    pub(crate) fn busy_pairs(&self) -> Vec<(&'static str, &'static str)> {
        let name = |id: NodeId| self.cast[usize::try_from(id.0).expect("a cast is small") - 1];
        self.channels.busy().map(|(from, to)| (name(from), name(to))).collect()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.channels.len()
    }
}

/// The machinery.
impl<P: Protocol> Story<P> {
    /// Any event; all verbs end here.
    pub(crate) fn event(&mut self, node: NodeId, event: Event<P::Message>) -> &mut Self {
        let words = self.event_words(&event);
        let is_timer = matches!(event, Event::Expired { .. });
        let released = if let Event::Release { request, .. } = event { Some(request) } else { None };
        let actor = self.nodes.get_mut(&node).expect("the node is on stage");
        let before = actor.clone();
        let outcome = actor.handle(event);
        let unchanged = *actor == before;
        self.last_refusal = outcome.as_ref().err().copied();
        let told = match outcome {
            Err(misuse) => {
                assert!(unchanged, "a refused call changed {before:?}");
                vec![format!("refused: {misuse}")]
            }
            Ok(effects) => {
                let rejected = effects.iter().any(|effect| matches!(effect, Effect::Reject { .. }));
                assert!(unchanged || !rejected, "a rejected message changed {before:?}");
                if is_timer && unchanged && effects.is_empty() {
                    return self;
                }
                if let Some(request) = released {
                    self.granted.retain(|(at, held, _)| (*at, *held) != (node, request));
                }
                effects.into_iter().map(|effect| self.carry_out(node, effect)).collect()
            }
        };
        let told = if told.is_empty() { "-".to_string() } else { told.join(", ") };
        self.lines.push(format!("{} {words} -> {told}", self.name(node)));
        self
    }

    fn event_words(&self, event: &Event<P::Message>) -> String {
        match event {
            Event::Request { .. } => "ask".to_string(),
            Event::Cancel { .. } => "cancel".to_string(),
            Event::Reprioritize { .. } => "reprioritize".to_string(),
            Event::Release { .. } => "release".to_string(),
            Event::LinkUp { neighbour } => format!("link up {}", self.name(*neighbour)),
            Event::LinkDown { neighbour } => format!("link down {}", self.name(*neighbour)),
            Event::Receive { from, message } => format!("{} from {}", (self.tell)(message), self.name(*from)),
            Event::Expired { .. } => "timer".to_string(),
            Event::Resize { version, capacity } => format!("capacity {capacity}, version {version}"),
            Event::Leave => "leave".to_string(),
            Event::Resume => "resume".to_string(),
            Event::Census { .. } => "census".to_string(),
            Event::Remake { .. } => "remake".to_string(),
        }
    }

    /// Does what a node wants done and says so.
    fn carry_out(&mut self, node: NodeId, effect: Effect<P::Message>) -> String {
        match effect {
            Effect::Send { to, message } => {
                let words = format!("{} to {}", (self.tell)(&message), self.name(to));
                if !self.reaches(node, to) {
                    return format!("{words} (no link)");
                }
                let arrives = self.channels.push(node, to, message);
                if arrives { words } else { format!("{words} (lost)") }
            }
            Effect::Multicast { to, message } => {
                let names: Vec<_> = to.iter().map(|to| self.name(*to)).collect();
                let mut words = format!("{} to {}", (self.tell)(&message), names.join(" and "));
                for to in to {
                    if !self.channels.push(node, to, message.clone()) {
                        words += &format!(" (lost to {})", self.name(to));
                    }
                }
                words
            }
            Effect::Broadcast { message } => {
                let hearers: Vec<_> = self.nodes.keys().copied().filter(|to| self.reaches(node, *to)).collect();
                let mut words = format!("{} to all", (self.tell)(&message));
                for to in hearers {
                    if !self.channels.push(node, to, message.clone()) {
                        words += &format!(" (lost to {})", self.name(to));
                    }
                }
                words
            }
            Effect::Granted { grant } => {
                self.granted.push((node, grant.request, grant.units));
                "granted".to_string()
            }
            Effect::Arm { timer, .. } => {
                self.timers.push((node, timer));
                "timer".to_string()
            }
            Effect::Reject { from, reason } => format!("reject {}: {reason}", self.name(from)),
        }
    }

    fn reaches(&self, a: NodeId, b: NodeId) -> bool {
        a != b && self.nodes.contains_key(&b) && (self.any_to_any || self.links.contains(&(a.min(b), a.max(b))))
    }
}
