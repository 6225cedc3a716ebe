//! What one source of configuration says: a file, the environment, or flags. Everything is optional.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{LogFormat, ResourceSettings, Time};
use crate::links::Transport;
use crate::mesh::{Founding, Recovery};

/// What one source of configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// What all members share.
    pub mesh: MeshSettings,
    /// This node among the others.
    #[serde(skip_serializing_if = "is_default")]
    pub node: NodeSettings,
    /// This node and its clients.
    #[serde(skip_serializing_if = "is_default")]
    pub api: ApiSettings,
    /// What can be locked, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, ResourceSettings>,
}

/// `[mesh]`: what all members share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MeshSettings {
    /// The name of the mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether an undeclared resource is made when it is first asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_on_first_use: Option<bool>,
    /// How a mesh that is founded now recovers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// How long its nodes may act without having asked the voters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Time>,
    /// Who votes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voters: Option<Vec<String>>,
}

/// `[node]`: this node among the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NodeSettings {
    /// Where other nodes reach this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Others to connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<Vec<String>>,
    /// Whether others on the local network are found by beacons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<bool>,
    /// How often a beacon is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery_interval: Option<Time>,
    /// How long a neighbour may be silent before its link counts as lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_after: Option<Time>,
    /// What carries the links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Where the files of the mesh are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// What is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How it is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_format: Option<LogFormat>,
    /// How long a clean stop may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_within: Option<Time>,
    /// Whether it is written down who holds what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<bool>,
    /// How many threads serve links and clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether the thread stays awake while a lock goes from hand to hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<bool>,
}

/// `[api]`: this node and its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ApiSettings {
    /// The Unix socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Who may use it beside its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_group: Option<String>,
    /// An address for clients elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// The file with the word that such clients must know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// How many clients at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_clients: Option<u32>,
    /// An address for the page that shows what the node sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

impl MeshSettings {
    /// What is wished for a mesh that is founded now.
    pub fn founding(&self) -> Founding {
        let standing = self.standing.map(|Time(standing)| standing);
        Founding { recovery: self.recovery, standing, voters: self.voters.clone() }
    }

    /// Sets what is wished for a mesh that is founded now.
    pub fn set_founding(&mut self, founding: Founding) {
        let Founding { recovery, standing, voters } = founding;
        self.recovery = recovery;
        self.standing = standing.map(Time);
        self.voters = voters;
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Why settings cannot be read, with the place and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

impl Settings {
    /// Reads a file. `source` is its name, for errors.
    pub fn from_toml(source: &str, text: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| place(text, span.start)).unwrap_or_default();
            let words = error.message();
            // The parser's words may have several lines.
            let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let words = words.join(", ");
            SettingsError(format!("{source}{place}: {words}{}", near(&words)))
        })
    }

    /// These settings, and below them others for what these leave open. Resources are taken one by one.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let Self { mesh, node, api, resources } = self;
        let mut all = below.resources;
        all.extend(resources);
        Self {
            mesh: MeshSettings {
                name: mesh.name.or(below.mesh.name),
                create_on_first_use: mesh.create_on_first_use.or(below.mesh.create_on_first_use),
                recovery: mesh.recovery.or(below.mesh.recovery),
                standing: mesh.standing.or(below.mesh.standing),
                voters: mesh.voters.or(below.mesh.voters),
            },
            node: NodeSettings {
                listen: node.listen.or(below.node.listen),
                peers: node.peers.or(below.node.peers),
                discovery: node.discovery.or(below.node.discovery),
                discovery_interval: node.discovery_interval.or(below.node.discovery_interval),
                loss_after: node.loss_after.or(below.node.loss_after),
                transport: node.transport.or(below.node.transport),
                dir: node.dir.or(below.node.dir),
                log: node.log.or(below.node.log),
                log_format: node.log_format.or(below.node.log_format),
                stop_within: node.stop_within.or(below.node.stop_within),
                audit: node.audit.or(below.node.audit),
                threads: node.threads.or(below.node.threads),
                busy_poll: node.busy_poll.or(below.node.busy_poll),
            },
            api: ApiSettings {
                socket: api.socket.or(below.api.socket),
                socket_group: api.socket_group.or(below.api.socket_group),
                tcp: api.tcp.or(below.api.tcp),
                token_file: api.token_file.or(below.api.token_file),
                max_clients: api.max_clients.or(below.api.max_clients),
                view: api.view.or(below.api.view),
            },
            resources: all,
        }
    }

    /// The part that all members share, as TOML.
    pub fn shared(&self, mesh: &str) -> Result<String, SettingsError> {
        self.joined(mesh, &[])
    }

    /// The file of a member that joins: what all members share, and where it finds others.
    pub fn joined(&self, mesh: &str, peers: &[String]) -> Result<String, SettingsError> {
        let mut file = Self { mesh: self.mesh.clone(), resources: self.resources.clone(), ..Self::default() };
        file.mesh.name = Some(mesh.to_owned());
        // Members have these in the charter, signed; a copy in a file would only be wrong one day.
        file.mesh.set_founding(Founding::default());
        if !peers.is_empty() {
            file.node.peers = Some(peers.to_vec());
        }
        toml::to_string(&file).map_err(|error| SettingsError(error.to_string()))
    }
}

