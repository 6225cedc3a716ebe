//! What was measured, as a table, a page and JSON. Each cell is the median of its rounds, with the least and the greatest;
//! the ratio is to the better of the two kinds of meshlock links, in the same run.

use meshlock_report::chart::{Bar, BarGroup, Bars, Scale};
use meshlock_report::page::{Block, Page};
use meshlock_report::table::{Cell as TableCell, Column, Table};
use serde_json::json;

use crate::Cell;
use crate::load::{Workload, median};

/// Median, least and greatest.
struct Range {
    middle: f64,
    low: f64,
    high: f64,
}

impl Range {
    fn of(values: Vec<f64>) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        Some(Self { middle: median(values).ok()?, low, high })
    }
}

impl Cell {
    fn rate(&self) -> Option<Range> {
        Range::of(self.rounds.iter().filter_map(|round| round.rate).collect())
    }

    fn time(&self) -> Option<Range> {
        Range::of(self.rounds.iter().map(|round| round.time).collect())
    }

    /// The median of the rounds: the time to another client, and how often it is another one.
    fn handover(&self) -> Option<(f64, f64)> {
        let of = |pick: fn((f64, f64)) -> f64| {
            median(self.rounds.iter().filter_map(|round| round.handover).map(pick).collect()).ok()
        };
        Some((of(|it| it.0)?, of(|it| it.1)?))
    }

    fn words(&self, best: Option<&Range>) -> String {
        if let Some(lacks) = self.lacks {
            return format!("not offered: {lacks}");
        }
        let Some(time) = self.time() else { return "not measured".to_owned() };
        if time.middle.is_infinite() {
            return "not served while it is away".to_owned();
        }
        let spread =
            if self.rounds.len() > 1 { format!(" ({}-{})", short(time.low), short(time.high)) } else { String::new() };
        let rate = self.rate().map(|rate| format!("{:.0}/s, ", rate.middle)).unwrap_or_default();
        let own = self.service.starts_with("meshlock");
        let ratio =
            best.filter(|_| !own).map(|best| format!(", {:.2} x", time.middle / best.middle)).unwrap_or_default();
        let over =
            self.handover().map(|(gap, share)| format!("; to another client {}, {:.0} %", short(gap), share * 100.0));
        format!("{rate}{}{spread}{ratio}{}", short(time.middle), over.unwrap_or_default())
    }
}

fn short(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

fn workloads(cells: &[Cell]) -> Vec<Workload> {
    let mut all: Vec<Workload> = cells.iter().map(|cell| cell.workload).collect();
    all.dedup();
    all
}

/// A row for each workload, a column for each service.
pub fn table(cells: &[Cell]) -> Table {
    let mut services: Vec<&str> = Vec::new();
    for cell in cells {
        if !services.contains(&cell.service) {
            services.push(cell.service);
        }
    }
    let column = |name: &str| Column { name: name.to_owned(), numeric: false };
    let columns = std::iter::once("").chain(services.iter().copied()).map(column).collect();
    let rows = workloads(cells).into_iter().map(|workload| {
        let of: Vec<&Cell> = cells.iter().filter(|cell| cell.workload == workload).collect();
        let ours = of.iter().filter(|cell| cell.service.starts_with("meshlock")).filter_map(|cell| cell.time());
        let best = ours.min_by(|a, b| a.middle.total_cmp(&b.middle));
        let words = of.iter().map(|cell| TableCell::Text(cell.words(best.as_ref())));
        std::iter::once(TableCell::Text(workload.name())).chain(words).collect()
    });
    Table { columns, rows: rows.collect() }
}

pub fn json(cells: &[Cell]) -> serde_json::Value {
    let range = |range: Option<Range>| {
        // JSON has no infinity: what was never served has no time.
        range
            .filter(|it| it.middle.is_finite())
            .map(|it| json!({ "median": it.middle, "low": it.low, "high": it.high }))
    };
    cells
        .iter()
        .map(|cell| {
            json!({
                "workload": cell.workload.id(), "service": cell.service, "not_offered": cell.lacks,
                "handover": cell.handover().map(|(seconds, share)| json!({ "seconds": seconds, "share": share })),
                "rounds": cell.rounds.len(), "entries_per_s": range(cell.rate()), "seconds": range(cell.time()),
                "served": cell.time().map(|time| time.middle.is_finite()),
            })
        })
        .collect()
}

pub fn page(cells: &[Cell], about: &[(&str, &str)], busy: usize) -> Page {
    let mut blocks = vec![
        Block::Paragraph(format!(
            "All on one machine, interleaved in one run, {busy} busy loops beside it. A time is the median of all entries of a \
             round, then the median of the rounds with the least and the greatest. `x` is the ratio to the faster kind of \
             meshlock links."
        )),
        Block::Table { caption: String::new(), table: table(cells) },
    ];
    for (title, log, value) in [
        ("Entries per second on one lock", false, (|cell: &Cell| cell.rate()) as fn(&Cell) -> Option<Range>),
        ("From a release to the next entry", true, |cell: &Cell| cell.time()),
    ] {
        let groups: Vec<BarGroup> = workloads(cells)
            .into_iter()
            .filter(|workload| matches!(workload, Workload::Lock(_)))
            .map(|workload| BarGroup {
                name: workload.id().replace("lock-", "")
                    + if workload == Workload::Lock(1) { " client" } else { " clients" },
                bars: cells
                    .iter()
                    .filter(|cell| cell.workload == workload)
                    .filter_map(|cell| {
                        let range = value(cell).filter(|range| range.middle.is_finite())?;
                        Some(Bar {
                            name: cell.service.to_owned(),
                            value: range.middle,
                            low: range.low,
                            high: range.high,
                        })
                    })
                    .collect(),
            })
            .collect();
        if groups.is_empty() {
            continue;
        }
        let (label, unit) = if log { ("time", "s") } else { ("entries", "/s") };
        let y = Scale { label: label.to_owned(), unit: unit.to_owned(), log, from_zero: !log };
        let bars = Bars { title: title.to_owned(), y, groups, stacked: false, note: None };
        blocks.push(Block::Figure { svg: bars.svg(), caption: String::new() });
    }
    blocks.push(Block::Heading(2, "How each is set up".to_owned()));
    blocks.push(Block::List(about.iter().map(|(name, about)| format!("{name}: {about}")).collect()));
    Page { title: "meshlock and its peers".to_owned(), subtitle: String::new(), blocks }
}
