//! What can be locked: its kind, capacity and protocol.

use serde::{Deserialize, Serialize};

/// How a resource is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One holder at a time.
    #[default]
    Mutex,
    /// Up to `capacity` units in use at a time, any number of them in one request.
    Semaphore,
    /// Any number of holders that attend the same session.
    Sessions,
    /// Many readers or one writer.
    ReadersWriter,
}

/// Which protocol serves a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Jiang's, repaired: every kind, over neighbour links.
    #[default]
    ReverseLink,
    /// Suzuki-Kasami by flooding, repaired: mutexes without priorities.
    Flood,
    /// Swaroop and Singh's, repaired: sessions and readers-writer, over the relay.
    Group,
}

/// How waiting requests are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The most important first; `aging` grants of waiting count as one step of priority, 0 is strict.
    Priority {
        /// Zero: a less urgent request may starve.
        aging: u32,
    },
    /// The earliest deadline first.
    Deadline,
}

impl Default for Order {
    /// One step of priority for every 16 grants: the urgent go first and no request starves.
    fn default() -> Self {
        Self::Priority { aging: 16 }
    }
}

/// Whether smaller requests may pass one that waits for more units than are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// None passes the front of the queue.
    #[default]
    Strict,
    /// Up to 16 that fit may pass the front until it is granted.
    Backfill,
}

impl Policy {
    /// How many may pass one front.
    pub const fn passes(self) -> u32 {
        match self {
            Self::Strict => 0,
            Self::Backfill => 16,
        }
    }

    /// The word that is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Backfill => "backfill",
        }
    }
}

/// What all nodes of a mesh agree on about a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Definition {
    /// How it is used.
    pub kind: Kind,
    /// Units in all: 1 for a mutex, the greatest number of holders for sessions, of readers for readers-writer.
    pub capacity: u32,
    /// Which protocol serves it.
    pub protocol: Protocol,
    /// How waiting requests are ordered.
    pub order: Order,
    /// How many requests may join the running session past one that waits for another session.
    pub joins: u32,
    /// The lease of requests that name none.
    pub lease_ms: u64,
    /// The names of a semaphore's units, by number; empty if they have none. Names are only ever added.
    #[serde(default)]
    pub slots: Vec<String>,
    /// Whether smaller requests may pass one that waits for units.
    #[serde(default)]
    pub policy: Policy,
}

/// The lease of resources that name none.
pub const DEFAULT_LEASE_MS: u64 = 30_000;
/// The shortest lease that is accepted.
pub const SHORTEST_LEASE_MS: u64 = 100;
/// The longest lease that is accepted: a day.
pub const LONGEST_LEASE_MS: u64 = 86_400_000;
/// The greatest capacity; also the number of readers, or of holders of one session, where none is named.
pub const MANY: u32 = 1_000_000;
/// Units of a semaphore are numbered up to this capacity; beyond it they are only counted.
pub const MOST_NUMBERED: u32 = 4_096;
/// The most units that can have names, and so how many names.
pub const MOST_SLOT_NAMES: usize = 1_024;
/// The longest name of a unit, in bytes.
pub const LONGEST_SLOT_NAME: usize = 64;
/// How long all names of a resource's units can be together, in bytes.
pub const LONGEST_SLOT_NAMES: usize = 16_384;
/// The longest name of a resource, in bytes.
pub const LONGEST_NAME: usize = 128;

/// A resource to be made, or to be changed. What is missing gets its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewResource {
    /// A mutex if missing; a semaphore if only a capacity above 1 is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Units in all. As many as have names if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Which protocol serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// How waiting requests are ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// How many may join a running session past the front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<u32>,
    /// The lease of requests that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// The names of a semaphore's units, in the order of their numbers: at most 1,024, each of 1 to 64 visible ASCII
    /// characters without a comma, 16,384 bytes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<String>>,
    /// Whether smaller requests may pass one that waits for units, in a semaphore; `strict` if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// What can be changed about a resource while it is used. As before where it is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"capacity": 5, "lease_ms": 60000})))]
#[serde(deny_unknown_fields)]
pub struct ResourceChange {
    /// Units in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// The lease of requests that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// All names of a semaphore's units: those that it has, and new ones after them. The capacity becomes their number,
    /// unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<String>>,
}

