//! The meshes that are measured.

use std::collections::BTreeSet;

use anyhow::Context;
use meshlock::Client;
use meshlock_check::Topology;
use meshlock_node::local::{LocalMesh, LocalOptions, Pair};
use tempfile::TempDir;

use super::Plan;

/// The resource that everybody wants.
pub(super) const RESOURCE: &str = "dock";

/// A mesh with its files, which go when this is dropped.
pub(super) struct Bed {
    pub(super) mesh: LocalMesh,
    _dir: TempDir,
}

impl Bed {
    /// Starts nodes with all links of a shape such as `line:5`, and waits until they are up.
    pub(super) async fn start(plan: Plan, shape: &str, serves_clients: bool) -> anyhow::Result<Self> {
        let topology: Topology = shape.parse().with_context(|| format!("the shape {shape}"))?;
        let pair = |link: &meshlock_check::Link| (link.low().0 as usize, link.high().0 as usize);
        let links: BTreeSet<Pair> = topology.links().iter().map(pair).collect();
        let dir = directory()?;
        let nodes = u16::try_from(topology.len()).context("too many nodes")?;
        let mut options = LocalOptions::new(nodes, dir.path());
        options.settings.node.transport = Some(plan.transport);
        options.serves_clients = serves_clients;
        let mesh = LocalMesh::start(&options, &links).await?;
        mesh.wait_for_links(&links).await;
        let bed = Self { mesh, _dir: dir };
        if let Some(node) = bed.mesh.node(0) {
            Client::embedded(node.hub().clone()).lock(RESOURCE).await?.release().await?;
        }
        Ok(bed)
    }

    /// A client in this process, at the node of this index; after the last comes the first again.
    pub(super) fn embedded(&self, index: usize) -> anyhow::Result<Client> {
        let hub = self.mesh.hub(index % self.mesh.len().max(1)).context("a mesh without nodes")?;
        Ok(Client::embedded(hub))
    }

    /// A client over the Unix socket of the node of this index.
    pub(super) async fn connected(&self, index: usize) -> anyhow::Result<Client> {
        let node = self.mesh.node(index % self.mesh.len().max(1)).context("a mesh without nodes")?;
        let socket = node.socket().context("a node without a socket")?;
        Ok(Client::builder().socket(socket).connect().await?)
    }

    /// How often the token of the resource has come to a node, over all nodes.
    pub(super) fn hops(&self) -> u64 {
        let line = format!("meshlock_token_hops_total{{resource=\"{RESOURCE}\"}} ");
        let of = |text: String| text.lines().find_map(|found| found.strip_prefix(&line)?.parse::<u64>().ok());
        self.mesh.nodes().filter_map(|node| of(node.hub().metrics())).sum()
    }

    /// Stops the nodes, and waits until they have.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        for end in self.mesh.stop().await {
            end.context("a node could not stop cleanly")?;
        }
        Ok(())
    }
}

/// A directory that goes when it is dropped.
pub(super) fn directory() -> anyhow::Result<TempDir> {
    tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")
}
