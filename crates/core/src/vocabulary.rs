//! Nodes, requests, demands, grants and ranks: the words all protocols share.

use core::fmt;

use crate::slots::Slots;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// A node of the network. Ids are ordered; ties between heights are broken by them.
    NodeId(u32)
);
number!(
    /// A request of one node, numbered by its caller. Numbers must grow at each node, also over restarts
    /// (put the incarnation into the high bits), because they identify a grant for good.
    RequestId(u64)
);
number!(
    /// Units of a resource: the h and the k of h-out-of-k.
    Units(u32)
);
number!(
    /// A session (the papers' forum, group or type). Requests for one session may be granted together.
    Session(u64)
);
number!(
    /// A number that grows with every grant of a resource, so that the guarded system can refuse a stale holder.
    Fence(u64)
);
number!(
    /// How important a request is. Higher is more urgent.
    Priority(i32)
);
number!(
    /// When a request must be served, in any unit of time the callers agree on. Earlier is more urgent.
    Deadline(u64)
);
number!(
    /// How many grants of waiting are worth one step of priority. Zero is strict priority.
    Aging(u32)
);
number!(
    /// The urgency of a request in one number, computed once when it is made. Higher is more urgent.
    Rank(i64)
);

/// A mesh numbers its members; a member that comes back after a crash is another node. So the id of a node is the number
/// of its member in the lower 16 bits and its incarnation, from 0, in the upper.
impl NodeId {
    /// An incarnation of a member.
    pub const fn of(member: u16, incarnation: u16) -> Self {
        Self((incarnation as u32) << 16 | member as u32)
    }

    /// The number of the member.
    pub const fn member(self) -> u16 {
        self.0 as u16
    }

    /// Which of its incarnations this is.
    pub const fn incarnation(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

/// Identifies a grant for good: the node that asked and the number it gave its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantId {
    /// The node whose application asked.
    pub node: NodeId,
    /// The request that was granted.
    pub request: RequestId,
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.request)
    }
}

/// How urgent a request is, in its caller's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Urgency {
    /// Higher is more urgent.
    Priority(Priority),
    /// Earlier is more urgent.
    Deadline(Deadline),
}

/// What an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Demand {
    /// How many of the k units, all at once (the papers' h).
    pub units: Units,
    /// How urgent it is.
    pub urgency: Urgency,
    /// The session to attend. `None` neither excludes nor is excluded: only units count.
    pub session: Option<Session>,
}

impl Demand {
    /// A demand of some units at some priority, in no session.
    pub const fn units(units: u32, priority: i32) -> Self {
        Self { units: Units(units), urgency: Urgency::Priority(Priority(priority)), session: None }
    }

    /// A demand of one unit at some priority in a session.
    pub const fn session(session: u64, priority: i32) -> Self {
        let urgency = Urgency::Priority(Priority(priority));
        Self { units: Units(1), urgency, session: Some(Session(session)) }
    }
}

/// An answered request: these units are in use here until they are released.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grant {
    /// The request that is answered.
    pub request: RequestId,
    /// The units now in use.
    pub units: Units,
    /// The session attended, if any.
    pub session: Option<Session>,
    /// Larger than that of every earlier grant of this resource; `None` where a published protocol has no fences.
    pub fence: Option<Fence>,
    /// Which units, where they are numbered.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Slots::is_empty"))]
    pub slots: Slots,
}

/// How a resource orders its waiting requests. Every node of a mesh must use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Order {
    /// By priority. With aging, a request that has seen `aging` grants go to others counts as one step more urgent.
    Priority {
        /// Zero is strict priority: the most urgent first, however long others wait.
        aging: Aging,
    },
    /// By deadline, the earliest first.
    Deadline,
}

impl Order {
    /// The rank of a request made now, or `None` if its urgency is of the other kind.
    ///
    /// If all waiting requests age at the same rate their order never changes, so aging needs no messages: the
    /// rank is a virtual deadline, fixed when the request is made. `clock` is the greatest fence its node has
    /// heard of, so it counts grants, not seconds.
    pub fn rank(self, urgency: Urgency, clock: Fence) -> Option<Rank> {
        match (self, urgency) {
            (Self::Priority { aging: Aging(0) }, Urgency::Priority(p)) => Some(Rank(p.0.into())),
            (Self::Priority { aging }, Urgency::Priority(p)) => {
                let now = i64::try_from(clock.0).unwrap_or(i64::MAX);
                Some(Rank((i64::from(p.0) * i64::from(aging.0)).saturating_sub(now)))
            }
            (Self::Deadline, Urgency::Deadline(d)) => Some(Rank(-i64::try_from(d.0).unwrap_or(i64::MAX))),
            (Self::Priority { .. }, Urgency::Deadline(_)) | (Self::Deadline, Urgency::Priority(_)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGED: Order = Order::Priority { aging: Aging(4) };

    #[test]
    fn strict_priority_ignores_the_clock() {
        let strict = Order::Priority { aging: Aging(0) };
        let early = strict.rank(Urgency::Priority(Priority(3)), Fence(0));
        assert_eq!(early, strict.rank(Urgency::Priority(Priority(3)), Fence(1000)));
    }

    #[test]
    fn a_request_that_waited_for_one_step_of_grants_equals_a_new_one_a_step_more_urgent() {
        let old = AGED.rank(Urgency::Priority(Priority(1)), Fence(10));
        let new = AGED.rank(Urgency::Priority(Priority(2)), Fence(14));
        assert_eq!(old, new);
        assert!(old > AGED.rank(Urgency::Priority(Priority(2)), Fence(15)));
    }

    #[test]
    fn the_earlier_deadline_is_more_urgent() {
        let rank = |d| Order::Deadline.rank(Urgency::Deadline(Deadline(d)), Fence(7));
        assert!(rank(5) > rank(6));
    }

    #[test]
    fn the_other_kind_of_urgency_has_no_rank() {
        assert_eq!(Order::Deadline.rank(Urgency::Priority(Priority(1)), Fence(0)), None);
        assert_eq!(AGED.rank(Urgency::Deadline(Deadline(1)), Fence(0)), None);
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        assert!(AGED.rank(Urgency::Priority(Priority(i32::MIN)), Fence(u64::MAX)).is_some());
        assert!(Order::Deadline.rank(Urgency::Deadline(Deadline(u64::MAX)), Fence(0)).is_some());
    }
}
