//! What is locked: every kind under every protocol that serves it, and names as long as they may be.

use std::fmt::Write;

use meshlock_api::resource::{LONGEST_NAME, MANY};

use super::history::{Fences, Rules};

/// How a resource is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    Mutex,
    Units(u32),
    /// Units, and the earliest deadline is served first.
    Deadlines(u32),
    /// Units, of which there are now more and now less.
    Resized,
    Readers,
    Sessions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) name: String,
    pub(super) usage: Usage,
    pub(super) protocol: &'static str,
}

impl Resource {
    fn new(name: impl Into<String>, usage: Usage, protocol: &'static str) -> Self {
        Self { name: name.into(), usage, protocol }
    }

    /// Units that one client can ask for at once, where there are units.
    pub(super) fn units(&self) -> Option<u32> {
        match self.usage {
            Usage::Units(capacity) => Some(capacity),
            Usage::Resized => Some(MOST_CAPACITY),
            Usage::Mutex | Usage::Deadlines(_) | Usage::Readers | Usage::Sessions => None,
        }
    }

    /// What its clients may see.
    pub(super) fn rules(&self) -> Rules {
        let capacity = match self.usage {
            Usage::Mutex => 1,
            Usage::Units(capacity) | Usage::Deadlines(capacity) => capacity,
            Usage::Resized => MOST_CAPACITY,
            Usage::Readers | Usage::Sessions => MANY,
        };
        let fences = if self.protocol == "group" { Fences::OfSessions } else { Fences::OfGrants };
        Rules { capacity, fences }
    }

    fn describe(&self, out: &mut String) {
        let words = match self.usage {
            Usage::Mutex => "kind = \"mutex\"".to_owned(),
            Usage::Units(capacity) => format!("kind = \"semaphore\"\ncapacity = {capacity}"),
            Usage::Deadlines(capacity) => format!("kind = \"semaphore\"\ncapacity = {capacity}\norder = \"deadline\""),
            // Made at run time: what the founder declares has one capacity.
            Usage::Resized => return,
            Usage::Readers => "kind = \"readers-writer\"".to_owned(),
            Usage::Sessions => "kind = \"sessions\"".to_owned(),
        };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "[resources.{}]\n{words}\nprotocol = \"{}\"", self.name, self.protocol);
    }
}

/// Whose capacity changes.
pub(super) const RESIZED: &str = "tank";
/// The least that it has, and the most that anybody asks for.
pub(super) const LEAST_CAPACITY: u32 = 2;
/// The most that it has.
pub(super) const MOST_CAPACITY: u32 = 6;

/// Those that everybody uses at once.
pub(super) fn common() -> Vec<Resource> {
    vec![
        Resource::new("gate", Usage::Mutex, "reverse-link"),
        Resource::new("valve", Usage::Mutex, "flood"),
        Resource::new("docks", Usage::Units(3), "reverse-link"),
        Resource::new("slots", Usage::Deadlines(2), "reverse-link"),
        Resource::new(RESIZED, Usage::Resized, "reverse-link"),
        Resource::new("map", Usage::Readers, "reverse-link"),
        Resource::new("atlas", Usage::Readers, "group"),
        Resource::new("room", Usage::Sessions, "reverse-link"),
        Resource::new("hall", Usage::Sessions, "group"),
        Resource::new("n".repeat(LONGEST_NAME), Usage::Mutex, "flood"),
    ]
}

/// Those on which troubles play their scenes undisturbed.
pub(super) fn stages() -> Vec<Resource> {
    vec![
        Resource::new("stage-reverse-link", Usage::Mutex, "reverse-link"),
        Resource::new("stage-flood", Usage::Mutex, "flood"),
    ]
}

/// All of them, as the founder declares them.
pub(super) fn toml() -> String {
    let mut out = String::new();
    for resource in common().iter().chain(&stages()) {
        resource.describe(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use meshlock_node::config::Settings;

    use super::*;

    #[test]
    fn the_cast_is_legal() {
        let settings = Settings::from_toml("cast", &toml()).unwrap();
        let config = meshlock_node::config::NodeConfig::resolve(settings, std::path::Path::new("mesh")).unwrap();
        assert_eq!(config.check().0, Vec::<String>::new());
        assert_eq!(config.resources.len(), common().len() + stages().len() - 1, "one is made at run time");
    }
}
