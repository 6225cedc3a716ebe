//! S4-5 and S4-6: how long messages are, in bytes as they are encoded.

use meshlock_report::chart::Point;
use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Totals;
use meshlock_sim::scenario::{Arrivals, Class, Scenario, Text, Warmup};
use meshlock_sim::time::Span;
use meshlock_statistics::Line;

use super::setting::{T, busy, group, three_texts};
use crate::prelude::*;
use crate::verdict;

/// Process 0 is inside; meanwhile all others ask at once, each for a session of its own or all for the same.
fn crowd(text: Text, others: u32, same_session: bool) -> Scenario {
    let at = |node: u32, moment: f64, session: u32| Class {
        name: format!("{node}"),
        nodes: vec![node],
        arrivals: Arrivals::Burst { at: Span::from_seconds(moment), requests: 1 },
        holding: Distribution::Constant(4.0 * T),
        session: Some(Distribution::Constant(f64::from(session))),
        ..busy(1, 1, 1.0, 1.0)
    };
    let mut classes = vec![at(0, T, 0)];
    classes.extend((1..=others).map(|node| at(node, 2.0 * T, if same_session { 1 } else { node })));
    let seconds = T * (10.0 + 10.0 * f64::from(others));
    Scenario { warmup: Warmup::Fixed(Span::ZERO), ..group(text, others + 1, seconds, classes) }
}

fn sent(samples: &Samples, kind: &str) -> Totals {
    let kinds = samples.outcomes().flat_map(|outcome| &outcome.kinds);
    kinds.filter(|sent| sent.name == kind).map(|sent| sent.totals).next().unwrap_or_default()
}

fn mean_bytes(totals: Totals) -> f64 {
    totals.bytes as f64 / totals.messages as f64
}

fn sizes(lab: &Lab) -> &'static [u32] {
    lab.choose(&[4, 8, 16, 32], &[4, 8, 16, 32, 48, 64], &[4, 8, 12, 16, 24, 32, 48, 64, 96])
}

pub(super) const VARIES: &str = "bytes by which requests, starts or completes differ in length";
pub(super) const OFF_LINE: &str = "greatest distance of a token's length from a straight line, as a share";
pub(super) const GROWTH: &str = "bytes that a token grows by for each request that waits at first";
pub(super) const COUNTS: &str = "settings with other numbers of tokens, starts or completes";
pub(super) const ONE_GROWS: &str = "mean length if all ask for one session, at the largest N by that at the least";
pub(super) const MANY_GROW: &str =
    "mean length if all ask for different ones, at the largest N by that at the least, by N";

struct Lengths {
    /// By N: request, start, complete.
    small: Vec<[f64; 3]>,
    /// N and the mean length of a token.
    tokens: Vec<(f64, f64)>,
    runs: Runs,
}

impl Lengths {
    fn of(lab: &Lab, text: &Text) -> Self {
        let mut found = Self { small: Vec::new(), tokens: Vec::new(), runs: Runs::default() };
        for &others in sizes(lab) {
            let [each, all] = [false, true].map(|same| lab.replicate(&crowd(text.clone(), others, same), 1));
            found.runs = found.runs.and((&each).into()).and((&all).into());
            found.small.push([sent(&each, "request"), sent(&all, "start"), sent(&all, "complete")].map(mean_bytes));
            found.tokens.push((f64::from(others), mean_bytes(sent(&each, "token"))));
        }
        found
    }

    fn column(&self, label: verdict::Text) -> Column {
        let growth = fit(&self.tokens);
        let [first, ..] = self.small.as_slice() else { return Column::new(label, self.runs, Vec::new()) };
        let differ =
            self.small.iter().flat_map(|row| row.iter().zip(first)).map(|(bytes, first)| (bytes - first).abs());
        let residual = self.tokens.iter().map(|(n, bytes)| (bytes / (growth.intercept + growth.slope * n) - 1.0).abs());
        // A fold over what is no number would hide it.
        let most = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(0.0, |most, value| if value.is_nan() { f64::NAN } else { f64::max(most, value) })
        };
        let grows = Fact {
            name: GROWTH,
            value: growth.slope,
            low: growth.slope - growth.half_width,
            high: growth.slope + growth.half_width,
        };
        let facts = vec![
            Fact::exact(VARIES, most(&mut differ.into_iter())),
            Fact::exact(OFF_LINE, most(&mut residual.into_iter())),
            grows,
        ];
        Column::new(label, self.runs, facts)
    }
}

