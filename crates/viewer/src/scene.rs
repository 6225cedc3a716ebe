//! Everything at one moment of a trace. The page goes on from such a moment by the same rules (`page/app/scene.js`); a
//! test compares the two on whole traces.

mod requests;
mod under_way;

use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::recovery::Census;
use meshlock_core::{Effect, Event, NodeId};
use meshlock_trace::Position;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::line::{First, Join, Line};
use requests::OpenRequest;
use under_way::UnderWay;

/// Ids of incarnations of one node differ by multiples of this.
const INCARNATION: u32 = 1 << 16;

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub(crate) line: u64,
    pub(crate) at: u64,
    nodes: BTreeMap<u32, Node>,
    neighbours: BTreeMap<u32, BTreeSet<u32>>,
    under_way: UnderWay,
    pub(crate) end: Option<Box<RawValue>>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Node {
    id: u32,
    name: String,
    position: Option<Position>,
    velocity: Option<Position>,
    moved: u64,
    gone: bool,
    /// It is gone because it crashed.
    crashed: bool,
    /// What it has heard of who is gone.
    census: Option<Census>,
    /// When it made a lost token anew, as the heir of a crash.
    remade: Option<u64>,
    view: Option<Box<RawValue>>,
    open: Vec<OpenRequest>,
}

/// What a line changed, for marks and figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) requests: u32,
    pub(crate) grants: u32,
    pub(crate) releases: u32,
    /// Of all grants: how long they had waited in all, and the longest.
    pub(crate) waited: u64,
    pub(crate) longest: u64,
    /// Units taken into use and given back.
    pub(crate) units: i64,
    /// Messages sent; each receiver counts.
    pub(crate) messages: u32,
    /// The token has come to the node.
    pub(crate) token: bool,
}

impl Scene {
    /// Before the first record.
    pub(crate) fn first(header: &First<'_>) -> Self {
        let mut scene = Self { line: 1, ..Self::default() };
        header.nodes.iter().for_each(|node| scene.join(node));
        header.links.iter().for_each(|(a, b)| scene.link(*a, *b, true));
        scene
    }

    /// Takes one line. Nothing in it can be wrong enough to stop here: unnamed nodes are given a name.
    pub(crate) fn apply(&mut self, number: u64, at: u64, line: &Line<'_>) -> Changed {
        let mut changed = Changed::default();
        (self.line, self.at) = (number, at);
        if let Some(join) = &line.join {
            self.join(join);
        } else if let Some(movement) = &line.movement {
            let node = self.node(movement.node.0);
            // Where nodes have no places, neither has one that is gone.
            if node.position.is_some() || !movement.gone {
                (node.position, node.velocity) = (Some(movement.position), movement.velocity);
            }
            (node.moved, node.gone, node.crashed) = (at, movement.gone, movement.crashed);
        } else if let Some(link) = &line.link {
            self.link(link.between.0.0, link.between.1.0, link.up);
        } else if let Some(lost) = &line.lost {
            self.under_way.take(lost.cause, lost.from, lost.to);
        } else if let Some(end) = line.end {
            self.end = Some(end.to_owned());
        } else if let (Some(id), Some(event)) = (line.node, &line.event) {
            self.handled(id, event, line, &mut changed);
        }
        changed
    }

    fn handled(&mut self, id: u32, event: &Event<&RawValue>, line: &Line<'_>, changed: &mut Changed) {
        if let Event::Receive { from, .. } = event {
            self.under_way.take(line.cause, from.0, id);
        }
        if let Event::Census { census } = event {
            self.hears(id, census);
        }
        if let Event::Remake { .. } = event {
            self.node(id).remade = Some(self.at);
        }
        let at = self.at;
        if line.misuse.is_none() {
            requests::take_event(&mut self.node(id).open, event, at, changed);
        }
        for effect in &line.effects {
            match effect {
                Effect::Send { to, message } => self.sent(id, &[to.0], message, line, changed),
                Effect::Multicast { to, message } => {
                    let to: Vec<u32> = to.iter().map(|to| to.0).collect();
                    self.sent(id, &to, message, line, changed);
                }
                Effect::Broadcast { message } => {
                    let to: Vec<u32> = self.neighbours.get(&id).into_iter().flatten().copied().collect();
                    self.sent(id, &to, message, line, changed);
                }
                Effect::Granted { grant } if line.misuse.is_none() => {
                    requests::take_grant(&mut self.node(id).open, grant, at, changed);
                }
                Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => {}
            }
        }
        if let Some(view) = line.view {
            let node = self.node(id);
            let had = node.view.as_deref().is_some_and(has_token);
            changed.token = !had && has_token(view);
            node.view = Some(view.to_owned());
        }
    }

