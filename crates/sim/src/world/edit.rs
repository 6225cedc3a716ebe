//! Edits of a live run. A refused edit changes nothing.

use meshlock_core::Urgency;
use meshlock_core::{Deadline, Demand, Event, Misuse, NodeId, Order, Priority, Protocol, RequestId, Session, Units};

use super::leave::Presence;
use super::outbox::Outbox;
use super::{Medium, World};
use crate::edit::{Change, Done, EditError, Position};
use crate::geometry::Point;
use crate::observe::Observer;
use crate::random::{Purpose, Streams};
use crate::scenario::Text;
use crate::time::Span;

/// More would not help a viewer.
const MOST_NODES: usize = 100_000;
/// Faster than this is not movement any more.
const FASTEST_PACE: f64 = 100.0;
/// Wider than the Earth.
const WIDEST_RANGE: f64 = 1e8;

impl World {
    /// Makes a change at the present moment. Everything that happens at this moment must have happened; what follows
    /// from the change at this moment stands in the agenda.
    pub(crate) fn apply(&mut self, change: &Change, observer: &mut dyn Observer) -> Result<Done, EditError> {
        if !self.started {
            self.start(observer);
        }
        if self.has_stopped() {
            return refuse("a broken rule has ended the run: nothing can be done any more");
        }
        match change.rounded() {
            Change::Move { node, to } => self.move_to(node, to, observer),
            Change::Link { between, up } => self.edit_link(between, up, observer),
            Change::Add { at } => self.add_node(at, observer),
            Change::Remove { node } => self.remove_node(node, observer),
            Change::Range { metres } => self.set_range(metres),
            Change::Pace { factor } => self.set_pace(factor, observer),
            Change::Request { node, units, priority, session } => {
                self.request_by_hand(node, units, priority, session, observer)
            }
            Change::Release { node, request } => self.release_by_hand(node, RequestId(request), observer),
        }
    }

    /// Whether nodes may come while it runs.
    pub(crate) fn can_join(&self) -> bool {
        self.setup.newcomer(NodeId(0)).is_some()
    }

    fn protocol_in_words(&self) -> String {
        match self.setup.text {
            Text::Repaired => self.setup.name.to_string(),
            Text::Published { .. } => format!("the printed text of {}", self.setup.name),
        }
    }

    /// Whether there are links that could be cut.
    pub(crate) fn has_links(&self) -> bool {
        !self.manner.direct
    }

    /// The range of the radio and the pace of nodes, where there are any.
    pub(crate) fn range_and_pace(&self) -> Option<(f64, f64)> {
        match &self.medium {
            Medium::Air { reach, .. } => Some((reach.range(), reach.pace())),
            Medium::Wire { .. } => None,
        }
    }

    /// Gives back grants held by hand, and from now on those that will be granted to users.
    pub(crate) fn hands_off(&mut self, observer: &mut dyn Observer) {
        for index in self.clients.let_go_by_hand() {
            self.release(index, observer);
        }
    }

    fn here(&self, node: NodeId) -> Result<u32, EditError> {
        match self.presence.get(node.0 as usize) {
            Some(Presence::Here) => Ok(node.0),
            Some(Presence::Leaving { .. }) => refuse(format!("node {node} is about to leave")),
            Some(Presence::Gone) => refuse(format!("node {node} has left")),
            Some(Presence::Down) => refuse(format!("node {node} has crashed")),
            None => refuse(format!("there is no node {node}: the last one is {}", self.nodes.len().saturating_sub(1))),
        }
    }

    /// A place of the area.
    fn place(&self, [x, y]: Position) -> Result<Point, EditError> {
        let Medium::Air { reach, .. } = &self.medium else {
            return refuse("nodes on wires have no places: change their links instead");
        };
        let area = reach.area();
        if (0.0..=area.width).contains(&x) && (0.0..=area.height).contains(&y) {
            return Ok(Point::new(x, y));
        }
        refuse(format!("({x}, {y}) is outside of the area, which is {} m x {} m", area.width, area.height))
    }

