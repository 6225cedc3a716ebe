//! Clients: they think, ask, wait, hold and release. Each has its own random stream and always draws the same for its
//! k-th request, so that protocols are compared under the same load. A user of a live run asks by hand, beside them.

use meshlock_core::{Deadline, Demand, GrantId, NodeId, Priority, RequestId, Session, Units, Urgency};

use crate::agenda::{Agenda, Due};
use crate::outcome::{Request, Totals};
use crate::random::{Purpose, Stream, Streams};
use crate::scenario::{Arrivals, Class, Traffic, UrgencyOf};
use crate::time::{Span, Time};

#[derive(Clone, Debug)]
pub(crate) struct Clients {
    classes: Vec<Class>,
    clients: Vec<Client>,
    /// In the order in which they were made.
    pub(crate) requests: Vec<Request>,
    details: Vec<Detail>,
    nodes: Vec<AtNode>,
    /// Made and neither granted nor given up.
    waiting: usize,
    end: Time,
}

/// The clients of one node.
#[derive(Clone, Debug, Default)]
struct AtNode {
    /// The greatest request number used.
    last: u64,
    /// The places of requests that are open, by number.
    open: Vec<u32>,
    /// A protocol that serves one at a time has one.
    busy: bool,
    /// No more requests are made here.
    retired: bool,
    in_front: Option<Box<InFront>>,
}

/// Who waits in front of a node: nobody at most nodes.
#[derive(Clone, Debug, Default)]
struct InFront {
    /// Requests that wait in front of a protocol that serves one at a time, most urgent first.
    queued: Vec<u32>,
    /// Clients that think again as soon as it serves again.
    put_off: Vec<u32>,
}

impl AtNode {
    fn in_front(&mut self) -> &mut InFront {
        self.in_front.get_or_insert_default()
    }

    fn queued(&self) -> &[u32] {
        self.in_front.as_ref().map_or(&[], |in_front| in_front.queued.as_slice())
    }
}

#[derive(Clone, Debug)]
struct Client {
    class: u16,
    node: u32,
    stream: Stream,
    burst: u32,
}

/// What only clients need to know of a request.
#[derive(Clone, Copy, Debug)]
struct Detail {
    /// `None`: it was made by hand.
    client: Option<u32>,
    /// `None`: until it is given back by hand.
    holding: Option<Span>,
    /// The incarnation of its node that it was made at.
    life: u16,
    /// Its node crashed while it was granted: the client is on its own.
    orphan: bool,
}

/// The class of requests that were made by hand: none of the scenario.
pub(crate) const BY_HAND: u16 = u16::MAX;

