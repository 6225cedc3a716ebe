//! From options to a model of one's own. Options that would have no effect are refused, with the way out: a model in
//! which nothing of what was meant can happen would hold, and prove nothing.

use anyhow::bail;
use meshlock_check::spec::plain_demand;
use meshlock_check::{
    Budgets, Failing, MemberBudgets, Name, Recovery, Search, Spec, Text, Topology, Trial, Way, Work, Workload,
};
use meshlock_core::{Aging, Deadline, Demand, Order, Priority, Units, Urgency};
use meshlock_properties::{Rule, RuleSet};

use super::args::{Args, Limits, TextName, Trouble};
use super::rehearse;

pub(super) fn build(subject: Name, args: &Args) -> anyhow::Result<Trial> {
    refuse_idle_options(subject, args)?;
    let topology = args.network.topology.clone().unwrap_or_else(|| Topology::line(3));
    let variant = match args.protocol.variant {
        Some(TextName::Published) => Text::Published { repairs: args.protocol.repair.clone() },
        Some(TextName::Repaired) | None => Text::Repaired,
    };
    let spec = Spec::new(subject, variant, topology);
    let spec = Spec {
        readings: args.protocol.reading.clone(),
        workload: workload(&spec, args)?,
        down: args.network.down.clone(),
        changeable: (!args.network.changeable.is_empty()).then(|| args.network.changeable.clone()),
        keep_connected: args.network.keep_connected,
        failing: if args.network.harsh { Failing::Harsh } else { Failing::Gentle },
        fifo: !args.network.unordered,
        capacity: args.protocol.k.unwrap_or(1),
        order: if args.protocol.deadlines {
            Order::Deadline
        } else {
            Order::Priority { aging: Aging(args.protocol.aging.unwrap_or(0)) }
        },
        joins: args.protocol.joins.unwrap_or(0),
        levels: args.protocol.levels.unwrap_or(spec.levels),
        repeats: args.protocol.repeats,
        epsilon: args.protocol.epsilon.unwrap_or(0),
        recovery: recovery(&args.trouble),
        budgets: budgets(args)?,
        rules: (!args.rules.rule.is_empty()).then(|| args.rules.rule.iter().copied().collect()),
        overtaking_bound: args.rules.overtaking.unwrap_or(u32::MAX),
        max_level: args.rules.max_level,
        max_channel: args.rules.max_channel.map_or(spec.max_channel, usize::from),
        ..spec
    };
    let way = way(&spec, args)?;
    rehearse::rehearse(&spec)?;
    Ok(Trial { spec, way })
}

fn refuse_idle_options(subject: Name, args: &Args) -> anyhow::Result<()> {
    let Args { protocol, network, trouble, .. } = args;
    let published = protocol.variant == Some(TextName::Published);
    let reverse_link = subject == Name::ReverseLink;
    let ordered = (reverse_link || subject == Name::Central) && !published;
    let groups = matches!(subject, Name::Group | Name::GroupOverRelay);
    let link_options = !network.down.is_empty() || network.link_changes.is_some();
    let timers = subject == Name::Flood || protocol.repeats;
    let ordered_only = "is for the repaired reverse-link protocol and for central";
    let refusals = [
        (!protocol.repair.is_empty() && !published, "--repair mends the printed text: add --variant published".into()),
        (
            !protocol.reading.is_empty() && !published,
            "--reading is of the printed text: add --variant published".into(),
        ),
        (
            protocol.aging.is_some() && !ordered,
            format!("--aging {ordered_only}; the published one has --epsilon, and group ages by itself"),
        ),
        (protocol.deadlines && !ordered, format!("--deadlines {ordered_only}: leave it out")),
        (protocol.joins.is_some() && !ordered, format!("--joins {ordered_only}: leave it out")),
        (
            protocol.epsilon.is_some() && !(published && reverse_link),
            "--epsilon is for the published reverse-link protocol: add --variant published, or use --aging".into(),
        ),
        (protocol.levels.is_some() && !groups, format!("--levels is for group: leave it out for {subject}")),
        (
            protocol.repeats && (published || !groups),
            "--repeats is for the repaired group protocol: leave it out here".into(),
        ),
        (
            protocol.k.is_some() && groups,
            format!("{subject} has sessions instead of units: leave out --k and write demands like 1@2/7"),
        ),
        (
            !subject.speaks_to_neighbours() && link_options,
            format!(
                "{subject} assumes that everyone reaches everyone, so it has no links to change{}",
                if subject == Name::Group { ": use group-over-relay" } else { "" }
            ),
        ),
        (
            trouble.early_timers.is_some() && !timers,
            if groups {
                "there are no timers: add --repeats".into()
            } else {
                format!("{subject} has no timers: leave out --early-timers")
            },
        ),
        (
            recovery(trouble) != Recovery::None && (published || !reverse_link),
            format!("{subject} does not recover from crashes here: they are for the repaired reverse-link protocol"),
        ),
        (
            recovery(trouble) != Recovery::None && args.requests.endless,
            "what happens to members is bounded: leave out --endless".into(),
        ),
        (
            trouble.losses.is_some() && subject.is_baseline(),
            format!("{subject} assumes that no message is lost: leave out --losses"),
        ),
    ];
    match refusals.into_iter().find(|(is_idle, _)| *is_idle) {
        Some((_, why)) => bail!(why),
        None => Ok(()),
    }
}

