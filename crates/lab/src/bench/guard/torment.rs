//! What is done to clients and links, and when: decided by a seed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::bail;
use meshlock_node::local::{LocalMesh, Pair};
use rustix::process::Signal;
use serde::Serialize;

use super::Args;
use super::clients::Clients;

/// How often something is done, at most and at least.
const PAUSES_MS: std::ops::Range<u64> = 100..700;

/// What was done.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Done {
    /// Clients killed, and started again.
    pub(super) kills: u64,
    /// Clients stopped for longer than their lease, and continued.
    pub(super) pauses: u64,
    pub(super) link_changes: u64,
}

pub(super) struct Torment {
    pub(super) done: Done,
    random: fastrand::Rng,
    lease: Duration,
    nodes: u16,
    /// Clients that are stopped, and until when.
    stopped: Vec<(usize, Instant)>,
}

impl Torment {
    pub(super) fn new(args: &Args) -> Self {
        let random = fastrand::Rng::with_seed(args.seed);
        Self { done: Done::default(), random, lease: args.lease, nodes: args.nodes, stopped: Vec::new() }
    }

    /// Starts the clients and torments them and the mesh for some time.
    pub(super) async fn run(
        &mut self,
        mesh: &LocalMesh,
        clients: &mut Clients,
        length: Duration,
    ) -> anyhow::Result<()> {
        for client in 0..clients.len() {
            clients.start(client)?;
        }
        let end = Instant::now() + length;
        let mut next = Instant::now();
        while Instant::now() < end {
            let wake =
                self.stopped.iter().map(|(_, until)| *until).min().map_or(next, |first| first.min(next)).min(end);
            tokio::time::sleep_until(wake.into()).await;
            self.wake_up(clients);
            if let Some(client) = clients.ended() {
                bail!("client {client} ended by itself; what it said is above");
            }
            if Instant::now() >= next {
                self.act(mesh, clients)?;
                next = Instant::now() + Duration::from_millis(self.random.u64(PAUSES_MS));
            }
        }
        Ok(())
    }

    fn wake_up(&mut self, clients: &Clients) {
        let now = Instant::now();
        for (client, _) in self.stopped.extract_if(.., |(_, until)| *until <= now) {
            clients.send(client, Signal::CONT);
        }
    }

    fn act(&mut self, mesh: &LocalMesh, clients: &mut Clients) -> anyhow::Result<()> {
        match self.random.u8(0..10) {
            0..4 => {
                let client = self.random.usize(0..clients.len());
                // Stopped clients stay so until their time; another moment will find another.
                if self.stopped.iter().all(|(stopped, _)| *stopped != client) {
                    clients.send(client, Signal::STOP);
                    let length = self.lease.mul_f64(1.2 + 1.3 * self.random.f64());
                    self.stopped.push((client, Instant::now() + length));
                    self.done.pauses += 1;
                }
            }
            4..6 => {
                let client = self.random.usize(0..clients.len());
                clients.kill(client);
                self.stopped.retain(|(stopped, _)| *stopped != client);
                clients.start(client)?;
                self.done.kills += 1;
            }
            _ => {
                mesh.set_links(&self.some_links());
                self.done.link_changes += 1;
            }
        }
        Ok(())
    }

    /// Each link with the same chance, so that now and then the mesh falls apart.
    fn some_links(&mut self) -> BTreeSet<Pair> {
        let chance = 0.3 + 0.7 * self.random.f64();
        all_links(self.nodes).into_iter().filter(|_| self.random.f64() < chance).collect()
    }
}

/// Everybody with everybody.
pub(super) fn all_links(nodes: u16) -> BTreeSet<Pair> {
    let nodes = usize::from(nodes);
    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect()
}
