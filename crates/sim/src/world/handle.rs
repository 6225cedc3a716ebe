//! An event at a node, and the effects it asks for; the requests of clients.

use std::hash::Hash;

use meshlock_core::{Effect, Event, Grant, GrantId, Misuse, NodeId, Protocol};
use meshlock_properties::check_step;
use meshlock_protocols::Message;

use super::World;
use crate::agenda::Due;
use crate::observe::Observer;
use crate::time::Span;

impl World {
    /// A node handles an event, and what it wants done is done.
    pub(super) fn handle(
        &mut self,
        node: u32,
        event: Event<Message>,
        observer: &mut dyn Observer,
    ) -> Result<(), Misuse> {
        self.events += 1;
        (self.now.0, node).hash(&mut self.hasher);
        event.hash(&mut self.hasher);
        let before = self.watch.watches_order().then(|| (self.nodes[node as usize].view_before_step(), wish(&event)));
        let heard = if let Event::Receive { from, .. } = &event { Some(*from) } else { None };
        let copy = observer.sees_events().then(|| event.clone());
        let result = self.nodes[node as usize].handle(event);
        if let (Some((before, event)), Ok(effects)) = (&before, &result) {
            let granted: Vec<Grant> = effects.iter().filter_map(granted).collect();
            if !granted.is_empty() {
                let after = self.nodes[node as usize].view();
                let (rules, setting) = (self.watch.rules, self.watch.setting);
                let verdict = check_step(rules, &setting, NodeId(node), event, (before, &after), &granted);
                self.watch.judge(verdict, self.now);
            }
        }
        if observer.sees_events()
            && let Some(event) = copy
        {
            let effects = result.as_ref().map(Vec::as_slice).map_err(|misuse| *misuse);
            observer.handled(self.now, &self.nodes[node as usize], event, effects);
        }
        for effect in result? {
            self.fulfil(node, effect, heard, observer);
        }
        self.ship_due(observer);
        if self.faults.is_some() {
            self.look_after(node, observer);
        }
        Ok(())
    }

    /// Does what a node wants done, because of a message `heard` from a neighbour if it was one.
    fn fulfil(&mut self, node: u32, effect: Effect<Message>, heard: Option<NodeId>, observer: &mut dyn Observer) {
        match effect {
            Effect::Send { to, message } => self.send(node, to.0, message, heard, observer),
            Effect::Multicast { to, message } => self.multicast(node, &to, message, heard, observer),
            Effect::Broadcast { message } => self.broadcast(node, message, observer),
            Effect::Granted { ref grant } if !self.may_grant(node, grant) => {}
            Effect::Granted { grant } => {
                let id = GrantId { node: NodeId(node), request: grant.request };
                self.watch.granted(NodeId(node), grant, self.now);
                self.clients.granted(id, self.now, self.tally.all, &mut self.agenda);
            }
            Effect::Arm { timer, after } => {
                let least = Span::from_millis(after.least_ms.into()).0;
                let most = Span::from_millis(after.most_ms.into()).0.max(least);
                let life = self.life(node);
                let delay = least + self.delays[node as usize].below(most - least + 1);
                self.agenda.add(self.now + Span(delay), Due::Timer { node, epoch: timer.epoch, life });
            }
            Effect::Reject { .. } => self.tally.rejected += 1,
        }
    }

    /// A request goes to its node, or waits in front of it.
    pub(super) fn submit(&mut self, index: u32, observer: &mut dyn Observer) {
        let (id, demand) = self.clients.demand(index);
        if self.manner.one_at_a_time && !self.clients.enter(index) {
            return;
        }
        // Rules see the request before its grant, which may come in the same step.
        self.watch.waits(id, &demand, self.now);
        if self.handle(id.node.0, Event::Request { request: id.request, demand }, observer).is_err() {
            // A request that the protocol cannot serve counts as never made.
            self.watch.cancelled(id, self.now);
            self.clients.cancelled(index, self.now, &mut self.agenda);
            self.serve_next(id.node.0, observer);
        }
    }

    pub(super) fn release(&mut self, index: u32, observer: &mut dyn Observer) {
        if !self.clients.is_held(index) {
            return; // it was given back by hand
        }
        let (id, demand) = self.clients.demand(index);
        self.watch.released(id, self.now);
        self.clients.released(index, self.now, &mut self.agenda);
        if self.clients.is_orphan(index) {
            return; // its node has forgotten it
        }
        let event = Event::Release { request: id.request, units: demand.units };
        // A printed text may have forgotten it; then there is nothing to give back.
        let _ = self.handle(id.node.0, event, observer);
        self.serve_next(id.node.0, observer);
    }

    /// A client has lost its patience. Protocols that know no cancellation make it wait on.
    pub(super) fn give_up(&mut self, index: u32, observer: &mut dyn Observer) {
        if !self.clients.still_waits(index) {
            return;
        }
        let (id, _) = self.clients.demand(index);
        if self.clients.leave_queue(index) {
            self.clients.cancelled(index, self.now, &mut self.agenda);
        } else if self.handle(id.node.0, Event::Cancel { request: id.request }, observer).is_ok() {
            self.watch.cancelled(id, self.now);
            self.clients.cancelled(index, self.now, &mut self.agenda);
            self.serve_next(id.node.0, observer);
        }
    }

    pub(super) fn serve_next(&mut self, node: u32, observer: &mut dyn Observer) {
        if let Some(next) = self.clients.unqueue(node) {
            self.submit(next, observer);
        }
    }
}

/// An event as rules over a step see it: what an application asks for, and of anything else that it is something else.
fn wish(event: &Event<Message>) -> Event<()> {
    match *event {
        Event::Request { request, demand } => Event::Request { request, demand },
        Event::Reprioritize { request, urgency } => Event::Reprioritize { request, urgency },
        Event::Cancel { .. }
        | Event::Release { .. }
        | Event::LinkUp { .. }
        | Event::LinkDown { .. }
        | Event::Receive { .. }
        | Event::Expired { .. }
        | Event::Resize { .. }
        | Event::Leave
        | Event::Resume
        | Event::Census { .. }
        | Event::Remake { .. } => Event::Resume,
    }
}

fn granted<M>(effect: &Effect<M>) -> Option<Grant> {
    if let Effect::Granted { grant } = effect { Some(grant.clone()) } else { None }
}
