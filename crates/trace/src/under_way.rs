//! What is under way while a trace is written or read: which line sent the message that arrives now, or armed the timer
//! that runs out now.
//!
//! A link keeps the order of its messages while it is up; what is on it when it goes down may be lost; and nothing sent
//! over an earlier link arrives over a later one. The two ends need not agree how often their link was up: one may
//! have seen it come and go while the other saw nothing. So each time a link is up at its sender is kept apart, and a
//! receiver's messages are compared with all of them that they could have come from; those that differ are struck out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use meshlock_core::{Effect, Event, NodeId};

/// Everything under way between the nodes of a trace, followed event by event.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    /// Messages may overtake each other.
    unordered: bool,
    /// Whom each node knows to be up.
    neighbours: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// By sender and receiver.
    ways: BTreeMap<(NodeId, NodeId), Way>,
    /// By node and epoch: the line that armed the timer.
    timers: BTreeMap<(NodeId, u64), u64>,
    /// Nodes whose arrivals are not in the trace.
    unseen: BTreeSet<NodeId>,
}

/// An event that answers nothing which was sent or armed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts of the errors say it")]
pub enum Unexplained {
    #[error("node {from} sent something else to node {to} before this, in line {next}")]
    OutOfOrder { from: NodeId, to: NodeId, next: u64 },
    #[error("node {from} sent no such message to node {to}, or it has arrived before")]
    NeverSent { from: NodeId, to: NodeId },
    #[error("node {node} has not armed timer {epoch}, or it has run out before")]
    NotArmed { node: NodeId, epoch: u64 },
}

/// One direction between two nodes.
#[derive(Clone, Debug, Default)]
struct Way {
    /// The times that the link was up at the sender, oldest first; those that are surely over are gone.
    links: VecDeque<Link>,
    /// How many messages have arrived since the link came up at the receiver.
    arrived: u64,
}

/// One time that a link was up at its sender.
#[derive(Clone, Debug, Default)]
struct Link {
    /// Hash and line of every message.
    sent: VecDeque<(u64, u64)>,
    /// What arrives now may come from here.
    possible: bool,
    /// How many messages have arrived, if they came from here.
    taken: usize,
}

impl UnderWay {
    /// Nothing is under way, and links keep the order of their messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing is under way, and messages may overtake each other.
    pub fn unordered() -> Self {
        Self { unordered: true, ..Self::default() }
    }

    /// What arrives at this node is not in the trace, so nothing on its way to it is kept.
    pub fn ignore(&mut self, node: NodeId) {
        self.unseen.insert(node);
    }

