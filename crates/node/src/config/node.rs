//! The configuration of a node, with everything decided.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use meshlock_api::Definition;
use serde::{Deserialize, Serialize};

use super::{CONFIG_FILE, Settings, SettingsError, Time, socket};
use crate::links::Transport;
use crate::mesh::{Founding, directory, name};

/// The configuration of a node, with everything decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The mesh directory.
    pub dir: PathBuf,
    /// The name of the mesh, if it was said. Default: that of the membership, or `local` where there is none.
    pub mesh: Option<String>,
    /// Whether an undeclared resource is made when it is first asked for. Default: yes.
    pub create_on_first_use: bool,
    /// What is wished for a mesh that this node founds. A mesh that is there has its charter.
    pub founding: Founding,
    /// Where other nodes reach this one: the first of these that can be used. Default: port 7411 of all addresses, by
    /// IPv6 (which serves IPv4 too), or by IPv4 alone where there is no IPv6.
    pub listen: Vec<SocketAddr>,
    /// Others to connect to, as `HOST:PORT`; names are looked up again at every try. Default: none.
    pub peers: Vec<String>,
    /// Whether nodes on the same local network find each other by beacons. Default: yes.
    pub discovery: bool,
    /// How often a beacon is sent; a quarter as often when nothing has changed for a while. Default: 1 s.
    pub discovery_interval: Duration,
    /// How long a neighbour may be silent before its link counts as lost. Default: 2.5 s.
    pub loss_after: Duration,
    /// What carries the links; the same at all nodes of a mesh. Default: QUIC.
    pub transport: Transport,
    /// What is logged. Default: `info`.
    pub log: String,
    /// How it is logged. Default: text.
    pub log_format: LogFormat,
    /// How long a clean stop may take to pass tokens on. Default: 5 s.
    pub stop_within: Duration,
    /// The Unix socket for clients. Default: [`socket::default_path`].
    pub socket: PathBuf,
    /// A group that may use the socket as well: mode 0660 then. Default: none.
    pub socket_group: Option<String>,
    /// An address for clients that cannot use the socket. Default: none.
    pub tcp: Option<SocketAddr>,
    /// The file with the word that such clients must present; see [`super::token::read_or_make`]. Default: none.
    pub token_file: Option<PathBuf>,
    /// How many connections of clients are served at a time. Default: 1024.
    pub max_clients: usize,
    /// An address for the page that shows what the node sees; served by the program around the node. Default: none.
    pub view: Option<SocketAddr>,
    /// Whether it is written down who holds what. Default: yes.
    pub audit: bool,
    /// How many threads the program around the node gives it. Default: 1.
    pub threads: usize,
    /// Whether the only thread stays awake while a lock goes from hand to hand. Default: yes.
    pub busy_poll: bool,
    /// The file that was read. Default: none.
    pub file: Option<PathBuf>,
    /// What can be locked, from the file. Default: nothing.
    pub resources: BTreeMap<String, Definition>,
}

/// How a node logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: a JSON object in each line.
    Json,
}

/// Everything that is wrong with a configuration, each with its fix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl From<SettingsError> for Problems {
    fn from(error: SettingsError) -> Self {
        Self(vec![error.to_string()])
    }
}

/// The port of meshlock.
pub const PORT: u16 = 7411;

const SHORTEST_TIME: Duration = Duration::from_millis(100);
const LONGEST_TIME: Duration = Duration::from_secs(60);
const LONGEST_STOP: Duration = Duration::from_secs(600);

impl NodeConfig {
    /// Reads everything: these flags, the environment, and the file, which is `config` or `meshlock.toml` in the mesh
    /// directory. A file that was named must be there.
    pub fn load(flags: Settings, config: Option<&Path>) -> Result<Self, Problems> {
        Self::load_from(flags, |name| std::env::var(name).ok(), config)
    }

