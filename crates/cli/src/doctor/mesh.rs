//! What the node says, and all others that it reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use meshlock_api::{MeshStatus, RecoveryStatus, duration};
use meshlock_node::config::NodeConfig;

use super::{Args, Finding};

/// More than this is no matter of the way of a question through the mesh.
const CLOCKS_DIFFER_MS: u64 = 10_000;

pub(super) async fn look(args: &Args, config: Option<&NodeConfig>, findings: &mut Vec<Finding>) {
    let mut options = args.node.clone();
    if options.url.is_none() && options.socket.is_none() {
        options.socket = config.map(|config| config.socket.clone());
    }
    let client = match options.connect().await {
        Ok(client) => client,
        Err(error) => {
            findings.push(Finding::wrong(
                "node",
                format!("{error:#}"),
                "see above; without a node the mesh cannot be asked",
            ));
            return;
        }
    };
    match client.health().await {
        Ok(Some(health)) => {
            let word = |key: &str| health[key].as_str().unwrap_or("?").to_owned();
            let (node, mesh, version) = (word("node"), word("mesh"), word("version"));
            findings.push(Finding::fine(
                "node",
                format!("{node} of mesh {mesh}, meshlock {version}, is {}", word("status")),
            ));
        }
        Ok(None) => {}
        Err(error) => {
            findings.push(Finding::wrong("node", error.to_string(), "look at its log: journalctl -u meshlock"));
        }
    }
    match client.status_of(None, args.patience).await {
        Ok(status) => of_status(&status, findings),
        Err(error) => {
            findings.push(Finding::wrong(
                "mesh",
                format!("the node cannot tell how the mesh is doing: {error}"),
                "try again",
            ));
        }
    }
    match client.resources().await {
        Ok(all) => {
            for conflict in all.iter().filter(|info| info.conflict.is_some()) {
                let name = &conflict.name;
                let what =
                    format!("this node's file declares {name:?} otherwise than the mesh, so its clients are refused");
                let fix = format!(
                    "correct [resources.{name}] in its meshlock.toml and send it SIGHUP, or `meshlock resource make {name} ... \
                     --replace`; a request for {name:?} at this node says what differs"
                );
                findings.push(Finding::wrong("declarations", what, fix));
            }
        }
        Err(error) => findings.push(Finding::wrong("declarations", error.to_string(), "try again")),
    }
}

pub(super) fn of_status(status: &MeshStatus, findings: &mut Vec<Finding>) {
    members(status, findings);
    versions(status, findings);
    clocks(status, now_ms(), findings);
    for node in status.nodes.iter().filter(|node| node.name != status.node && !node.conflicts.is_empty()) {
        let what = format!("the file of {} declares otherwise than the mesh: {}", node.name, node.conflicts.join(", "));
        let fix = format!("run `meshlock doctor` at {}; its log says what differs", node.name);
        findings.push(Finding::wrong("declarations", what, fix));
    }
    let lost: Vec<_> =
        status.resources.iter().filter_map(|found| Some((&found.name, found.out_of_reach.as_ref()?))).collect();
    for (name, token) in lost.iter().take(5) {
        let fix =
            "bring back the node or the links; if it never comes back, `meshlock mesh remove` it (docs/recovery.md)";
        findings.push(Finding::wrong("tokens", format!("the token of {name:?} is {token}"), fix));
    }
    if lost.len() > 5 {
        findings.push(Finding::wrong("tokens", format!("and those of {} more resources", lost.len() - 5), "likewise"));
    }
    if lost.is_empty() {
        let known = if status.complete {
            "are in reach"
        } else {
            "could not all be looked for, because not all nodes answered"
        };
        findings.push(Finding::fine("tokens", format!("of {} resources, {known}", status.resources.len())));
    }
    for alarm in &status.alarms {
        let fix = "stop one of the two, and give it an invitation of its own: a copied directory cannot be used";
        findings.push(Finding::wrong("members", alarm.clone(), fix));
    }
    match &status.recovery {
        Some(recovery) => of_recovery(recovery, findings),
        None => findings.push(Finding::fine("recovery", "this mesh does not recover from crashes (docs/recovery.md)")),
    }
}

