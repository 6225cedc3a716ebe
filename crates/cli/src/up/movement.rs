//! Nodes that move about as a scenario says, at the speed of real time, and links that come and go with them.
//!
//! The simulator runs the network of the scenario in a thread of its own, with nothing to do for its nodes; what its
//! trace says about places and links is done to the real ones. Somebody may take part: a [`Change`] of the simulated
//! world becomes one of the mesh.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use meshlock_node::local::Pair;
use meshlock_node::record::Place;
use meshlock_sim::edit::{Change, Done, EditError};
use meshlock_sim::live::{Live, Start, State, wall_clock};
use meshlock_sim::record::About;
use meshlock_sim::scenario::file::Document;
use meshlock_sim::scenario::{Over, ProtocolName, Scenario, Text, Traffic};
use meshlock_trace::{Header, Link, Move, NodeInfo};
use serde::Deserialize;
use tokio::sync::mpsc;

/// A scenario that runs.
pub(super) struct Movement {
    pub(super) name: String,
    pub(super) nodes: u16,
    pub(super) first_links: BTreeSet<Pair>,
    /// By node; nothing on wires.
    pub(super) first_places: Vec<Option<Place>>,
    pub(super) world: Arc<SimulatedWorld>,
    news: mpsc::UnboundedReceiver<News>,
}

/// The world in which nodes move. Ends with the last who knows it.
#[derive(Debug)]
pub(super) struct SimulatedWorld {
    live: Live,
}

/// What happened in the world. Nodes are known by their numbers there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum News {
    /// Everything at the beginning.
    First { places: Vec<Option<Place>>, links: BTreeSet<Pair> },
    /// These links are there now.
    Links(BTreeSet<Pair>),
    /// A node is somewhere else, or moves otherwise.
    Moved(usize, Place),
}

impl Movement {
    /// Reads a scenario and begins to move.
    pub(super) fn start(file: &Path, seed: Option<u64>) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let document = Document::parse(&file.display().to_string(), &text).map_err(|error| anyhow!("{error}"))?;
        let scenario = document.resolve().map_err(|error| anyhow!("{error}"))?;
        Self::play(scenario, seed.unwrap_or_else(|| document.seed()))
    }

    /// Begins to move.
    pub(super) fn play(scenario: Scenario, seed: u64) -> anyhow::Result<Self> {
        let nodes = u16::try_from(scenario.nodes).ok().filter(|nodes| *nodes <= super::MOST_NODES);
        let nodes = nodes.with_context(|| {
            format!("{} nodes are too many for one process: at most {}", scenario.nodes, super::MOST_NODES)
        })?;
        let (tell, mut news) = mpsc::unbounded_channel();
        let name = scenario.name.clone();
        let live = Live::start(Start {
            scenario: with_nothing_to_do(scenario),
            seed,
            about: About::default(),
            output: Box::new(Ear { tell, line: Vec::new(), links: None }),
            earlier: Default::default(),
            clock: wall_clock(),
            on_change: Arc::new(|| ()),
        })?;
        let first = news.try_recv().ok();
        let Some(News::First { places, links }) = first else {
            return Err(anyhow!("the simulator did not say where nodes are"));
        };
        live.play()?;
        let world = Arc::new(SimulatedWorld { live });
        Ok(Self { name, nodes, first_links: links, first_places: places, world, news })
    }

    /// What happens next; nothing when the world has ended. Changes of links at one moment come as one.
    pub(super) async fn next(&mut self) -> Option<Vec<News>> {
        let mut all = vec![self.news.recv().await?];
        while let Ok(newer) = self.news.try_recv() {
            if matches!((all.last(), &newer), (Some(News::Links(_)), News::Links(_))) {
                all.pop();
            }
            all.push(newer);
        }
        Some(all)
    }
}

impl SimulatedWorld {
    /// Whether nodes have places there.
    pub(super) fn is_on_the_air(&self) -> bool {
        self.live.abilities().air
    }

    /// How it goes.
    pub(super) fn state(&self) -> State {
        self.live.state()
    }

    /// Changes it. Waits for the thread of the world, which is a matter of microseconds.
    pub(super) fn change(&self, change: Change) -> Result<Done, EditError> {
        self.live.edit(change)
    }
}