    /// The same for a program with the node in itself: without the environment, which is meant for the daemon.
    pub fn of_program(settings: Settings) -> Result<Self, Problems> {
        let audit = settings.node.audit.unwrap_or(false);
        Ok(Self { audit, ..Self::load_from(settings, |_| None, None)? })
    }

    fn load_from(
        flags: Settings,
        variable: impl Fn(&str) -> Option<String>,
        config: Option<&Path>,
    ) -> Result<Self, Problems> {
        let environment = Settings::from_environment(variable)?;
        let above = flags.over(environment);
        let dir = above.node.dir.clone().unwrap_or_else(|| match config.and_then(Path::parent) {
            Some(parent) => parent.to_owned(),
            None => directory::find(),
        });
        let path = config.map_or_else(|| dir.join(CONFIG_FILE), Path::to_owned);
        let shown = path.display().to_string();
        let mut was_read = None;
        let file = match fs::read_to_string(&path) {
            Ok(text) => {
                was_read = Some(path.clone());
                Settings::from_toml(&shown, &text)?.relative_to(path.parent().unwrap_or(Path::new(".")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && config.is_none() => Settings::default(),
            Err(error) => return Err(Problems(vec![format!("cannot read {shown}: {error}")])),
        };
        let config = Self::resolve(above.over(file), &dir)?;
        Ok(Self { file: was_read, ..config })
    }

    /// What follows from settings. `dir` is the mesh directory if they do not name one.
    pub fn resolve(settings: Settings, dir: &Path) -> Result<Self, Problems> {
        let Settings { mesh, node, api, resources } = settings;
        let mut problems = Vec::new();
        let listen = match node.listen {
            None => vec![SocketAddr::from(([0; 16], PORT)), SocketAddr::from(([0; 4], PORT))],
            Some(text) => address("node.listen", &text, &mut problems).into_iter().collect(),
        };
        let tcp = api.tcp.and_then(|text| address("api.tcp", &text, &mut problems));
        let view = api.view.and_then(|text| address("api.view", &text, &mut problems));
        let mut definitions = BTreeMap::new();
        for (name, settings) in resources {
            match settings.resolve(&name) {
                Ok(definition) => drop(definitions.insert(name, definition)),
                Err(words) => problems.push(format!("resources.{name}: {words}")),
            }
        }
        let time = |time: Option<Time>, ms| time.map_or(Duration::from_millis(ms), |Time(time)| time);
        let config = Self {
            dir: node.dir.unwrap_or_else(|| dir.to_owned()),
            founding: mesh.founding(),
            mesh: mesh.name,
            create_on_first_use: mesh.create_on_first_use.unwrap_or(true),
            listen,
            peers: node.peers.unwrap_or_default(),
            discovery: node.discovery.unwrap_or(true),
            discovery_interval: time(node.discovery_interval, 1_000),
            loss_after: time(node.loss_after, 2_500),
            transport: node.transport.unwrap_or_default(),
            log: node.log.unwrap_or_else(|| "info".to_owned()),
            log_format: node.log_format.unwrap_or_default(),
            stop_within: time(node.stop_within, 10_000),
            socket: api.socket.unwrap_or_else(socket::default_path),
            socket_group: api.socket_group,
            tcp,
            token_file: api.token_file,
            max_clients: api.max_clients.map_or(1_024, |number| usize::try_from(number).unwrap_or(usize::MAX)),
            view,
            audit: node.audit.unwrap_or(true),
            threads: node.threads.map_or(1, |number| usize::try_from(number).unwrap_or(usize::MAX)),
            busy_poll: node.busy_poll.unwrap_or(true),
            file: None,
            resources: definitions,
        };
        problems.extend(config.check().0);
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// Everything that is wrong, each with its fix. A configuration that was resolved has nothing wrong.
    pub fn check(&self) -> Problems {
        let mut problems = Vec::new();
        if let Some(Err(error)) = self.mesh.as_ref().map(|mesh| name::check("mesh", mesh)) {
            problems.push(format!("mesh.name: {error}"));
        }
        problems.extend(self.founding.check(self.loss_after));
        for peer in &self.peers {
            if let Err(words) = check_peer(peer) {
                problems.push(format!("node.peers: {words}"));
            }
        }
        let between = format!("give {} to {}", Time(SHORTEST_TIME), Time(LONGEST_TIME));
        for (key, time) in [("discovery-interval", self.discovery_interval), ("loss-after", self.loss_after)] {
            if !(SHORTEST_TIME..=LONGEST_TIME).contains(&time) {
                problems.push(format!("node.{key}: {} is out of range: {between}", Time(time)));
            }
        }
        if self.stop_within > LONGEST_STOP {
            problems.push(format!("node.stop-within: {} is too long: give up to 10m", Time(self.stop_within)));
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            problems.push(format!("node.threads: {} is out of range: give 1 to {MOST_THREADS}", self.threads));
        }
        if self.log.trim().is_empty() {
            problems.push("node.log: it is empty; give \"off\" to log nothing".to_owned());
        }
        if self.socket_group.as_ref().is_some_and(|group| group.trim().is_empty()) {
            problems.push("api.socket-group: it is empty; leave it out, or name a group".to_owned());
        }
        if self.socket.as_os_str().len() > LONGEST_SOCKET {
            let length = self.socket.as_os_str().len();
            problems.push(format!(
                "api.socket: {length} characters are more than the {LONGEST_SOCKET} that systems allow; choose a \
                    shorter path"
            ));
        }
        if self.tcp.is_some() && self.token_file.is_none() {
            problems
                .push("api.tcp: it needs `token-file`; name a file, and it is made if it does not exist".to_owned());
        }
        if self.view.is_some_and(|view| !view.ip().is_loopback()) && self.token_file.is_none() {
            problems.push(
                "api.view: other machines can reach this address, so it needs `token-file`; name a file, or serve the \
                 page on 127.0.0.1"
                    .to_owned(),
            );
        }
        if self.max_clients == 0 {
            problems.push("api.max-clients: 0 lets no client in; give at least 1".to_owned());
        }
        Problems(problems)
    }
}

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 64;

/// The least of what systems allow for the path of a socket: 104 with its end on macOS.
const LONGEST_SOCKET: usize = 103;

impl Settings {
    /// Paths in a file are meant from where the file is.
    fn relative_to(mut self, place: &Path) -> Self {
        for path in [&mut self.node.dir, &mut self.api.socket, &mut self.api.token_file].into_iter().flatten() {
            *path = place.join(&*path);
        }
        self
    }
}

fn address(key: &str, text: &str, problems: &mut Vec<String>) -> Option<SocketAddr> {
    let parsed = text.parse().ok();
    if parsed.is_none() {
        problems.push(format!(
            "{key}: {text:?} is no address; give numbers and a port, such as \"0.0.0.0:{PORT}\" or \"[::1]:{PORT}\""
        ));
    }
    parsed
}

/// Whether this is `HOST:PORT`.
pub fn check_peer(peer: &str) -> Result<(), String> {
    let wrong = |fix: String| Err(format!("{peer:?} is not HOST:PORT; {fix}"));
    let Some((host, port)) = peer.rsplit_once(':') else { return wrong(format!("write \"{peer}:{PORT}\"")) };
    let plain = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if plain {
        return wrong(format!("write IPv6 addresses in brackets, such as \"[fe80::1]:{PORT}\""));
    }
    if host.is_empty() || host.contains(char::is_whitespace) || port.parse::<u16>().map_or(true, |port| port == 0) {
        return wrong(format!("write a name or an address and a port, such as \"10.0.0.7:{PORT}\""));
    }
    Ok(())
}

#[cfg(test)]
#[path = "node/tests.rs"]
mod tests;
