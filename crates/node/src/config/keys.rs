//! All keys of `meshlock.toml`, with their variables, defaults and meanings; the reference page is made of this list.

/// How a key is written in a variable of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As in the file, without quotes.
    Text,
    /// Several texts, with commas between them.
    Texts,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Number,
}

/// A key of `meshlock.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The part of the file it stands in; `resources.NAME` for those of a resource.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// The variable of the environment that says the same.
    pub variable: Option<&'static str>,
    /// How it is written there.
    pub shape: Shape,
    /// What holds without it, as it would stand in the file; or words, where that depends.
    pub default: &'static str,
    /// An example, as it would stand in the file.
    pub example: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// All keys, in the order of the reference.
pub const KEYS: &[Key] = &[
    Key {
        section: "mesh",
        name: "name",
        variable: Some("MESHLOCK_MESH"),
        shape: Shape::Text,
        default: "that of the membership, or `local` where there is none",
        example: "\"hall\"",
        meaning: "The name of the mesh. A node that is a member of another mesh refuses to start",
    },
    Key {
        section: "mesh",
        name: "create-on-first-use",
        variable: Some("MESHLOCK_CREATE_ON_FIRST_USE"),
        shape: Shape::Switch,
        default: "true",
        example: "false",
        meaning: "Whether an undeclared resource is made when it is first asked for: a mutex, or what the request needs",
    },
    Key {
        section: "mesh",
        name: "recovery",
        variable: Some("MESHLOCK_RECOVERY"),
        shape: Shape::Text,
        default: "`\"voters\"` for a mesh that is founded now",
        example: "\"restart\"",
        meaning: "How the mesh recovers what a crash took with it: `voters`, by itself; `restart`, when the node is \
            started again or an operator says that it is gone; `none`, not at all. Read when the mesh is founded; \
            afterwards its signed charter counts, see [membership](membership.md)",
    },
    Key {
        section: "mesh",
        name: "standing",
        variable: Some("MESHLOCK_STANDING"),
        shape: Shape::Text,
        default: "`\"10s\"` for a mesh that is founded now",
        example: "\"5s\"",
        meaning: "With `voters`: how long a node may act after it last asked them, and so about how long a lock waits for \
            a holder that died; `2s` to `10m`, and at least 3 times `loss-after` of every node. Read when the mesh is \
            founded",
    },
    Key {
        section: "mesh",
        name: "voters",
        variable: Some("MESHLOCK_VOTERS"),
        shape: Shape::Texts,
        default: "the founder, and with it the first two members that join",
        example: "[\"ann\", \"bob\", \"cy\"]",
        meaning: "Who votes: 1, 3 or 5 members by name. Until they have joined, the founder votes alone. Read when the \
            mesh is founded",
    },
    Key {
        section: "node",
        name: "listen",
        variable: Some("MESHLOCK_LISTEN"),
        shape: Shape::Text,
        default: "\"[::]:7411\"",
        example: "\"192.168.1.5:7411\"",
        meaning: "Where other nodes reach this one. Where there is no IPv6, the default is `0.0.0.0:7411`",
    },
    Key {
        section: "node",
        name: "peers",
        variable: Some("MESHLOCK_PEERS"),
        shape: Shape::Texts,
        default: "[]",
        example: "[\"10.0.0.7:7411\", \"gate.example:7411\"]",
        meaning: "Nodes to connect to, as `HOST:PORT`; for those that beacons do not reach. Only one side needs to \
            know the other",
    },
    Key {
        section: "node",
        name: "discovery",
        variable: Some("MESHLOCK_DISCOVERY"),
        shape: Shape::Switch,
        default: "true",
        example: "false",
        meaning: "Whether nodes on the same local network find each other by beacons",
    },
    Key {
        section: "node",
        name: "discovery-interval",
        variable: Some("MESHLOCK_DISCOVERY_INTERVAL"),
        shape: Shape::Text,
        default: "\"1s\"",
        example: "\"5s\"",
        meaning: "How often a beacon is sent, at rest a quarter as often; from `100ms` to `60s`",
    },
    Key {
        section: "node",
        name: "loss-after",
        variable: Some("MESHLOCK_LOSS_AFTER"),
        shape: Shape::Text,
        default: "\"2.5s\"",
        example: "\"800ms\"",
        meaning: "How long a neighbour may be silent before its link counts as lost; from `100ms` to `60s`",
    },
    Key {
        section: "node",
        name: "transport",
        variable: Some("MESHLOCK_TRANSPORT"),
        shape: Shape::Text,
        default: "\"quic\"",
        example: "\"tcp\"",
        meaning: "What carries links: `quic`, with short delays on lossy networks and links that survive a change of address; or `tcp`, with TLS, for quiet wired clusters. The same at all nodes of a mesh",
    },
    Key {
        section: "node",
        name: "dir",
        variable: Some("MESHLOCK_DIR"),
        shape: Shape::Text,
        default: "where `meshlock.toml` is",
        example: "\"/var/lib/meshlock\"",
        meaning: "The mesh directory, with `member.toml` and `state/`, if it is not where the file is. Commands of \
            `meshlock mesh` are told by `--dir`",
    },
    Key {
        section: "node",
        name: "log",
        variable: Some("MESHLOCK_LOG"),
        shape: Shape::Text,
        default: "\"info\"",
        example: "\"debug\"",
        meaning: "What is logged: `off`, `error`, `warn`, `info`, `debug`, `trace`, or a list such as \
            `info,meshlock_node::links=debug`",
    },
    Key {
        section: "node",
        name: "log-format",
        variable: Some("MESHLOCK_LOG_FORMAT"),
        shape: Shape::Text,
        default: "\"text\"",
        example: "\"json\"",
        meaning: "How it is logged: `text` or `json`",
    },
    Key {
        section: "node",
        name: "stop-within",
        variable: Some("MESHLOCK_STOP_WITHIN"),
        shape: Shape::Text,
        default: "\"10s\"",
        example: "\"20s\"",
        meaning: "How long a clean stop waits for clients to give back what they hold, and then for others to take \
                  tokens; up to `10m`, `0s` does not wait. What is left is saved until the node is started again. \
                  Longer than `--kill-after` of `meshlock lock` (`5s`), so that what it runs has ended by then",
    },
    Key {
        section: "node",
        name: "audit",
        variable: Some("MESHLOCK_AUDIT"),
        shape: Shape::Switch,
        default: "true",
        example: "false",
        meaning: "Whether the node writes down who held what, for `meshlock audit`: in `audit/` of its directory, at most \
            four files of 8 MiB. A program with the node in itself writes nothing unless it says so",
    },
    Key {
        section: "node",
        name: "threads",
        variable: Some("MESHLOCK_THREADS"),
        shape: Shape::Number,
        default: "1",
        example: "4",
        meaning: "How many threads of `meshlock node` serve links and clients; 1 to 64. One is fastest, because no thread has \
            to wake another. More help where thousands of clients keep one processor busy",
    },
    Key {
        section: "node",
        name: "busy-poll",
        variable: Some("MESHLOCK_BUSY_POLL"),
        shape: Shape::Switch,
        default: "true",
        example: "false",
        meaning: "Whether `meshlock node` stays awake for 50 us after a step of a lock that goes from hand to hand quickly, \
            instead of being woken for the next one: up to twice as fast. It gives way to everything else on the machine, \
            sleeps where others keep the processor busy, and does nothing with several `threads`",
    },
    Key {
        section: "api",
        name: "socket",
        variable: Some("MESHLOCK_SOCKET"),
        shape: Shape::Text,
        default: "`/run/meshlock/meshlock.sock` for root, `$XDG_RUNTIME_DIR/meshlock/meshlock.sock`, or \
            `/tmp/meshlock-UID/meshlock.sock`",
        example: "\"/run/robot/meshlock.sock\"",
        meaning: "The Unix socket for clients on this machine. Commands look in the same places",
    },
    Key {
        section: "api",
        name: "socket-group",
        variable: Some("MESHLOCK_SOCKET_GROUP"),
        shape: Shape::Text,
        default: "none: only the user of the node",
        example: "\"robots\"",
        meaning: "A group of users that may use the socket as well; the socket then belongs to it and has mode 0660",
    },
    Key {
        section: "api",
        name: "tcp",
        variable: Some("MESHLOCK_TCP"),
        shape: Shape::Text,
        default: "none",
        example: "\"127.0.0.1:7412\"",
        meaning: "An address for clients that cannot use the socket. It is not encrypted: keep it on this machine or \
            behind something that is. Needs `token-file`",
    },
    Key {
        section: "api",
        name: "token-file",
        variable: Some("MESHLOCK_TOKEN_FILE"),
        shape: Shape::Text,
        default: "none",
        example: "\"api-token\"",
        meaning: "The file with the word that clients over TCP must present. If it does not exist it is made, with a \
            random word",
    },
    Key {
        section: "api",
        name: "max-clients",
        variable: Some("MESHLOCK_MAX_CLIENTS"),
        shape: Shape::Number,
        default: "1024",
        example: "64",
        meaning: "How many connections of clients are served at a time; for one more, the one that was silent for \
                  longest is closed",
    },
    Key {
        section: "api",
        name: "view",
        variable: Some("MESHLOCK_VIEW"),
        shape: Shape::Text,
        default: "none",
        example: "\"127.0.0.1:8460\"",
        meaning: "Where a page for the browser shows what this node sees, to look at only. If there is a `token-file`, \
            its word is needed to see it; beyond this machine there must be one. Not encrypted",
    },
    resource("kind", "`\"semaphore\"` if `capacity` is above 1, otherwise `\"mutex\"`", "\"sessions\"", KIND),
    resource("capacity", "1 for a mutex, 1000000 for sessions and readers-writer", "3", CAPACITY),
    resource("protocol", "\"reverse-link\"", "\"flood\"", PROTOCOL),
    resource("order", "\"priority\"", "\"deadline\"", ORDER),
    resource("aging", "16", "0", AGING),
    resource("joins", "16 for sessions, otherwise 0", "4", JOINS),
    resource("lease", "\"30s\"", "\"2m\"", LEASE),
    resource("slots", "none", "[\"gpu-a\", \"gpu-b\"]", SLOTS),
    resource("policy", "\"strict\"", "\"backfill\"", POLICY),
];