impl Clients {
    /// All clients of the scenario, with their first requests in the agenda.
    pub(crate) fn new(traffic: &Traffic, nodes: u32, end: Time, streams: Streams, agenda: &mut Agenda) -> Self {
        let mut clients = Vec::new();
        for (class, kind) in traffic.classes.iter().enumerate() {
            for node in kind.nodes.iter().filter(|node| **node < nodes) {
                let stream = streams.stream(Purpose::Traffic, clients.len() as u32);
                let burst = if let Arrivals::Burst { requests, .. } = kind.arrivals { requests } else { 0 };
                clients.push(Client { class: class as u16, node: *node, stream, burst });
            }
        }
        let mut all = Self {
            classes: traffic.classes.clone(),
            clients,
            requests: Vec::new(),
            details: Vec::new(),
            nodes: vec![AtNode::default(); nodes as usize],
            waiting: 0,
            end,
        };
        for client in 0..all.clients.len() as u32 {
            all.plan(client, Time::ZERO, agenda);
        }
        all
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Schedules the next request of a client that starts to think at `now`.
    fn plan(&mut self, client: u32, now: Time, agenda: &mut Agenda) {
        let Client { class, stream, burst, node } = &mut self.clients[client as usize];
        if self.nodes[*node as usize].retired {
            return;
        }
        let class = &self.classes[*class as usize];
        let from = now.max(Time::ZERO + class.start);
        let at = match &class.arrivals {
            Arrivals::Closed { think } => from + think.draw_span(stream),
            Arrivals::Open { gap } => from + gap.draw_span(stream),
            Arrivals::Burst { .. } if *burst == 0 => return,
            Arrivals::Burst { at, .. } => {
                *burst -= 1;
                Time::ZERO + *at
            }
        };
        let stop = class.stop.map_or(self.end, |stop| self.end.min(Time::ZERO + stop));
        if at < stop {
            agenda.add(at, Due::Ask { client });
        }
    }

    /// A client asks now: its place in `requests`. `None` if its node is retired.
    pub(crate) fn ask(
        &mut self,
        (client, life): (u32, u16),
        now: Time,
        sent: Totals,
        agenda: &mut Agenda,
    ) -> Option<u32> {
        let Client { class: class_index, node, stream, .. } = &mut self.clients[client as usize];
        let (node, class_index) = (*node, *class_index);
        if self.nodes[node as usize].retired {
            return None;
        }
        let class = &self.classes[class_index as usize];
        // All of them are drawn, and always in this order.
        let units = Units(u32::try_from(class.units.draw_whole(stream)).unwrap_or(1));
        let urgency = match &class.urgency {
            UrgencyOf::Priority(level) => Urgency::Priority(Priority(level.draw_whole(stream) as i32)),
            UrgencyOf::Deadline(after) => Urgency::Deadline(Deadline((now + after.draw_span(stream)).0 / 1_000)),
        };
        let session = class.session.as_ref().map(|session| Session(session.draw_whole(stream) as u64));
        let holding = class.holding.draw_span(stream);
        let patience = class.patience.as_ref().map(|patience| patience.draw_span(stream));
        let closed = matches!(class.arrivals, Arrivals::Closed { .. });
        let demand = Demand { units, urgency, session };
        let detail = Detail { client: Some(client), holding: Some(holding), life, orphan: false };
        let index = self.note(node, class_index, demand, detail, (now, sent));
        if let Some(patience) = patience {
            agenda.add(now + patience, Due::GiveUp { request: index });
        }
        if !closed {
            self.plan(client, now, agenda);
        }
        Some(index)
    }

    pub(crate) fn ask_by_hand(&mut self, (node, life): (u32, u16), demand: Demand, now: Time, sent: Totals) -> u32 {
        self.note(node, BY_HAND, demand, Detail { client: None, holding: None, life, orphan: false }, (now, sent))
    }

    pub(crate) fn node_of(&self, client: u32) -> u32 {
        self.clients[client as usize].node
    }

    /// A client comes to a node that does not serve. One that thinks between requests comes again when it does; a
    /// request of any other is never made.
    pub(crate) fn turn_away(&mut self, client: u32, now: Time, agenda: &mut Agenda) {
        let Client { class, node, .. } = self.clients[client as usize];
        if matches!(self.classes[class as usize].arrivals, Arrivals::Closed { .. }) {
            self.nodes[node as usize].in_front().put_off.push(client);
        } else {
            self.plan(client, now, agenda);
        }
    }

    /// A node serves again.
    pub(crate) fn welcome(&mut self, node: u32, now: Time, agenda: &mut Agenda) {
        let Some(in_front) = &mut self.nodes[node as usize].in_front else { return };
        for client in std::mem::take(&mut in_front.put_off) {
            self.plan(client, now, agenda);
        }
    }

    /// The node of a granted request crashed.
    pub(crate) fn orphan(&mut self, index: u32) {
        self.details[index as usize].orphan = true;
    }

    /// Whether the node of a granted request has crashed since.
    pub(crate) fn is_orphan(&self, index: u32) -> bool {
        self.details[index as usize].orphan
    }

    /// The incarnation of its node that a request was made at; also of one that is over.
    pub(crate) fn life_of(&self, id: GrantId) -> Option<u16> {
        let is = |request: &Request| request.node == id.node && request.request == id.request;
        self.requests.iter().rposition(is).map(|index| self.details[index].life)
    }

    /// A request that waited when its node began anew is now one of its new incarnation.
    pub(crate) fn renew(&mut self, node: u32, life: u16) {
        for index in &self.nodes[node as usize].open {
            let detail = &mut self.details[*index as usize];
            if !detail.orphan {
                detail.life = life;
            }
        }
    }

    pub(crate) fn forget_queue(&mut self, node: u32) {
        let at = &mut self.nodes[node as usize];
        at.busy = false;
        if let Some(in_front) = &mut at.in_front {
            in_front.queued.clear();
        }
    }

    fn note(&mut self, node: u32, class: u16, demand: Demand, detail: Detail, (now, sent): (Time, Totals)) -> u32 {
        let request = self.next_number(node);
        self.nodes[node as usize].last = request.0;
        let index = self.requests.len() as u32;
        self.nodes[node as usize].open.push(index);
        let Demand { units, urgency, session } = demand;
        grow_by_a_quarter(&mut self.requests);
        grow_by_a_quarter(&mut self.details);
        self.requests.push(Request {
            node: NodeId(node),
            request,
            class,
            units,
            urgency,
            session,
            asked: now,
            granted: None,
            released: None,
            cancelled: None,
            sent,
        });
        self.details.push(detail);
        self.waiting += 1;
        index
    }

    pub(crate) fn next_number(&self, node: u32) -> RequestId {
        RequestId(self.nodes[node as usize].last + 1)
    }

    /// A node more, without clients.
    pub(crate) fn grow(&mut self) {
        self.nodes.push(AtNode::default());
    }

    /// No more requests are made at a node.
    pub(crate) fn retire(&mut self, node: u32) {
        self.nodes[node as usize].retired = true;
    }

    /// The places of all open requests of a node, oldest first.
    pub(crate) fn open_at(&self, node: u32) -> Vec<u32> {
        self.nodes[node as usize].open.clone()
    }

    pub(crate) fn find_open(&self, node: u32, request: RequestId) -> Option<u32> {
        let open = &self.nodes[node as usize].open;
        open.iter().copied().find(|index| self.requests[*index as usize].request == request)
    }

    /// All open requests that were made by hand; those that wait are given back as soon as they are granted.
    pub(crate) fn let_go_by_hand(&mut self) -> Vec<u32> {
        let open: Vec<u32> = self.nodes.iter().flat_map(|node| &node.open).copied().collect();
        let by_hand = open.into_iter().filter(|index| self.details[*index as usize].holding.is_none());
        let by_hand: Vec<u32> = by_hand.collect();
        for index in &by_hand {
            self.details[*index as usize].holding = Some(Span::ZERO);
        }
        by_hand
    }

    /// Whether a request is granted and not yet given back.
    pub(crate) fn is_held(&self, index: u32) -> bool {
        let request = &self.requests[index as usize];
        request.granted.is_some() && request.released.is_none() && request.cancelled.is_none()
    }

    pub(crate) fn demand(&self, index: u32) -> (GrantId, Demand) {
        let Request { node, request, units, urgency, session, .. } = self.requests[index as usize];
        (GrantId { node, request }, Demand { units, urgency, session })
    }

    /// A request comes to a node that serves one at a time: true if it is this one's turn, otherwise it waits in front.
    pub(crate) fn enter(&mut self, index: u32) -> bool {
        let busy = &mut self.nodes[self.requests[index as usize].node.0 as usize].busy;
        if std::mem::replace(busy, true) {
            self.queue(index);
            return false;
        }
        true
    }

    fn queue(&mut self, index: u32) {
        let urgent = |index: u32| match self.requests[index as usize].urgency {
            Urgency::Priority(priority) => -i64::from(priority.0),
            Urgency::Deadline(deadline) => deadline.0 as i64,
        };
        let node = self.requests[index as usize].node.0 as usize;
        let place = self.nodes[node].queued().partition_point(|other| urgent(*other) <= urgent(index));
        self.nodes[node].in_front().queued.insert(place, index);
    }

    /// A node is done with a request: the next one that waits in front of it, if any.
    pub(crate) fn unqueue(&mut self, node: u32) -> Option<u32> {
        let at = &mut self.nodes[node as usize];
        at.busy = false;
        let queued = &mut at.in_front.as_mut()?.queued;
        if queued.is_empty() { None } else { Some(queued.remove(0)) }
    }

    /// A request is granted, and its release scheduled. `None` if it does not wait.
    pub(crate) fn granted(&mut self, id: GrantId, now: Time, sent: Totals, agenda: &mut Agenda) -> Option<u32> {
        let index = self.find_open(id.node.0, id.request)?;
        let request = &mut self.requests[index as usize];
        if request.granted.is_none() {
            self.waiting -= 1;
            request.granted = Some(now);
            request.sent = sent;
            if let Some(holding) = self.details[index as usize].holding {
                agenda.add(now + holding, Due::Release { request: index });
            }
        }
        Some(index)
    }

    /// A request was given back; its client thinks again.
    pub(crate) fn released(&mut self, index: u32, now: Time, agenda: &mut Agenda) {
        self.requests[index as usize].released = Some(now);
        self.close(index, now, agenda);
    }

    /// Whether a client that loses patience now still waits for this.
    pub(crate) fn still_waits(&self, index: u32) -> bool {
        let request = &self.requests[index as usize];
        request.granted.is_none() && request.cancelled.is_none()
    }

    /// Whether a request waits in front of its node.
    pub(crate) fn is_queued(&self, index: u32) -> bool {
        self.nodes[self.requests[index as usize].node.0 as usize].queued().contains(&index)
    }

    /// Whether a request waits in front of its node; then it is taken out.
    pub(crate) fn leave_queue(&mut self, index: u32) -> bool {
        let at = &mut self.nodes[self.requests[index as usize].node.0 as usize];
        let Some(InFront { queued, .. }) = at.in_front.as_deref_mut() else { return false };
        let before = queued.len();
        queued.retain(|other| *other != index);
        queued.len() < before
    }

    /// A request was given up; its client thinks again.
    pub(crate) fn cancelled(&mut self, index: u32, now: Time, agenda: &mut Agenda) {
        self.requests[index as usize].cancelled = Some(now);
        self.waiting -= 1;
        self.close(index, now, agenda);
    }

    fn close(&mut self, index: u32, now: Time, agenda: &mut Agenda) {
        let node = self.requests[index as usize].node;
        self.nodes[node.0 as usize].open.retain(|other| *other != index);
        let Some(client) = self.details[index as usize].client else { return };
        let class = &self.classes[self.clients[client as usize].class as usize];
        if matches!(class.arrivals, Arrivals::Closed { .. }) {
            self.plan(client, now, agenda);
        }
    }
}

/// Twice as much room each time, as a list makes it by itself, is half a run's memory for nothing in the worst case.
fn grow_by_a_quarter<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(16 + list.len() / 4);
    }
}
