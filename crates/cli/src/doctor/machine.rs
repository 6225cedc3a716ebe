//! What can be seen on this machine, without a node: configuration, directory, papers, socket, ports, disk.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use meshlock_node::config::{NodeConfig, Settings};

use super::{Args, Finding};

/// Below this a node may soon be unable to store what it must.
const LITTLE_ROOM: u64 = 64 << 20;

/// The configuration, if it can be read.
pub(super) fn look(args: &Args, findings: &mut Vec<Finding>) -> Option<NodeConfig> {
    if args.node.url.is_some() {
        findings.push(Finding::fine("machine", "not looked at: the node is somewhere else (--url)"));
        return None;
    }
    let mut flags = Settings::default();
    flags.node.dir.clone_from(&args.dir);
    flags.api.socket.clone_from(&args.node.socket);
    let config = match NodeConfig::load(flags, args.config.as_deref()) {
        Ok(config) => config,
        Err(problems) => {
            let fix = "correct it; `meshlock node --check-config` tells whether it is fine, docs/configuration.md has all keys";
            findings.push(Finding::wrong("configuration", problems.to_string(), fix));
            return None;
        }
    };
    let problems = config.check();
    let shown = config.file.as_ref().map_or("there is no file, all defaults".into(), |file| file.display().to_string());
    findings.push(if problems.0.is_empty() {
        Finding::fine("configuration", shown)
    } else {
        Finding::wrong("configuration", format!("{shown}: {problems}"), "correct it, then start the node anew")
    });
    directory(&config.dir, findings);
    let runs = socket(&config, findings);
    if !runs {
        ports(&config, findings);
    }
    Some(config)
}

fn directory(dir: &Path, findings: &mut Vec<Finding>) {
    let shown = dir.display();
    if !dir.join("member.toml").exists() {
        let what = format!("{shown} has no membership (member.toml)");
        let fix = "found a mesh there with `meshlock mesh init`, join one with `meshlock mesh join`, or name the right place \
                   with --dir; a node that is started like this founds a mesh of its own";
        findings.push(Finding::wrong("directory", what, fix));
        return;
    }
    let writable = rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok();
    let owner = std::fs::metadata(dir).map(|found| found.uid()).ok();
    let me = rustix::process::geteuid().as_raw();
    findings.push(match (writable, owner) {
        (true, _) => Finding::fine("directory", format!("{shown} belongs to a member and can be written to")),
        (false, Some(owner)) if owner != me => {
            Finding::fine("directory", format!("{shown} belongs to user {owner}; run this as that user to see more"))
        }
        (false, _) => Finding::wrong(
            "directory",
            format!("{shown} cannot be written to, so a node cannot start or recover there"),
            format!("give it to the user of the node: chown -R USER {shown}; and see that it is not mounted read-only"),
        ),
    });
    super::certificate::look(dir, findings);
    if let Ok(disk) = rustix::fs::statvfs(dir) {
        let room = disk.f_bavail.saturating_mul(disk.f_frsize);
        let free = room >> 20;
        findings.push(if room < LITTLE_ROOM || (disk.f_files > 0 && disk.f_favail == 0) {
            let what = format!(
                "only {free} MiB are free where {shown} is; a node that cannot store what it promised grants nothing"
            );
            Finding::wrong("disk", what, "make room, or move the mesh directory (node.dir)")
        } else {
            Finding::fine("disk", format!("{free} MiB are free where {shown} is"))
        });
    }
}

/// Whether a node seems to run there.
fn socket(config: &NodeConfig, findings: &mut Vec<Finding>) -> bool {
    let path = &config.socket;
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let fix =
                "ask for access to the directory of the socket, or become a member of the group `api.socket-group`";
            findings.push(Finding::wrong("socket", format!("{shown} cannot be looked at: permission denied"), fix));
            return true;
        }
        Err(error) => {
            let fix = "start the node (`meshlock node`, or systemctl start meshlock), or name its socket with --socket";
            findings.push(Finding::wrong("socket", format!("no node listens at {shown}: {error}"), fix));
            return false;
        }
    };
    if !found.file_type().is_socket() {
        let fix = format!("move it away, and start the node anew: rm {shown}");
        findings.push(Finding::wrong("socket", format!("{shown} is no socket"), fix));
        return false;
    }
    let mode = found.permissions().mode() & 0o777;
    match UnixStream::connect(path) {
        Ok(_) => {
            findings.push(Finding::fine("socket", format!("{shown} takes connections (mode {mode:04o})")));
            true
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let what = format!(
                "{shown} belongs to user {} and group {}, mode {mode:04o}: permission denied",
                found.uid(),
                found.gid()
            );
            let fix =
                "set `socket-group` in [api] of the node's meshlock.toml to a group of yours, and start the node anew";
            findings.push(Finding::wrong("socket", what, fix));
            true
        }
        Err(error) => {
            let fix = "the node behind it has ended; start it again, it takes the place of the old socket";
            findings.push(Finding::wrong("socket", format!("{shown} is there, but nobody listens: {error}"), fix));
            false
        }
    }
}

/// Whether a node could listen: only where none runs.
fn ports(config: &NodeConfig, findings: &mut Vec<Finding>) {
    let quic = |address: &SocketAddr| UdpSocket::bind(address).map(drop);
    let tcp = |address: &SocketAddr| TcpListener::bind(address).map(drop);
    let mut tried = config.listen.iter().map(|address| match config.transport {
        meshlock_node::links::Transport::Quic => (address, quic(address)),
        meshlock_node::links::Transport::Tcp => (address, tcp(address)),
    });
    if let Some((address, Err(error))) = tried.next_back() {
        let what = format!("a node could not listen on {address}: {error}");
        let fix = "choose a free address with `listen` in [node]; `ss -lnup` shows who has a port";
        findings.push(Finding::wrong("ports", what, fix));
    } else {
        findings.push(Finding::fine("ports", "the address of the node is free"));
    }
    if let Some((address, Err(error))) = config.tcp.map(|address| (address, tcp(&address))) {
        let what = format!("clients could not be served on {address}: {error}");
        findings.push(Finding::wrong("ports", what, "choose a free address with `tcp` in [api]"));
    }
}
