//! The state of a node and its event handlers, in the order and with the line numbers of the appendix.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use super::message::{Body, Message};
use super::{Config, Defect, Reading, Readings};
use meshlock_core::protocol::{Effect, Misuse};
use meshlock_core::reverse_link::Height;
use meshlock_core::vocabulary::{Demand, NodeId, Rank, RequestId, Units, Urgency};

/// Where the application of a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// In the non-critical section.
    Ncs,
    /// In the entry section: it waits.
    Es,
    /// In the critical section.
    Cs,
}

impl State {
    /// The paper's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ncs => "NCS",
            Self::Es => "ES",
            Self::Cs => "CS",
        }
    }
}

/// A node that follows the printed text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Node {
    pub(super) config: Config,
    pub(super) readings: Readings,
    pub(super) state: State,
    /// The paper's N.
    pub(super) neighbours: BTreeSet<NodeId>,
    pub(super) height: Height,
    /// Also of neighbours that are gone: the text never forgets them.
    pub(super) ht_vector: BTreeMap<NodeId, Height>,
    pub(super) next: NodeId,
    pub(super) token_holder: bool,
    /// The token's t. Zero while the token is elsewhere.
    pub(super) t: Units,
    pub(super) q: Vec<Entry>,
    /// The neighbours j with `receivedLINK[j] = false`.
    pub(super) link_not_received: BTreeSet<NodeId>,
    /// `formHeight[j]` of the neighbours j with `forming[j] = true`. The text keeps both after a failure, without any
    /// effect: they are set again when the link comes back.
    pub(super) forming: BTreeMap<NodeId, Height>,
    /// What the application asked for; present in ES and CS.
    pub(super) own: Option<Own>,
    /// `giveTokenToFrontOfQ` stands at its line 10: the priority with which the own request was taken from Q.
    /// Only in ES and with the token.
    pub(super) blocked: Option<Rank>,
    pub(super) last_request: Option<RequestId>,
    /// Where the last REQUEST went, until the token comes. For viewers only: the text has no such variable.
    pub(super) outstanding: Option<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Entry {
    pub(super) node: NodeId,
    pub(super) priority: Rank,
}

/// The request of the application here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Own {
    pub(super) request: RequestId,
    /// The paper's h.
    pub(super) units: Units,
    /// The paper's R, never aged.
    pub(super) priority: Rank,
}

pub(super) type Effects = Vec<Effect<Message>>;

impl Node {
    /// A node of this height (which has its id) with these neighbours and their heights; the token is at `holder`.
    pub fn new(height: Height, config: Config, neighbours: &[(NodeId, Height)], holder: NodeId) -> Self {
        let token_holder = height.id == holder;
        let lowest = neighbours.iter().min_by_key(|(_, height)| *height).map_or(height.id, |(id, _)| *id);
        Self {
            config,
            readings: Readings::NONE,
            state: State::Ncs,
            neighbours: neighbours.iter().map(|(id, _)| *id).collect(),
            height,
            ht_vector: neighbours.iter().copied().collect(),
            next: if token_holder { height.id } else { lowest },
            token_holder,
            t: if token_holder { config.capacity } else { Units(0) },
            q: Vec::new(),
            link_not_received: BTreeSet::new(),
            forming: BTreeMap::new(),
            own: None,
            blocked: None,
            last_request: None,
            outstanding: None,
        }
    }

    /// The same node with the text read in these other ways.
    #[must_use]
    pub fn read_as(self, readings: Readings) -> Self {
        Self { readings, ..self }
    }

    pub(super) fn repaired(&self, defect: Defect) -> bool {
        self.config.repairs.has(defect)
    }

