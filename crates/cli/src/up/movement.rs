//! Links that come and go as a scenario says, at the speed of real time.
//!
//! The simulator runs the scenario in a thread of its own and is held back by the clock; what it says about links is
//! done to the real nodes. Its clients and messages matter to nobody here.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Instant;

use anyhow::{Context, anyhow};
use meshlock_core::{NodeId, Protocol};
use meshlock_node::local::Pair;
use meshlock_sim::build::{Visitor, with_world};
use meshlock_sim::observe::Observer;
use meshlock_sim::run::{Progress, drive};
use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::Document;
use meshlock_sim::time::Time;
use meshlock_sim::world::World;
use serde::Serialize;
use tokio::sync::mpsc as async_mpsc;

/// A scenario that runs.
pub(super) struct Movement {
    pub(super) nodes: u16,
    pub(super) first_links: BTreeSet<Pair>,
    changes: async_mpsc::UnboundedReceiver<BTreeSet<Pair>>,
    /// Dropped, it ends the thread.
    _stop: mpsc::Sender<()>,
}

impl Movement {
    /// Reads a scenario and begins to move.
    pub(super) async fn start(file: &Path, seed: Option<u64>) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let document = Document::parse(&file.display().to_string(), &text).map_err(|error| anyhow!("{error}"))?;
        let scenario = document.resolve().map_err(|error| anyhow!("{error}"))?;
        let nodes = u16::try_from(scenario.nodes).ok().filter(|nodes| *nodes <= super::MOST_NODES);
        let nodes = nodes.with_context(|| {
            format!("{} nodes are too many for one process: at most {}", scenario.nodes, super::MOST_NODES)
        })?;
        let seed = seed.unwrap_or_else(|| document.seed());
        let (stop, stopped) = mpsc::channel();
        let (tell, mut changes) = async_mpsc::unbounded_channel();
        std::thread::Builder::new().name("movement".into()).spawn(move || {
            let pace = Pace { began: Instant::now(), stopped, tell, links: BTreeSet::new(), is_over: Rc::default() };
            // Errors show as the end of the changes.
            let _ = with_world(&scenario, seed, Walk { scenario: &scenario, pace });
        })?;
        let first_links = changes.recv().await.context("the scenario cannot be run")?;
        Ok(Self { nodes, first_links, changes, _stop: stop })
    }

    /// The next links; nothing when the scenario is over.
    pub(super) async fn next(&mut self) -> Option<BTreeSet<Pair>> {
        let mut links = self.changes.recv().await?;
        // Changes at one moment come as one.
        while let Ok(newer) = self.changes.try_recv() {
            links = newer;
        }
        Some(links)
    }
}

struct Walk<'a> {
    scenario: &'a Scenario,
    pace: Pace,
}

impl Visitor for Walk<'_> {
    type Output = ();

    fn visit<P>(mut self, world: World<P>)
    where
        P: Protocol,
        P::Message: Serialize,
    {
        self.pace.links = world.links().all().map(|(a, b)| (a as usize, b as usize)).collect();
        self.pace.tell();
        let mut halt = Halt(Rc::clone(&self.pace.is_over));
        let _ = drive(world, self.scenario, &mut halt, &mut self.pace);
    }
}

/// Holds the simulator back.
struct Pace {
    began: Instant,
    stopped: mpsc::Receiver<()>,
    tell: async_mpsc::UnboundedSender<BTreeSet<Pair>>,
    links: BTreeSet<Pair>,
    is_over: Rc<Cell<bool>>,
}

impl Pace {
    fn tell(&mut self) {
        if self.tell.send(self.links.clone()).is_err() {
            self.is_over.set(true);
        }
    }

    fn wait_until(&mut self, moment: Time) {
        let due = self.began + std::time::Duration::from_nanos(moment.0);
        let left = due.saturating_duration_since(Instant::now());
        if !self.is_over.get() && !left.is_zero() {
            self.is_over.set(matches!(self.stopped.recv_timeout(left), Err(RecvTimeoutError::Disconnected)));
        }
    }
}

impl<P: Protocol> Observer<P> for Pace {
    const SEES_EVENTS: bool = false;

    fn linked(&mut self, now: Time, between: (NodeId, NodeId), up: bool) {
        self.wait_until(now);
        let (a, b) = (between.0.0 as usize, between.1.0 as usize);
        let pair = (a.min(b), a.max(b));
        if up {
            self.links.insert(pair)
        } else {
            self.links.remove(&pair)
        };
        self.tell();
    }
}

/// Lets the simulator go on until nobody wants to know any more.
struct Halt(Rc<Cell<bool>>);

impl Progress for Halt {
    fn report(&mut self, _now: Time, _events: u64) -> bool {
        !self.0.get()
    }
}
