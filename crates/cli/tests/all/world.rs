//! A mesh of separate processes of the real program, and the programs that use it.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use meshlock_api::MeshStatus;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ran, Running, program, run_to_end, until};

/// Which nodes dial which: pairs of indices, the later one dials.
pub(crate) fn line(nodes: usize) -> Vec<(usize, usize)> {
    (1..nodes).map(|node| (node - 1, node)).collect()
}

pub(crate) fn ring(nodes: usize) -> Vec<(usize, usize)> {
    line(nodes).into_iter().chain([(0, nodes - 1)]).collect()
}

pub(crate) fn full(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect()
}

/// Directories of members, and the nodes that run in them. Everything is gone when this is dropped.
pub(crate) struct World {
    place: TempDir,
    nodes: Vec<Node>,
    links: Vec<(usize, usize)>,
}

/// One node: its directory, and its process while it runs.
struct Node {
    name: String,
    dir: PathBuf,
    process: Option<Child>,
    /// What it is started with beside the usual.
    words: Vec<String>,
    /// What starts it, such as `ip netns exec NAME`.
    through: Vec<String>,
    starts: usize,
    stop_within: String,
}

impl World {
    /// Nodes on the loopback, linked like this, with these resources.
    pub(crate) fn start(nodes: usize, links: Vec<(usize, usize)>, resources: &str) -> Self {
        Self::start_with(nodes, links, resources, &[])
    }

    /// The same, with a mesh that is founded with these flags.
    pub(crate) fn start_with(nodes: usize, links: Vec<(usize, usize)>, resources: &str, flags: &[&str]) -> Self {
        let names: Vec<String> = (0..nodes).map(|node| format!("node{node}")).collect();
        let mut world = Self { place: place(), nodes: Vec::new(), links };
        world.found_with("hall", &names.iter().map(String::as_str).collect::<Vec<_>>(), resources, flags);
        for index in 0..nodes {
            let mut words: Vec<String> = vec!["--no-discovery".into()];
            for &(earlier, _) in world.links.iter().filter(|(_, later)| *later == index) {
                words.extend(["--peer".into(), world.nodes[earlier].words[1].clone()]);
            }
            // The port of the first start is kept, so that others find the node when it is started again.
            world.nodes[index].words = [vec!["--listen".into(), "127.0.0.1:0".into()], words].concat();
            let ready = world.begin(index);
            world.nodes[index].words[1] = ready["listen"].as_str().unwrap().to_owned();
        }
        world.until_linked();
        world
    }

    /// No nodes so far.
    pub(crate) fn empty() -> Self {
        Self { place: place(), nodes: Vec::new(), links: Vec::new() }
    }

    /// Makes a mesh of members, the first of which founds it. None of them runs.
    pub(crate) fn found(&mut self, mesh: &str, names: &[&str], resources: &str) {
        self.found_with(mesh, names, resources, &[]);
    }

    fn found_with(&mut self, mesh: &str, names: &[&str], resources: &str, flags: &[&str]) {
        let dir = |name: &str| self.place.path().join(name);
        let founder = dir(names[0]);
        self.mesh(&founder, &[&["init", mesh, "--node", names[0]], flags].concat());
        fs::write(founder.join("meshlock.toml"), resources).unwrap();
        for name in &names[1..] {
            let invited = self.mesh(&founder, &["invite", name]);
            self.mesh(&dir(name), &["join", invited["invitation"].as_str().unwrap()]);
        }
        let nodes = names.iter().map(|name| Node {
            name: (*name).to_owned(),
            dir: dir(name),
            process: None,
            words: Vec::new(),
            through: Vec::new(),
            starts: 0,
            stop_within: "20s".into(),
        });
        let nodes: Vec<Node> = nodes.collect();
        self.nodes.extend(nodes);
    }

