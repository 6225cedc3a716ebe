//! Many nodes in one process, as `meshlock up --nodes N` starts them: a ring.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;
use tokio::time::timeout;

use super::crossing::{self, Subject};
use super::report::Report;
use super::{Args, limits};
use crate::bench::processes::first_line;

/// How long a process may take until it is ready. It is far less; a busy machine is no fault.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A process that ends with this.
pub(super) struct Process(pub(super) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a node or a mesh, and waits for the line of JSON that says that it is ready. What it logs goes to a file.
pub(super) async fn start(command: &mut Command, log: &Path) -> anyhow::Result<(Process, Value)> {
    let mut process = spawn(command, log)?;
    let ready = ready(&mut process, log).await?;
    Ok((process, ready))
}

/// Starts it without waiting.
pub(super) fn spawn(command: &mut Command, log: &Path) -> anyhow::Result<Process> {
    let errors = fs::File::create(log)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    Ok(Process(command.spawn().with_context(|| format!("cannot run {:?}", command.get_program()))?))
}

/// Waits for the line that says that it is ready.
pub(super) async fn ready(process: &mut Process, log: &Path) -> anyhow::Result<Value> {
    let line = timeout(PATIENCE, first_line(process.0.stdout.take())).await.context("it is not ready")??;
    let said = || fs::read_to_string(log).unwrap_or_default();
    serde_json::from_str(&line).with_context(|| format!("it did not start: {}", said()))
}

pub(super) async fn measure(binary: &Path, place: &Path, args: &Args, report: &mut Report) -> anyhow::Result<()> {
    limits::raise_open_files();
    fs::create_dir_all(place)?;
    let nodes = usize::from(args.nodes);
    let part = format!("{nodes} nodes, one process");
    let began = Instant::now();
    let mut command = Command::new(binary);
    command.args(["up", "--json", "--no-view", "--nodes", &nodes.to_string(), "--dir"]).arg(place);
    let (process, ready) = start(&mut command, &place.join("log")).await?;
    report.add(&part, "all nodes serve clients after", (began.elapsed().as_secs_f64(), "s"));
    let socket = |index: usize| ready["nodes"][index]["socket"].as_str().map(PathBuf::from).context("a node's socket");
    let sockets = (0..nodes).map(socket).collect::<anyhow::Result<Vec<_>>>()?;
    let subject = Subject {
        part: &part,
        nodes,
        links: nodes,
        diameter: nodes / 2,
        sockets: &sockets,
        ends: [0, nodes / 2],
        pids: &[process.0.id()],
        watched: args.watched(),
        began,
    };
    crossing::measure(&subject, report).await
}