/// `, line 3, column 5`.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(", line {line}, column {column}")
}

/// The nearest of the names that would have been understood. The parser names the wrong one first, then all others.
fn near(words: &str) -> String {
    let unknown = ["unknown field", "unknown variant"].iter().any(|start| words.starts_with(start));
    let mut names = words.split('`').skip(1).step_by(2);
    let Some(wrong) = names.next().filter(|_| unknown) else { return String::new() };
    let nearest = names.map(|name| (strsim::jaro_winkler(name, wrong), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((likeness, name)) if likeness > 0.75 => format!("; did you mean `{name}`?"),
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Settings::from_toml("meshlock.toml", text).expect_err("wrong").to_string()
    }

    #[test]
    fn an_unknown_key_has_its_place_and_the_nearest_name() {
        let words = error("[mesh]\nname = \"hall\"\n\n[node]\n  lisen = \"[::]:1\"\n");
        assert!(words.starts_with("meshlock.toml, line 5, column 3: unknown field `lisen`"), "{words}");
        assert!(words.ends_with("did you mean `listen`?"), "{words}");
        assert!(error("[nod]\n").ends_with("did you mean `node`?"));
        assert!(error("[resources.dock]\ncapasity = 1").ends_with("did you mean `capacity`?"));
        assert!(error("[resources.dock]\nkind = \"mutx\"").ends_with("did you mean `mutex`?"));
        assert!(!error("[node]\nqqqq = 1").contains("did you mean"));
    }

    #[test]
    fn a_wrong_value_has_its_place() {
        let words = error("[node]\nloss-after = \"soon\"\n");
        assert!(words.contains("line 2, column 14") && words.contains("500ms"), "{words}");
        let words = error("[node]\nloss-after = 3\n");
        assert!(words.contains("line 2") && words.contains("in quotes"), "{words}");
        assert!(error("[node\n").contains("line 1"));
        assert!(error("[resources.dock]\ncapacity = -1").contains("line 2"));
        let words = error("[mesh]\nrecovery = \"restarts\"\n");
        assert!(words.contains("line 2, column 12") && words.ends_with("did you mean `restart`?"), "{words}");
        assert!(error("[mesh]\nstanding = 5\n").contains("line 2"));
        assert!(error("[mesh]\nvoters = \"ann\"\n").contains("line 2"));
    }

    #[test]
    fn the_upper_source_wins_and_the_lower_fills_in() {
        let upper = Settings::from_toml("", "[node]\npeers = []\n[resources.a]\ncapacity = 2").unwrap();
        let lower = "[node]\npeers = [\"x:1\"]\nlog = \"debug\"\n[resources.a]\nkind = \"mutex\"\n[resources.b]";
        let both = upper.over(Settings::from_toml("", lower).unwrap());
        assert_eq!((both.node.peers, both.node.log.as_deref()), (Some(vec![]), Some("debug")));
        assert_eq!((both.resources["a"].kind, both.resources["a"].capacity), (None, Some(2)));
        assert!(both.resources.contains_key("b"));
    }

    #[test]
    fn what_is_shared_can_be_read_again() {
        let all = "[mesh]\ncreate-on-first-use = false\nrecovery = \"restart\"\n[api]\ntcp = \"[::]:1\"\n\
                   [resources.\"dock:1\"]\ncapacity = 2\nlease = \"1.5s\"\norder = \"deadline\"\n";
        let all = Settings::from_toml("", all).unwrap();
        let file = Settings::from_toml("", &all.joined("hall", &["x:1".into()]).unwrap()).unwrap();
        assert_eq!((file.mesh.name.as_deref(), file.mesh.create_on_first_use), (Some("hall"), Some(false)));
        assert_eq!(file.mesh.founding(), Founding::default(), "the charter has it, and is signed");
        assert_eq!((file.resources, file.api), (all.resources, ApiSettings::default()));
        assert_eq!(file.node.peers, Some(vec!["x:1".into()]));
    }
}
