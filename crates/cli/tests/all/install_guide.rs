//! The steps of `docs/install.md` from nothing to a lock on two machines, as they stand there: each machine a network
//! namespace with a home of its own, its user without rights.
//!
//! Needs root and Linux, to make the machines; says so and passes where that is missing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::network;
use crate::process::{Ran, Running, run_to_end, until};

/// Nobody in particular.
const USER: u32 = 61_411;

/// A line of the guide, and what it prints there.
#[derive(Debug)]
struct Step {
    machine: String,
    command: String,
    shown: Vec<String>,
}

/// The block of the guide that has prompts of machines.
fn steps() -> Vec<Step> {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/install.md")).unwrap();
    let block = guide.split("```text\n").find(|block| block.starts_with("crane$ ")).expect("the block with prompts");
    let block = block.split("```").next().unwrap();
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some((machine, command)) = line.split_once("$ ") {
            let (machine, command) = (machine.to_owned(), command.to_owned());
            steps.push(Step { machine, command, shown: Vec::new() });
        } else if let Some(step) = steps.last_mut() {
            step.shown.push(line.to_owned());
        }
    }
    steps
}

struct Machines {
    place: TempDir,
    network: network::World,
}

impl Machines {
    fn new() -> Option<Self> {
        let network = network::World::new("guide", &["crane", "lift"])?;
        let place = tempfile::Builder::new().prefix("meshlock-").tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let machines = Self { place, network };
        for machine in ["crane", "lift"] {
            for dir in ["", ".cargo", ".cargo/bin", "run"] {
                let dir = machines.home(machine).join(dir);
                fs::create_dir_all(&dir).unwrap();
                fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
                chown(&dir, Some(USER), Some(USER)).unwrap();
            }
            let program = machines.home(machine).join(".cargo/bin/meshlock");
            fs::copy(crate::PROGRAM, &program).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        }
        Some(machines)
    }

    fn home(&self, machine: &str) -> PathBuf {
        self.place.path().join(machine)
    }

    /// What a user types at a machine who has logged in there, with the program installed by cargo.
    fn typed(&self, machine: &str, line: &str) -> Command {
        let home = self.home(machine);
        let mut command = Command::new("ip");
        // A node is called like its host.
        let named = "echo $0 > /proc/sys/kernel/hostname && exec \"$@\"";
        command.args([
            "netns",
            "exec",
            &self.network.namespace(machine),
            "unshare",
            "--uts",
            "sh",
            "-c",
            named,
            machine,
        ]);
        command.args([
            "setpriv".into(),
            format!("--reuid={USER}"),
            format!("--regid={USER}"),
            "--clear-groups".into(),
            "--inh-caps=-all".into(),
        ]);
        command.args(["sh", "-c", line]).current_dir(&home).env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", home.join(".cargo/bin").display()));
        command.env("HOME", &home).env("XDG_RUNTIME_DIR", home.join("run"));
        command
    }

    /// Between machines there is no ssh here.
    fn copy(&self, from: &str, file: &str, to: &str) {
        let target = self.home(to).join(file);
        fs::copy(self.home(from).join(file), &target).unwrap();
        chown(&target, Some(USER), Some(USER)).unwrap();
    }
}

#[test]
fn the_guide_leads_from_nothing_to_a_lock_on_two_machines() {
    let steps = steps();
    assert!(steps.iter().filter(|step| step.command.starts_with("meshlock lock")).count() >= 2, "{steps:?}");
    let Some(machines) = Machines::new() else { return };
    let mut nodes: Vec<Running> = Vec::new();
    for Step { machine, command, shown } in &steps {
        let words: Vec<&str> = command.split(' ').collect();
        if let ["scp", file, to] = words.as_slice() {
            machines.copy(machine, file, to.trim_end_matches(':'));
        } else if let Some(line) = command.strip_suffix(" &") {
            let mut node = Running::start(&mut machines.typed(machine, &format!("exec {line}")));
            node.until_error("ready");
            nodes.push(node);
        } else {
            // Machines need a moment to find each other.
            let mut ran = Ran { code: None, out: String::new(), err: String::new() };
            let is_shown = |ran: &Ran| ran.code == Some(0) && shown.iter().all(|line| ran.out.contains(line.as_str()));
            until(&format!("at {machine}: {command}"), || {
                ran = run_to_end(&mut machines.typed(machine, command));
                assert!(ran.code == Some(0), "at {machine}: {command}: {}{}", ran.out, ran.err);
                is_shown(&ran)
            });
        }
    }
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        node.send(Signal::TERM);
        assert_eq!(node.end_alone(), Some(0));
    }
}
