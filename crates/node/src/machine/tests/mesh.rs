//! A mesh on a network of vectors whose nodes may be killed and start again with their disks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use meshlock_api::State;
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{List, VoterRecord};

use super::super::{Disk, Machine, RecoverySetup, Settings, Ticket};
use super::{Net, settings};
use crate::wire::Entry;

/// A disk that forgets nothing, and fails on demand.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<(Option<Census>, bool)>>);

impl Disk for Memory {
    fn keep_census(&mut self, census: &Census) -> Result<(), String> {
        let mut inner = self.0.lock().unwrap();
        if inner.1 {
            return Err("the disk is full".into());
        }
        inner.0 = Some(census.clone());
        Ok(())
    }

    fn keep_voter(&mut self, _record: &VoterRecord) -> Result<(), String> {
        Ok(())
    }

    fn permits(&self, _list: &List) -> bool {
        true
    }
}

/// A mesh whose nodes may crash.
pub(super) struct Mesh {
    pub(super) net: Net,
    disks: Vec<Memory>,
    pub(super) dead: BTreeSet<usize>,
}

impl Mesh {
    /// A line of nodes that do not recover.
    pub(super) fn plain(nodes: u32) -> Self {
        Self { net: Net::line(nodes), disks: Vec::new(), dead: BTreeSet::new() }
    }

    /// Whether a node's disk is full.
    pub(super) fn set_full(&mut self, node: usize, is_full: bool) {
        self.disks[node].0.lock().unwrap().1 = is_full;
    }

    /// All are linked with all.
    pub(super) fn full(nodes: u32) -> Self {
        let all: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        let disks: Vec<Memory> = (0..nodes).map(|_| Memory::default()).collect();
        let mut net = Net::new(nodes);
        net.machines.clear();
        for node in 0..nodes {
            // Every invitation names all others.
            let census = Census::of_living(all.iter().copied());
            net.machines.push(machine(settings(node), census, Vec::new(), &disks[node as usize]));
        }
        let mut mesh = Self { net, disks, dead: BTreeSet::new() };
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
    }

    /// It starts again as the next incarnation, with its disk, and links with all.
    pub(super) fn restart(&mut self, node: usize) {
        let former = self.net.machines[node].settings.id;
        let id = NodeId::of(former.member(), former.incarnation() + 1);
        let census = self.disks[node].0.lock().unwrap().0.clone().unwrap_or_default();
        let settings = Settings { id, founds_registry: false, ..settings(node as u32) };
        let catalogue = self.net.machines[node].entries();
        let census = census.merged(&Census::living_fact(id));
        self.net.machines[node] = machine(settings, census, catalogue, &self.disks[node]);
        self.dead.remove(&node);
        for other in 0..self.net.machines.len() {
            if other != node && !self.dead.contains(&other) {
                self.net.link(node, other);
            }
        }
        self.net.settle();
    }

    pub(super) fn state(&self, node: usize, ticket: Ticket) -> State {
        self.net.state(node, ticket)
    }

    pub(super) fn fence(&self, node: usize, ticket: Ticket) -> u64 {
        self.net.look(node, ticket).fence.unwrap()
    }
}

fn machine(settings: Settings, census: Census, catalogue: Vec<Entry>, disk: &Memory) -> Machine {
    let mut disk = disk.clone();
    disk.keep_census(&census).unwrap();
    Machine::recovering(settings, RecoverySetup { census, voting: None, catalogue, disk: Box::new(disk) })
}
