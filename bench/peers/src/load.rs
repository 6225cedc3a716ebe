//! The workloads: the same for every service.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::{sleep, timeout};

use crate::services::{Client, Service, Wish, attach};

/// What is done to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// So many clients take turns on one lock.
    Lock(usize),
    /// So many clients share four units.
    Semaphore(usize),
    /// So many clients, nine of ten read.
    ReadersWriter(usize),
    /// Twenty-four clients hold for a millisecond each; how long does an urgent one wait?
    Urgent,
    /// A client is killed with the lock; how long until the next is in?
    KilledHolder,
    /// The server of the holder is killed.
    KilledServer,
    /// The server of the holder is stopped and goes on after 20 s.
    PausedServer,
}

pub const ALL: [Workload; 11] = [
    Workload::Lock(1),
    Workload::Lock(2),
    Workload::Lock(6),
    Workload::Lock(24),
    Workload::Lock(100),
    Workload::Semaphore(24),
    Workload::ReadersWriter(24),
    Workload::Urgent,
    Workload::KilledHolder,
    Workload::KilledServer,
    Workload::PausedServer,
];

/// What came out of one round.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Entries per second, where they were counted.
    pub rate: Option<f64>,
    /// In seconds: the median from a release to the next entry; with one client of acquire and release; otherwise what the
    /// workload asks for.
    pub time: f64,
    /// The same, counted only where another client enters than the one that released; and how often that is so. A service
    /// that lets the one that released enter again ahead of those that wait is fast, and not fair.
    pub handover: Option<(f64, f64)>,
}

impl Workload {
    pub fn name(self) -> String {
        match self {
            Self::Lock(1) => "1 client, acquire and release".into(),
            Self::Lock(clients) => format!("{clients} clients, one lock: release to next entry"),
            Self::Semaphore(clients) => format!("{clients} clients, 4 units"),
            Self::ReadersWriter(clients) => format!("{clients} clients, 9 of 10 read"),
            Self::Urgent => "urgent request under overload: its wait".into(),
            Self::KilledHolder => "holder killed: until the next is in".into(),
            Self::KilledServer => "server of the holder killed: until the next is in".into(),
            Self::PausedServer => "server of the holder paused for 20 s: until the next is in".into(),
        }
    }

    /// The word by which it is chosen.
    pub fn id(self) -> String {
        match self {
            Self::Lock(clients) => format!("lock-{clients}"),
            Self::Semaphore(_) => "semaphore".into(),
            Self::ReadersWriter(_) => "readers-writer".into(),
            Self::Urgent => "urgent".into(),
            Self::KilledHolder => "killed-holder".into(),
            Self::KilledServer => "killed-server".into(),
            Self::PausedServer => "paused-server".into(),
        }
    }

    /// Faults are repeated less often than loads.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::KilledHolder | Self::KilledServer | Self::PausedServer)
    }

    /// Why it makes no sense with this service, if it does not.
    pub fn lacks(self, service: &dyn Service) -> Option<&'static str> {
        match self {
            Self::Semaphore(_) => service.lacks(Wish::Unit),
            Self::ReadersWriter(_) => service.lacks(Wish::Read),
            Self::Lock(_) | Self::Urgent | Self::KilledHolder | Self::KilledServer | Self::PausedServer => None,
        }
    }

    pub async fn run(self, service: &mut dyn Service, seconds: f64) -> Result<Measured> {
        let lasting = Duration::from_secs_f64(seconds);
        match self {
            Self::Lock(1) => alone(service, lasting).await,
            Self::Lock(clients) => crowd(service, lasting, clients, |_, _| Wish::Lock).await,
            Self::Semaphore(clients) => crowd(service, lasting, clients, |_, _| Wish::Unit).await,
            Self::ReadersWriter(clients) => {
                let mixed = |client: usize, entry: u64| {
                    if (entry + client as u64).is_multiple_of(10) { Wish::Write } else { Wish::Read }
                };
                crowd(service, lasting, clients, mixed).await
            }
            Self::Urgent => urgent(service, lasting).await,
            Self::KilledHolder | Self::KilledServer | Self::PausedServer => self.fault(service).await,
        }
    }

    /// A client in a process of its own holds; then something happens to it or its server, and the next one gets in.
    async fn fault(self, service: &mut dyn Service) -> Result<Measured> {
        let mut holder = tokio::process::Command::new(std::env::current_exe()?)
            .args(["hold", service.name(), &service.address(0)])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(holder.stdout.take().context("its output")?).lines();
        let said = timeout(Duration::from_secs(30), lines.next_line()).await??;
        ensure!(said.as_deref() == Some("held"), "the holder said {said:?}");
        let mut waiter = attach(service.name(), &service.address(1)).await?;
        let waits = tokio::spawn(async move {
            waiter.lock("dock", Wish::Lock).await?;
            let at = Instant::now();
            waiter.unlock().await?;
            anyhow::Ok(at)
        });
        // In the queue by then; the fault does not depend on it.
        sleep(Duration::from_millis(500)).await;
        let began = Instant::now();
        match self {
            Self::KilledServer => service.server(0).context("no server")?.send(Signal::KILL)?,
            Self::PausedServer => service.server(0).context("no server")?.send(Signal::STOP)?,
            _ => holder.start_kill()?,
        }
        let limit = if self == Self::PausedServer { Duration::from_secs(20) } else { Duration::from_secs(40) };
        let mut waits = waits;
        let ended = timeout(limit, &mut waits).await;
        if self == Self::PausedServer {
            service.server(0).context("no server")?.send(Signal::CONT)?;
        }
        let _ = holder.kill().await;
        waits.abort();
        service.repair().await?;
        let at =
            ended.map(|ended| ended.context("the waiter")).unwrap_or_else(|_| Ok(Err(anyhow::anyhow!("never"))))?;
        // Not within the limit, or an error because there is no server any more: it is not served.
        let time = at.map_or(f64::INFINITY, |at| at.duration_since(began).as_secs_f64());
        Ok(Measured { rate: None, time, handover: None })
    }
}