    /// When node i requests to enter the CS to access h resources with priority R.
    pub(super) fn on_request(&mut self, request: RequestId, demand: Demand, out: &mut Effects) -> Result<(), Misuse> {
        let priority = self.check_request(request, &demand)?;
        self.last_request = Some(request);
        self.own = Some(Own { request, units: demand.units, priority });
        self.state = State::Es; // 1
        let place = self.enqueue(self.height.id, priority); // 2
        if !self.token_holder {
            // 3
            if self.q.len() == 1 {
                self.forward_request(out); // 4
            } else if place == 0 && self.repaired(Defect::P4) {
                self.forward_update(out);
            }
        } else {
            self.give_token_to_front_of_q(out); // 5
        }
        Ok(())
    }

    /// When node i leaves the CS to release r copies of resources.
    pub(super) fn on_leave(&mut self, request: RequestId, units: Units, out: &mut Effects) -> Result<(), Misuse> {
        let r = self.check_release(request, units)?;
        self.own = None;
        self.state = State::Ncs; // 1
        self.aging(); // 2
        if !self.token_holder {
            // 3
            self.forward_release(r, out); // 4
        } else {
            self.t.0 += r.0; // 6
            if !self.q.is_empty() {
                self.give_token_to_front_of_q(out); // 7
            }
        }
        Ok(())
    }

    /// When TOKEN message is received at node i from node j.
    pub(super) fn on_token(&mut self, j: NodeId, ht: Height, t: Units, out: &mut Effects) {
        self.token_holder = true; // 1
        self.t = t;
        self.outstanding = None;
        self.ht_vector.insert(j, ht); // 2
        self.height.level = ht.level; // 3
        self.height.depth = ht.depth.saturating_sub(1); // 4
        self.send_link_to_all(out); // 5
        if !self.q.is_empty() {
            self.give_token_to_front_of_q(out); // 6
        }
    }

    /// When REQUEST(j, S) message is received at node i from node j.
    pub(super) fn on_request_message(&mut self, j: NodeId, ht: Height, s: Rank, out: &mut Effects) {
        if !self.link_not_received.contains(&j) {
            self.ht_vector.insert(j, ht); // 1
        } else if self.readings.has(Reading::Section3) {
            return;
        }
        let place = self.is_below(j).then(|| self.enqueue(j, s)); // 2
        if self.token_holder {
            // 3
            if self.state != State::Cs || self.repaired(Defect::P3) {
                if self.repaired(Defect::P1) {
                    self.put_own_request_back();
                }
                self.give_token_to_front_of_q(out); // 4
            }
        } else if self.q.len() == 1 || (!self.q.is_empty() && self.is_below(self.next)) {
            self.forward_request(out); // 6
        } else if self.q.len() >= 2 && self.is_front(j, s, place) {
            self.forward_update(out); // 7, 8
        }
    }

    /// REQUEST(j, S), which was enqueued at `place`, "is at the front of Q".
    fn is_front(&self, j: NodeId, s: Rank, place: Option<usize>) -> bool {
        let front = self.q.first();
        if self.readings.has(Reading::FrontByPriority) {
            front.is_some_and(|front| front.priority == s)
        } else if self.readings.has(Reading::FrontByValue) {
            front == Some(&Entry { node: j, priority: s })
        } else {
            place == Some(0)
        }
    }

    /// When UPDATE(j, S) message is received at node i from node j.
    pub(super) fn on_update(&mut self, j: NodeId, s: Rank, out: &mut Effects) {
        let Some(old) = self.q.iter().position(|entry| entry.node == j) else { return }; // 1
        let front = self.q.first().copied();
        self.q[old].priority = s; // 2
        self.q.sort_by_key(|entry| std::cmp::Reverse(entry.priority));
        let is_front = self.q.first().is_some_and(|entry| entry.node == j);
        let own = self.own.filter(|own| self.state == State::Es && s > own.priority);
        if let (true, Some(own), true) = (self.token_holder, own, is_front) {
            // 3
            if self.repaired(Defect::P2) {
                self.put_own_request_back();
            }
            self.give_token_to_front_of_q(out); // 4
            if !self.repaired(Defect::P2) {
                self.send_request(self.next, own.priority, out); // 5
            }
        }
        if !self.token_holder {
            // 6: also if line 4 has just given the token to j
            let moved = is_front && old != 0;
            let changed = self.q.first().map(|entry| entry.priority) != front.map(|entry| entry.priority);
            if moved || (changed && self.repaired(Defect::P5)) {
                self.forward_update(out); // 7
            }
        }
    }

