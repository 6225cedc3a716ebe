//! Reads standard models from the `.models` files beside this one.
//!
//! A model is a line with its name and what it shows, and an indented one: the protocol, the network, each word that
//! differs from [`Spec::new`], and what is expected behind `=>`. A line that begins with `#` is a remark.
//!
//! | word | meaning |
//! |---|---|
//! | `printed`, `printed=p1,p2`, `all-but=f1` | the printed text; with these repairs; with all but these |
//! | `each=2x1@0\|2@1` | every node makes two requests, each for any of these ([`parse_demand`]); `*x` is no end |
//! | `work=-;1@5,1@3` | by node: nothing; these, in this order |
//! | `endless=1` | requests never run out, made only while no channel holds more than one message |
//! | `harsh`, `connected`, `unordered` | how links fail; that they never cut the network; that they keep no order |
//! | `restart`, `voters` | nodes recover from crashes ([`Recovery`]) |
//! | `resized=3,1` | the capacities that follow |
//! | `channel=4` | more messages than this in one channel never end |
//! | `watch=exclusion` | the one rule that is watched; of a printed text also the one that it is to break |
//! | `=> 9_968 states` | it holds, with so many states; `, no graph` and `, renumbered` say how it is explored |
//! | `=> breaks queues in 9 steps` | a rule is broken, at the earliest so; also with `, graph` and `, renumbered` |
//! | `=> 692 grants in 30 walks of 2000 steps` | random walks end well |
//!
//! All others are fields of [`Spec`] and of its budgets, with their number.

use std::str::FromStr;

use meshlock_core::{Aging, Order, Priority, Units, Urgency};
use meshlock_properties::{Rule, RuleSet};
use meshlock_protocols::printed::{flood, group};
use meshlock_protocols::repairs::Defect;
use meshlock_protocols::{Name, Text};

use super::{Entry, Expected};
use crate::explore::Search;
use crate::model::{Failing, Work};
use crate::spec::{Recovery, Spec, parse_demand, parse_work};
use crate::topology::parse_links;
use crate::trial::{Trial, Way};

/// More raises than a few link changes can cause: a node of reverse-link that gets there turns links without end. A walk
/// has changes without end, and each may ask for a raise; that messages end is seen at its end.
const MOST_RAISES: i64 = 60;

/// Walks draw channels of very different speed; a slow one may hold many messages without anything being wrong.
const WALK_CHANNEL: usize = 255;

/// All models of a file.
///
/// # Panics
///
/// If one is not written right.
pub(super) fn entries(file: &'static str) -> Vec<Entry> {
    let mut lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut entries = Vec::new();
    while let (Some(head), Some(model)) = (lines.next(), lines.next()) {
        let read = || {
            let (name, about) = head.split_once(": ")?;
            let (words, expected) = model.split_once(" => ")?;
            let (way, expected) = read_expected(expected)?;
            let spec = read_spec(words, expected)?;
            Some(Entry { name, about, trial: Trial { spec, way }, expected })
        };
        entries.push(read().unwrap_or_else(|| panic!("the suite is not written right:\n{head}\n{model}")));
    }
    entries
}

fn read_spec(words: &str, expected: Expected) -> Option<Spec> {
    let mut words = words.split_whitespace();
    let subject = Name::named(words.next()?, &Name::CHECKED)?;
    let mut spec = Spec::new(subject, Text::Repaired, words.next()?.parse().ok()?);
    if matches!(expected, Expected::Walks { .. }) {
        spec.max_channel = WALK_CHANNEL;
    } else if subject == Name::ReverseLink {
        spec.max_level = Some(MOST_RAISES);
    }
    words.try_for_each(|word| set(&mut spec, word))?;
    if spec.text != Text::Repaired {
        spec.max_level = None;
        if let Expected::Breaks { rule, .. } = expected {
            spec.rules = Some(RuleSet::NONE.with(rule));
        }
    }
    Some(spec)
}

