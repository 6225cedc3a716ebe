//! What of a node's configuration changes while it runs, and what needs a new start.

use crate::config::NodeConfig;

/// What came of reading the configuration again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// What holds from now on, in words.
    pub changed: Vec<String>,
    /// Keys that differ and need a new start of the node.
    pub needs_restart: Vec<&'static str>,
}

/// Keys whose change takes a new start.
pub(crate) fn needs_restart(old: &NodeConfig, new: &NodeConfig) -> Vec<&'static str> {
    let keys = [
        ("mesh.name", old.mesh != new.mesh),
        ("mesh.recovery, mesh.standing or mesh.voters", old.founding != new.founding),
        ("node.listen", old.listen != new.listen),
        ("node.discovery", old.discovery != new.discovery),
        ("node.discovery-interval", old.discovery_interval != new.discovery_interval),
        ("node.loss-after", old.loss_after != new.loss_after),
        ("node.transport", old.transport != new.transport),
        ("node.dir", old.dir != new.dir),
        ("node.log-format", old.log_format != new.log_format),
        ("node.audit", old.audit != new.audit),
        ("node.threads", old.threads != new.threads),
        ("node.busy-poll", old.busy_poll != new.busy_poll),
        ("api.socket", old.socket != new.socket),
        ("api.socket-group", old.socket_group != new.socket_group),
        ("api.tcp", old.tcp != new.tcp),
        ("api.token-file", old.token_file != new.token_file),
        ("api.max-clients", old.max_clients != new.max_clients),
        ("api.view", old.view != new.view),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}