    fn sent(&mut self, from: u32, to: &[u32], message: &RawValue, line: &Line<'_>, changed: &mut Changed) {
        changed.messages += to.len() as u32;
        for to in to {
            // In a recording with views, a node without one is only heard of: what arrives there is not in the trace.
            let is_seen = line.view.is_none() || self.nodes.get(to).is_some_and(|node| node.view.is_some());
            if is_seen {
                self.under_way.send(self.line, from, *to, self.at, message);
            }
        }
    }

    /// A node hears who is gone. What those held is over.
    fn hears(&mut self, id: u32, census: &Census) {
        self.node(id).census = Some(census.clone());
        for node in self.nodes.values_mut().filter(|node| census.is_gone(NodeId(node.id))) {
            node.gone = true;
            node.open.clear();
        }
    }

    /// A node that comes back after a crash is another incarnation: it takes the place of the former.
    fn replace(&mut self, id: u32) {
        let is_former = |other: &u32| other % INCARNATION == id % INCARNATION && *other < id;
        let former: Vec<u32> = self.nodes.keys().copied().filter(is_former).collect();
        for former in former {
            for neighbour in self.neighbours.remove(&former).unwrap_or_default() {
                self.link(former, neighbour, false);
            }
            if let Some(Node { position, .. }) = self.nodes.remove(&former) {
                self.node(id).position = position;
            }
        }
    }

    fn join(&mut self, join: &Join<'_>) {
        if join.id >= INCARNATION {
            self.replace(join.id);
        }
        let node = self.node(join.id);
        node.name = join.name.to_string();
        node.view = join.view.map(ToOwned::to_owned);
        if join.position.is_some() {
            node.position = join.position;
        }
        (node.gone, node.crashed) = (false, false);
    }

    fn link(&mut self, a: u32, b: u32, up: bool) {
        for (one, other) in [(a, b), (b, a)] {
            let neighbours = self.neighbours.entry(one).or_default();
            if up {
                neighbours.insert(other);
            } else {
                neighbours.remove(&other);
                self.under_way.cut(one, other);
            }
        }
    }

    fn node(&mut self, id: u32) -> &mut Node {
        let at = self.at;
        let name = || format!("n{id}");
        self.nodes.entry(id).or_insert_with(|| Node { id, name: name(), moved: at, ..Node::default() })
    }

    fn links(&self) -> impl Iterator<Item = (u32, u32)> {
        let of = |(a, all): (&u32, _)| {
            let a = *a;
            let all: &BTreeSet<u32> = all;
            all.range(a.saturating_add(1)..).map(move |b| (a, *b)).collect::<Vec<_>>()
        };
        self.neighbours.iter().flat_map(of)
    }

    /// Requests that wait, and units in use.
    pub(crate) fn load(&self) -> (u32, i64) {
        let open = || self.nodes.values().flat_map(|node| &node.open);
        let waiting = open().filter(|request| request.granted.is_none()).count() as u32;
        let units = open().filter(|request| request.granted.is_some()).map(|request| i64::from(request.units)).sum();
        (waiting, units)
    }
}

/// Whether a view shows the token, without reading more of it than needed.
fn has_token(view: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Glimpse {
        token: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<Glimpse>(view.get()).is_ok_and(|glimpse| glimpse.token.is_some())
}

impl Serialize for Scene {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Rows<F>(F);
        impl<F, I> Serialize for Rows<F>
        where
            F: Fn() -> I,
            I: Iterator<Item: Serialize>,
        {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq((self.0)())
            }
        }
        let mut scene = serializer.serialize_struct("Scene", 6)?;
        scene.serialize_field("line", &self.line)?;
        scene.serialize_field("at", &self.at)?;
        scene.serialize_field("nodes", &Rows(|| self.nodes.values()))?;
        scene.serialize_field("links", &Rows(|| self.links()))?;
        scene.serialize_field("under_way", &Rows(|| self.under_way.iter()))?;
        scene.serialize_field("end", &self.end)?;
        scene.end()
    }
}

#[cfg(test)]
mod tests;
