//! What is done to nodes, clients and links, and when: decided by a seed.

use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::Signal;
use serde::Serialize;

use super::Args;
use super::clients::Clients;
use crate::bench::processes::{Mesh, Recovery};

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
    /// Nodes killed, and started again.
    pub(super) node_kills: u64,
    /// Nodes stopped for longer than their standing, and continued.
    pub(super) node_pauses: u64,
}

pub(super) struct Torment {
    pub(super) done: Done,
    random: fastrand::Rng,
    lease: Duration,
    standing: Duration,
    /// Clients that are stopped, and until when.
    stopped: Vec<(usize, Instant)>,
    /// The node that is killed or stopped, and until when. One at a time, so that the others can go on.
    away: Option<(usize, Away, Instant)>,
    /// When the next node may go.
    next_node: Instant,
}

/// How a node is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    Killed,
    Stopped,
}

/// How long nodes are left alone after one was away, at most and at least.
const REST_MS: std::ops::Range<u64> = 1_000..5_000;

/// Links are cut for as long as the bench wants.
const LONG: Duration = Duration::from_secs(7 * 24 * 3_600);

impl Torment {
    pub(super) fn new(args: &Args) -> Self {
        let random = fastrand::Rng::with_seed(args.seed);
        Self {
            done: Done::default(),
            random,
            lease: args.lease,
            standing: args.standing,
            stopped: Vec::new(),
            away: None,
            next_node: Instant::now(),
        }
    }

    /// Starts the clients and torments them and the mesh for some time.
    pub(super) async fn run(&mut self, mesh: &mut Mesh, clients: &mut Clients, length: Duration) -> anyhow::Result<()> {
        for client in 0..clients.len() {
            clients.start(client)?;
        }
        let end = Instant::now() + length;
        let mut next = Instant::now();
        while Instant::now() < end {
            let stopped = self.stopped.iter().map(|(_, until)| *until);
            let wake = stopped.chain(self.away.map(|(.., until)| until)).fold(next.min(end), Instant::min);
            tokio::time::sleep_until(wake.into()).await;
            self.wake_up(clients);
            self.bring_back(mesh).await?;
            if let Some(client) = clients.ended() {
                bail!("client {client} ended by itself; what it said is above");
            }
            if Instant::now() >= next {
                self.act(mesh, clients)?;
                self.take_away(mesh).await?;
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

    /// Kills or stops a node, if it is time and the mesh recovers.
    async fn take_away(&mut self, mesh: &mut Mesh) -> anyhow::Result<()> {
        let now = Instant::now();
        if self.away.is_some() || now < self.next_node || mesh.recovery() == Recovery::None || mesh.len() < 2 {
            return Ok(());
        }
        let node = self.random.usize(0..mesh.len());
        if self.random.bool() {
            mesh.kill(node).await?;
            self.done.node_kills += 1;
            // From a supervisor that is quick to one that comes when the others have gone on.
            let away = self.standing.mul_f64(1.5 * self.random.f64());
            self.away = Some((node, Away::Killed, now + away));
        } else {
            mesh.signal(node, Signal::STOP);
            self.done.node_pauses += 1;
            self.away = Some((node, Away::Stopped, now + self.standing.mul_f64(1.1 + 0.6 * self.random.f64())));
        }
        Ok(())
    }

    async fn bring_back(&mut self, mesh: &mut Mesh) -> anyhow::Result<()> {
        let Some((node, away, _)) = self.away.filter(|(.., until)| *until <= Instant::now()) else { return Ok(()) };
        match away {
            Away::Killed => mesh.begin(node).await?,
            Away::Stopped => mesh.signal(node, Signal::CONT),
        }
        self.away = None;
        self.next_node = Instant::now() + Duration::from_millis(self.random.u64(REST_MS));
        Ok(())
    }

    fn act(&mut self, mesh: &Mesh, clients: &mut Clients) -> anyhow::Result<()> {
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
                // Each link with the same chance, so that now and then the mesh falls apart.
                let chance = 0.3 + 0.7 * self.random.f64();
                for link in mesh.links() {
                    if self.random.f64() < chance {
                        link.heal();
                    } else {
                        link.lose(100, true, LONG);
                    }
                }
                self.done.link_changes += 1;
            }
        }
        Ok(())
    }
}

/// Everybody with everybody.
pub(super) fn all_links(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect()
}
