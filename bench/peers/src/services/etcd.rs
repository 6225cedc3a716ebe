//! etcd: three members. Its own lock service, over a lease that the client keeps alive.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use etcd_client::LockOptions;
use tokio::task::AbortHandle;

use super::{Client, Process, Service, Wish, free_port, until};

const MEMBERS: usize = 3;
/// In seconds, as long as meshlock's standing.
const LEASE: i64 = 10;

pub struct Etcd {
    place: tempfile::TempDir,
    ports: Vec<(u16, u16)>,
    members: Vec<Option<Process>>,
}

impl Etcd {
    pub async fn start() -> Result<Self> {
        let ports = (0..MEMBERS).map(|_| Ok((free_port()?, free_port()?))).collect::<Result<_>>()?;
        let mut etcd = Self { place: tempfile::tempdir()?, ports, members: Vec::new() };
        etcd.members.resize_with(MEMBERS, || None);
        etcd.repair().await?;
        Ok(etcd)
    }

    fn url(&self, member: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[member].0)
    }

    fn start_member(&self, member: usize) -> Result<Process> {
        let peer = |member: usize| format!("http://127.0.0.1:{}", self.ports[member].1);
        let all: Vec<String> = (0..MEMBERS).map(|member| format!("m{member}={}", peer(member))).collect();
        let dir: PathBuf = self.place.path().join(format!("m{member}"));
        let mut command = Command::new("etcd");
        command.args(["--name", &format!("m{member}"), "--initial-cluster-state", "new", "--logger", "zap"]);
        command.arg("--data-dir").arg(&dir).args(["--initial-cluster", &all.join(",")]);
        command.args(["--listen-client-urls", &self.url(member), "--advertise-client-urls", &self.url(member)]);
        command.args(["--listen-peer-urls", &peer(member), "--initial-advertise-peer-urls", &peer(member)]);
        Process::start(&mut command, &self.place.path().join(format!("m{member}.log")))
    }
}

/// A client of the member at this address.
pub async fn attach(address: &str) -> Result<Box<dyn Client>> {
    let mut etcd = etcd_client::Client::connect([address], None).await?;
    let lease = etcd.lease_grant(LEASE, None).await?.id();
    let (mut keeper, mut answers) = etcd.lease_keep_alive(lease).await?;
    let keep = tokio::spawn(async move {
        while keeper.keep_alive().await.is_ok() && answers.message().await.is_ok() {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
    });
    Ok(Box::new(Connection { etcd, lease, key: None, keep: keep.abort_handle() }))
}

#[async_trait]
impl Service for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn about(&self) -> &'static str {
        "three members on one disk; the lock service of etcd, a lease of 10 s"
    }

    fn lacks(&self, wish: Wish) -> Option<&'static str> {
        match wish {
            Wish::Lock => None,
            Wish::Urgent(_) => Some("no priorities"),
            Wish::Unit => Some("no semaphore"),
            Wish::Read | Wish::Write => Some("only as an experiment in the Go client"),
        }
    }

    fn address(&self, index: usize) -> String {
        self.url(index % MEMBERS)
    }

    fn server(&self, index: usize) -> Option<&Process> {
        self.members.get(index % MEMBERS)?.as_ref()
    }

    async fn repair(&mut self) -> Result<()> {
        for member in 0..MEMBERS {
            if self.members[member].as_mut().is_none_or(|it| !matches!(it.child.try_wait(), Ok(None))) {
                self.members[member] = Some(self.start_member(member)?);
            }
        }
        for member in 0..MEMBERS {
            let ready = || async {
                let mut client = etcd_client::Client::connect([self.url(member)], None).await?;
                Ok(tokio::time::timeout(Duration::from_secs(2), client.put("ready", "1", None)).await??)
            };
            until("etcd", ready).await?;
        }
        Ok(())
    }
}

struct Connection {
    etcd: etcd_client::Client,
    lease: i64,
    key: Option<Vec<u8>>,
    keep: AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.keep.abort();
    }
}

#[async_trait]
impl Client for Connection {
    async fn lock(&mut self, resource: &str, wish: Wish) -> Result<()> {
        if wish != Wish::Lock {
            bail!("not offered");
        }
        let held = self.etcd.lock(resource, Some(LockOptions::new().with_lease(self.lease))).await?;
        self.key = Some(held.key().to_vec());
        Ok(())
    }

    async fn unlock(&mut self) -> Result<()> {
        let key = self.key.take().context("nothing is held")?;
        self.etcd.unlock(key).await?;
        Ok(())
    }
}
