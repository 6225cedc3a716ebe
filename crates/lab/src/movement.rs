//! `meshlock up --scenario`: real nodes that move about as a scenario says.
//!
//! The simulator runs the network of the scenario in a thread of its own, with nothing to do for its nodes. What its
//! trace says about places and links becomes news for the real ones.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use meshlock_cli::up::{self, MOST_NODES, Movement, News};
use meshlock_node::local::Pair;
use meshlock_node::record::Place;
use meshlock_sim::live::{Live, Start, wall_clock};
use meshlock_sim::record::About;
use meshlock_sim::scenario::{Name, Over, Scenario, Text, Traffic};
use meshlock_trace::{Header, Link, Move, NodeInfo};
use meshlock_viewer::{Action, Done, Refusal};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::document;
use crate::sim::as_change;

/// The movement that `meshlock up` is asked for, begun.
pub(crate) fn wanted(args: &up::Args) -> anyhow::Result<Option<Movement>> {
    args.scenario.as_deref().map(|file| start(file, args.seed)).transpose()
}

/// Reads a scenario and begins to move.
fn start(file: &Path, seed: Option<u64>) -> anyhow::Result<Movement> {
    let (document, _) = document::read(file, &[])?;
    let scenario = document.resolve().map_err(document::file_error)?;
    let seed = seed.unwrap_or_else(|| document.seed());
    let nodes = u16::try_from(scenario.nodes).ok().filter(|nodes| *nodes <= MOST_NODES);
    let nodes = nodes
        .with_context(|| format!("{} nodes are too many for one process: at most {MOST_NODES}", scenario.nodes))?;
    let (tell, news) = mpsc::unbounded_channel();
    let (first, told) = std::sync::mpsc::channel();
    let name = scenario.name.clone();
    let live = Live::start(Start {
        scenario: with_nothing_to_do(scenario),
        seed,
        about: About::default(),
        output: Box::new(Ear { first, tell, line: Vec::new(), links: None }),
        earlier: Default::default(),
        clock: wall_clock(),
        on_change: Arc::new(|| ()),
    })?;
    let Ok(First { places, links }) = told.try_recv() else {
        return Err(anyhow!("the simulator did not say where nodes are"));
    };
    live.play()?;
    let world = Arc::new(SimulatedWorld { live });
    Ok(Movement { name, nodes, first_links: links, first_places: places, world, news })
}

/// The world in which nodes move. Ends with its last user.
#[derive(Debug)]
struct SimulatedWorld {
    live: Live,
}

impl up::World for SimulatedWorld {
    fn is_on_the_air(&self) -> bool {
        self.live.abilities().air
    }

    fn range(&self) -> Option<f64> {
        self.live.state().range
    }

    fn pace(&self) -> f64 {
        self.live.state().pace
    }

    fn change(&self, action: Action) -> Result<Done, Refusal> {
        let change = as_change(action).ok_or_else(|| Refusal::new("the time of this world is real"))?;
        let done = self.live.edit(change).map_err(|error| Refusal::new(error.to_string()))?;
        match done.note {
            // It was done, but not all that was wished for.
            Some(note) => Err(Refusal::new(note)),
            None => Ok(Done { node: done.node, request: done.request }),
        }
    }
}

/// The same network without clients, under a protocol that lets nodes come and go: real nodes do the work.
fn with_nothing_to_do(mut scenario: Scenario) -> Scenario {
    scenario.traffic = Traffic::default();
    scenario.protocol.name = Name::ReverseLink;
    scenario.protocol.text = Text::Repaired;
    scenario.protocol.over = Over::Links;
    scenario
}

/// Everything at the beginning.
#[derive(Debug, PartialEq)]
struct First {
    places: Vec<Option<Place>>,
    links: BTreeSet<Pair>,
}

/// Listens to the trace of the simulator.
struct Ear {
    first: std::sync::mpsc::Sender<First>,
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
                let first = First { places: header.nodes.iter().map(place).collect(), links: links.clone() };
                // It is waited for, or not needed any more.
                let _ = self.first.send(first);
                None
            }
            Some(links) if matters(line) => match serde_json::from_slice(line)? {
                Heard { link: Some(Link { between: (a, b), up }), .. } => {
                    let pair = pair(a.0, b.0);
                    let changed = if up { links.insert(pair) } else { links.remove(&pair) };
                    changed.then(|| News::Links(links.clone()))
                }
                Heard { movement: Some(Move { node, position, velocity, gone, crashed: _ }), .. } => {
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
        let (first, told) = std::sync::mpsc::channel();
        let mut ear = Ear { first, tell, line: Vec::new(), links: None };
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
            News::Moved(1, Place { velocity: Some([1.0, 0.0]), ..Place::at([3.0, 4.0]) }),
            News::Links(BTreeSet::new()),
            News::Moved(2, Place::at([5.0, 6.0])),
        ];
        assert_eq!(heard, expected);
        let first = First { places: vec![Some(Place::at([1.0, 2.0])), None], links: BTreeSet::from([(0, 1)]) };
        assert_eq!(told.try_recv(), Ok(first));
    }
}
