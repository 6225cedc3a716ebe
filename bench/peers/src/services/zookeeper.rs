//! ZooKeeper: one server. The lock recipe of the client library, on the same nodes as Curator's.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use zookeeper_client::{Acls, LockOptions, LockPrefix, OwnedLockClient};

use super::{Client, Process, Service, Wish, free_port, until};

pub struct ZooKeeper {
    place: tempfile::TempDir,
    port: u16,
    server: Option<Process>,
}

impl ZooKeeper {
    pub async fn start() -> Result<Self> {
        let mut service = Self { place: tempfile::tempdir()?, port: free_port()?, server: None };
        service.repair().await?;
        Ok(service)
    }
}

async fn connect(address: &str) -> Result<zookeeper_client::Client> {
    // A session as long as meshlock's standing.
    let connector = zookeeper_client::Client::connector().with_session_timeout(Duration::from_secs(10));
    Ok(tokio::time::timeout(Duration::from_secs(5), connector.connect(address)).await??)
}

/// A client of the server at this address.
pub async fn attach(address: &str) -> Result<Box<dyn Client>> {
    Ok(Box::new(Connection { client: connect(address).await?, held: None }))
}

#[async_trait]
impl Service for ZooKeeper {
    fn name(&self) -> &'static str {
        "ZooKeeper"
    }

    fn about(&self) -> &'static str {
        "one server; a session of 10 s"
    }

    fn lacks(&self, wish: Wish) -> Option<&'static str> {
        match wish {
            Wish::Lock => None,
            Wish::Urgent(_) => Some("no priorities"),
            Wish::Unit | Wish::Read | Wish::Write => Some("in Curator (Java), not in the Rust library"),
        }
    }

    fn address(&self, _: usize) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn server(&self, _: usize) -> Option<&Process> {
        self.server.as_ref()
    }

    async fn repair(&mut self) -> Result<()> {
        if self.server.as_mut().is_none_or(|server| !matches!(server.child.try_wait(), Ok(None))) {
            let place = self.place.path();
            let config = place.join("zoo.cfg");
            let (data, port) = (place.join("data"), self.port);
            fs::create_dir_all(&data)?;
            fs::write(
                &config,
                format!(
                    "tickTime=2000\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n\
                     admin.enableServer=false\n",
                    data.display()
                ),
            )?;
            // The jars of the Debian package, as its own start script names them.
            let mut command = Command::new("java");
            command.args(["-cp", "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar", "-Dzookeeper.log.dir=."]);
            command.arg("org.apache.zookeeper.server.quorum.QuorumPeerMain").arg(&config).current_dir(place);
            self.server = Some(Process::start(&mut command, &place.join("log"))?);
        }
        let address = self.address(0);
        until("ZooKeeper", || connect(&address)).await?;
        Ok(())
    }
}

struct Connection {
    client: zookeeper_client::Client,
    held: Option<OwnedLockClient>,
}

#[async_trait]
impl Client for Connection {
    async fn lock(&mut self, resource: &str, wish: Wish) -> Result<()> {
        if wish != Wish::Lock {
            bail!("not offered");
        }
        let lock = format!("/{resource}");
        let prefix = LockPrefix::new_curator(&lock, "lock-")?;
        let options = LockOptions::new(Acls::anyone_all())
            .with_ancestor_options(zookeeper_client::CreateMode::Persistent.with_acls(Acls::anyone_all()))?;
        self.held = Some(self.client.lock(prefix, b"", options).await?.into_owned());
        Ok(())
    }

    async fn unlock(&mut self) -> Result<()> {
        // Deleted in the background, as the library does it.
        drop(self.held.take().context("nothing is held")?);
        Ok(())
    }
}
