//! Processes without a clock, driven by hand: for adversaries and scripts.

use std::collections::VecDeque;

use meshlock_core::view::{Claimant, Origin};
use meshlock_core::{Demand, Effect, Event, NodeId, Protocol, RequestId, Session, Units};
use meshlock_protocols::{Message, Name, Node, Setup, Text};

/// Processes and what is under way between them, in the order of sending.
#[derive(Clone)]
pub(super) struct HandDriven {
    nodes: Vec<Node>,
    mail: VecDeque<(NodeId, usize, Message)>,
    asked: Vec<u64>,
    inside: Vec<bool>,
}

impl HandDriven {
    /// Processes of the group protocol.
    ///
    /// # Panics
    ///
    /// If the text names a repair that does not exist.
    pub(super) fn new(text: Text, nodes: u32, levels: u32) -> Self {
        let setup = Setup { name: Name::Group, text, levels, retry: None, ..Setup::default() };
        let nodes = setup.network(nodes, &[]).unwrap_or_else(|error| panic!("{error}"));
        let count = nodes.len();
        Self { nodes, mail: VecDeque::new(), asked: vec![0; count], inside: vec![false; count] }
    }

    /// A process asks, and everything that follows happens. False if it cannot ask now.
    pub(super) fn ask(&mut self, node: usize, session: u64, level: u32) -> bool {
        let Some(asked) = self.asked.get_mut(node) else { return false };
        *asked += 1;
        let demand = Demand::session(session, i32::try_from(level).unwrap_or(i32::MAX));
        let event = Event::Request { request: RequestId(*asked), demand };
        self.handle(node, event) && self.settle()
    }

    /// All processes inside leave, and everything that follows happens. False if none was inside.
    pub(super) fn all_leave(&mut self) -> bool {
        let inside = self.all_inside();
        inside.iter().for_each(|node| self.release(*node));
        self.settle();
        !inside.is_empty()
    }

    /// One process leaves, and everything that follows happens.
    pub(super) fn leave(&mut self, node: usize) {
        self.release(node);
        self.settle();
    }

    fn release(&mut self, node: usize) {
        if std::mem::take(&mut self.inside[node]) {
            self.handle(node, Event::Release { request: RequestId(self.asked[node]), units: Units(1) });
        }
    }

    pub(super) fn all_inside(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.is_inside(*node)).collect()
    }

    /// What nodes show, without numbers that only grow: equal positions, equal futures.
    pub(super) fn position(&self) -> Vec<i64> {
        let session = |session: Option<Session>| session.map_or(-1, |session| session.0 as i64);
        let mut position = Vec::new();
        for (node, inside) in self.nodes.iter().zip(&self.inside) {
            let view = node.view();
            position.extend([i64::from(*inside), view.followers.unwrap_or(0), view.waiting.len() as i64]);
            position.extend(view.holding.iter().map(|grant| session(grant.session)));
            position.push(view.captain.map_or(-1, |captain| captain.0.into()));
            if let Some(token) = view.token {
                position.extend([-2, session(token.session)]);
                for claimant in token.queue {
                    let asker = if let Origin::Node(asker) = claimant.origin { asker.0.into() } else { -3 };
                    position.extend([asker, session(claimant.session), claimant.rank.0]);
                }
            }
            position.push(-9);
        }
        position
    }

    pub(super) fn is_inside(&self, node: usize) -> bool {
        self.inside.get(node).copied().unwrap_or(false)
    }

    /// The processes that neither wait nor are inside.
    pub(super) fn idle(&self) -> Vec<usize> {
        let idle = |node: &usize| !self.is_inside(*node) && self.nodes[*node].view().waiting.is_empty();
        (0..self.nodes.len()).filter(idle).collect()
    }

    /// The session that is open, as those inside know it.
    pub(super) fn open_session(&self) -> Option<u64> {
        let views = self.nodes.iter().map(Protocol::view);
        views.flat_map(|view| view.holding).find_map(|grant| grant.session).map(|session| session.0)
    }

    /// The level that a session has in the token's queue.
    pub(super) fn level_of(&self, session: u64) -> Option<i64> {
        let queues = self.nodes.iter().filter_map(|node| node.view().token).flat_map(|token| token.queue);
        let of_session = |claimant: &Claimant| claimant.session == Some(Session(session));
        queues.filter(of_session).map(|claimant| claimant.rank.0).max()
    }

    fn handle(&mut self, node: usize, event: Event<Message>) -> bool {
        let Some(effects) = self.nodes.get_mut(node).and_then(|node| node.handle(event).ok()) else { return false };
        let from = self.nodes[node].id();
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.mail.push_back((from, to.0 as usize, message)),
                Effect::Multicast { to, message } => {
                    self.mail.extend(to.into_iter().map(|to| (from, to.0 as usize, message.clone())));
                }
                Effect::Broadcast { message } => {
                    let others = (0..self.nodes.len()).filter(|to| *to != node);
                    self.mail.extend(others.map(|to| (from, to, message.clone())));
                }
                Effect::Granted { .. } => self.inside[node] = true,
                Effect::Arm { .. } | Effect::Reject { .. } => {}
            }
        }
        true
    }

    /// Delivers everything. False if there is no end to it.
    fn settle(&mut self) -> bool {
        for _ in 0..MOST_MESSAGES {
            let Some((from, to, message)) = self.mail.pop_front() else { return true };
            self.handle(to, Event::Receive { from, message });
        }
        false
    }
}

/// No script makes so many messages at once.
const MOST_MESSAGES: u32 = 100_000;
