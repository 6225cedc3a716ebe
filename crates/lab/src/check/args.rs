//! The arguments of `meshlock check`, in the order of its help.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, ValueEnum};
use meshlock_check::spec::parse_demand;
use meshlock_check::{Link, Topology};
use meshlock_core::Demand;
use meshlock_properties::Rule;

use super::help::{EXAMPLES, LONG_ABOUT};
use super::values::{NodeWork, at_least_one, memory, node_work, rule, seconds};

/// Explore protocols: every state of a small network, or long random walks on a larger one.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// What to explore: standard models (`reverse-link/p1`), all of a protocol (`reverse-link/`), or a protocol
    /// (`reverse-link`, `flood`, `group`, `group-over-relay`) for a model of your own. Nothing: all standard models.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) protocol: Protocol,
    #[command(flatten)]
    pub(crate) network: Network,
    #[command(flatten)]
    pub(crate) requests: Requests,
    #[command(flatten)]
    pub(crate) trouble: Trouble,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// List the standard models instead of running them: what each shows, and what is expected.
    #[arg(long)]
    pub(crate) list: bool,
    /// List all rules with their words.
    #[arg(long, conflicts_with = "list")]
    pub(crate) rules: bool,
    /// One JSON document on standard output, and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Where to write the run that breaks a rule [default: NAME.trace.jsonl, with dashes for slashes].
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write no trace.
    #[arg(long, conflicts_with_all = ["trace", "traces"])]
    pub(crate) no_trace: bool,
    /// Write a trace for every model that breaks a rule into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "trace")]
    pub(crate) traces: Option<PathBuf>,
    /// Replace traces that are there already and differ.
    #[arg(long)]
    pub(crate) force: bool,
    /// Step through the states of one model in the browser, until Ctrl-C. The page is served on 127.0.0.1:8460, or on
    /// another port if that is taken; --view=ADDR says where.
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = meshlock_cli::view::USUAL,
        conflicts_with_all = ["walks", "json", "list", "rules", "trace", "traces"],
    )]
    pub(crate) view: Option<SocketAddr>,
    /// Also open the browser there.
    #[arg(long, requires = "view")]
    pub(crate) open: bool,
}

/// Which text of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextName {
    /// As printed, with its defects.
    Published,
    /// What a node runs.
    Repaired,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Protocol")]
