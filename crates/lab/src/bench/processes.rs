//! A mesh of real processes on the loopback, one for every node. Nothing of it is left when it is dropped.

mod relay;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::{sleep, timeout};

pub(in crate::bench) use self::relay::Relay;

/// How long a node may take to start or to stop. It is far less; a busy machine is no fault.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) struct Mesh {
    binary: PathBuf,
    place: PathBuf,
    nodes: Vec<Node>,
    links: Vec<Relay>,
    /// The nodes at both ends of each link.
    ends: Vec<(usize, usize)>,
    pids: Pids,
    plan: Plan,
}

/// What a mesh of processes is like.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) nodes: usize,
    pub(super) ways: Ways,
    pub(super) recovery: Recovery,
    /// With voters: how long a node may act after it last asked them.
    pub(super) standing: Duration,
    /// When links are given up, if not as every node does.
    pub(super) loss_after: Option<Duration>,
    /// The resources in the founder's file.
    pub(super) resources: String,
}

/// How nodes reach each other.
#[derive(Clone, Debug)]
pub(super) enum Ways {
    /// All dial all, at their own addresses.
    Direct,
    /// Over relays that can be made bad, with this seed: pairs of nodes, the later one dials.
    Relayed(Vec<(usize, usize)>, u64),
}

/// How a mesh recovers from crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Recovery {
    /// A majority of voters declares gone who is silent
    #[default]
    Voters,
    /// A node that comes back, or an operator, says so
    Restart,
    /// Not at all
    None,
}

impl Recovery {
    /// As it is typed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Voters => "voters",
            Self::Restart => "restart",
            Self::None => "none",
        }
    }
}

/// The process of each node; 0 while it is meant to be down.
pub(super) type Pids = Arc<[AtomicU32]>;

struct Node {
    name: String,
    dir: PathBuf,
    socket: PathBuf,
    /// How many members had this place before.
    former: u32,
    /// Kept after the first start, so that others find it again.
    listen: Option<SocketAddr>,
    peers: Vec<SocketAddr>,
    child: Option<Child>,
}

impl Mesh {
    /// Founds a mesh and starts all nodes.
    pub(super) async fn start(binary: &Path, place: &Path, plan: Plan) -> anyhow::Result<Self> {
        let mut mesh = Self::found(binary, place, plan)?;
        for node in 0..mesh.len() {
            mesh.enter(node).await?;
            mesh.until_on_record(node).await;
        }
        Ok(mesh)
    }

    /// Makes a mesh of members, none of which runs.
    pub(super) fn found(binary: &Path, place: &Path, plan: Plan) -> anyhow::Result<Self> {
        let nodes = (0..plan.nodes).map(|index| Node {
            name: format!("n{index}"),
            dir: place.join(format!("n{index}")),
            socket: place.join(format!("n{index}.sock")),
            former: 0,
            listen: None,
            peers: Vec::new(),
            child: None,
        });
        let pids = (0..plan.nodes).map(|_| AtomicU32::new(0)).collect();
        let (binary, place) = (binary.to_owned(), place.to_owned());
        let mesh = Self { binary, place, nodes: nodes.collect(), links: Vec::new(), ends: Vec::new(), pids, plan };
        mesh.admit()?;
        Ok(mesh)
    }

    /// Starts a node for the first time, linked to those that were started before.
    pub(super) async fn enter(&mut self, node: usize) -> anyhow::Result<()> {
        let (links, seed) = match &self.plan.ways {
            Ways::Direct => (Vec::new(), 0),
            Ways::Relayed(links, seed) => (links.clone(), *seed),
        };
        for (earlier, _) in links.into_iter().filter(|(_, later)| *later == node) {
            let to = self.nodes[earlier].listen.context("it is started before")?;
            let relay = Relay::start(to, seed.wrapping_add(self.links.len() as u64)).await?;
            self.nodes[node].peers.push(relay.address);
            self.links.push(relay);
            self.ends.push((earlier, node));
        }
        self.begin(node).await
    }

    fn admit(&self) -> anyhow::Result<()> {
        let founder = &self.nodes[0].dir;
        // The standing is checked against when links are given up.
        let loss_after = self.plan.loss_after.map(|time| format!("[node]\nloss-after = \"{}ms\"\n", time.as_millis()));
        fs::create_dir_all(founder)?;
        fs::write(founder.join("meshlock.toml"), loss_after.unwrap_or_default() + &self.plan.resources)?;
        let standing = format!("{}ms", self.plan.standing.as_millis());
        let mut words = vec!["init", "bench", "--node", "n0", "--recovery"];
        match self.plan.recovery {
            Recovery::Voters => words.extend(["voters", "--standing", &standing]),
            Recovery::Restart => words.push("restart"),
            Recovery::None => words.push("none"),
        }
        self.membership(founder, &words)?;
        self.nodes.iter().skip(1).try_for_each(|node| self.invite(node))
    }