const SLOTS: &str = "The names of a semaphore's units, in the order of their numbers: at most 1,024, each of up to 64 visible \
                     characters without a comma. The capacity is their number, unless it is given";
const POLICY: &str = "`strict`: no request passes the front of the queue; `backfill`: up to 16 that fit pass a front that waits \
                      for more units than are free";
const KIND: &str = "`mutex`, `semaphore`, `sessions` or `readers-writer`";
const CAPACITY: &str = "Units in all; for sessions the greatest number of holders, for readers-writer of readers. A semaphore needs it, or `slots`";
const PROTOCOL: &str = "`reverse-link` serves every kind; `flood` mutexes, `group` sessions and readers-writer";
const ORDER: &str = "`priority`: the most important first; `deadline`: the earliest first";
const AGING: &str = "How many grants of waiting count as one step of priority. 0: the less urgent may starve";
const JOINS: &str = "How many requests may join the running session past one that waits for another";
const LEASE: &str =
    "How long a request lives without a sign of its client, if it does not say so itself; `100ms` to `24h`";

const fn resource(name: &'static str, default: &'static str, example: &'static str, meaning: &'static str) -> Key {
    // Resources have names, and variables for them would be guesswork: files only.
    Key { section: "resources.NAME", name, variable: None, shape: Shape::Text, default, example, meaning }
}

