//! The network of the paper: everybody reaches everybody, and a message takes T. And small words for tables.

use meshlock_report::chart::{Chart, Point, Scale, Series};
use meshlock_report::table::{Cell, Column, Table};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Changes, Class, Limits, MessageSize, Name, Network, ProtocolChoice, Scenario, Shape, Text, Traffic, UrgencyOf,
    Warmup, Wired,
};
use meshlock_sim::time::{Span, Time};
use meshlock_statistics::Estimate;

use crate::verdict;

/// The T of the paper, in seconds.
pub(super) const T: f64 = 0.01;

/// The defects of the printed text, by the names of `docs/errata.md`.
const DEFECTS: [&str; 10] = ["g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10"];

/// The text as printed.
pub(super) const fn printed() -> Text {
    Text::Published { repairs: Vec::new() }
}

/// The printed text with every defect repaired but these.
pub(super) fn all_but(missing: &[&str]) -> Text {
    let repairs = DEFECTS.iter().filter(|name| !missing.contains(name)).map(|name| (*name).to_owned()).collect();
    Text::Published { repairs }
}

/// As printed, with every repair that has a switch, and repaired.
pub(super) fn three_texts() -> [(verdict::Text, Text); 3] {
    [(verdict::Text::Printed, printed()), (mended(), all_but(&[])), (verdict::Text::Repaired, Text::Repaired)]
}

/// The printed text with all repairs.
pub(super) fn mended() -> verdict::Text {
    verdict::Text::With("g1 to g10".to_owned())
}

/// The printed text with all repairs but one.
pub(super) fn mended_but(missing: &str) -> verdict::Text {
    verdict::Text::With(format!("all but {missing}"))
}

/// Group mutual exclusion on the network of the paper, for so many seconds, after a warm-up of a tenth.
pub(super) fn group(text: Text, nodes: u32, seconds: f64, classes: Vec<Class>) -> Scenario {
    let wired = Wired {
        shape: Shape::Complete,
        delay: Distribution::Constant(T),
        fifo: true,
        loss: 0.0,
        message: MessageSize::Encoded { header: 0 },
        gentle: false,
        changes: Changes::default(),
    };
    Scenario {
        name: "group".to_owned(),
        nodes,
        duration: Span::from_seconds(seconds),
        warmup: Warmup::Fixed(Span::from_seconds(seconds / 10.0)),
        drain: Span::from_seconds(60.0),
        // Nothing is lost, so nothing need be said again.
        protocol: ProtocolChoice { name: Name::Group, text, retry: None, ..ProtocolChoice::default() },
        network: Network::Wired(wired),
        traffic: Traffic { classes },
        limits: Limits::of(nodes),
    }
}

/// Everybody asks for one of `sessions` sessions at level 1, again and again, after thinking so long on average and
/// for so long on average.
pub(super) fn busy(nodes: u32, sessions: u32, think: f64, holding: f64) -> Class {
    let session = Distribution::Uniform { low: 1.0, high: f64::from(sessions) };
    let (think, holding) = (Distribution::Exponential { mean: think }, Distribution::Exponential { mean: holding });
    Class { session: Some(session), ..Class::closed(nodes, think, holding) }
}

/// The same clients, each at a level drawn from these.
pub(super) fn at_levels(class: Class, levels: &[u32]) -> Class {
    let levels = Distribution::Choice(levels.iter().map(|level| (f64::from(*level), 1.0)).collect());
    Class { urgency: UrgencyOf::Priority(levels), ..class }
}

/// How many T a time is.
pub(super) fn in_t(later: Time, earlier: Time) -> f64 {
    later.since(earlier).seconds() / T
}

/// Whether two numbers are the same but for rounding.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// A table: columns whose names end in `:` have words, all others numbers.
pub(super) fn table(columns: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    let column = |name: &&str| Column { name: name.trim_end_matches(':').to_owned(), numeric: !name.ends_with(':') };
    Table { columns: columns.iter().map(column).collect(), rows }
}

/// A cell with words.
pub(super) fn words(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A cell with a count.
pub(super) fn count(value: impl TryInto<u32>) -> Cell {
    value.try_into().map_or(Cell::Empty, |value| Cell::Number(f64::from(value)))
}

/// A cell with a mean and its interval.
pub(super) fn estimate(of: Estimate) -> Cell {
    if of.mean.is_nan() { Cell::Empty } else { Cell::Estimate { mean: of.mean, half_width: of.half_width } }
}

/// A point with its interval.
pub(super) fn point(x: f64, of: Estimate) -> Point {
    let (low, high) = if of.half_width.is_finite() { (of.low(), of.high()) } else { (of.mean, of.mean) };
    Point { x, y: of.mean, low, high }
}

/// A line of a chart.
pub(super) fn series(name: impl Into<String>, points: Vec<Point>) -> Series {
    Series { name: name.into(), points, dashed: false }
}

/// A chart with both axes from zero.
pub(super) fn chart(title: &str, x: (&str, &str), y: (&str, &str), series: Vec<Series>) -> String {
    let scale = |(label, unit): (&str, &str)| Scale {
        label: label.to_owned(),
        unit: unit.to_owned(),
        log: false,
        from_zero: true,
    };
    Chart { title: title.to_owned(), x: scale(x), y: scale(y), series, note: None }.svg()
}
