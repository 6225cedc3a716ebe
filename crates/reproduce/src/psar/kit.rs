//! What the measurements of the report share: its radio, contestants, and cells of tables.

use meshlock_report::chart::Scale;
use meshlock_report::table::{Cell, Column, Table};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Request;
use meshlock_sim::scenario::{
    Area, Class, Limits, Mobility, Name, Network, Over, Placement, ProtocolChoice, Radio, Scenario, Text, Warmup,
};
use meshlock_sim::time::Span;
use meshlock_statistics::{Estimate, Median};

use crate::lab::Sample;
use crate::verdict;

/// One hop of the report's radio in seconds: 200 bytes at 1 Mb/s and 300 us.
pub(super) const HOP: f64 = 1.9e-3;
/// One transmission of it.
pub(super) const AIRTIME: f64 = 1.6e-3;
/// The side of the report's area for 100 nodes, in metres; the report does not give one.
pub(super) const SIDE: f64 = 600.0;

/// The repairs of the printed text that change no line but their own.
pub(super) const ALL_REPAIRS: [&str; 7] = ["f1", "f2", "f3", "f4", "f5", "f6", "f7"];

/// A protocol as a node runs it.
pub(super) fn repaired(name: Name) -> ProtocolChoice {
    let over = if name.speaks_to_neighbours() { Over::Links } else { Over::Routing };
    ProtocolChoice { name, over, ..ProtocolChoice::default() }
}

/// The printed flood with these repairs.
pub(super) fn printed(repairs: &[&str]) -> ProtocolChoice {
    let text = Text::Published { repairs: repairs.iter().map(|name| (*name).to_owned()).collect() };
    ProtocolChoice { text, ..repaired(Name::Flood) }
}

/// The printed flood with all repairs but these.
pub(super) fn printed_without(missing: &[&str]) -> ProtocolChoice {
    let repairs: Vec<&str> = ALL_REPAIRS.into_iter().filter(|name| !missing.contains(name)).collect();
    printed(&repairs)
}

/// The report's radio with so many nodes in a square, thinking an exponential time of this mean and staying inside for
/// a millisecond.
pub(super) fn on_air(protocol: ProtocolChoice, nodes: u32, side: f64, mobility: Mobility, think: f64) -> Scenario {
    let area = Area { width: side, height: side };
    let class = Class::closed(nodes, Distribution::Exponential { mean: think }, Distribution::Constant(0.001));
    let mut scenario = Scenario {
        name: protocol.name.name().to_owned(),
        nodes,
        protocol,
        network: Network::Radio(Radio::report(area, mobility)),
        ..Scenario::reference()
    };
    scenario.traffic.classes = vec![class];
    scenario
}

/// Sets how long a scenario is measured, after how long, and how long it may drain.
pub(super) fn timed(mut scenario: Scenario, warmup: f64, duration: f64, drain: f64) -> Scenario {
    scenario.warmup = Warmup::Fixed(Span::from_seconds(warmup));
    scenario.duration = Span::from_seconds(warmup + duration);
    scenario.drain = Span::from_seconds(drain);
    scenario
}

/// Nobody asks in the last second, so that whatever was asked for is over at the end.
pub(super) fn with_quiet_end(mut scenario: Scenario) -> Scenario {
    let stop = Span::from_seconds(scenario.duration.seconds() - 1.0);
    scenario.traffic.classes.iter_mut().for_each(|class| class.stop = Some(stop));
    scenario
}

/// The side of a square in which so many nodes are as dense as 100 in the report's.
pub(super) fn same_density(nodes: u32) -> f64 {
    SIDE * (f64::from(nodes) / 100.0).sqrt()
}

/// Everybody goes straight at this speed; nobody moves at 0.
pub(super) fn at_speed(speed: f64) -> Mobility {
    if speed == 0.0 {
        Mobility::Static(Placement::Random)
    } else {
        Mobility::Linear { speed: Distribution::Constant(speed) }
    }
}

/// Nodes in a row, each in reach of the next only.
pub(super) fn in_a_row(nodes: u32) -> Mobility {
    Mobility::Static(Placement::At((0..nodes).map(|node| (100.0 * f64::from(node), 0.0)).collect()))
}

/// What a node had to send for: all requests but those of a node that had the token.
pub(super) fn sent_for(sample: &Sample) -> impl Iterator<Item = &Request> {
    sample.outcome.requests.iter().filter(|request| request.wait() != Some(Span::ZERO))
}

/// Frames of one kind in the whole run.
pub(super) fn frames(sample: &Sample, kind: &str) -> f64 {
    sample.outcome.kinds.iter().filter(|seen| seen.name == kind).map(|seen| seen.totals.frames as f64).sum()
}

/// How often a rule broke.
pub(super) fn broken(sample: &Sample, rule: meshlock_properties::Rule) -> f64 {
    sample.outcome.broken.iter().filter(|broken| broken.rule == rule).map(|broken| broken.times as f64).sum()
}

/// A 95 % interval over runs.
pub(super) fn over_runs(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Estimate {
    let values: Vec<f64> = samples.iter().map(of).filter(|value| value.is_finite()).collect();
    Estimate::of(&values, 0.95)
}

/// The median over runs with its 95 % interval, in words: for counts, most of which are small.
pub(super) fn median_of(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Median {
    let values: Vec<f64> = samples.iter().map(of).filter(|value| value.is_finite()).collect();
    Median::of(&values, 0.95)
}

/// All repairs of the printed text, as a text.
pub(super) fn all_repairs() -> verdict::Text {
    verdict::Text::With("f1 to f7".to_owned())
}

/// A scenario to the letter, in which floods never end: limits tell so after a moment.
pub(super) fn to_the_letter(scenario: &Scenario) -> Scenario {
    let limits = Limits { events: 300_000, in_flight: 100_000 };
    Scenario { protocol: printed(&[]), limits, ..scenario.clone() }
}

/// A table from names (those that start with `#` are of numbers) and rows.
pub(super) fn table(columns: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    let column = |name: &&str| Column { name: name.trim_start_matches('#').to_owned(), numeric: name.starts_with('#') };
    Table { columns: columns.iter().map(column).collect(), rows }
}

/// Words.
pub(super) fn text(words: impl Into<String>) -> Cell {
    Cell::Text(words.into())
}

/// A mean with its interval; nothing if there is none.
pub(super) fn cell(estimate: Estimate) -> Cell {
    if estimate.mean.is_nan() {
        return Cell::Empty;
    }
    Cell::Estimate { mean: estimate.mean, half_width: estimate.half_width }
}

/// A number as a cell.
pub(super) fn number(value: f64) -> Cell {
    Cell::Number(value)
}

/// An axis.
pub(super) fn scale(label: &str, unit: &str, log: bool) -> Scale {
    Scale { label: label.to_owned(), unit: unit.to_owned(), log, from_zero: !log }
}

/// A time in words, in milliseconds.
pub(super) fn ms(estimate: Estimate) -> String {
    let scaled = Estimate { mean: 1e3 * estimate.mean, half_width: 1e3 * estimate.half_width, ..estimate };
    format!("{scaled} ms")
}