impl NewResource {
    /// With all defaults filled in, or what is contradictory in it.
    pub fn complete(&self) -> Result<Definition, String> {
        let slots = self.slots.clone().unwrap_or_default();
        check_slot_names(&slots)?;
        let named = u32::try_from(slots.len()).ok().filter(|count| *count > 0);
        let more_than_one = self.capacity.is_some_and(|capacity| capacity > 1);
        let several = more_than_one || named.is_some();
        let kind = self.kind.unwrap_or(if several { Kind::Semaphore } else { Kind::Mutex });
        if named.is_some() && kind != Kind::Semaphore {
            return Err("only the units of a semaphore have names; use kind \"semaphore\", or leave slots out".into());
        }
        if let (Some(named), Some(capacity)) = (named, self.capacity.filter(|k| Some(*k) > named)) {
            return Err(format!(
                "a capacity of {capacity}, but only {named} slots have names: name all of them, or leave the capacity out"
            ));
        }
        let capacity = match (kind, self.capacity.or(named)) {
            (_, Some(0)) => return Err("a capacity of 0 lets no client in; give at least 1".into()),
            (Kind::Mutex, Some(k)) if k > 1 => {
                return Err(format!("a mutex has capacity 1, not {k}; use kind \"semaphore\""));
            }
            (Kind::Mutex, _) => 1,
            (Kind::Semaphore, None) => return Err("a semaphore needs a capacity, or the names of its slots".into()),
            (Kind::Semaphore | Kind::Sessions | Kind::ReadersWriter, Some(k)) => k,
            (Kind::Sessions | Kind::ReadersWriter, None) => MANY,
        };
        if capacity > MANY {
            return Err(format!("a capacity of {capacity} is out of range: give 1 to {MANY}"));
        }
        let protocol = self.protocol.unwrap_or_default();
        match (protocol, kind) {
            (Protocol::ReverseLink, _)
            | (Protocol::Flood, Kind::Mutex)
            | (Protocol::Group, Kind::Sessions | Kind::ReadersWriter) => {}
            (Protocol::Flood, _) => return Err("protocol \"flood\" serves mutexes only; use \"reverse-link\"".into()),
            (Protocol::Group, _) => {
                return Err("protocol \"group\" serves sessions and readers-writer only; use \"reverse-link\"".into());
            }
        }
        if protocol == Protocol::Group && capacity != MANY {
            return Err(format!("protocol \"group\" does not count holders: leave the capacity out, or give {MANY}"));
        }
        let order = self.order.unwrap_or_default();
        if order == Order::Deadline && protocol != Protocol::ReverseLink {
            return Err("only protocol \"reverse-link\" orders by deadline".into());
        }
        let policy = self.policy.unwrap_or_default();
        if policy == Policy::Backfill && kind != Kind::Semaphore {
            return Err("policy \"backfill\" is for semaphores; leave it out, or use kind \"semaphore\"".into());
        }
        let lease_ms = self.lease_ms.unwrap_or(DEFAULT_LEASE_MS);
        check_lease(lease_ms)?;
        let joins = self.joins.unwrap_or(if kind == Kind::Sessions { 16 } else { 0 });
        Ok(Definition { kind, capacity, protocol, order, joins, lease_ms, slots, policy })
    }
}

/// Whether these can be the names of units.
fn check_slot_names(names: &[String]) -> Result<(), String> {
    if names.len() > MOST_SLOT_NAMES {
        return Err(format!("{} names of slots are too many: at most {MOST_SLOT_NAMES} slots have names", names.len()));
    }
    let bytes: usize = names.iter().map(String::len).sum();
    if bytes > LONGEST_SLOT_NAMES {
        return Err(format!("the names of slots have {bytes} bytes together; {LONGEST_SLOT_NAMES} are the most"));
    }
    for name in names {
        if name.is_empty() || name.len() > LONGEST_SLOT_NAME {
            let length = name.len();
            return Err(format!("a slot's name has 1 to {LONGEST_SLOT_NAME} characters, {name:?} has {length}"));
        }
        if let Some(wrong) = name.chars().find(|c| !c.is_ascii_graphic() || *c == ',') {
            return Err(format!("a slot's name cannot have {wrong:?}: use letters, digits, and signs such as - _ . :"));
        }
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two slots are called {:?}: give each its own name", pair[0])),
        None => Ok(()),
    }
}