    fn move_to(&mut self, node: NodeId, to: Position, observer: &mut dyn Observer) -> Result<Done, EditError> {
        let (index, place) = (self.here(node)?, self.place(to)?);
        if let Medium::Air { reach, .. } = &mut self.medium {
            reach.put(index, place, true, &self.links, self.now, &mut self.agenda);
            observer.moved(self.now, node, reach.leg(index));
        }
        Ok(Done::default())
    }

    fn edit_link(
        &mut self,
        (one, other): (NodeId, NodeId),
        up: bool,
        observer: &mut dyn Observer,
    ) -> Result<Done, EditError> {
        let (a, b) = (self.here(one)?, self.here(other)?);
        if a == b {
            return refuse(format!("node {one} has no link with itself"));
        }
        if self.manner.direct {
            return refuse("here any node reaches any other, and there are no links to change");
        }
        let is_up = self.links.is_up(a, b);
        let Medium::Air { reach, .. } = &mut self.medium else {
            if is_up == up {
                let state = if up { "linked already" } else { "not linked" };
                return refuse(format!("nodes {one} and {other} are {state}"));
            }
            self.set_link(a, b, up, observer);
            return Ok(Done::default());
        };
        let (apart, range) = (reach.apart(a, b, self.now), reach.range());
        let why = match apart {
            Some(apart) if apart > range => {
                Some(format!("nodes {one} and {other} are {apart:.1} m apart, and the range is {range} m"))
            }
            Some(_) => None,
            None => Some(format!("one of nodes {one} and {other} is not there now")),
        };
        if !reach.bar(a, b, !up) {
            return refuse(match why {
                _ if !up => format!("there is a barrier between nodes {one} and {other} already"),
                Some(why) => format!("no barrier stands between them, but {why}: move one of them"),
                None => format!("no barrier stands between nodes {one} and {other}"),
            });
        }
        if !up {
            self.set_link(a, b, false, observer);
            return Ok(Done::default());
        }
        reach.watch(a, b, &self.links, self.now, &mut self.agenda);
        Ok(Done { note: why.map(|why| format!("the barrier is gone, but {why}")), ..Done::default() })
    }

    fn add_node(&mut self, at: Option<Position>, observer: &mut dyn Observer) -> Result<Done, EditError> {
        if self.faults.is_some() {
            return refuse("in a run with crashes the members stay the same");
        }
        let node = self.nodes.len() as u32;
        let Some(newcomer) = self.setup.newcomer(NodeId(node)) else {
            let (protocol, better) = (self.protocol_in_words(), "reverse-link and flood let nodes come");
            return refuse(format!("{protocol} has a fixed set of members while it runs; {better}"));
        };
        if self.nodes.len() >= MOST_NODES {
            return refuse(format!("{MOST_NODES} nodes are enough"));
        }
        let place = match (&self.medium, at) {
            (Medium::Air { .. }, None) => return refuse("a node on the air needs a place"),
            (Medium::Air { .. }, Some(at)) => Some(self.place(at)?),
            (Medium::Wire { .. }, _) => None,
        };
        self.nodes.push(newcomer);
        self.links.grow();
        self.outboxes.push(Outbox::default());
        self.clients.grow();
        self.delays.push(Streams::new(self.seed).stream(Purpose::Protocol, node));
        self.presence.push(Presence::Here);
        observer.joined(self.now, &self.nodes[node as usize], place);
        if let (Medium::Air { reach, .. }, Some(place)) = (&mut self.medium, place) {
            reach.add(place, &self.links, self.now, &mut self.agenda);
        }
        Ok(Done { node: Some(NodeId(node)), ..Done::default() })
    }