fn workload(spec: &Spec, args: &Args) -> anyhow::Result<Workload> {
    let nodes = spec.topology.len();
    let demands = match args.requests.demand.as_slice() {
        [] if args.protocol.deadlines => {
            vec![Demand { urgency: Urgency::Deadline(Deadline(1)), ..plain_demand(spec.subject) }]
        }
        [] => vec![plain_demand(spec.subject)],
        given => given.to_vec(),
    };
    let most = if args.search.walks.is_some() { u32::MAX } else { 1 };
    let mut workload = Workload::same(nodes, args.requests.requests.unwrap_or(most), demands);
    workload.outstanding = args.requests.outstanding.unwrap_or(1);
    workload.endless = args.requests.endless;
    let mut named: Vec<usize> = Vec::new();
    for given in &args.requests.node {
        if given.node >= nodes {
            bail!("--node {}=... is outside of {}: its nodes are 0 to {}", given.node, spec.topology, nodes - 1);
        }
        if named.contains(&given.node) {
            bail!("--node {0}=... is given twice: write all its demands into one, as in {0}=1@5,1@3", given.node);
        }
        named.push(given.node);
        workload = workload.with(given.node, given.work.clone());
    }
    let asks = |work: &Work| work.count > 0;
    if args.requests.endless && !workload.nodes.iter().any(asks) {
        bail!("--endless needs someone who asks: give at least one node a demand");
    }
    Ok(workload)
}

fn budgets(args: &Args) -> anyhow::Result<Budgets> {
    let urgency = |number: &i64| -> anyhow::Result<Urgency> {
        if args.protocol.deadlines {
            match u64::try_from(*number) {
                Ok(deadline) => Ok(Urgency::Deadline(Deadline(deadline))),
                Err(_) => bail!("--urgency {number}: deadlines are not negative"),
            }
        } else {
            match i32::try_from(*number) {
                Ok(priority) => Ok(Urgency::Priority(Priority(priority))),
                Err(_) => bail!("--urgency {number}: priorities are between {} and {}", i32::MIN, i32::MAX),
            }
        }
    };
    Ok(Budgets {
        cancels: args.trouble.cancels.unwrap_or(0),
        reprioritisations: args.trouble.reprioritise.unwrap_or(0),
        urgencies: args.trouble.urgency.iter().map(urgency).collect::<anyhow::Result<_>>()?,
        link_changes: args.network.link_changes.unwrap_or(0),
        losses: args.trouble.losses.unwrap_or(0),
        early_timers: args.trouble.early_timers.unwrap_or(0),
        capacities: args.trouble.resize.iter().copied().map(Units).collect(),
        leaves: args.trouble.leaves.unwrap_or(0),
        stops: args.trouble.stops.unwrap_or(0),
        members: members(&args.trouble),
    })
}