/// S4-5.
pub(super) fn by_kind(lab: &Lab) -> Finding {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let (mut tokens, mut told) = (Vec::new(), Vec::new());
    for (label, text) in three_texts() {
        let found = Lengths::of(lab, &text);
        for (small, (n, token)) in found.small.iter().zip(&found.tokens) {
            let mut row = vec![words(&label)];
            row.extend([*n, small[0], small[1], small[2], *token].map(Cell::Number));
            rows.push(row);
        }
        let column = found.column(label);
        let [request, start, complete] = found.small.first().copied().unwrap_or([f64::NAN; 3]);
        told.push(format!(
            "{}: request {request:.0}, start {start:.0}, complete {complete:.0} bytes, the token grows by {}",
            column.text, column.facts[2]
        ));
        columns.push(column);
        tokens = found.tokens;
    }
    let growth = fit(&tokens);
    let fitted = |x: f64| Point { x, y: growth.intercept + growth.slope * x, low: f64::NAN, high: f64::NAN };
    let fitted = tokens.iter().map(|(n, _)| fitted(*n)).collect();
    let seen = tokens.iter().map(|(n, bytes)| exact_point(*n, *bytes)).collect();
    let lines = vec![line("token", seen), dashed("a straight line", fitted)];
    Finding {
        columns,
        measured: told.join("; "),
        checks: Vec::new(),
        evidence: vec![
            table(
                "Mean bytes per message; N ask at once for N sessions (request, token) or one (start, complete)",
                "text | N | request | start | complete | token",
                rows,
            ),
            captioned(
                "The token is as long as what it carries.",
                "Bytes of a token",
                scale("requests that wait", ""),
                scale("mean length", "B"),
                lines,
            ),
            note(
                "Ours carries the last request taken up of every process as well (the repair of G7), which is of the \
                 same order. Lengths are without any header; the figure is of the repaired text.",
            ),
        ],
    }
}

fn fit(points: &[(f64, f64)]) -> Line {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    meshlock_statistics::line(&xs, &ys, 0.95)
}

/// How much larger the largest network is than the smallest.
fn times_of(lab: &Lab) -> u32 {
    let sizes = sizes(lab);
    sizes.last().copied().unwrap_or(0) / sizes.first().copied().unwrap_or(1)
}

/// S4-6.
pub(super) fn on_average(lab: &Lab) -> Finding {
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut means = [Vec::new(), Vec::new()];
    for (label, text) in three_texts() {
        means = [Vec::new(), Vec::new()];
        let mut other_counts = 0_u64;
        let mut runs = Runs::default();
        for &others in sizes(lab) {
            let mut row = vec![words(&label), count(others)];
            for (same_session, means) in [true, false].into_iter().zip(&mut means) {
                let samples = lab.replicate(&crowd(text.clone(), others, same_session), 1);
                runs = runs.and((&samples).into());
                let kinds = ["token", "start", "complete"].map(|kind| sent(&samples, kind));
                let [tokens, starts, completes] = kinds.map(|totals| totals.messages);
                let followers = if same_session { u64::from(others) - 1 } else { 0 };
                let captains = u64::from(others) - followers;
                other_counts += u64::from([tokens, starts, completes] != [captains, followers, followers]);
                let bytes: u64 = kinds.iter().map(|totals| totals.bytes).sum();
                let mean = bytes as f64 / (tokens + starts + completes) as f64;
                means.push((f64::from(others), mean));
                row.extend([count(tokens), count(starts), count(completes), number(mean)]);
            }
            rows.push(row);
        }
        let ends = |points: &[(f64, f64)]| Some((*points.first()?, *points.last()?));
        let growth = |points: &[(f64, f64)]| ends(points).map_or(f64::NAN, |((_, few), (_, most))| most / few);
        let times = ends(&means[0]).map_or(f64::NAN, |((few, _), (most, _))| most / few);
        let facts = vec![
            Fact::count(COUNTS, other_counts),
            Fact::exact(ONE_GROWS, growth(&means[0])),
            Fact::exact(MANY_GROW, growth(&means[1]) / times),
        ];
        told.push(format!(
            "{label}: {:.2} times as long for one session, {:.1} times for N",
            growth(&means[0]),
            growth(&means[1])
        ));
        columns.push(Column::new(label, runs, facts));
    }
    let [one, many] = &means;
    let measured = format!("mean length at {} times as many processes: {}", times_of(lab), told.join("; "));
    let points = |points: &[(f64, f64)]| points.iter().map(|(x, y)| exact_point(*x, *y)).collect();
    let lines = vec![line("one session", points(one)), line("N sessions", points(many))];
    Finding {
        columns,
        measured,
        checks: Vec::new(),
        evidence: vec![
            table(
                "Messages after the requests, and their mean bytes",
                "text | N | one: tokens | starts | completes | bytes | N: tokens | starts | completes | bytes",
                rows,
            ),
            captioned(
                "Mean length of tokens, starts and completes together.",
                "One session or N",
                scale("N", ""),
                scale("mean length", "B"),
                lines,
            ),
        ],
    }
}
