//! The procedures that the handlers call, with the names and line numbers of the appendix.

use super::Defect;
use super::message::{Body, Message};
use super::node::{Effects, Entry, Node, State};
use meshlock_core::Slots;
use meshlock_core::protocol::Effect;
use meshlock_core::vocabulary::{Grant, NodeId, Rank, Units};

impl Node {
    /// Procedure forwardRequest().
    pub(super) fn forward_request(&mut self, out: &mut Effects) {
        let (Some(next), Some(front)) = (self.lowest_neighbour(), self.q.first()) else { return };
        let s = front.priority;
        self.next = next; // 1
        self.send_request(next, s, out); // 2
    }

    /// Procedure forwardUpdate().
    pub(super) fn forward_update(&mut self, out: &mut Effects) {
        let (Some(lowest), Some(front)) = (self.lowest_neighbour(), self.q.first()) else { return };
        let s = front.priority;
        let has_request = self.repaired(Defect::P6) && self.neighbours.contains(&self.next);
        let to = if has_request { self.next } else { lowest };
        if !self.repaired(Defect::P7) {
            self.next = to; // 1
        }
        self.send(to, Body::Update(s), out); // 2
    }

    /// Procedure forwardRelease(r). With N empty the units are gone (p11).
    pub(super) fn forward_release(&mut self, r: Units, out: &mut Effects) {
        let Some(lowest) = self.lowest_neighbour() else { return };
        if !self.repaired(Defect::P7) {
            self.next = lowest; // 1
        }
        self.send(lowest, Body::Release(r), out); // 2
    }

    /// Procedure giveTokenToFrontOfQ().
    ///
    /// A holder that stood at line 10 no longer does, for any caller; only the repairs have put its own request back
    /// into Q by then.
    pub(super) fn give_token_to_front_of_q(&mut self, out: &mut Effects) {
        if self.q.is_empty() {
            return;
        }
        self.blocked = None;
        let front = self.q.remove(0);
        self.next = front.node; // 1
        self.aging(); // 2
        if self.next != self.height.id {
            // 3
            self.token_holder = false; // 4
            self.ht_vector.insert(self.next, self.height.just_below(self.next)); // 5
            self.link_not_received.insert(self.next); // 6
            let t = std::mem::take(&mut self.t);
            self.send(self.next, Body::Token(t), out); // 7
            if let Some(front) = self.q.first() {
                self.send_request(self.next, front.priority, out); // 8
            }
        } else {
            self.blocked = Some(front.priority); // 10
            self.wake(out);
        }
    }

    /// Line 10 of giveTokenToFrontOfQ() and what follows, if t suffices for the request that waits there.
    pub(super) fn wake(&mut self, out: &mut Effects) {
        let Some(own) = self.own.filter(|own| self.blocked.is_some() && own.units <= self.t) else { return };
        self.blocked = None;
        self.t.0 -= own.units.0; // 11
        self.state = State::Cs; // 12
        let grant = Grant { request: own.request, units: own.units, session: None, fence: None, slots: Slots::NONE };
        out.push(Effect::Granted { grant }); // 13
        if !self.q.is_empty() {
            self.give_token_to_front_of_q(out); // 14
        }
    }

    /// Procedure raiseHeight(). With N empty its line 1 has no meaning, and nothing happens (p11).
    pub(super) fn raise_height(&mut self, out: &mut Effects) {
        let heights = || self.neighbours.iter().filter_map(|v| self.ht_vector.get(v));
        let Some(lowest) = heights().map(|height| height.level).min() else { return };
        let level = lowest.saturating_add(1); // 1
        let depth = heights().filter(|height| height.level == level).map(|height| height.depth).min(); // 2
        self.height.level = level;
        self.height.depth = depth.map_or(self.height.depth, |depth| depth.saturating_sub(1)); // 3
        self.send_link_to_all(out); // 4
        let (height, neighbours, ht_vector) = (self.height, &self.neighbours, &self.ht_vector);
        let is_outgoing = |v: &NodeId| neighbours.contains(v) && ht_vector.get(v).is_some_and(|of_v| height > *of_v);
        self.q.retain(|entry| !is_outgoing(&entry.node)); // 5
        if !self.q.is_empty() {
            self.forward_request(out); // 6
        }
    }

    /// Procedure aging(Q).
    pub(super) fn aging(&mut self) {
        for entry in &mut self.q {
            entry.priority.0 = entry.priority.0.saturating_add(self.config.epsilon.into()); // 1, 2
        }
    }

    /// enqueue(Q, REQUEST(node, priority)), by priority and equal ones by arrival; returns its place.
    pub(super) fn enqueue(&mut self, node: NodeId, priority: Rank) -> usize {
        if self.repaired(Defect::P8) {
            self.delete(node);
        }
        let place = self.q.partition_point(|entry| entry.priority >= priority);
        self.q.insert(place, Entry { node, priority });
        place
    }

    /// delete(Q, j).
    pub(super) fn delete(&mut self, j: NodeId) {
        self.q.retain(|entry| entry.node != j);
    }

    /// Repairs P1 and P2: the wait at line 10 ends, and the own request goes back to where it was taken from, before
    /// all that are not more urgent.
    pub(super) fn put_own_request_back(&mut self) {
        if let Some(priority) = self.blocked.take() {
            let place = self.q.partition_point(|entry| entry.priority > priority);
            self.q.insert(place, Entry { node: self.height.id, priority });
        }
    }

    /// `height < htVector[v]`; false for the node itself.
    pub(super) fn is_below(&self, v: NodeId) -> bool {
        self.ht_vector.get(&v).is_some_and(|of_v| self.height < *of_v)
    }

    /// `height < htVector[v]` for all v in N: so also if N is empty.
    pub(super) fn is_sink(&self) -> bool {
        self.neighbours.iter().all(|v| self.is_below(*v))
    }

    pub(super) fn send(&self, to: NodeId, body: Body, out: &mut Effects) {
        out.push(Effect::Send { to, message: Message { height: self.height, body } });
    }

    pub(super) fn send_request(&mut self, to: NodeId, priority: Rank, out: &mut Effects) {
        self.outstanding = Some(to);
        self.send(to, Body::Request(priority), out);
    }

    pub(super) fn send_link_to_all(&self, out: &mut Effects) {
        for v in &self.neighbours {
            self.send(*v, Body::Link, out);
        }
    }

    /// `j in N : htVector[j] <= htVector[v] for all v in N`, if N is not empty.
    fn lowest_neighbour(&self) -> Option<NodeId> {
        self.neighbours.iter().copied().min_by_key(|v| self.ht_vector.get(v))
    }
}
