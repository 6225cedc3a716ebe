//! A mesh on a network of vectors whose nodes may be killed and start again with their disks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use meshlock_api::State;
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{self, DiskId, List, Span, Start, StartId, Voter, VoterRecord, Voting};

use super::super::{Disk, Machine, Observer, RecoverySetup, Settings, Ticket};
use super::{Net, settings};
use crate::record::Recorder;
use crate::wire::Entry;

/// A disk that forgets nothing, and fails on demand.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<Content>>);

#[derive(Debug, Default)]
struct Content {
    census: Option<Census>,
    voter: Option<VoterRecord>,
    is_full: bool,
    writes: usize,
}

impl Disk for Memory {
    fn keep_census(&mut self, census: &Census) -> Result<(), String> {
        self.write(|content| content.census = Some(census.clone()))
    }

    fn keep_voter(&mut self, record: &VoterRecord) -> Result<(), String> {
        self.write(|content| content.voter = Some(record.clone()))
    }

    fn permits(&self, _list: &List) -> bool {
        true
    }
}

impl Memory {
    fn write(&self, what: impl FnOnce(&mut Content)) -> Result<(), String> {
        let mut content = self.0.lock().unwrap();
        if content.is_full {
            return Err("the disk is full".into());
        }
        what(&mut content);
        content.writes += 1;
        Ok(())
    }
}

/// A mesh whose nodes may crash.
pub(super) struct Mesh {
    pub(super) net: Net,
    disks: Vec<Memory>,
    pub(super) dead: BTreeSet<usize>,
    /// There are voters.
    votes: bool,
    starts: u64,
    /// How long a node that starts with voters says nothing.
    wait: Duration,
    /// One for each node, where they are recorded. Who is killed then is not heard any more.
    pub(super) recorders: Vec<Recorder>,
}

impl Mesh {
    /// A line of nodes that do not recover.
    pub(super) fn plain(nodes: u32) -> Self {
        Self {
            net: Net::line(nodes),
            disks: Vec::new(),
            dead: BTreeSet::new(),
            votes: false,
            starts: 0,
            wait: Duration::ZERO,
            recorders: vec![],
        }
    }

    /// Whether a node's disk is full.
    pub(super) fn set_full(&mut self, node: usize, is_full: bool) {
        self.disks[node].0.lock().unwrap().is_full = is_full;
    }

    /// All are linked with all, and the first three vote.
    pub(super) fn voting(nodes: u32) -> Self {
        let mut mesh = Self::full(nodes);
        mesh.votes = true;
        for node in 0..nodes as usize {
            mesh.kill(node);
            *mesh.disks[node].0.lock().unwrap() = Content::default();
        }
        for node in 0..nodes as usize {
            mesh.start(node, NodeId(node as u32));
            mesh.run_ms(10);
        }
        // Voters have put all on record by then, and have become three.
        mesh.run_ms(300);
        mesh
    }

    /// A ring with voters. The founder starts last, so that all others are linked before they hear of it.
    /// Nothing has reached or left it yet.
    pub(super) fn voting_ring(nodes: u32) -> Self {
        let mut mesh = Self::full(nodes);
        mesh.votes = true;
        for node in 0..nodes as usize {
            mesh.kill(node);
            *mesh.disks[node].0.lock().unwrap() = Content::default();
        }
        for node in 0..nodes as usize {
            mesh.begin(node, NodeId(node as u32));
        }
        let last = nodes as usize - 1;
        for node in 1..last {
            mesh.net.link(node, node + 1);
        }
        mesh.run_ms(10);
        mesh.net.link(0, 1);
        mesh.net.link(last, 0);
        mesh
    }

    /// Nodes with voters, with these links.
    pub(super) fn voting_with_links(nodes: u32, links: &[(usize, usize)]) -> Self {
        let mut mesh = Self {
            net: Net::new(nodes),
            disks: (0..nodes).map(|_| Memory::default()).collect(),
            dead: BTreeSet::new(),
            votes: true,
            starts: 0,
            wait: Duration::ZERO,
            recorders: Vec::new(),
        };
        for node in 0..nodes {
            mesh.begin(node as usize, NodeId(node));
        }
        for (one, other) in links {
            mesh.net.link(*one, *other);
        }
        mesh.net.settle_however_long();
        mesh
    }

    /// How often something was written to a node's disk.
    pub(super) fn writes(&self, node: usize) -> usize {
        self.disks[node].0.lock().unwrap().writes
    }

    /// All are linked with all.
    pub(super) fn full(nodes: u32) -> Self {
        Self::recorded(nodes, Vec::new())
    }

    /// The same, each recorded by one of these from its first event on.
    pub(super) fn recorded(nodes: u32, recorders: Vec<Recorder>) -> Self {
        let all: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        let disks: Vec<Memory> = (0..nodes).map(|_| Memory::default()).collect();
        let mut net = Net::new(nodes);
        net.machines.clear();
        for node in 0..nodes {
            // Every invitation names all others.
            let census = Census::of_living(all.iter().copied());
            let settings = settings(node);
            let observer = recorders.get(node as usize).map(|recorder| recorder.observer(&settings));
            net.machines.push(machine(settings, census, Vec::new(), &disks[node as usize], observer));
        }
        let mut mesh =
            Self { net, disks, dead: BTreeSet::new(), votes: false, starts: 0, wait: Duration::ZERO, recorders };
        for a in 0..nodes as usize {
            for b in a + 1..nodes as usize {
                mesh.net.link(a, b);
            }
        }
        mesh.net.settle();
        mesh
    }

