//! What happens to nodes, and how long a client waits because of it.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use meshlock::{Client, Guard};
use meshlock_api::MeshStatus;
use rustix::process::Signal;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::bench::processes::{Mesh, Recovery, Ways};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Fault {
    /// kill -9 of the holder's node, which stays away; without voters it is removed with --gone at once
    Killed,
    /// kill -9 of the holder's node, which is started again after a second
    Restarted,
    /// The same with a node that has the token, and whose clients hold nothing
    IdleRestarted,
    /// kill -9 of a node that has nothing of the lock, at the moment when another one asks
    Bystander,
    /// SIGSTOP of the holder's node for 1.5 standings; then its client gives back
    Paused,
    /// kill -9 of the holder's node, and of the heir while that is repaired; the heir is started again
    Heir,
    /// kill -9 of all nodes, which are started again at once
    Power,
    /// The holder's node loses all links for 1.5 standings; then its client gives back
    Partition,
    /// kill -9 of a node whose client has a unit of a semaphore, the token being elsewhere; started again after a second
    GrantOnly,
    /// kill -9 of the holder's node, while another one cannot write to its disk, for 1.5 standings
    FullDisk,
    /// SIGTERM of the holder's node, whose client stops when it is told to
    CleanStop,
}

impl Fault {
    /// As it is typed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Restarted => "restarted",
            Self::IdleRestarted => "idle-restarted",
            Self::Bystander => "bystander",
            Self::Paused => "paused",
            Self::Heir => "heir",
            Self::Power => "power",
            Self::Partition => "partition",
            Self::GrantOnly => "grant-only",
            Self::FullDisk => "full-disk",
            Self::CleanStop => "clean-stop",
        }
    }

    /// How many nodes it needs. Two of three voters must be left, and the heir votes.
    pub(super) fn nodes(self) -> usize {
        if self == Self::Heir { 5 } else { 3 }
    }

    /// How nodes reach each other. Links that are cut go over relays.
    pub(super) fn ways(self) -> Ways {
        if self == Self::Partition { Ways::Relayed(vec![(0, 1), (0, 2), (1, 2)], 1) } else { Ways::Direct }
    }
}

/// How long a supervisor takes to start a node again.
const SUPERVISED: Duration = Duration::from_secs(1);
/// When the heir is killed, in standings: voters declare nobody gone before five sixths of one are over.
const HEIR_AFTER: f64 = 0.8;
/// What takes longer than this is a fault, and no figure.
const PATIENCE: Duration = Duration::from_secs(180);
/// How often it is looked whether a round can begin.
const LOOK: Duration = Duration::from_millis(20);
const RESOURCE: &str = "dock";
/// With two units: one of them is held where the token is not.
const PAIR: &str = "pair";
/// How long a link is cut, a disk is full or a node is paused, in standings.
const LASTS: f64 = 1.5;
/// As long as clients ask for that name none.
const LEASE: Duration = Duration::from_millis(meshlock_api::resource::DEFAULT_LEASE_MS);

/// The mesh, and its clients.
pub(super) struct Scene {
    mesh: Mesh,
    clients: Vec<Client>,
}

/// A request that waits.
type Waiter = JoinHandle<Result<(Guard, Instant), meshlock::Error>>;