    /// When RELEASE(r) message is received at node i from node j.
    pub(super) fn on_release_message(&mut self, r: Units, out: &mut Effects) {
        if self.token_holder {
            // 1
            self.t.0 += r.0; // 2
            self.wake(out);
        } else {
            self.forward_release(r, out); // 4
        }
    }

    /// When LINK message is received at node i from node j.
    pub(super) fn on_link(&mut self, j: NodeId, ht: Height, out: &mut Effects) {
        self.neighbours.insert(j); // 1
        // 3 goes with 2: forming[j] is reset whether or not a LINK is sent.
        if self.forming.remove(&j).is_some_and(|form_height| form_height != self.height) {
            self.send(j, Body::Link, out); // 2
        }
        if !self.link_not_received.contains(&j) {
            self.ht_vector.insert(j, ht); // 4
        } else if self.ht_vector.get(&j) == Some(&ht) {
            self.link_not_received.remove(&j); // 5
        }
        if self.ht_vector.get(&j).is_some_and(|of_j| self.height > *of_j) {
            self.delete(j); // 6
        }
        if self.is_sink() && !self.token_holder {
            self.raise_height(out); // 7
        } else if !self.q.is_empty() && self.is_below(self.next) {
            self.forward_request(out); // 8
        }
    }

    /// When failure of link to j detected at node i.
    pub(super) fn on_failure(&mut self, j: NodeId, out: &mut Effects) {
        self.neighbours.remove(&j); // 1
        self.forming.remove(&j);
        self.outstanding = self.outstanding.filter(|asked| *asked != j);
        self.delete(j); // 2
        self.link_not_received.remove(&j); // 3
        if !self.token_holder {
            // 4
            if self.is_sink() {
                self.raise_height(out); // 5
            } else if !self.q.is_empty() && !self.neighbours.contains(&self.next) {
                self.forward_request(out); // 6
            }
        }
    }

    /// When formation of link to j is detected at node i.
    pub(super) fn on_formation(&mut self, j: NodeId, out: &mut Effects) {
        self.send(j, Body::Link, out); // 1
        self.forming.insert(j, self.height); // 2, 3
    }

    /// The priority of a request that the application may make now.
    fn check_request(&self, request: RequestId, demand: &Demand) -> Result<Rank, Misuse> {
        if self.last_request.is_some_and(|last| request <= last) {
            return Err(Misuse::RequestNumberUsed(request));
        }
        Misuse::check_units(demand, self.config.capacity)?;
        if demand.session.is_some() {
            return Err(Misuse::NoSessions);
        }
        let Urgency::Priority(priority) = demand.urgency else {
            return Err(Misuse::WrongUrgency { wants_deadline: false });
        };
        if self.state != State::Ncs {
            return Err(Misuse::Busy);
        }
        Ok(Rank(priority.0.into()))
    }

    /// The units that the application gives back, if it may.
    fn check_release(&self, request: RequestId, asked: Units) -> Result<Units, Misuse> {
        match self.own.filter(|own| own.request == request) {
            None if self.last_request.is_some_and(|last| request <= last) => Err(Misuse::AlreadyOver(request)),
            None => Err(Misuse::UnknownRequest(request)),
            Some(_) if self.state != State::Cs => Err(Misuse::NotGranted(request)),
            Some(own) if own.units != asked => Err(Misuse::PartialRelease { request, held: own.units, asked }),
            Some(own) => Ok(own.units),
        }
    }
}