    /// A process is killed: its links break, and what it knew is lost.
    pub(super) fn kill(&mut self, node: usize) {
        for other in 0..self.net.machines.len() {
            if other != node && self.net.is_linked(node, other) {
                self.net.cut(node, other);
            }
        }
        self.dead.insert(node);
        self.net.settle();
        if !self.recorders.is_empty() {
            self.net.machines[node].fall_silent(self.net.now);
        }
    }

    /// It starts again as the next incarnation, with its disk, and links with all.
    pub(super) fn restart(&mut self, node: usize) {
        let former = self.net.machines[node].settings.id;
        self.start(node, NodeId::of(former.member(), former.incarnation() + 1));
    }

    /// The same, but clients of its former run may hold on for so long.
    pub(super) fn restart_silent(&mut self, node: usize, ms: u64) {
        self.wait = Duration::from_millis(ms);
        self.restart(node);
        self.wait = Duration::ZERO;
    }

    /// It is stopped cleanly with something that is saved, and goes on as itself, without voters.
    pub(super) fn stop_and_resume(&mut self, node: usize) {
        let saved = self.net.machines[node].save();
        self.kill(node);
        let census = self.disks[node].0.lock().unwrap().census.clone().unwrap_or_default();
        let disk = Box::new(self.disks[node].clone());
        let setup =
            RecoverySetup { census, voting: None, catalogue: Vec::new(), disk, wait: Duration::ZERO, observer: None };
        let settings = Settings { id: self.net.machines[node].settings.id, ..settings(node as u32) };
        self.net.machines[node] = Machine::resume_recovering(settings, &saved, setup).expect("its own");
        self.dead.remove(&node);
        for other in (0..self.net.machines.len())
            .filter(|other| *other != node && !self.dead.contains(other))
            .collect::<Vec<_>>()
        {
            self.net.link(node, other);
        }
        self.net.settle();
    }

    fn start(&mut self, node: usize, id: NodeId) {
        self.begin(node, id);
        for other in 0..self.net.machines.len() {
            if other != node && !self.dead.contains(&other) {
                self.net.link(node, other);
            }
        }
        self.net.settle();
    }

    /// Without a link.
    fn begin(&mut self, node: usize, id: NodeId) {
        let founds_registry = id == NodeId(0);
        let settings = Settings { id, founds_registry, ..settings(node as u32) };
        let catalogue = self.net.machines[node].entries();
        let census = self.disks[node].0.lock().unwrap().census.clone().unwrap_or_default();
        let began = self.net.now;
        self.net.machines[node] = if self.votes {
            let voting = self.vote(node, id, &census);
            let disk = Box::new(self.disks[node].clone());
            Machine::recovering_at(
                began,
                settings,
                RecoverySetup { census, voting: Some(voting), catalogue, disk, wait: self.wait, observer: None },
            )
        } else {
            let observer = self.recorders.get(node).map(|recorder| recorder.observer(&settings));
            machine(settings, census.merged(&Census::living_fact(id)), catalogue, &self.disks[node], observer)
        };
        self.dead.remove(&node);
    }

    fn vote(&mut self, node: usize, id: NodeId, census: &Census) -> Voting {
        self.starts += 1;
        let start = Start { id: StartId(self.starts), knew: census.count(id.member()), resumes: None };
        let times = voters::Settings::of_standing(Span(10_000));
        let disk = DiskId(node as u64 + 1);
        let record = self.disks[node].0.lock().unwrap().voter.clone().unwrap_or_else(|| match node {
            0 => VoterRecord::founding(disk, List::founding([Voter { member: 0, disk }])),
            _ => VoterRecord::new(disk),
        });
        Voting::new(id, start, times, record.list.clone(), Some(record))
    }

    /// Nodes that were declared gone begin anew, as the supervisor of a real one sees to.
    pub(super) fn tend(&mut self) {
        for node in 0..self.net.machines.len() {
            if self.dead.contains(&node) || !self.net.machines[node].is_expelled() {
                continue;
            }
            let links: Vec<usize> =
                (0..self.net.machines.len()).filter(|other| self.net.is_linked(node, *other)).collect();
            links.iter().for_each(|other| self.net.cut(node, *other));
            let former = self.net.machines[node].settings.id;
            self.starts += 1;
            let (id, start) = (NodeId::of(former.member(), former.incarnation() + 1), StartId(self.starts));
            self.net.machines[node].begin_anew(self.net.now, id, start).unwrap();
            self.net.collect(node);
            links.iter().for_each(|other| self.net.link(node, *other));
        }
    }

    /// Lets time pass, with everything delivered.
    pub(super) fn run_ms(&mut self, ms: u64) {
        self.net.settle();
        self.net.pass_ms(ms);
        self.net.settle();
    }

    pub(super) fn state(&self, node: usize, ticket: Ticket) -> State {
        self.net.state(node, ticket)
    }

    pub(super) fn fence(&self, node: usize, ticket: Ticket) -> u64 {
        self.net.look(node, ticket).fence.unwrap()
    }
}

fn machine(
    settings: Settings,
    census: Census,
    catalogue: Vec<Entry>,
    disk: &Memory,
    observer: Option<Box<dyn Observer + Send>>,
) -> Machine {
    let mut disk = disk.clone();
    disk.keep_census(&census).unwrap();
    Machine::recovering(
        settings,
        RecoverySetup { census, voting: None, catalogue, disk: Box::new(disk), wait: Duration::ZERO, observer },
    )
}