pub(crate) struct Protocol {
    /// Which text of the protocol [default: repaired].
    #[arg(long, value_name = "TEXT")]
    pub(crate) variant: Option<TextName>,
    /// Defects of the published text to repair, such as p1,p2.
    #[arg(long, value_name = "DEFECTS", value_delimiter = ',')]
    pub(crate) repair: Vec<String>,
    /// Places of the published text to read in another way: section-3, front-by-value,
    /// front-by-priority (reverse-link), token-list (flood).
    #[arg(long, value_name = "READINGS", value_delimiter = ',')]
    pub(crate) reading: Vec<String>,
    /// Units of the resource [default: 1].
    #[arg(long, value_name = "UNITS", value_parser = at_least_one)]
    pub(crate) k: Option<u32>,
    /// How many grants of waiting are worth one step of priority (0: strict) (reverse-link).
    #[arg(long, value_name = "GRANTS", conflicts_with = "deadlines")]
    pub(crate) aging: Option<u32>,
    /// Order requests by deadline, the earliest first (reverse-link).
    #[arg(long)]
    pub(crate) deadlines: bool,
    /// How many may join a session past the front of the queue (reverse-link).
    #[arg(long, value_name = "N")]
    pub(crate) joins: Option<u32>,
    /// Levels of priority, 1 to K [group; default: 3].
    #[arg(long, value_name = "K", value_parser = at_least_one)]
    pub(crate) levels: Option<u32>,
    /// Repeat messages by timers (group).
    #[arg(long)]
    pub(crate) repeats: bool,
    /// What aging adds, the paper's epsilon [published reverse-link].
    #[arg(long, value_name = "E")]
    pub(crate) epsilon: Option<u32>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct Network {
    /// line:N, ring:N, star:N, complete:N, grid:RxC, pair, triangle, square, kite or edges:0-1,1-2 [default: line:3].
    /// Node 0 starts with the token.
    #[arg(long, value_name = "SHAPE")]
    pub(crate) topology: Option<Topology>,
    /// Links that are down at the start, such as 0-2.
    #[arg(long, value_name = "LINKS", value_delimiter = ',')]
    pub(crate) down: Vec<Link>,
    /// How many links may be cut or formed.
    #[arg(long, value_name = "N")]
    pub(crate) link_changes: Option<u32>,
    /// The links that may change, such as 0-1,1-2 [default: all].
    #[arg(long, value_name = "LINKS", value_delimiter = ',', requires = "link_changes")]
    pub(crate) changeable: Vec<Link>,
    /// A cut link loses what is on it, and its ends notice at different times. Otherwise links are cut only while
    /// nothing is on them.
    #[arg(long, requires = "link_changes")]
    pub(crate) harsh: bool,
    /// Never cut the network apart.
    #[arg(long, requires = "link_changes")]
    pub(crate) keep_connected: bool,
    /// Messages on a link may overtake each other.
    #[arg(long)]
    pub(crate) unordered: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct Requests {
    /// How many requests each node makes [default: 1; in walks: no end].
    #[arg(long, value_name = "N", conflicts_with = "endless")]
    pub(crate) requests: Option<u32>,
    /// What is asked for: UNITS@PRIORITY, UNITS@PRIORITY/SESSION or UNITS#DEADLINE. Given several times: any of these.
    #[arg(long, value_name = "DEMAND", value_parser = parse_demand)]
    pub(crate) demand: Vec<Demand>,
    /// What one node asks for, in this order: 2=1@5,1@3, or 0=- for nothing. Other nodes keep --requests and --demand.
    #[arg(long, value_name = "NODE=DEMANDS", value_parser = node_work)]
    pub(crate) node: Vec<NodeWork>,
    /// How many requests of a node may be under way at once [default: 1].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) outstanding: Option<u32>,
    /// Requests without end: finds starvation. Growing numbers are renumbered so that states come back.
    #[arg(long)]
    pub(crate) endless: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Trouble")]
pub(crate) struct Trouble {
    /// How many waiting requests may be given up.
    #[arg(long, value_name = "N")]
    pub(crate) cancels: Option<u32>,
    /// How often the urgency of a waiting request may change, to one of --urgency.
    #[arg(long, value_name = "N", alias = "reprioritize", requires = "urgency")]
    pub(crate) reprioritise: Option<u32>,
    /// A new priority (with --deadlines: a new deadline); may be given several times.
    #[arg(long, value_name = "P", allow_negative_numbers = true, requires = "reprioritise")]
    pub(crate) urgency: Vec<i64>,
    /// How many messages may be lost.
    #[arg(long, value_name = "N")]
    pub(crate) losses: Option<u32>,
    /// How many timers may run out while something is still under way.
    #[arg(long, value_name = "N")]
    pub(crate) early_timers: Option<u32>,
    /// How many nodes may leave: they ask for nothing more and give away what others need.
    #[arg(long, value_name = "N")]
    pub(crate) leaves: Option<u32>,
    /// How many nodes may stop and start again with what they saved.
    #[arg(long, value_name = "N")]
    pub(crate) stops: Option<u32>,
    /// How many nodes may crash. They lose all but their disk, and return as the next incarnation.
    #[arg(long, value_name = "N")]
    pub(crate) crashes: Option<u32>,
    /// How many nodes may be removed for good by an operator after they crashed or left.
    #[arg(long, value_name = "N")]
    pub(crate) removals: Option<u32>,
    /// How many nodes may lose their standing with the voters, and with it all grants of their clients.
    #[arg(long, value_name = "N")]
    pub(crate) fences: Option<u32>,
    /// How many nodes that crashed or lost their standing may be declared gone by the voters.
    #[arg(long, value_name = "N")]
    pub(crate) declarations: Option<u32>,
    /// How many nodes may come back after they were declared gone or said goodbye.
    #[arg(long, value_name = "N")]
    pub(crate) returns: Option<u32>,
    /// How many nodes, the last ones, join later.
    #[arg(long, value_name = "N")]
    pub(crate) newcomers: Option<u32>,
    /// The capacities of definitions that follow each other, such as 1,3 (reverse-link). Each node hears of them in turn;
    /// a waiting request for more than its node knows of is cancelled, as a node does.
    #[arg(long, value_name = "UNITS", value_delimiter = ',', value_parser = at_least_one)]
    pub(crate) resize: Vec<u32>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct Rules {
    /// Watch this rule; may be given several times [default: all that the protocol promises; see --rules].
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) rule: Vec<Rule>,
    /// How many grants to later requests a waiting one may see, for the rule `overtaking`.
    #[arg(long, value_name = "GRANTS")]
    pub(crate) overtaking: Option<u32>,
    /// A height above this level shows that messages do not come to an end.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) max_level: Option<i64>,
    /// More messages than this on their way from one node to another show the same [default: 16].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) max_channel: Option<u8>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct Search {
    /// Newest states first: deep states early, but no shortest runs.
    #[arg(long, conflicts_with = "walks")]
    pub(crate) depth_first: bool,
    /// Instead of every state: so many fair random walks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) walks: Option<u64>,
    /// Steps of each walk before all trouble ends [default: 2000].
    #[arg(long, value_name = "N", requires = "walks", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// The seed of the first walk; the others follow [default: 1].
    #[arg(long, value_name = "N", requires = "walks")]
    pub(crate) seed: Option<u64>,
    /// Do not keep the graph of states: less memory, but endless messages and starvation are not looked for. With several
    /// threads states are explored stage by stage and forgotten then, so that all cores are used and far more states fit.
    #[arg(long, conflicts_with = "walks")]
    pub(crate) no_graph: bool,
    /// Renumber growing counters, so that states come back.
    #[arg(long, conflicts_with = "walks")]
    pub(crate) canonical: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits and reduction")]
pub(crate) struct Limits {
    /// The most different states, the nearest ones. With such a limit no states are forgotten.
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<u64>,
    /// The most steps from the start.
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<u32>,
    /// The longest time for each model.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_seconds: Option<f64>,
    /// The most memory for each model, such as 500MiB or 2GiB.
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) max_memory: Option<u64>,
    /// Keep messages that their receiver is certain to ignore. Verdicts stay the same, numbers do not.
    #[arg(long)]
    pub(crate) no_reduction: bool,
    /// How many threads explore: several models side by side, or the states of one. Results are the same with any number
    /// [default: one for each core].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Which options were really given, with the heading of the help they stand under.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    options: Vec<(String, String)>,
}

impl Given {
    /// Those of a command, from what was parsed.
    pub(crate) fn of(command: &Command, matches: &ArgMatches) -> Self {
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let named = command.get_arguments().filter(|arg| is_given(arg.get_id().as_str()));
        let option = |arg: &clap::Arg| {
            let heading = arg.get_help_heading().unwrap_or_default().to_owned();
            Some((arg.get_long()?.to_owned(), heading))
        };
        Self { options: named.filter_map(option).collect() }
    }

    /// Those that describe a model or the way to search it, such as `--topology`: everything but output and limits.
    pub(crate) fn about_model(&self) -> Vec<String> {
        let of_model = |heading: &str| heading != "Output" && heading != "Limits and reduction";
        let options = self.options.iter().filter(|(_, heading)| of_model(heading));
        options.map(|(name, _)| format!("--{name}")).collect()
    }
}