/// The same network without clients, under a protocol that lets nodes come and go: real nodes do the work.
fn with_nothing_to_do(mut scenario: Scenario) -> Scenario {
    scenario.traffic = Traffic::default();
    scenario.protocol.name = ProtocolName::ReverseLink;
    scenario.protocol.text = Text::Repaired;
    scenario.protocol.over = Over::Links;
    scenario
}

/// Listens to the trace of the simulator.
struct Ear {
    tell: mpsc::UnboundedSender<News>,
    line: Vec<u8>,
    /// The links that are up; unknown before the first line.
    links: Option<BTreeSet<Pair>>,
}

/// The lines that matter here.
#[derive(Deserialize)]
struct Heard {
    link: Option<Link>,
    #[serde(rename = "move")]
    movement: Option<Move>,
    join: Option<NodeInfo>,
}

impl Ear {
    fn hear(&mut self, line: &[u8]) -> io::Result<()> {
        let news = match &mut self.links {
            None => {
                let header: Header = serde_json::from_slice(line)?;
                let links = self.links.insert(header.links.iter().map(|(a, b)| pair(a.0, b.0)).collect());
                let place = |node: &NodeInfo| node.position.map(Place::at);
                Some(News::First { places: header.nodes.iter().map(place).collect(), links: links.clone() })
            }
            Some(links) if matters(line) => match serde_json::from_slice(line)? {
                Heard { link: Some(Link { between: (a, b), up }), .. } => {
                    let pair = pair(a.0, b.0);
                    let changed = if up { links.insert(pair) } else { links.remove(&pair) };
                    changed.then(|| News::Links(links.clone()))
                }
                Heard { movement: Some(Move { node, position, velocity, gone }), .. } => {
                    Some(News::Moved(node.0 as usize, Place { position, velocity, gone }))
                }
                Heard { join: Some(node), .. } => {
                    node.position.map(|at| News::Moved(node.id.0 as usize, Place::at(at)))
                }
                Heard { .. } => None,
            },
            Some(_) => None,
        };
        if let Some(news) = news {
            // Nobody may want to know any more.
            let _ = self.tell.send(news);
        }
        Ok(())
    }
}

/// What the nodes of the simulator do is of no interest, and most of the trace.
fn matters(line: &[u8]) -> bool {
    let after_time = line.iter().position(|byte| *byte == b',').and_then(|comma| line.get(comma + 1..));
    after_time
        .is_some_and(|rest| [&b"\"link\""[..], b"\"move\"", b"\"join\""].iter().any(|kind| rest.starts_with(kind)))
}

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.hear(&line)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pair(a: u32, b: u32) -> Pair {
    (a.min(b) as usize, a.max(b) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ear_hears_places_and_links_and_nothing_else() {
        let (tell, mut news) = mpsc::unbounded_channel();
        let mut ear = Ear { tell, line: Vec::new(), links: None };
        let lines = r#"{"meshlock-trace":1,"source":"sim","protocol":"reverse-link","variant":"repaired","nodes":[{"id":0,"name":"n0","position":[1.0,2.0]},{"id":1,"name":"n1"}],"links":[[1,0]]}
{"time_ns":1,"node":0,"event":{"link-up":{"neighbour":1}},"effects":[]}
{"time_ns":2,"move":{"node":1,"position":[3.0,4.0],"velocity":[1.0,0.0]}}
{"time_ns":3,"link":{"between":[0,1],"up":false}}
{"time_ns":3,"link":{"between":[1,0],"up":false}}
{"time_ns":4,"join":{"id":2,"name":"n2","position":[5.0,6.0]}}
"#;
        // In pieces of any size.
        for piece in lines.as_bytes().chunks(7) {
            ear.write_all(piece).expect("heard");
        }
        drop(ear);
        let mut heard = Vec::new();
        while let Ok(one) = news.try_recv() {
            heard.push(one);
        }
        let expected = [
            News::First { places: vec![Some(Place::at([1.0, 2.0])), None], links: BTreeSet::from([(0, 1)]) },
            News::Moved(1, Place { velocity: Some([1.0, 0.0]), ..Place::at([3.0, 4.0]) }),
            News::Links(BTreeSet::new()),
            News::Moved(2, Place::at([5.0, 6.0])),
        ];
        assert_eq!(heard, expected);
    }
}
