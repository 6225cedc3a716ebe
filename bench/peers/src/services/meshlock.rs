//! meshlock: three nodes as processes in a full mesh, over QUIC or TCP, with recovery by voters as it comes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use meshlock::Guard;
use meshlock_api::{Kind, NewResource};

use super::{Client, Process, Service, Wish, free_port, until};

const NODES: usize = 3;

pub struct Meshlock {
    program: PathBuf,
    place: tempfile::TempDir,
    transport: &'static str,
    ports: Vec<u16>,
    nodes: Vec<Option<Process>>,
}

impl Meshlock {
    pub async fn start(program: PathBuf, transport: &'static str) -> Result<Self> {
        let place = tempfile::tempdir()?;
        let ports = (0..NODES).map(|_| free_port()).collect::<Result<_>>()?;
        let mut mesh = Self { program, place, transport, ports, nodes: Vec::new() };
        mesh.run(&["mesh", "init", "peers", "--node", "n0", "--dir"], 0)?;
        for node in 1..NODES {
            let name = format!("n{node}");
            let file = mesh.place.path().join(&name).with_extension("invitation");
            let invited = file.to_string_lossy().into_owned();
            mesh.run(&["mesh", "invite", &name, "-o", &invited, "--dir"], 0)?;
            mesh.run(&["mesh", "join", &invited, "--dir"], node)?;
        }
        for node in 0..NODES {
            let started = mesh.start_node(node)?;
            mesh.nodes.push(Some(started));
        }
        mesh.repair().await?;
        let client = mesh.connect(0).await?;
        let kind = |kind, capacity| NewResource { kind: Some(kind), capacity, ..NewResource::default() };
        client.define("units", kind(Kind::Semaphore, Some(4))).await?;
        client.define("map", kind(Kind::ReadersWriter, None)).await?;
        Ok(mesh)
    }

    fn dir(&self, node: usize) -> PathBuf {
        self.place.path().join(format!("n{node}"))
    }

    fn socket(&self, node: usize) -> PathBuf {
        self.place.path().join(format!("n{node}.sock"))
    }

    fn run(&self, words: &[&str], node: usize) -> Result<()> {
        let ran = Command::new(&self.program).args(words).arg(self.dir(node)).output();
        let ran = ran.with_context(|| format!("cannot run {}", self.program.display()))?;
        ensure!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        Ok(())
    }

    fn start_node(&self, node: usize) -> Result<Process> {
        let mut command = Command::new(&self.program);
        command.args(["node", "--no-discovery", "--log", "warn", "--transport", self.transport]);
        command.arg("--dir").arg(self.dir(node)).arg("--socket").arg(self.socket(node));
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.ports[node]));
        for port in self.ports.iter().take(node) {
            command.arg("--peer").arg(format!("127.0.0.1:{port}"));
        }
        Process::start(&mut command, &self.place.path().join(format!("n{node}.log")))
    }

    async fn connect(&self, node: usize) -> Result<meshlock::Client> {
        connect(&self.address(node)).await
    }
}

async fn connect(socket: &str) -> Result<meshlock::Client> {
    Ok(meshlock::Client::builder().socket(socket).connect().await?)
}

/// A client of the node with this socket.
pub async fn attach(socket: &str) -> Result<Box<dyn Client>> {
    Ok(Box::new(Connection { client: connect(socket).await?, held: None }))
}

#[async_trait]
impl Service for Meshlock {
    fn name(&self) -> &'static str {
        if self.transport == "tcp" { "meshlock TCP" } else { "meshlock QUIC" }
    }

    fn about(&self) -> &'static str {
        "three nodes; a client at each in turn; a lock outlives any of them"
    }

    fn lacks(&self, _: Wish) -> Option<&'static str> {
        None
    }

    fn address(&self, index: usize) -> String {
        self.socket(index % NODES).to_string_lossy().into_owned()
    }

    fn server(&self, index: usize) -> Option<&Process> {
        self.nodes.get(index % NODES)?.as_ref()
    }

    async fn repair(&mut self) -> Result<()> {
        for node in 0..self.nodes.len() {
            let ended = self.nodes[node].as_mut().is_none_or(|node| !matches!(node.child.try_wait(), Ok(None)));
            if ended {
                self.nodes[node] = Some(self.start_node(node)?);
            }
        }
        for node in 0..NODES {
            let linked = || async {
                let status = self.connect(node).await?.status().await?;
                ensure!(status.nodes.len() == NODES, "{} nodes of {NODES}", status.nodes.len());
                Ok(())
            };
            until("a node of meshlock", linked).await?;
        }
        // One grant at least, so that voters have agreed and tokens are where they can be used.
        let client = self.connect(0).await?;
        client.lock("gate").await?.release().await?;
        Ok(())
    }
}

struct Connection {
    client: meshlock::Client,
    held: Option<Guard>,
}

#[async_trait]
impl Client for Connection {
    async fn lock(&mut self, resource: &str, wish: Wish) -> Result<()> {
        let guard = match wish {
            Wish::Lock => self.client.lock(resource).await?,
            Wish::Urgent(priority) => self.client.lock(resource).priority(priority).await?,
            Wish::Unit => self.client.lock("units").await?,
            Wish::Read => self.client.read("map").await?,
            Wish::Write => self.client.write("map").await?,
        };
        self.held = Some(guard);
        Ok(())
    }

    async fn unlock(&mut self) -> Result<()> {
        if let Some(guard) = self.held.take() {
            guard.release().await?;
        }
        Ok(())
    }
}
