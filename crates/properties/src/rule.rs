//! The rules by name, sets of them, and what they need to know.

use std::fmt;

use meshlock_core::{NodeId, Order, Units};

/// A rule that a protocol must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// At most k units are in use.
    Exclusion,
    /// There is at most one usable token, held or on its way.
    OneToken,
    /// Free units, units in use and units on their way back add up to k, and the ledger has every grant in use.
    Conservation,
    /// When nothing is in flight, no request waits that could be served.
    NobodyWaits,
    /// A grant goes to the most urgent request that the granter knows.
    GrantOrder,
    /// When nothing is under way, the holder knows the most urgent request of all.
    MostUrgentKnown,
    /// When nothing is under way, the most urgent request does not wait beside units that would do for it.
    NoIdleUnits,
    /// With aging, a request is overtaken only a bounded number of times.
    Overtaking,
    /// With backfill, only a bounded number of requests pass a front that waits for units.
    Backfill,
    /// Where units are numbered: none is granted twice at a time, and none that is not there.
    Numbered,
    /// Only one session is in use at a time.
    OneSession,
    /// When nothing is in flight, no request waits for a session while no other session is in use or wanted.
    Occupancy,
    /// A captain counts the followers that are there: none too few, and none that are gone for good.
    Followers,
    /// Fences strictly grow.
    Fences,
    /// A cancelled request is never granted.
    Cancelled,
    /// No node is granted what it does not wait for.
    UnwantedGrant,
    /// A request that waits is known to its own node.
    Forgotten,
    /// A queue names a neighbour once; when nothing is under way, what a node has been told is what the neighbour wants.
    Queues,
    /// The state that a node of the group protocol names is the one it is in.
    Roles,
    /// When nothing is under way, a node that leaves has nothing that others need.
    Leaving,
    /// Where members crash, the ledger has everything in use, by clients of crashed members too.
    Ledger,
    /// When nothing is under way and no member is missing, there is one token, whose ledger is what is in use.
    Repaired,
    /// Every decision of an heir begins above all fences given and all decisions before.
    Ranks,
    /// Messages alone come to an end (watched by the checker on its graph).
    MessagesEnd,
    /// No request starves on a fair run (watched by the checker on its graph).
    Starvation,
}

impl Rule {
    /// Each with its name on the command line and in reports, and the rule in one sentence; in the order of the rules.
    const TABLE: [(Self, &'static str, &'static str); 25] = [
        (Self::Exclusion, "exclusion", "at most k units are in use"),
        (Self::OneToken, "one-token", "there is at most one usable token, held or on its way"),
        (Self::Conservation, "conservation", "free units, units in use and units on their way back add up to k"),
        (Self::NobodyWaits, "nobody-waits", "when nothing is in flight, no request waits that could be served"),
        (Self::GrantOrder, "grant-order", "a grant goes to the most urgent request that the granter knows"),
        (
            Self::MostUrgentKnown,
            "most-urgent-known",
            "when nothing is in flight, the holder knows the most urgent request of all",
        ),
        (
            Self::NoIdleUnits,
            "no-idle-units",
            "when nothing is in flight, the most urgent request does not wait beside free units",
        ),
        (Self::Overtaking, "overtaking", "a waiting request sees only a bounded number of grants to later ones"),
        (
            Self::Backfill,
            "backfill",
            "between two grants in their turn, only a bounded number pass a front that waits for units",
        ),
        (Self::Numbered, "numbered", "no unit is granted twice at a time, where units are numbered"),
        (Self::OneSession, "one-session", "only one session is in use at a time"),
        (
            Self::Occupancy,
            "occupancy",
            "when nothing is in flight, no request waits for the only session in use or wanted",
        ),
        (Self::Followers, "followers", "a captain counts the followers that are there, and no others"),
        (Self::Fences, "fences", "fences strictly grow"),
        (Self::Cancelled, "cancelled", "a cancelled request is never granted"),
        (Self::UnwantedGrant, "unwanted-grant", "no node is granted what it does not wait for"),
        (Self::Forgotten, "forgotten", "a request that waits is known to its own node"),
        (Self::Queues, "queues", "a queue names a neighbour once, and says of it what it wants"),
        (Self::Roles, "roles", "the state that a process names is the one it is in"),
        (Self::Leaving, "leaving", "when nothing is in flight, a node that leaves has nothing that others need"),
        (Self::Ledger, "ledger", "where members crash, the ledger has everything in use"),
        (
            Self::Repaired,
            "repaired",
            "when nothing is in flight and no member is missing, one token says what is in use",
        ),
        (Self::Ranks, "ranks", "every decision of an heir begins above all that was given before"),
        (Self::MessagesEnd, "messages-end", "messages alone come to an end"),
        (Self::Starvation, "starvation", "no request starves on a fair run"),
    ];

    pub const ALL: [Self; 25] = {
        let mut all = [Self::Exclusion; 25];
        let mut place = 0;
        while place < all.len() {
            all[place] = Self::TABLE[place].0;
            place += 1;
        }
        all
    };

    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    pub const fn words(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of rules to watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleSet(u32);

impl RuleSet {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u32::MAX);

    #[must_use]
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | 1 << rule as u32)
    }

    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }

    pub const fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(move |rule| self.has(*rule))
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        rules.into_iter().fold(Self::NONE, Self::with)
    }
}

/// What the rules need to know about the resource they watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// The k of h-out-of-k.
    pub capacity: Units,
    pub order: Order,
    /// How many same-session requests may pass a blocked front while one session lasts.
    pub joins: u32,
    /// Upper bound for [`Rule::Overtaking`]: how many grants to requests made later a waiting one may see.
    pub overtaking_bound: u32,
    /// Upper bound for [`Rule::Backfill`]: how many requests may pass a front that waits for units. Zero: none may.
    pub passes: u32,
    /// For [`Rule::Numbered`]: whether every grant says which units it has.
    pub numbered: bool,
}

/// A broken rule.
///
/// ```
/// use meshlock_properties::{Rule, Violation};
/// let violation = Violation::new(Rule::Exclusion, None, "3 units in use of 2");
/// assert_eq!(violation.to_string(), "exclusion broken: 3 units in use of 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} broken{}: {what}", .node.map(|n| format!(" at node {n}")).unwrap_or_default())]
pub struct Violation {
    pub rule: Rule,
    /// Where it shows, if at one node.
    pub node: Option<NodeId>,
    /// What was seen, in words.
    pub what: String,
}

impl Violation {
    /// This rule is broken, here, in this way.
    pub fn new(rule: Rule, node: Option<NodeId>, what: impl Into<String>) -> Self {
        Self { rule, node, what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_under_its_name() {
        for rule in Rule::ALL {
            assert_eq!((Rule::ALL[rule as usize], Rule::named(rule.name())), (rule, Some(rule)));
            assert!(!rule.words().is_empty());
        }
        assert_eq!(Rule::named("no-such-rule"), None);
    }

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let set = RuleSet::NONE.with(Rule::Fences).with(Rule::Queues).without(Rule::Fences);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Rule::Queues]);
        assert_eq!(RuleSet::ALL.iter().count(), Rule::ALL.len());
        assert_eq!([Rule::Queues].into_iter().collect::<RuleSet>(), set);
    }
}
