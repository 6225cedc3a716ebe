//! A model in words, before it is explored.

use meshlock_check::{Failing, Name, Pick, Search, Text, Trial, Way, Work};
use meshlock_core::{Aging, Order};

use super::build::looked_for;
use super::values::demand_text;
use meshlock_cli::text::{count, several};

/// What is explored, as labels and texts.
pub(super) fn describe(trial: &Trial) -> Vec<(&'static str, String)> {
    let mut lines = vec![("protocol", protocol(trial)), ("network", network(trial)), ("requests", requests(trial))];
    let trouble = trouble(trial);
    if !trouble.is_empty() {
        lines.push(("trouble", trouble.join(", ")));
    }
    let rules: Vec<&str> = looked_for(trial).iter().map(|rule| rule.name()).collect();
    lines.push(("rules", rules.join(", ")));
    lines.push(("search", search(&trial.way)));
    lines
}

fn protocol(trial: &Trial) -> String {
    let spec = &trial.spec;
    let mut parts = vec![match &spec.text {
        Text::Repaired if spec.subject.is_baseline() => spec.subject.to_string(),
        Text::Repaired => format!("{}, repaired", spec.subject),
        Text::Published { repairs } if repairs.is_empty() => format!("{}, as printed", spec.subject),
        Text::Published { repairs } => {
            format!("{}, as printed but with {} repaired", spec.subject, repairs.join(" "))
        }
    }];
    if !spec.readings.is_empty() {
        parts.push(format!("read as {}", spec.readings.join(" ")));
    }
    match spec.subject {
        Name::ReverseLink | Name::Central | Name::Raynal | Name::Omniscient => {
            parts.push(format!("k = {}", spec.capacity));
            match spec.order {
                Order::Deadline => parts.push("by deadline".to_owned()),
                Order::Priority { aging: Aging(0) } => {}
                Order::Priority { aging } => parts.push(format!("aging {aging}")),
            }
            if spec.joins > 0 {
                parts.push(several(spec.joins.into(), "join"));
            }
            if spec.epsilon > 0 {
                parts.push(format!("epsilon {}", spec.epsilon));
            }
        }
        Name::Flood | Name::Raymond | Name::SuzukiKasami | Name::RicartAgrawala | Name::Lamport | Name::NaimiTrehel => {
        }
        Name::Group | Name::GroupOverRelay => {
            parts.push(several(spec.levels.into(), "level"));
            if spec.repeats {
                parts.push("messages are repeated".to_owned());
            }
        }
    }
    parts.join(", ")
}

fn network(trial: &Trial) -> String {
    let spec = &trial.spec;
    let nodes = several(spec.topology.len() as u64, "node");
    if !spec.subject.speaks_to_neighbours() {
        return format!("{nodes}, everyone reaches everyone{}", if spec.fifo { "" } else { ", in any order" });
    }
    let mut parts = vec![format!("{} ({nodes})", spec.topology)];
    if !spec.down.is_empty() {
        parts.push(format!("down at the start: {}", list(&spec.down)));
    }
    if spec.budgets.link_changes > 0 {
        let changes = match trial.way {
            Way::Explore { .. } => several(spec.budgets.link_changes.into(), "change"),
            Way::Walk { .. } => "changes".to_owned(),
        };
        let links = spec.changeable.as_ref().map(|links| format!(" of {}", list(links))).unwrap_or_default();
        let failing = match spec.failing {
            Failing::Gentle => "gentle",
            Failing::Harsh => "harsh",
        };
        parts.push(format!("{changes}{links} ({failing})"));
    }
    if spec.keep_connected {
        parts.push("never apart".to_owned());
    }
    if !spec.fifo {
        parts.push("links keep no order".to_owned());
    }
    parts.join(", ")
}

fn requests(trial: &Trial) -> String {
    let workload = &trial.spec.workload;
    let mut groups: Vec<(Vec<usize>, &Work)> = Vec::new();
    for (node, work) in workload.nodes.iter().enumerate() {
        match groups.iter_mut().find(|(_, same)| *same == work) {
            Some((nodes, _)) => nodes.push(node),
            None => groups.push((vec![node], work)),
        }
    }
    let everyone = groups.len() == 1;
    let group = |(nodes, work): &(Vec<usize>, &Work)| {
        let who = match (everyone, nodes.as_slice()) {
            (true, _) => "every node".to_owned(),
            (false, [node]) => format!("node {node}"),
            (false, nodes) => format!("nodes {}", list(nodes)),
        };
        format!("{who}: {}", asks(work, workload.endless))
    };
    let mut parts: Vec<String> = groups.iter().map(group).collect();
    if workload.outstanding > 1 {
        parts.push(format!("up to {} at once at a node", workload.outstanding));
    }
    parts.join("; ")
}

fn asks(work: &Work, endless: bool) -> String {
    if work.count == 0 {
        return "nothing".to_owned();
    }
    let demands: Vec<String> = work.demands.iter().map(demand_text).collect();
    let demands = match work.pick {
        Pick::Any => demands.join(" or "),
        Pick::InOrder => demands.join(" then "),
    };
    match (endless || work.count == u32::MAX, work.pick, work.count) {
        (true, ..) => format!("{demands}, again and again"),
        (false, Pick::InOrder, _) | (false, _, 1) => demands,
        (false, Pick::Any, times) => format!("{} times {demands}", count(times.into())),
    }
}

fn trouble(trial: &Trial) -> Vec<String> {
    let budgets = &trial.spec.budgets;
    let walks = matches!(trial.way, Way::Walk { .. });
    let kinds = [
        (budgets.cancels, "request cancelled", "requests cancelled"),
        (budgets.reprioritisations, "urgency changed", "urgencies changed"),
        (budgets.losses, "message lost", "messages lost"),
        (budgets.early_timers, "early timer", "early timers"),
        (budgets.leaves, "node leaves", "nodes leave"),
        (budgets.stops, "node stops and starts again", "nodes stop and start again"),
        (budgets.members.crashes, "node crashes", "nodes crash"),
        (budgets.members.returns, "node comes back", "nodes come back"),
        (budgets.members.removals, "node is removed", "nodes are removed"),
        (budgets.members.fences, "node loses its standing", "nodes lose their standing"),
        (budgets.members.declarations, "node is declared gone", "nodes are declared gone"),
        (budgets.members.joins, "node joins", "nodes join"),
    ];
    let happens = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let text = |(number, one, many): (u32, &str, &str)| match (walks, number) {
        (true, _) => many.to_owned(),
        (false, 1) => format!("1 {one}"),
        (false, _) => format!("{} {many}", count(number.into())),
    };
    let defined =
        budgets.capacities.iter().map(|units| format!("defined anew with {}", several(units.0.into(), "unit")));
    happens.map(text).chain(defined).collect()
}

fn search(way: &Way) -> String {
    match way {
        Way::Explore { search, graph, canonical } => {
            let order = match search {
                Search::BreadthFirst => "every state, nearest first",
                Search::DepthFirst => "every state, newest first",
            };
            let graph = if *graph { ", then the graph of states" } else { "" };
            let canonical = if *canonical == Some(true) { ", counters renumbered" } else { "" };
            format!("{order}{canonical}{graph}")
        }
        Way::Walk { seed, walks, steps } => {
            format!("{} of {}, seed {seed}", several(*walks, "random walk"), several(*steps, "step"))
        }
    }
}

fn list(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
