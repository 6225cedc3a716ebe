//! The services under test: how each is started, and how a client locks with it.

pub mod etcd;
pub mod meshlock;
pub mod redis;
pub mod zookeeper;

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process};

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The lock for itself.
    Lock,
    /// The lock, ahead of all that are less urgent.
    Urgent(i32),
    /// One of four units.
    Unit,
    Read,
    Write,
}

/// A service that runs. What it does not offer is said in words, not left out.
#[async_trait]
pub trait Service: Send + Sync {
    fn name(&self) -> &'static str;
    /// How it is set up here, for the table.
    fn about(&self) -> &'static str;
    /// Why a wish cannot be had, if it cannot.
    fn lacks(&self, wish: Wish) -> Option<&'static str>;
    /// Where clients of this index connect: to one server after the other.
    fn address(&self, index: usize) -> String;
    /// The server to which clients of this index are connected.
    fn server(&self, index: usize) -> Option<&Process>;
    /// Waits until all that was killed or stopped is as before.
    async fn repair(&mut self) -> Result<()>;
}

/// A connection of a client.
#[async_trait]
pub trait Client: Send {
    /// Returns when the wish is granted.
    async fn lock(&mut self, resource: &str, wish: Wish) -> Result<()>;
    /// Gives back what `lock` obtained last.
    async fn unlock(&mut self) -> Result<()>;
}

/// A client with a connection of its own.
pub async fn attach(service: &str, address: &str) -> Result<Box<dyn Client>> {
    match service {
        "etcd" => etcd::attach(address).await,
        "Redis" => redis::attach(address).await,
        "ZooKeeper" => zookeeper::attach(address).await,
        _ => meshlock::attach(address).await,
    }
}

/// A server process, killed when it is dropped.
pub struct Process {
    child: Child,
}

impl Process {
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let log = File::options().append(true).create(true).open(log)?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        let program = command.get_program().to_string_lossy().into_owned();
        Ok(Self { child: child.with_context(|| format!("cannot start {program}: install it first"))? })
    }

    pub fn send(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already needs nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Asks until there is an answer, for a minute at most.
pub async fn until<T, F: Future<Output = Result<T>>>(what: &str, mut ask: impl FnMut() -> F) -> Result<T> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) if Instant::now() > end => bail!("{what} did not answer: {error:#}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