fn members(status: &MeshStatus, findings: &mut Vec<Finding>) {
    let mut by_name: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for node in &status.nodes {
        by_name.entry(&node.name).or_default().insert(node.id & 0xffff);
    }
    for (name, ids) in by_name.iter().filter(|(_, ids)| ids.len() > 1) {
        let what = format!("{} members are named {name}", ids.len());
        let fix = "remove all but one (`meshlock mesh list`, `meshlock mesh remove`) and invite them anew with names of their own";
        findings.push(Finding::wrong("members", what, fix));
    }
    let alone = status.nodes.len() == 1 && status.nodes.iter().all(|node| node.links.is_empty());
    if status.missing.is_empty() {
        let alone = if alone { "; it has no links to others" } else { "" };
        findings.push(Finding::fine("members", format!("{} in reach, none missing{alone}", status.nodes.len())));
    }
    for missing in status.missing.iter().take(10) {
        let ago = duration::display(Duration::from_millis(missing.heard_ms_ago));
        let fix = "start it, or see whether its machine and the network are up (UDP port 7411, or `listen` and `peers`); if it \
                   never comes back, `meshlock mesh remove` it";
        findings.push(Finding::wrong("members", format!("{} does not answer, heard {ago} ago", missing.name), fix));
    }
}

fn versions(status: &MeshStatus, findings: &mut Vec<Finding>) {
    let mut by_version: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in &status.nodes {
        by_version.entry(node.version.as_deref().unwrap_or("older")).or_default().push(&node.name);
    }
    let told: Vec<String> =
        by_version.iter().map(|(version, nodes)| format!("{version} at {}", nodes.join(", "))).collect();
    findings.push(if by_version.len() > 1 {
        let what = format!("nodes run different versions: {}", told.join("; "));
        Finding::wrong("versions", what, "upgrade all to the newest; see docs/deployment.md for the order")
    } else {
        Finding::fine("versions", told.join("; "))
    });
}

/// Leases and links go by clocks that nobody sets; those of the wall matter to people and deadlines only.
fn clocks(status: &MeshStatus, now_ms: u64, findings: &mut Vec<Finding>) {
    let off: Vec<String> = status
        .nodes
        .iter()
        .filter_map(|node| Some((node, node.unix_ms?)))
        .filter(|(_, theirs)| theirs.abs_diff(now_ms) > CLOCKS_DIFFER_MS)
        .map(|(node, theirs)| {
            let by = duration::display(Duration::from_millis(theirs.abs_diff(now_ms)));
            format!("{} is {by} {}", node.name, if theirs > now_ms { "ahead" } else { "behind" })
        })
        .collect();
    findings.push(if off.is_empty() {
        Finding::fine("clocks", "those of all nodes that answered agree with this machine's within 10 s")
    } else {
        let what = format!(
            "{}. Locks and leases do not depend on it, but deadlines (`--deadline`) and the times in logs do",
            off.join(", ")
        );
        Finding::wrong("clocks", what, "run an NTP client on these machines: timedatectl set-ntp true")
    });
}

fn of_recovery(recovery: &RecoveryStatus, findings: &mut Vec<Finding>) {
    let mut is_fine = true;
    if let Some(reason) = &recovery.suspended {
        is_fine = false;
        let fix = "with voters, a majority of them must be in reach: start them, or see `meshlock mesh voters`";
        findings.push(Finding::wrong("recovery", format!("this node grants nothing: {reason}"), fix));
    }
    if let Some(repair) = &recovery.repair {
        is_fine = false;
        let waits = duration::display(Duration::from_millis(repair.for_ms));
        let fix = "start these nodes, or declare them gone if they never come back: `meshlock mesh recover`";
        let what = format!("a repair has waited for reports for {waits}: {}", repair.missing.join(", "));
        findings.push(Finding::wrong("recovery", what, fix));
    }
    if is_fine {
        findings.push(Finding::fine("recovery", format!("by {}; nothing is open", recovery.mode)));
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