    fn remove_node(&mut self, node: NodeId, observer: &mut dyn Observer) -> Result<Done, EditError> {
        if self.faults.is_some() {
            return refuse("in a run with crashes the members stay the same");
        }
        let index = self.here(node)?;
        if !self.can_leave() {
            let protocol = self.protocol_in_words();
            return refuse(format!("{protocol} has a fixed set of members: cut the links of node {node} instead"));
        }
        self.begin_to_leave(index, observer);
        Ok(Done::default())
    }

    fn set_range(&mut self, metres: f64) -> Result<Done, EditError> {
        let Medium::Air { reach, radio } = &mut self.medium else { return refuse("there is no radio on wires") };
        if !(metres > 0.0 && metres <= WIDEST_RANGE) {
            return refuse(format!(
                "a range of {metres} m is not possible: give more than 0 m, up to {WIDEST_RANGE} m"
            ));
        }
        radio.range = metres;
        reach.set_range(metres, &self.links, self.now, &mut self.agenda);
        Ok(Done::default())
    }

    fn set_pace(&mut self, factor: f64, observer: &mut dyn Observer) -> Result<Done, EditError> {
        let Medium::Air { reach, .. } = &mut self.medium else { return refuse("nothing moves on wires") };
        if !(0.0..=FASTEST_PACE).contains(&factor) {
            return refuse(format!("a pace of {factor} is not possible: give 0 (no node moves) to {FASTEST_PACE}"));
        }
        for node in reach.set_pace(factor, &self.links, self.now, &mut self.agenda) {
            observer.moved(self.now, NodeId(node), reach.leg(node));
        }
        Ok(Done::default())
    }

    fn request_by_hand(
        &mut self,
        node: NodeId,
        units: u32,
        priority: i32,
        session: Option<u64>,
        observer: &mut dyn Observer,
    ) -> Result<Done, EditError> {
        let index = self.here(node)?;
        if !self.serves(index) {
            return refuse(format!(
                "node {node} does not serve now: it is not registered, or without word of most voters"
            ));
        }
        let urgency = match self.watch.setting.order {
            Order::Priority { .. } => Urgency::Priority(Priority(priority)),
            Order::Deadline => {
                let by = Span::from_millis(priority.unsigned_abs().into());
                let due = if priority >= 0 { self.now - by } else { self.now + by };
                Urgency::Deadline(Deadline(due.0 / 1_000))
            }
        };
        let demand = Demand { units: Units(units), urgency, session: session.map(Session) };
        if units == 0 {
            return refuse(Misuse::ZeroUnits.to_string());
        }
        let request = self.clients.next_number(index);
        // Asked of a copy, so that a refusal leaves no trace. A busy node serves it later.
        match self.nodes[index as usize].clone().handle(Event::Request { request, demand }) {
            Ok(_) => {}
            Err(Misuse::Busy) if self.manner.one_at_a_time => {}
            Err(misuse) => return refuse(misuse.to_string()),
        }
        let place = self.clients.ask_by_hand((index, self.life(index)), demand, self.now, self.tally.all);
        self.submit(place, observer);
        Ok(Done { request: Some(request.0), ..Done::default() })
    }

    fn release_by_hand(
        &mut self,
        node: NodeId,
        request: RequestId,
        observer: &mut dyn Observer,
    ) -> Result<Done, EditError> {
        let index = self.here(node)?;
        let Some(place) = self.clients.find_open(index, request) else {
            return refuse(format!("node {node} has no request {request} that waits or is granted"));
        };
        if self.clients.is_held(place) {
            self.release(place, observer);
        } else {
            let cancel = Event::Cancel { request };
            if !self.clients.is_queued(place)
                && let Err(misuse) = self.nodes[index as usize].clone().handle(cancel)
            {
                return refuse(format!("request {request} cannot be given up: {misuse}"));
            }
            self.give_up(place, observer);
        }
        Ok(Done::default())
    }
}

fn refuse<T>(words: impl Into<String>) -> Result<T, EditError> {
    Err(EditError::new(words))
}