async fn alone(service: &dyn Service, lasting: Duration) -> Result<Measured> {
    let mut client = attach(service.name(), &service.address(0)).await?;
    // A task, like the clients of a crowd: the future of `main` runs on another thread than all that libraries do for it.
    let client = tokio::spawn(async move {
        turn(client.as_mut()).await?;
        let began = Instant::now();
        let mut times = Vec::new();
        while began.elapsed() < lasting {
            let before = Instant::now();
            turn(client.as_mut()).await?;
            times.push(before.elapsed().as_secs_f64());
        }
        let rate = Some(times.len() as f64 / began.elapsed().as_secs_f64());
        anyhow::Ok(Measured { rate, time: median(times)?, handover: None })
    });
    client.await?
}

async fn turn(client: &mut dyn Client) -> Result<()> {
    client.lock("gate", Wish::Lock).await?;
    client.unlock().await
}

/// Clients at all servers in turn take what they want, one time after the other.
async fn crowd(
    service: &dyn Service,
    lasting: Duration,
    clients: usize,
    wish: impl Fn(usize, u64) -> Wish + Copy + Send + 'static,
) -> Result<Measured> {
    let began = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let released = Arc::new(AtomicU64::new(0));
    let releaser = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    let mut ready = Vec::new();
    for index in 0..clients {
        ready.push(attach(service.name(), &service.address(index)).await?);
    }
    let begins = Instant::now();
    for (index, mut client) in ready.into_iter().enumerate() {
        let (stop, released, releaser) = (Arc::clone(&stop), Arc::clone(&released), Arc::clone(&releaser));
        tasks.push(tokio::spawn(async move {
            let (mut entries, mut gaps) = (0u64, Vec::new());
            while !stop.load(Ordering::Relaxed) {
                client.lock("dock", wish(index, entries)).await?;
                let now = began.elapsed().as_nanos() as u64;
                // Of the last one that was inside; meaningless before the first.
                let last = released.load(Ordering::Acquire);
                if last > 0 && !stop.load(Ordering::Relaxed) {
                    let other = releaser.load(Ordering::Acquire) != index;
                    gaps.push((now.saturating_sub(last) as f64 / 1e9, other));
                }
                entries += 1;
                releaser.store(index, Ordering::Release);
                released.store(began.elapsed().as_nanos() as u64, Ordering::Release);
                client.unlock().await?;
            }
            anyhow::Ok((entries, gaps))
        }));
    }
    sleep(lasting).await;
    stop.store(true, Ordering::Relaxed);
    let lasted = begins.elapsed().as_secs_f64();
    let (mut entries, mut gaps) = (0, Vec::new());
    for task in tasks {
        let (more, times) = timeout(Duration::from_secs(60), task).await.context("a client is stuck")???;
        entries += more;
        gaps.extend(times);
    }
    let all = gaps.len() as f64;
    let over: Vec<f64> = gaps.iter().filter(|(_, other)| *other).map(|(gap, _)| *gap).collect();
    let share = over.len() as f64 / all;
    let time = median(gaps.into_iter().map(|(gap, _)| gap).collect())?;
    Ok(Measured { rate: Some(entries as f64 / lasted), time, handover: median(over).ok().map(|gap| (gap, share)) })
}

/// The wait of a request that is more urgent than the 24 others, where the service knows urgency.
async fn urgent(service: &dyn Service, lasting: Duration) -> Result<Measured> {
    let stop = Arc::new(AtomicBool::new(false));
    let ordered = service.lacks(Wish::Urgent(0)).is_none();
    let mut tasks = Vec::new();
    for index in 0..24 {
        let mut client = attach(service.name(), &service.address(index)).await?;
        let stop = Arc::clone(&stop);
        tasks.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                client.lock("press", if ordered { Wish::Urgent(0) } else { Wish::Lock }).await?;
                sleep(Duration::from_millis(1)).await;
                client.unlock().await?;
            }
            anyhow::Ok(())
        }));
    }
    let mut client = attach(service.name(), &service.address(1)).await?;
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < lasting.max(Duration::from_secs(2)) {
        sleep(Duration::from_millis(20)).await;
        let before = Instant::now();
        client.lock("press", if ordered { Wish::Urgent(100) } else { Wish::Lock }).await?;
        times.push(before.elapsed().as_secs_f64());
        client.unlock().await?;
    }
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        timeout(Duration::from_secs(60), task).await.context("a client is stuck")???;
    }
    Ok(Measured { rate: None, time: median(times)?, handover: None })
}

pub fn median(mut values: Vec<f64>) -> Result<f64> {
    ensure!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    Ok(values[values.len() / 2])
}