/// The reference, as tables in Markdown.
pub fn reference() -> String {
    let mut out = String::new();
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            out.push_str(&format!("\n### `[{section}]`\n\n"));
            out.push_str("| key | default | meaning | example | variable |\n|---|---|---|---|---|\n");
        }
        let default = if is_toml(key.default) { format!("`{}`", key.default) } else { key.default.to_owned() };
        let variable = key.variable.map(|name| format!("`{name}`")).unwrap_or_default();
        out.push_str(&format!("| `{}` | {default} | {} | `{}` | {variable} |\n", key.name, key.meaning, key.example));
    }
    out
}

/// Whether a default is a value and not words.
fn is_toml(default: &str) -> bool {
    toml::from_str::<toml::Table>(&format!("value = {default}")).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::{NodeConfig, Settings};
    use super::*;

    fn file(value: impl Fn(&Key) -> Option<&'static str>) -> String {
        let line = |key: &Key| {
            let section = key.section.replace("NAME", "dock");
            value(key).map(|value| format!("{section}.{} = {value}\n", key.name))
        };
        KEYS.iter().filter_map(line).collect()
    }

    #[test]
    fn the_list_has_every_key_and_its_examples_can_be_read() {
        let examples = Settings::from_toml("examples", &file(|key| Some(key.example))).unwrap();
        let text = toml::to_string(&examples).unwrap();
        // Nothing was left open, and nothing is in the settings that the list does not have.
        assert_eq!(text.lines().filter(|line| line.contains('=')).count(), KEYS.len());
        let table: toml::Table = toml::from_str(&text).unwrap();
        for key in KEYS {
            let section = key.section.replace("NAME", "dock");
            let place = section.split('.').try_fold(&table, |table, part| table.get(part)?.as_table());
            assert!(place.is_some_and(|place| place.contains_key(key.name)), "{} {}", key.section, key.name);
        }
    }

    #[test]
    fn the_list_has_all_that_is_understood() {
        for section in ["mesh", "node", "api", "resources.NAME"] {
            // The parser's complaint about a wrong key names all right ones.
            let error = Settings::from_toml("", &format!("[{section}]\nwrong = 1")).expect_err("wrong").to_string();
            let understood: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|name| *name != "wrong").collect();
            let listed: Vec<&str> = KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect();
            assert_eq!(listed, understood, "{section}");
        }
    }

    #[test]
    fn the_defaults_in_the_list_are_those_of_the_code() {
        let stated = Settings::from_toml("defaults", &file(|key| is_toml(key.default).then_some(key.default))).unwrap();
        let mut stated = NodeConfig::resolve(stated, Path::new("mesh")).unwrap();
        let mut bare =
            NodeConfig::resolve(Settings::from_toml("", "[resources.dock]").unwrap(), Path::new("mesh")).unwrap();
        // The default has a second choice that cannot be written in a file.
        assert_eq!(bare.listen[0], stated.listen[0]);
        bare.listen.clear();
        stated.listen.clear();
        assert_eq!(stated, bare);
    }

    #[test]
    fn the_reference_is_that_of_the_code() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        let page = fs::read_to_string(&path).unwrap();
        let (start, end) = ("<!-- keys: made by the tests of crates/node -->\n", "<!-- end of keys -->\n");
        let (before, rest) = page.split_once(start).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let right = format!("{before}{start}{}\n{end}{after}", reference());
        if std::env::var_os("MESHLOCK_WRITE").is_some() {
            fs::write(&path, &right).unwrap();
        } else {
            assert_eq!(page, right, "write it anew with MESHLOCK_WRITE=1 cargo test -p meshlock-node");
        }
    }
}