    /// The neighbours that a node knows to be up.
    pub fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.neighbours.get(&node).into_iter().flatten().copied()
    }

    /// Takes in an event at a node, and returns the line of what it answers, if it answers something.
    pub fn happens<M: Hash>(&mut self, node: NodeId, event: &Event<M>) -> Result<Option<u64>, Unexplained> {
        if let Event::LinkUp { neighbour } = event {
            self.neighbours.entry(node).or_default().insert(*neighbour);
            if !self.unseen.contains(neighbour) {
                self.ways.entry((node, *neighbour)).or_default().comes_up_at_sender();
            }
            self.ways.entry((*neighbour, node)).or_default().comes_up_at_receiver();
        } else if let Event::LinkDown { neighbour } = event {
            self.neighbours.entry(node).or_default().remove(neighbour);
        } else if let Event::Receive { from, message } = event {
            return self.arrives(*from, node, message).map(Some);
        } else if let Event::Expired { timer } = event {
            let line = self.timers.remove(&(node, timer.epoch));
            return line.map(Some).ok_or(Unexplained::NotArmed { node, epoch: timer.epoch });
        }
        Ok(None)
    }

    /// Takes in what a node wants done, as a line says.
    pub fn effect<M: Hash>(&mut self, node: NodeId, effect: &Effect<M>, line: u64) {
        match effect {
            Effect::Send { to, message } => self.send(node, *to, fingerprint(message), line),
            Effect::Multicast { to, message } => {
                let print = fingerprint(message);
                to.iter().for_each(|to| self.send(node, *to, print, line));
            }
            Effect::Broadcast { message } => {
                let print = fingerprint(message);
                let to: Vec<NodeId> = self.neighbours(node).collect();
                to.into_iter().for_each(|to| self.send(node, to, print, line));
            }
            Effect::Arm { timer, .. } => {
                self.timers.insert((node, timer.epoch), line);
            }
            Effect::Granted { .. } | Effect::Reject { .. } => {}
        }
    }

    /// A message will not arrive. What was sent without a link was not in flight in the first place.
    pub fn lost<M: Hash>(&mut self, from: NodeId, to: NodeId, message: &M, cause: Option<u64>) {
        let print = fingerprint(message);
        let Some(way) = self.ways.get_mut(&(from, to)) else { return };
        let mut places = Vec::new();
        for (number, link) in way.links.iter().enumerate() {
            let taken = if link.possible { link.taken } else { 0 };
            let left = link.sent.iter().enumerate().skip(taken);
            places.extend(left.filter(|(_, sent)| sent.0 == print).map(|(place, sent)| (number, place, sent.1)));
        }
        let named = places.iter().find(|(_, _, line)| Some(*line) == cause);
        if let Some((number, place, _)) = named.or(places.first()).copied()
            && let Some(link) = way.links.get_mut(number)
        {
            link.sent.remove(place);
        }
    }

    /// Whether a line sent an equal message that has not arrived, as far as can be told.
    pub fn may_come_from<M: Hash>(&self, from: NodeId, to: NodeId, message: &M, line: u64) -> bool {
        let print = fingerprint(message);
        let way = self.ways.get(&(from, to));
        way.is_some_and(|way| way.links.iter().flat_map(|link| &link.sent).any(|sent| *sent == (print, line)))
    }

    fn send(&mut self, from: NodeId, to: NodeId, print: u64, line: u64) {
        let is_up = self.neighbours.get(&from).is_some_and(|up| up.contains(&to)) && !self.unseen.contains(&to);
        if let Some(link) = self.ways.get_mut(&(from, to)).and_then(|way| way.links.back_mut()).filter(|_| is_up) {
            link.sent.push_back((print, line));
        }
    }

    fn arrives<M: Hash>(&mut self, from: NodeId, to: NodeId, message: &M) -> Result<u64, Unexplained> {
        let print = fingerprint(message);
        let way = self.ways.entry((from, to)).or_default();
        let line = if self.unordered { way.take_any(print) } else { way.take_next(print) };
        line.ok_or_else(|| match way.next_line() {
            Some(next) if !self.unordered => Unexplained::OutOfOrder { from, to, next },
            Some(_) | None => Unexplained::NeverSent { from, to },
        })
    }
}

impl Way {
    fn comes_up_at_sender(&mut self) {
        let possible = self.arrived == 0;
        self.links.push_back(Link { possible, ..Link::default() });
    }

    /// What arrives from now on comes from a later link than what has arrived so far.
    fn comes_up_at_receiver(&mut self) {
        if self.arrived > 0
            && let Some(used) = self.links.iter().position(|link| link.possible)
        {
            self.links.drain(..=used);
        }
        self.arrived = 0;
        for link in &mut self.links {
            (link.possible, link.taken) = (true, 0);
        }
    }

    fn take_next(&mut self, print: u64) -> Option<u64> {
        let fits = |link: &Link| link.possible && link.sent.get(link.taken).is_some_and(|sent| sent.0 == print);
        let first = self.links.iter().position(fits)?;
        self.links.drain(..first);
        for link in &mut self.links {
            link.possible = fits(link);
            link.taken = if link.possible { link.taken + 1 } else { 0 };
        }
        self.arrived += 1;
        let only_one = self.links.iter().filter(|link| link.possible).count() == 1;
        let link = self.links.front_mut()?;
        let (_, line) = *link.sent.get(link.taken.checked_sub(1)?)?;
        if only_one {
            link.sent.drain(..link.taken);
            link.taken = 0;
        }
        Some(line)
    }

    fn take_any(&mut self, print: u64) -> Option<u64> {
        for link in &mut self.links {
            if let Some(place) = link.sent.iter().position(|sent| sent.0 == print) {
                return link.sent.remove(place).map(|(_, line)| line);
            }
        }
        None
    }

    /// The line of what should arrive next, if there is anything.
    fn next_line(&self) -> Option<u64> {
        let possible = self.links.iter().filter(|link| link.possible);
        possible.into_iter().find_map(|link| link.sent.get(link.taken)).map(|(_, line)| *line)
    }
}

/// What is kept of a message.
fn fingerprint<M: Hash>(message: &M) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