/// Whether a lease is of a length that is accepted.
pub fn check_lease(lease_ms: u64) -> Result<(), String> {
    if (SHORTEST_LEASE_MS..=LONGEST_LEASE_MS).contains(&lease_ms) {
        return Ok(());
    }
    Err(format!("a lease of {lease_ms} ms is out of range: give 100 ms to 24 h"))
}

/// Whether a name can be that of a resource: visible ASCII without `/`, `?`, `#` and `%`, so that it can stand in an
/// address, and not one of the mesh's own, which begin with `meshlock:`.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("a resource's name has 1 to {LONGEST_NAME} characters, this one has {}", name.len()));
    }
    let allowed = |c: char| c.is_ascii_graphic() && !"/?#%\"\\".contains(c);
    if let Some(wrong) = name.chars().find(|c| !allowed(*c)) {
        return Err(format!("a resource's name cannot have {wrong:?}: use a-z, A-Z, 0-9, and signs such as - _ . : @"));
    }
    if name.starts_with("meshlock:") {
        return Err("names that begin with \"meshlock:\" belong to the mesh itself".into());
    }
    Ok(())
}

/// A resource as its node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct ResourceInfo {
    /// Its name.
    pub name: String,
    /// What the mesh agreed on.
    pub definition: Definition,
    /// Grows with every change of the definition; 0 if it was never changed.
    pub version: u64,
    /// The token is at this node.
    pub token_here: bool,
    /// This node's own file says something else, so this node refuses to use the resource. What the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Definition>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_alone_makes_a_semaphore() {
        let definition = NewResource { capacity: Some(3), ..NewResource::default() }.complete().expect("valid");
        assert_eq!((definition.kind, definition.capacity), (Kind::Semaphore, 3));
    }

    #[test]
    fn contradictions_name_the_fix() {
        let mutex = NewResource { kind: Some(Kind::Mutex), capacity: Some(3), ..NewResource::default() };
        assert!(mutex.complete().expect_err("contradiction").contains("semaphore"));
        let flood = NewResource { protocol: Some(Protocol::Flood), capacity: Some(3), ..NewResource::default() };
        assert!(flood.complete().expect_err("contradiction").contains("reverse-link"));
    }

    fn named(names: &[&str]) -> NewResource {
        NewResource { slots: Some(names.iter().map(ToString::to_string).collect()), ..NewResource::default() }
    }

    #[test]
    fn named_slots_make_a_semaphore_with_as_many_units() {
        let gpu = named(&["gpu-a", "gpu-b"]).complete().expect("valid");
        assert_eq!((gpu.kind, gpu.capacity), (Kind::Semaphore, 2));
        let fewer = NewResource { capacity: Some(1), ..named(&["gpu-a", "gpu-b"]) }.complete().expect("valid");
        assert_eq!((fewer.kind, fewer.capacity), (Kind::Semaphore, 1));
        let more = NewResource { capacity: Some(3), ..named(&["gpu-a", "gpu-b"]) };
        assert!(more.complete().expect_err("one has no name").contains("name all of them"));
        let mutex = NewResource { kind: Some(Kind::Mutex), ..named(&["gpu-a"]) };
        assert!(mutex.complete().expect_err("a mutex has no units").contains("semaphore"));
    }

    #[test]
    fn names_of_slots_can_stand_in_a_list_and_have_limits() {
        for bad in [&[""][..], &["a,b"], &["a b"], &["a\n"], &["ü"], &["a", "a"], &[&"x".repeat(65)]] {
            assert!(named(bad).complete().is_err(), "{bad:?}");
        }
        let many = |count: usize, length: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("{n:0>length$}")).collect();
            NewResource { slots: Some(names), ..NewResource::default() }.complete()
        };
        assert!(many(MOST_SLOT_NAMES, 16).is_ok() && many(256, LONGEST_SLOT_NAME).is_ok());
        assert!(many(MOST_SLOT_NAMES + 1, 4).is_err() && many(257, LONGEST_SLOT_NAME).is_err());
    }

    #[test]
    fn names_must_fit_into_an_address() {
        assert!(check_name("dock-3.bay_a@hall:2").is_ok());
        for bad in ["", "a/b", "a b", "ü", "meshlock:registry", &"x".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
