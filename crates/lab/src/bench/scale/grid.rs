//! A process for each node, each in a network namespace of its own, with a wire to each of its neighbours in a grid. They
//! are told nothing of each other: beacons find the neighbours.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use meshlock_node::mesh::{self, Existing};

use super::Args;
use super::crossing::{self, Subject};
use super::one_process::{Process, ready, spawn};
use super::report::Report;

/// Pairs of nodes with a wire between them.
fn wires((rows, columns): (usize, usize)) -> Vec<(usize, usize)> {
    let nodes = rows * columns;
    let across = (0..nodes).filter(|node| node % columns > 0).map(|node| (node - 1, node));
    let down = (columns..nodes).map(|node| (node - columns, node));
    across.chain(down).collect()
}

/// The namespaces of this run. They are gone when it is.
struct Namespaces {
    prefix: String,
    count: usize,
}

impl Namespaces {
    /// Makes them and their wires.
    fn make(count: usize, wires: &[(usize, usize)]) -> anyhow::Result<Self> {
        let made = Self { prefix: format!("mls{}", std::process::id()), count };
        let mut lines: String = (0..count).map(|node| format!("netns add {}\n", made.name(node))).collect();
        for (wire, (one, other)) in wires.iter().enumerate() {
            let (one, other) = (made.name(*one), made.name(*other));
            lines += &format!("link add w{wire} netns {one} type veth peer name w{wire} netns {other}\n");
        }
        batch(&[], &lines)?;
        for node in 0..count {
            let mut lines = "link set lo up\n".to_owned();
            for (wire, (one, _)) in wires.iter().enumerate().filter(|(_, (a, b))| *a == node || *b == node) {
                let end = if *one == node { 1 } else { 2 };
                let (third, fourth) = (wire / 64, wire % 64 * 4 + end);
                lines += &format!("address add 10.79.{third}.{fourth}/30 dev w{wire}\nlink set w{wire} up\n");
            }
            batch(&["-n", &made.name(node)], &lines)?;
        }
        Ok(made)
    }

    fn name(&self, node: usize) -> String {
        format!("{}-{node}", self.prefix)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let lines: String = (0..self.count).map(|node| format!("netns delete {}\n", self.name(node))).collect();
        // What was not made cannot be deleted, and there is nobody to tell.
        let _ = batch(&["-force"], &lines);
    }
}

/// Lines for `ip`.
fn batch(words: &[&str], lines: &str) -> anyhow::Result<()> {
    let mut command = Command::new("ip");
    command.args(words).args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot run `ip` (package iproute2)")?;
    if let Some(mut input) = child.stdin.take() {
        // If it has ended, its error is told below.
        let _ = input.write_all(lines.as_bytes());
    }
    let ended = child.wait_with_output()?;
    if ended.status.success() {
        return Ok(());
    }
    bail!("ip: {}", String::from_utf8_lossy(&ended.stderr).trim())
}

pub(super) async fn measure(binary: &Path, place: &Path, args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let (rows, columns) = args.grid;
    let (nodes, wires) = (rows * columns, wires(args.grid));
    let part = format!("{nodes} processes, {rows} x {columns}");
    if !rustix::process::geteuid().is_root() {
        report.skip(format!("{part}: network namespaces need root"));
        return Ok(());
    }
    let namespaces = match tokio::task::block_in_place(|| Namespaces::make(nodes, &wires)) {
        Ok(namespaces) => namespaces,
        Err(error) => {
            report.skip(format!("{part}: network namespaces cannot be made: {error:#}"));
            return Ok(());
        }
    };
    let dirs: Vec<_> = (0..nodes).map(|node| place.join(format!("n{node}"))).collect();
    tokio::task::block_in_place(|| -> anyhow::Result<()> {
        mesh::found(&dirs[0], "bench", "n0", Existing::Keep)?;
        for (node, dir) in dirs.iter().enumerate().skip(1) {
            let invitation = mesh::invite(&dirs[0], &format!("n{node}"), Vec::new())?;
            mesh::join(dir, &invitation, Existing::Keep)?;
        }
        Ok(fs::write(dirs[0].join("meshlock.toml"), "[resources.gate]\n")?)
    })?;
    let began = Instant::now();
    let mut processes: Vec<Process> = Vec::with_capacity(nodes);
    for (node, dir) in dirs.iter().enumerate() {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespaces.name(node)]).arg(binary).args(["node", "--json", "--dir"]).arg(dir);
        processes.push(spawn(command.arg("--socket").arg(dir.join("sock")), &dir.join("log"))?);
    }
    for (process, dir) in processes.iter_mut().zip(&dirs) {
        ready(process, &dir.join("log")).await?;
    }
    report.add(&part, "all nodes serve clients after", (began.elapsed().as_secs_f64(), "s"));
    // `ip netns exec` becomes the program itself.
    let pids: Vec<u32> = processes.iter().map(|process| process.0.id()).collect();
    let sockets: Vec<_> = dirs.iter().map(|dir| dir.join("sock")).collect();
    let subject = Subject {
        part: &part,
        nodes,
        links: wires.len(),
        diameter: rows + columns - 2,
        sockets: &sockets,
        ends: [0, nodes - 1],
        pids: &pids,
        watched: args.watched(),
        began,
    };
    crossing::measure(&subject, report).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_a_wire_between_neighbours() {
        assert_eq!(wires((2, 3)), [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]);
        assert_eq!(wires((1, 2)), [(0, 1)]);
        assert_eq!(wires((6, 10)).len(), 6 * 9 + 5 * 10);
    }
}
