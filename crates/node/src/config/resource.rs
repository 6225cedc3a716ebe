//! `[resources.NAME]`: what all members should know from the start.

use meshlock_api::{Definition, Kind, NewResource, Order, Policy, Protocol, resource};
use serde::{Deserialize, Serialize};

use super::Time;

/// One `[resources.NAME]`; what is missing gets its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ResourceSettings {
    /// How it is used: `mutex`, `semaphore`, `sessions` or `readers-writer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Units in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Which protocol serves it: `reverse-link`, `flood` or `group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// How waiting requests are ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderName>,
    /// How many grants of waiting count as one step of priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aging: Option<u32>,
    /// How many may join a running session past one that waits for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joins: Option<u32>,
    /// The lease of requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Time>,
    /// The names of a semaphore's units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<String>>,
    /// Whether smaller requests may pass one that waits for units: `strict` or `backfill`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// How waiting requests are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderName {
    /// The most important first.
    Priority,
    /// The earliest deadline first.
    Deadline,
}

impl ResourceSettings {
    /// The resource to be made, or what is contradictory in it.
    pub fn resolve(&self, name: &str) -> Result<Definition, String> {
        resource::check_name(name)?;
        let order = match (self.order, self.aging) {
            (Some(OrderName::Deadline), Some(_)) => {
                return Err("`aging` is for order \"priority\"; leave it out, or order by priority".into());
            }
            (Some(OrderName::Deadline), None) => Some(Order::Deadline),
            (Some(OrderName::Priority) | None, Some(aging)) => Some(Order::Priority { aging }),
            (Some(OrderName::Priority) | None, None) => None,
        };
        // Too long for a number is out of range as well.
        let lease_ms = self.lease.map(|Time(lease)| u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        let Self { kind, capacity, protocol, joins, policy, .. } = *self;
        NewResource { kind, capacity, protocol, order, joins, lease_ms, slots: self.slots.clone(), policy }.complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> Result<Definition, String> {
        toml::from_str::<ResourceSettings>(text).unwrap().resolve("dock")
    }

    #[test]
    fn a_resource_of_a_file_is_that_of_the_interface() {
        let dock = resolve("capacity = 3\naging = 4\nlease = \"1.5s\"").unwrap();
        assert_eq!((dock.kind, dock.capacity, dock.lease_ms), (Kind::Semaphore, 3, 1_500));
        assert_eq!(dock.order, Order::Priority { aging: 4 });
        let gpu = resolve("slots = [\"gpu-a\", \"gpu-b\"]").unwrap();
        assert_eq!((gpu.kind, gpu.capacity, gpu.slots[1].as_str()), (Kind::Semaphore, 2, "gpu-b"));
        assert_eq!(resolve("").unwrap(), NewResource::default().complete().unwrap());
        assert_eq!(resolve("order = \"deadline\"").unwrap().order, Order::Deadline);
        assert_eq!(resolve("order = \"priority\"").unwrap().order, Order::default());
    }

    #[test]
    fn contradictions_name_the_fix() {
        assert!(resolve("order = \"deadline\"\naging = 1").unwrap_err().contains("leave it out"));
        assert!(resolve("kind = \"mutex\"\ncapacity = 2").unwrap_err().contains("semaphore"));
        assert!(resolve("lease = \"1ms\"").unwrap_err().contains("out of range"));
        assert!(ResourceSettings::default().resolve("a/b").is_err());
    }
}
