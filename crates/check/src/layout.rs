//! Where the numbers of a state stand in its row: nodes, then channels, then environment and history.

use meshlock_core::NodeId;

use crate::model::{Medium, Model};
use crate::topology::Link;
use meshlock_core::Protocol;

/// The shape shared by all states of one model.
#[derive(Clone)]
pub(crate) struct Layout {
    pub(crate) nodes: usize,
    pub(crate) channels: Vec<Channel>,
    pub(crate) links: Vec<LinkPlace>,
    /// For each ordered pair of nodes the channel from the first to the second.
    channel_of: Vec<Option<u16>>,
}

/// One direction between two nodes.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// The link it runs over; `None` where any node reaches any other.
    pub(crate) link: Option<u16>,
}

/// A link and its two channels.
#[derive(Clone, Copy)]
pub(crate) struct LinkPlace {
    pub(crate) link: Link,
    /// From the low end to the high end, and back.
    pub(crate) channels: [u16; 2],
    pub(crate) changeable: bool,
    pub(crate) up_at_start: bool,
    /// It is up whenever both ends are there, unless it is cut: also a link of a member that joins later.
    pub(crate) lasting: bool,
}

impl LinkPlace {
    pub(crate) const fn end(&self, end: u8) -> NodeId {
        if end == 0 { self.link.low() } else { self.link.high() }
    }

    /// Which end this node is, if it is one.
    pub(crate) fn end_of(&self, node: NodeId) -> Option<u8> {
        (0..2).find(|end| self.end(*end) == node)
    }

    /// The channel that leads to this end.
    pub(crate) const fn channel_into(&self, end: u8) -> usize {
        self.channels[if end == 0 { 1 } else { 0 }] as usize
    }
}

impl Layout {
    pub(crate) fn of(model: &Model) -> Self {
        let nodes = model.nodes.len();
        let mut layout = Self { nodes, channels: Vec::new(), links: Vec::new(), channel_of: vec![None; nodes * nodes] };
        match model.medium {
            Medium::Links => {
                let joined = nodes.saturating_sub(model.budgets.members.joins as usize);
                for link in model.all_links() {
                    let up_at_start = model.topology.links().contains(&link) && !model.down.contains(&link);
                    let place = u16::try_from(layout.links.len()).ok();
                    let there = layout.add_channel(link.low(), link.high(), place);
                    let back = layout.add_channel(link.high(), link.low(), place);
                    layout.links.push(LinkPlace {
                        link,
                        channels: [there, back],
                        changeable: model.changeable.as_ref().is_none_or(|list| list.contains(&link)),
                        up_at_start,
                        lasting: up_at_start || link.high().0 as usize >= joined,
                    });
                }
            }
            Medium::AnyToAny => {
                for from in &model.nodes {
                    for to in &model.nodes {
                        if from.id() != to.id() {
                            layout.add_channel(from.id(), to.id(), None);
                        }
                    }
                }
            }
        }
        layout
    }

    fn add_channel(&mut self, from: NodeId, to: NodeId, link: Option<u16>) -> u16 {
        let place = u16::try_from(self.channels.len()).expect("64 nodes have 4032 channels at most");
        self.channels.push(Channel { from, to, link });
        self.channel_of[from.0 as usize * self.nodes + to.0 as usize] = Some(place);
        place
    }

    /// The channel from one node to another, if there is one.
    pub(crate) fn channel_between(&self, from: usize, to: NodeId) -> Option<usize> {
        let to = to.0 as usize;
        if to >= self.nodes {
            return None;
        }
        self.channel_of[from * self.nodes + to].map(usize::from)
    }

    /// How many numbers a state has.
    pub(crate) fn width(&self) -> usize {
        self.nodes + self.channels.len() + 2
    }

    /// Two halves of a row: some of the nodes with what they have sent, and all the rest.
    pub(crate) fn halves(&self) -> [Vec<usize>; 2] {
        let half = self.nodes / 2;
        let sent_by_first = |channel: &usize| (self.channels[*channel].from.0 as usize) < half;
        let channels = (0..self.channels.len()).filter(sent_by_first).map(|channel| self.channel(channel));
        let first: Vec<usize> = (0..half).chain(channels).collect();
        let rest = (0..self.width()).filter(|place| !first.contains(place)).collect();
        [first, rest]
    }

    /// Four parts of a row: some of the nodes with what they have sent, and in the last one also all the rest.
    pub(crate) fn quarters(&self) -> [Vec<usize>; 4] {
        let groups = self.nodes.min(4);
        let group = |node: usize| node * groups / self.nodes;
        let mut quarters = [const { Vec::new() }; 4];
        (0..self.nodes).for_each(|node| quarters[group(node)].push(node));
        for (place, channel) in self.channels.iter().enumerate() {
            quarters[group(channel.from.0 as usize)].push(self.channel(place));
        }
        quarters[3].extend([self.environment(), self.history()]);
        quarters
    }

    /// Where the content of a channel stands.
    pub(crate) fn channel(&self, channel: usize) -> usize {
        self.nodes + channel
    }

    pub(crate) fn environment(&self) -> usize {
        self.nodes + self.channels.len()
    }

    pub(crate) fn history(&self) -> usize {
        self.nodes + self.channels.len() + 1
    }
}