impl Scene {
    pub(super) async fn new(mesh: Mesh) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        for socket in mesh.sockets() {
            clients.push(Client::builder().socket(&socket).connect().await?);
        }
        Ok(Self { mesh, clients })
    }

    /// One round: how long the waiter waited after the fault. Afterwards all nodes run.
    pub(super) async fn round(&mut self, fault: Fault, number: usize) -> anyhow::Result<Duration> {
        let nodes = self.mesh.len();
        // The heir is the first one, and the founder cannot remove itself.
        let spares_first =
            fault == Fault::Heir || (fault == Fault::Killed && self.mesh.recovery() == Recovery::Restart);
        let victim = if spares_first { 1 + number % (nodes - 1) } else { number % nodes };
        let other = (0..nodes).map(|step| (victim + 1 + step) % nodes).find(|node| fault != Fault::Heir || *node != 0);
        let other = other.filter(|other| *other != victim).context("too few nodes")?;
        self.until_well().await?;
        match fault {
            Fault::Killed => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                if self.mesh.recovery() == Recovery::Restart {
                    self.mesh.expel(victim, true)?;
                }
                let took = served(waiter, began).await?;
                drop(held);
                if self.mesh.recovery() == Recovery::Restart {
                    self.mesh.admit_another(victim)?;
                }
                self.mesh.begin(victim).await?;
                Ok(took)
            }
            Fault::Restarted => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                sleep(SUPERVISED).await;
                self.mesh.begin(victim).await?;
                let took = served(waiter, began).await?;
                drop(held);
                Ok(took)
            }
            Fault::IdleRestarted => {
                self.lock(victim).await?.release().await?;
                // What was held is forgotten a tenth of a second later.
                sleep(SUPERVISED).await;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                let waiter = self.wait_at(other);
                sleep(SUPERVISED).await;
                self.mesh.begin(victim).await?;
                served(waiter, began).await
            }
            Fault::Bystander => {
                let next = third(nodes, victim, other)?;
                self.lock(other).await?.release().await?;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                let took = served(self.wait_at(next), began).await?;
                self.mesh.begin(victim).await?;
                Ok(took)
            }
            Fault::Paused => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                self.mesh.signal(victim, Signal::STOP);
                let lasts = self.mesh.plan().standing.mul_f64(LASTS);
                let went_on = async {
                    sleep(lasts).await;
                    self.mesh.signal(victim, Signal::CONT);
                    // Without voters it still holds; with them it has lost it.
                    let _ = held.release().await;
                };
                let (took, ()) = tokio::join!(served(waiter, began), went_on);
                took
            }
            Fault::Heir => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                if self.mesh.recovery() == Recovery::Voters {
                    // Shortly before it would make the token anew.
                    sleep(self.mesh.plan().standing.mul_f64(HEIR_AFTER)).await;
                }
                self.mesh.kill(0).await?;
                sleep(SUPERVISED).await;
                self.mesh.begin(0).await?;
                if self.mesh.recovery() == Recovery::Restart {
                    self.mesh.begin(victim).await?;
                }
                let took = served(waiter, began).await?;
                drop(held);
                if self.mesh.recovery() == Recovery::Voters {
                    self.mesh.begin(victim).await?;
                }
                Ok(took)
            }
            Fault::Power => {
                let held = self.lock(victim).await?;
                let began = Instant::now();
                self.mesh.kill_all().await?;
                for node in 0..nodes {
                    self.mesh.begin(node).await?;
                }
                let took = served(self.wait_at(other), began).await?;
                drop(held);
                Ok(took)
            }
            Fault::Partition => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                let lasts = self.mesh.plan().standing.mul_f64(LASTS);
                self.mesh.links_of(victim).for_each(|link| link.lose(100, true, lasts));
                let healed = async {
                    sleep(lasts).await;
                    // Without voters it still holds; with them it has lost it.
                    let _ = held.release().await;
                };
                let (took, ()) = tokio::join!(served(waiter, began), healed);
                took
            }
            Fault::GrantOnly => {
                let next = third(nodes, victim, other)?;
                let held = self.lock_of(victim, PAIR).await?;
                let also = self.lock_of(other, PAIR).await?;
                let waiter = self.wait_for(next, PAIR);
                let holder = self.mesh.name(other).to_owned();
                self.until(next, |status| {
                    let pair = status.resources.iter().find(|resource| resource.name == PAIR);
                    pair.is_some_and(|pair| pair.token_at.as_ref() == Some(&holder) && !pair.waiters.is_empty())
                })
                .await
                .context("the token is not where it should be")?;
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                sleep(SUPERVISED).await;
                self.mesh.begin(victim).await?;
                let took = served(waiter, began).await?;
                drop(held);
                also.release().await?;
                Ok(took)
            }
            Fault::FullDisk => {
                let full = third(nodes, victim, other)?;
                let (held, waiter) = self.contend(victim, other).await?;
                if !self.mesh.fill_disk(full, true) {
                    bail!("this system lets no disk seem full");
                }
                let began = Instant::now();
                self.mesh.kill(victim).await?;
                sleep(SUPERVISED).await;
                self.mesh.begin(victim).await?;
                let freed = async {
                    sleep(self.mesh.plan().standing.mul_f64(LASTS)).await;
                    self.mesh.fill_disk(full, false);
                };
                let (took, ()) = tokio::join!(served(waiter, began), freed);
                drop(held);
                took
            }
            Fault::CleanStop => {
                let (held, waiter) = self.contend(victim, other).await?;
                let began = Instant::now();
                let obeyed = async move {
                    held.lost().await;
                    let _ = held.release().await; // it has stopped
                };
                let (stopped, ()) = tokio::join!(self.mesh.stop(victim), obeyed);
                stopped?;
                let took = served(waiter, began).await?;
                self.mesh.begin(victim).await?;
                Ok(took)
            }
        }
    }

    /// A client holds at one node, another one waits for it at a second.
    async fn contend(&self, holder: usize, other: usize) -> anyhow::Result<(Guard, Waiter)> {
        let held = self.lock(holder).await?;
        let waiter = self.wait_at(other);
        self.until(other, |status| {
            let waits =
                |resource: &meshlock_api::ResourceStatus| resource.name == RESOURCE && !resource.waiters.is_empty();
            status.resources.iter().any(waits)
        })
        .await?;
        Ok((held, waiter))
    }

    async fn lock(&self, node: usize) -> anyhow::Result<Guard> {
        self.lock_of(node, RESOURCE).await
    }

    async fn lock_of(&self, node: usize, resource: &str) -> anyhow::Result<Guard> {
        let held = timeout(PATIENCE, self.clients[node].lock(resource).lease(LEASE)).await;
        Ok(held.context("a lock is not granted although all is well")??)
    }

    fn wait_at(&self, node: usize) -> Waiter {
        self.wait_for(node, RESOURCE)
    }

    fn wait_for(&self, node: usize, resource: &str) -> Waiter {
        let lock = self.clients[node].lock(resource).lease(LEASE);
        tokio::spawn(async move {
            let guard = lock.await?;
            Ok((guard, Instant::now()))
        })
    }

    /// All nodes see all, and may grant.
    async fn until_well(&self) -> anyhow::Result<()> {
        let nodes = self.mesh.len();
        for node in 0..nodes {
            self.until(node, |status| {
                let grants = status.recovery.as_ref().is_some_and(|recovery| recovery.suspended.is_none());
                grants && status.nodes.len() == nodes
            })
            .await?;
        }
        Ok(())
    }

    async fn until(&self, node: usize, is_so: impl Fn(&MeshStatus) -> bool) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        // A node that was just started may not answer yet.
        while !self.clients[node].status().await.is_ok_and(|status| is_so(&status)) {
            if Instant::now() > until {
                bail!("the mesh is not well after {} s", PATIENCE.as_secs());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }
}

/// A node beside these two.
fn third(nodes: usize, one: usize, other: usize) -> anyhow::Result<usize> {
    (0..nodes).find(|node| *node != one && *node != other).context("too few nodes")
}

/// How long after the fault the waiter was served. It gives the lock back.
async fn served(waiter: Waiter, began: Instant) -> anyhow::Result<Duration> {
    let (guard, at) = timeout(PATIENCE, waiter).await.context("the waiter is not served after 180 s")???;
    guard.release().await?;
    Ok(at.saturating_duration_since(began))
}