    /// `meshlock mesh` with the directory of a node; it must work.
    pub(crate) fn mesh(&self, dir: &Path, words: &[&str]) -> Value {
        let ran = run_mesh(dir, words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// The same; it must fail, and says why.
    pub(crate) fn refused_mesh(&self, dir: &Path, words: &[&str]) -> String {
        let ran = run_mesh(dir, words);
        assert_ne!(ran.code, Some(0), "{words:?}: {}", ran.out);
        ran.err
    }

    /// What starts a node, and what it is started with beside the usual.
    pub(crate) fn set_start(&mut self, index: usize, through: &[&str], words: &[&str]) {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        self.nodes[index].through = owned(through);
        self.nodes[index].words = owned(words);
    }

    /// Starts a node; what it says when it is ready.
    pub(crate) fn begin(&mut self, index: usize) -> Value {
        let node = &mut self.nodes[index];
        node.starts += 1;
        let mut words = node.through.clone();
        words.extend([crate::PROGRAM, "node", "--json", "--loss-after", "500ms"].map(str::to_owned));
        let log = OpenOptions::new().create(true).append(true).open(node.dir.join("log")).unwrap();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("--dir").arg(&node.dir).arg("--socket").arg(node.dir.join("sock"));
        command.arg("--record").arg(node.dir.join(format!("run{}.jsonl", node.starts))).args(&node.words);
        command.env("MESHLOCK_DISCOVERY_INTERVAL", "200ms").env("MESHLOCK_STOP_WITHIN", &node.stop_within);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        node.process = Some(child);
        serde_json::from_str(&ready)
            .unwrap_or_else(|_| panic!("{} did not start: {}", self.nodes[index].name, self.log(index)))
    }

    /// Starts a node again that stops within this time.
    pub(crate) fn stop_within(&mut self, index: usize, time: &str) {
        self.stop(index);
        self.nodes[index].stop_within = time.to_owned();
        self.begin(index);
        self.until_linked();
    }

    /// Stops a node cleanly and waits for its end.
    pub(crate) fn stop(&mut self, index: usize) {
        let mut child = self.nodes[index].process.take().unwrap();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.log(index));
    }

    /// Waits until a node has ended by itself; its exit code.
    pub(crate) fn ended(&mut self, index: usize) -> Option<i32> {
        let mut child = self.nodes[index].process.take().unwrap();
        let mut status = None;
        until("the node has ended", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    /// A start that must fail: how it ends.
    pub(crate) fn fails_to_start(&self, index: usize) -> Ran {
        let dir = self.dir(index);
        let mut command = program();
        command.args(["node", "--listen", "127.0.0.1:0", "--no-discovery", "--dir"]).arg(dir);
        run_to_end(command.arg("--socket").arg(dir.join("sock")))
    }

    /// Kills a node: nothing of what it knows is left but its disk.
    pub(crate) fn kill(&mut self, index: usize) {
        let mut child = self.nodes[index].process.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The process of a node that runs.
    pub(crate) fn pid(&self, index: usize) -> i32 {
        let child = self.nodes[index].process.as_ref().unwrap();
        i32::try_from(child.id()).unwrap()
    }

    /// What a node has logged in all its runs.
    pub(crate) fn log(&self, index: usize) -> String {
        fs::read_to_string(self.nodes[index].dir.join("log")).unwrap_or_default()
    }

    /// The directory of all.
    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    /// The directory of a node.
    pub(crate) fn dir(&self, index: usize) -> &Path {
        &self.nodes[index].dir
    }

    /// Waits until all links between nodes that run are up at both ends.
    pub(crate) fn until_linked(&self) {
        let runs = |index: usize| self.nodes[index].process.is_some();
        let first = (0..self.nodes.len()).find(|index| runs(*index)).unwrap();
        let links = self.links.iter().filter(|(a, b)| runs(*a) && runs(*b)).count();
        let nodes = (0..self.nodes.len()).filter(|index| runs(*index)).count();
        until("all links are up", || {
            let status = self.status(first, None);
            status.nodes.len() == nodes && status.nodes.iter().map(|node| node.links.len()).sum::<usize>() == 2 * links
        });
    }

    fn command(&self, node: usize, words: &[&str]) -> Command {
        let mut command = program();
        command.args(words).current_dir(self.place());
        command.env("MESHLOCK_SOCKET", self.dir(node).join("sock")).env_remove("MESHLOCK_URL");
        command
    }

    /// Runs a command at a node to its end.
    pub(crate) fn run(&self, node: usize, words: &[&str]) -> Ran {
        run_to_end(&mut self.command(node, words))
    }

    /// Runs a command at a node beside the test.
    pub(crate) fn go(&self, node: usize, words: &[&str]) -> Running {
        Running::start(&mut self.command(node, words))
    }

    /// The whole mesh, or one resource of it, as a node sees it.
    pub(crate) fn status(&self, node: usize, resource: Option<&str>) -> MeshStatus {
        let words: Vec<&str> = ["status", "--json"].into_iter().chain(resource).collect();
        let ran = self.run(node, &words);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Waits until so many hold a resource and so many wait for it, at the nodes that can be asked from this one.
    pub(crate) fn until_counts(&self, node: usize, resource: &str, holders: usize, waiters: usize) {
        until(&format!("{holders} hold {resource}, {waiters} wait"), || {
            let status = self.status(node, None);
            let found = status.resources.iter().find(|found| found.name == resource);
            found.is_some_and(|found| (found.holders.len(), found.waiters.len()) == (holders, waiters))
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if std::thread::panicking() {
                let log = fs::read_to_string(node.dir.join("log")).unwrap_or_default();
                eprintln!("--- the log of {}\n{log}", node.name);
            }
            if let Some(mut child) = node.process.take() {
                // It may have ended; then there is nothing to do.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Paths of sockets must be short, so this is not in the target directory.
fn place() -> TempDir {
    tempfile::Builder::new().prefix("meshlock-").tempdir().unwrap()
}

fn run_mesh(dir: &Path, words: &[&str]) -> Ran {
    let mut command = program();
    command.env("MESHLOCK_LOSS_AFTER", "500ms");
    run_to_end(command.arg("mesh").args(words).arg("--json").arg("--dir").arg(dir))
}
