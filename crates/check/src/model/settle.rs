//! The initial state by the protocol itself: isolated nodes get to know each other over their first links.

use std::collections::VecDeque;

use meshlock_core::{Effect, Event, Misuse, NodeId, Protocol, Rejection, Timer};
use meshlock_protocols::{Message, Node};

use super::Model;
use crate::topology::{Link, Topology};

impl Model {
    /// Nodes that know of no link yet, after every link of the topology that is not in `down` came up (in order, the
    /// lower end first) and everything sent was delivered, channel by channel in turn.
    pub fn settled<N: Into<Node>>(
        isolated: impl IntoIterator<Item = N>,
        topology: Topology,
        down: Vec<Link>,
    ) -> Result<Self, SettleError> {
        let nodes: Vec<Node> = isolated.into_iter().map(Into::into).collect();
        let mut room = Room { armed: vec![None; nodes.len()], nodes, channels: Vec::new(), steps: 0 };
        for link in topology.links().iter().filter(|link| !down.contains(link)) {
            room.channels.push(Channel::new(link.low(), link.high()));
            room.channels.push(Channel::new(link.high(), link.low()));
            for (node, neighbour) in [(link.low(), link.high()), (link.high(), link.low())] {
                room.handle(node, Event::LinkUp { neighbour })?;
            }
        }
        while room.deliver_one_each()? {}
        let mut model = Self::new(room.nodes, topology);
        model.armed = room.armed;
        model.down = down;
        Ok(model)
    }
}

struct Room {
    nodes: Vec<Node>,
    armed: Vec<Option<Timer>>,
    channels: Vec<Channel>,
    steps: usize,
}

struct Channel {
    from: NodeId,
    to: NodeId,
    content: VecDeque<Message>,
}

impl Channel {
    fn new(from: NodeId, to: NodeId) -> Self {
        Self { from, to, content: VecDeque::new() }
    }
}

impl Room {
    /// Delivers the head of every channel once; whether there was any.
    fn deliver_one_each(&mut self) -> Result<bool, SettleError> {
        let mut any = false;
        for place in 0..self.channels.len() {
            let channel = &mut self.channels[place];
            if let Some(message) = channel.content.pop_front() {
                any = true;
                let (from, to) = (channel.from, channel.to);
                self.handle(to, Event::Receive { from, message })?;
            }
        }
        Ok(any)
    }

    fn push(&mut self, node: NodeId, to: NodeId, message: Message) -> Result<(), SettleError> {
        let channel = self.channels.iter_mut().find(|channel| channel.from == node && channel.to == to);
        channel.ok_or(SettleError::StraySend { node, to })?.content.push_back(message);
        Ok(())
    }

    fn handle(&mut self, node: NodeId, event: Event<Message>) -> Result<(), SettleError> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(SettleError::Endless);
        }
        let place = node.0 as usize;
        let machine = self.nodes.get_mut(place).ok_or(SettleError::NoSuchNode(node))?;
        let effects = machine.handle(event).map_err(|misuse| SettleError::Refused { node, misuse })?;
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.push(node, to, message)?,
                Effect::Multicast { to, message } => {
                    to.into_iter().try_for_each(|to| self.push(node, to, message.clone()))?;
                }
                Effect::Broadcast { message } => {
                    for channel in self.channels.iter_mut().filter(|channel| channel.from == node) {
                        channel.content.push_back(message.clone());
                    }
                }
                Effect::Granted { .. } => return Err(SettleError::Granted(node)),
                Effect::Arm { timer, .. } => self.armed[place] = Some(timer),
                Effect::Reject { from, reason } => return Err(SettleError::Rejected { node, from, reason }),
            }
        }
        Ok(())
    }
}

/// Why nodes did not come to rest after their first links came up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// They never stop talking.
    #[error("the nodes did not settle within {most} steps after their links came up", most = MOST_STEPS)]
    Endless,
    /// A link names a node that is not there.
    #[error("the topology names node {0}, which is not there")]
    NoSuchNode(NodeId),
    /// A node refused an event that no caller made.
    #[error("node {node} refused an event while settling: {misuse}")]
    Refused { node: NodeId, misuse: Misuse },
    #[error("node {node} rejected a message from {from} while settling: {reason}")]
    Rejected { node: NodeId, from: NodeId, reason: Rejection },
    /// A message to a node without a link.
    #[error("node {node} sent to {to} while settling, but has no link to it yet")]
    StraySend { node: NodeId, to: NodeId },
    /// A grant without a request.
    #[error("node {0} was granted something before any request")]
    Granted(NodeId),
}

const MOST_STEPS: usize = 100_000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    use meshlock_protocols::toys::Hello;

    fn greeted_by(model: &Model, node: usize) -> &BTreeSet<NodeId> {
        let Node::Hello(hello) = &model.nodes[node] else { panic!("another protocol") };
        &hello.greeted_by
    }

    #[test]
    fn settled_nodes_know_their_neighbours_and_have_heard_of_them() {
        let model = Model::settled(Hello::isolated(3), Topology::line(3), Vec::new()).unwrap();
        let greeted = |node: usize| greeted_by(&model, node).iter().map(|id| id.0).collect::<Vec<_>>();
        assert_eq!([greeted(0), greeted(1), greeted(2)], [vec![1], vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_link_that_is_down_is_not_known() {
        let down = vec!["1-2".parse().unwrap()];
        let model = Model::settled(Hello::isolated(3), Topology::line(3), down).unwrap();
        assert!(greeted_by(&model, 2).is_empty());
    }

    #[test]
    fn nodes_that_never_stop_talking_do_not_settle() {
        let error = Model::settled(Hello::endless(2), Topology::line(2), Vec::new()).unwrap_err();
        assert_eq!(error, SettleError::Endless);
    }

    #[test]
    fn a_topology_larger_than_the_nodes_is_an_error() {
        let error = Model::settled(Hello::isolated(2), Topology::line(3), Vec::new()).unwrap_err();
        assert_eq!(error, SettleError::NoSuchNode(NodeId(2)));
    }
}