fn members(trouble: &Trouble) -> MemberBudgets {
    MemberBudgets {
        crashes: trouble.crashes.unwrap_or(0),
        only: None,
        returns: trouble.returns.unwrap_or(0),
        removals: trouble.removals.unwrap_or(0),
        fences: trouble.fences.unwrap_or(0),
        declarations: trouble.declarations.unwrap_or(0),
        joins: trouble.newcomers.unwrap_or(0),
    }
}

/// Nodes are members that recover if anything may happen to them of which only such members know.
fn recovery(trouble: &Trouble) -> Recovery {
    let members = members(trouble);
    if members.fences > 0 || members.declarations > 0 {
        Recovery::Voters
    } else if members == MemberBudgets::default() {
        Recovery::None
    } else {
        Recovery::Restart
    }
}

fn way(spec: &Spec, args: &Args) -> anyhow::Result<Way> {
    let watched = spec.watched();
    let asked = |rule: &Rule| args.rules.rule.contains(rule);
    let bounded = args.rules.overtaking.is_some();
    if args.rules.rule.contains(&Rule::Overtaking) && !bounded {
        bail!("the rule overtaking needs a bound: add --overtaking GRANTS");
    }
    if bounded && !watched.has(Rule::Overtaking) {
        bail!("--overtaking is a bound for the rule overtaking: add --aging, or --rule overtaking");
    }
    if let Some(walks) = args.search.walks {
        if args.rules.rule.contains(&Rule::Starvation) {
            bail!("the rule starvation is looked for in the graph of all states, not in walks: leave out --walks");
        }
        let Limits { max_states, max_depth, max_memory, .. } = args.limits;
        if max_states.is_some() || max_depth.is_some() || max_memory.is_some() {
            bail!("walks keep no states: limit them with --steps and --max-seconds instead");
        }
        let (steps, seed) = (args.search.steps.unwrap_or(DEFAULT_STEPS), args.search.seed.unwrap_or(DEFAULT_SEED));
        return Ok(Way::Walk { seed, walks, steps });
    }
    let search = if args.search.depth_first { Search::DepthFirst } else { Search::BreadthFirst };
    let reason = if args.search.no_graph {
        Some("leave out --no-graph".to_owned())
    } else if args.search.depth_first {
        Some("leave out --depth-first".to_owned())
    } else if spec.topology.len() > MOST_NODES_IN_GRAPH {
        Some(format!("take a network of at most {MOST_NODES_IN_GRAPH} nodes"))
    } else {
        None
    };
    // A level that is too high, or a channel that is too full, shows endless messages without a graph.
    let bounded = args.rules.max_level.is_some() || args.rules.max_channel.is_some();
    let graph_rule = GRAPH_RULES.iter().find(|rule| asked(rule) && !(**rule == Rule::MessagesEnd && bounded));
    if let (Some(rule), Some(way_out)) = (graph_rule, &reason) {
        bail!("the rule {rule} is looked for in the graph of all states: {way_out}");
    }
    let graph = reason.is_none() && GRAPH_RULES.iter().any(|rule| watched.has(*rule));
    Ok(Way::Explore { search, graph, canonical: args.search.canonical.then_some(true) })
}

/// Those of the watched rules that this search can find broken. Endless messages also show in channels that fill up.
pub(super) fn looked_for(trial: &Trial) -> RuleSet {
    let watched = trial.spec.watched();
    match trial.way {
        Way::Explore { graph: true, .. } => watched,
        Way::Explore { graph: false, .. } | Way::Walk { .. } => watched.without(Rule::Starvation),
    }
}

/// The rules that are about runs without end.
const GRAPH_RULES: [Rule; 2] = [Rule::MessagesEnd, Rule::Starvation];
/// The graph search tells so many nodes apart.
const MOST_NODES_IN_GRAPH: usize = 8;

const DEFAULT_STEPS: u64 = 2_000;
const DEFAULT_SEED: u64 = 1;