    fn invite(&self, node: &Node) -> anyhow::Result<()> {
        let invited = self.membership(&self.nodes[0].dir, &["invite", &node.name])?;
        let invitation = invited["invitation"].as_str().context("an invitation without a text")?;
        self.membership(&node.dir, &["join", invitation]).map(drop)
    }

    /// Removes the member at this place, which has ended. `vouched`: it has ended for good, says a person.
    pub(super) fn expel(&self, index: usize, vouched: bool) -> anyhow::Result<()> {
        let mut words = vec!["remove", &self.nodes[index].name];
        words.extend(vouched.then_some("--gone"));
        self.membership(&self.nodes[0].dir, &words).map(drop)
    }

    /// Invites another member to this place.
    pub(super) fn admit_another(&mut self, index: usize) -> anyhow::Result<()> {
        let node = &mut self.nodes[index];
        node.former += 1;
        node.name = format!("n{index}-{}", node.former);
        node.dir = self.place.join(&node.name);
        self.invite(&self.nodes[index])
    }

    /// Waits until the voters know a node: who comes first votes. It may take no time, or never happen without voters.
    async fn until_on_record(&self, index: usize) {
        let until = Instant::now() + PATIENCE;
        while self.plan.recovery == Recovery::Voters && Instant::now() < until {
            let log = fs::read_to_string(self.nodes[index].dir.join("log")).unwrap_or_default();
            if log.contains("has this node on record") {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn membership(&self, dir: &Path, words: &[&str]) -> anyhow::Result<Value> {
        let mut command = Command::new(&self.binary);
        command.arg("mesh").args(words).arg("--json").arg("--dir").arg(dir).stdin(Stdio::null());
        // The links of the mesh go through this process too; nobody waits for this.
        let ran = tokio::task::block_in_place(|| command.output());
        let ran = ran.with_context(|| format!("cannot run {}", self.binary.display()))?;
        ensure!(ran.status.success(), "mesh {} failed: {}", words[0], String::from_utf8_lossy(&ran.stderr));
        Ok(serde_json::from_slice(&ran.stdout)?)
    }

    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// The member at this place.
    pub(super) fn name(&self, index: usize) -> &str {
        &self.nodes[index].name
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn recovery(&self) -> Recovery {
        self.plan.recovery
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn links(&self) -> &[Relay] {
        &self.links
    }

    /// The links of a node.
    pub(super) fn links_of(&self, node: usize) -> impl Iterator<Item = &Relay> {
        let links = self.links.iter().zip(&self.ends);
        links.filter(move |(_, (one, other))| *one == node || *other == node).map(|(link, _)| link)
    }

    pub(super) fn pids(&self) -> Pids {
        Arc::clone(&self.pids)
    }

    pub(super) fn sockets(&self) -> Vec<PathBuf> {
        self.nodes.iter().map(|node| node.socket.clone()).collect()
    }

    /// Starts a node and waits until it is ready.
    pub(super) async fn begin(&mut self, index: usize) -> anyhow::Result<()> {
        let direct: Vec<SocketAddr> = match self.plan.ways {
            Ways::Direct => self.nodes.iter().filter_map(|node| node.listen).collect(),
            Ways::Relayed(..) => Vec::new(),
        };
        let node = &mut self.nodes[index];
        let listen = node.listen.map_or_else(|| "127.0.0.1:0".to_owned(), |address| address.to_string());
        // A write beyond a limit of the system shall fail and not end the process; see `FullDisk`.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(&self.binary);
        command.args(["node", "--json", "--no-discovery", "--listen", &listen]);
        if let Some(loss_after) = self.plan.loss_after {
            command.arg("--loss-after").arg(format!("{}ms", loss_after.as_millis()));
        }
        command.arg("--dir").arg(&node.dir).arg("--socket").arg(&node.socket);
        for peer in node.peers.iter().chain(direct.iter().filter(|peer| Some(**peer) != node.listen)) {
            command.arg("--peer").arg(peer.to_string());
        }
        // A group of its own, so that Ctrl-C is for the bench alone.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start a node")?;
        keep_log(&mut child, &node.dir.join("log"))?;
        let (pid, ready) = (child.id(), first_line(child.stdout.take()));
        node.child = Some(child);
        let ready = timeout(PATIENCE, ready).await.context("the node is not ready after 90 s")??;
        let Ok(ready) = serde_json::from_str::<Value>(&ready) else { bail!("it did not start:\n{}", self.log(index)) };
        node.listen = ready["listen"].as_str().and_then(|address| address.parse().ok());
        self.pids[index].store(pid, Ordering::Relaxed);
        Ok(())
    }

    /// Stops a node cleanly and waits for its end.
    pub(super) async fn stop(&mut self, index: usize) -> anyhow::Result<ExitStatus> {
        self.pids[index].store(0, Ordering::Relaxed);
        self.signal(index, Signal::TERM);
        self.reap(index).await
    }

    /// Kills a node. It has no time to say anything.
    pub(super) async fn kill(&mut self, index: usize) -> anyhow::Result<()> {
        self.pids[index].store(0, Ordering::Relaxed);
        self.signal(index, Signal::KILL);
        self.reap(index).await.map(drop)
    }

    /// Kills all nodes at once.
    pub(super) async fn kill_all(&mut self) -> anyhow::Result<()> {
        self.pids.iter().for_each(|pid| pid.store(0, Ordering::Relaxed));
        (0..self.len()).for_each(|index| self.signal(index, Signal::KILL));
        for index in 0..self.len() {
            self.reap(index).await?;
        }
        Ok(())
    }

    /// How many lines of all logs have these words: members that are gone are counted too.
    pub(super) fn logged(&self, words: &str) -> u64 {
        let dirs = fs::read_dir(&self.place).into_iter().flatten().flatten();
        let logs = dirs.filter_map(|dir| fs::read_to_string(dir.path().join("log")).ok());
        logs.map(|log| log.lines().filter(|line| line.contains(words)).count() as u64).sum()
    }

    /// Waits for the end of a node that was told to end.
    pub(super) async fn reap(&mut self, index: usize) -> anyhow::Result<ExitStatus> {
        let child = self.nodes[index].child.as_mut().context("it does not run")?;
        let status = ended(child, PATIENCE).await.context("it does not stop within 90 s")?;
        self.nodes[index].child = None;
        Ok(status)
    }

    /// Sends a signal to a node.
    pub(super) fn signal(&self, index: usize, signal: Signal) {
        if let Some(child) = &self.nodes[index].child {
            send(child, signal);
        }
    }

    /// Lets all that a node writes to its disk fail, or no longer. Whether this system can do that.
    pub(super) fn fill_disk(&self, index: usize, full: bool) -> bool {
        limit_files(self.pids[index].load(Ordering::Relaxed), full)
    }

    /// Starts a command of the program as a client of a node.
    pub(super) fn client(&self, index: usize, words: &[&str]) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.binary);
        command.args(words).arg("--socket").arg(&self.nodes[index].socket).env_remove("MESHLOCK_URL");
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().context("cannot start a client")
    }

    /// The last lines that a node has logged.
    pub(super) fn log(&self, index: usize) -> String {
        let log = fs::read_to_string(self.nodes[index].dir.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// Panics that a node has logged.
    pub(super) fn panics(&self, index: usize) -> Vec<String> {
        let log = fs::read_to_string(self.nodes[index].dir.join("log")).unwrap_or_default();
        log.lines().filter(|line| line.contains("panicked at")).map(str::to_owned).collect()
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().filter_map(|node| node.child.as_mut()) {
            // It may have ended; then there is nothing to do. A paused one is ended too.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(super) fn send(child: &Child, signal: Signal) {
    // It may have ended by itself.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Waits for the end of a process, at most for so long.
pub(super) async fn ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => sleep(Duration::from_millis(20)).await,
            Ok(None) | Err(_) => return None,
        }
    }
}

/// The first line of the output of a process; empty if it ends before.
pub(super) async fn first_line(output: Option<ChildStdout>) -> anyhow::Result<String> {
    let output = output.context("its output is not ours")?;
    let read = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    });
    Ok(read.await??)
}

/// Through a pipe, so that a full disk of the node does not silence it.
fn keep_log(child: &mut Child, path: &Path) -> io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    if let Some(mut errors) = child.stderr.take() {
        std::thread::spawn(move || io::copy(&mut errors, &mut file));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn limit_files(pid: u32, full: bool) -> bool {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit { current: full.then_some(0), maximum: None };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| prlimit(Some(pid), Resource::Fsize, limit).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn limit_files(_: u32, _: bool) -> bool {
    false
}