/// Sets what a word says. `None` if it says nothing.
fn set(spec: &mut Spec, word: &str) -> Option<()> {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let list = || value.split(',').filter(|part| !part.is_empty());
    let budgets = &mut spec.budgets;
    match key {
        "printed" => spec.text = Text::with_repairs(&list().collect::<Vec<_>>()),
        "all-but" => spec.text = all_but(spec.subject, &list().collect::<Vec<_>>()),
        "read" => spec.readings = list().map(str::to_owned).collect(),
        "k" => spec.capacity = number(value)?,
        "aging" => spec.order = Order::Priority { aging: Aging(number(value)?) },
        "joins" => spec.joins = number(value)?,
        "passes" => spec.passes = number(value)?,
        "numbered" => spec.numbered = true,
        "levels" => spec.levels = number(value)?,
        "repeats" => spec.repeats = true,
        "epsilon" => spec.epsilon = number(value)?,
        "restart" => spec.recovery = Recovery::Restart,
        "voters" => spec.recovery = Recovery::Voters,
        "resources" => spec.resources = number(value)?,
        "each" => spec.workload.nodes.fill(read_work(value)?),
        "work" => spec.workload.nodes = value.split(';').map(read_work).collect::<Option<_>>()?,
        "outstanding" => spec.workload.outstanding = number(value)?,
        "endless" => (spec.workload.endless, spec.workload.patience) = (true, Some(number(value)?)),
        "down" => spec.down = parse_links(value).ok()?,
        "changes" => budgets.link_changes = number(value)?,
        "changeable" => spec.changeable = Some(parse_links(value).ok()?),
        "harsh" => spec.failing = Failing::Harsh,
        "connected" => spec.keep_connected = true,
        "unordered" => spec.fifo = false,
        "cancels" => budgets.cancels = number(value)?,
        "reprioritise" => budgets.reprioritisations = number(value)?,
        "urgency" => {
            let urgency = |priority| Some(Urgency::Priority(Priority(number(priority)?)));
            budgets.urgencies = list().map(urgency).collect::<Option<_>>()?;
        }
        "losses" => budgets.losses = number(value)?,
        "early-timers" => budgets.early_timers = number(value)?,
        "resized" => budgets.capacities = list().map(|units| number(units).map(Units)).collect::<Option<_>>()?,
        "leaves" => budgets.leaves = number(value)?,
        "stops" => budgets.stops = number(value)?,
        "crashes" => budgets.members.crashes = number(value)?,
        "only" => budgets.members.only = Some(number(value)?),
        "returns" => budgets.members.returns = number(value)?,
        "removals" => budgets.members.removals = number(value)?,
        "fences" => budgets.members.fences = number(value)?,
        "declarations" => budgets.members.declarations = number(value)?,
        "newcomers" => budgets.members.joins = number(value)?,
        "overtaking" => spec.overtaking_bound = number(value)?,
        "channel" => spec.max_channel = number(value)?,
        "watch" => spec.rules = Some(RuleSet::NONE.with(Rule::named(value)?)),
        _ => return None,
    }
    Some(())
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.replace('_', "").parse().ok()
}

/// The printed text with all repairs but these.
fn all_but(subject: Name, missing: &[&str]) -> Text {
    fn names<D: Defect>() -> Vec<&'static str> {
        D::ALL.iter().map(|defect| defect.name()).collect()
    }
    let mut repairs = if subject == Name::Flood { names::<flood::Defect>() } else { names::<group::Defect>() };
    repairs.retain(|repair| !missing.contains(repair));
    Text::with_repairs(&repairs)
}

fn read_work(text: &str) -> Option<Work> {
    let Some((count, demands)) = text.split_once('x') else { return parse_work(text).ok() };
    let count = if count == "*" { u32::MAX } else { number(count)? };
    Some(Work::any(count, demands.split('|').map(|demand| parse_demand(demand).ok()).collect::<Option<_>>()?))
}

fn read_expected(text: &str) -> Option<(Way, Expected)> {
    let (what, how) = text.split_once(", ").unwrap_or((text, ""));
    let words: Vec<&str> = what.split_whitespace().collect();
    let (usual, expected) = match words[..] {
        [unique, "states"] => (Way::GRAPH, Expected::Holds { unique: number(unique)? }),
        ["breaks", rule, "in", steps, "steps"] => {
            (Way::STATES, Expected::Breaks { rule: Rule::named(rule)?, steps: number(steps)? })
        }
        [grants, "grants", "in", walks, "walks", "of", steps, "steps"] => {
            let way = Way::Walk { seed: 1, walks: number(walks)?, steps: number(steps)? };
            (way, Expected::Walks { grants: number(grants)? })
        }
        _ => return None,
    };
    let way = match how {
        "" => usual,
        "graph" => Way::GRAPH,
        "no graph" => Way::STATES,
        "renumbered" => Way::Explore { search: Search::BreadthFirst, graph: true, canonical: Some(true) },
        _ => return None,
    };
    Some((way, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_says_nothing_is_an_error() {
        let read = |words: &str| read_spec(words, Expected::Holds { unique: 1 });
        assert!(read("reverse-link line:3 k=2 each=2x1@0|2@1 work=-;1@0;1@1").is_some());
        for wrong in ["reverse-links line:3", "flood line:x", "flood line:3 harsch", "flood line:3 k=two", "flood"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        for wrong in ["9 state", "breaks nothing in 3 steps", "9 states, perhaps", "9 grants in 3 walks"] {
            assert_eq!(read_expected(wrong), None, "{wrong}");
        }
    }
}
