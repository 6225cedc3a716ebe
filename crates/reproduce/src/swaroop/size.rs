//! S4-5 and S4-6: how long messages are, in bytes as they are encoded.

use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::{Outcome, Totals};
use meshlock_sim::scenario::{Arrivals, Class, Scenario, Text, Warmup};
use meshlock_sim::time::Span;
use meshlock_statistics::{Line, line};

use super::ledger::watched;
use super::setting::{T, busy, chart, count, group, same, series, table, unless};
use crate::claim::{Evidence, Finding, Verdict};
use crate::lab::Lab;
use meshlock_report::chart::Point;

/// Process 0 is inside; meanwhile all others ask at once, each for a session of its own or all for the same.
fn crowd(others: u32, same_session: bool) -> Scenario {
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
    Scenario { warmup: Warmup::Fixed(Span::ZERO), ..group(Text::Repaired, others + 1, seconds, classes) }
}

fn sent(outcome: &Outcome, kind: &str) -> Totals {
    outcome.kinds.iter().find(|sent| sent.name == kind).map(|sent| sent.totals).unwrap_or_default()
}

fn mean_bytes(totals: Totals) -> f64 {
    totals.bytes as f64 / totals.messages as f64
}

fn sizes(lab: &Lab) -> &'static [u32] {
    lab.choose(&[4, 8, 16, 32], &[4, 8, 16, 32, 48, 64], &[4, 8, 12, 16, 24, 32, 48, 64, 96])
}

/// S4-5.
pub(super) fn by_kind(lab: &Lab) -> Finding {
    let (mut rows, mut tokens) = (Vec::new(), Vec::new());
    let mut small: Vec<[f64; 3]> = Vec::new();
    for &others in sizes(lab) {
        let (each, _) = watched(&crowd(others, false), 1);
        let (all, _) = watched(&crowd(others, true), 1);
        let token = mean_bytes(sent(&each, "token"));
        let fixed = [sent(&each, "request"), sent(&all, "start"), sent(&all, "complete")].map(mean_bytes);
        tokens.push((f64::from(others), token));
        small.push(fixed);
        rows.push([f64::from(others), fixed[0], fixed[1], fixed[2], token].map(Cell::Number).to_vec());
    }
    let growth = fit(&tokens);
    let constant = small.iter().all(|row| row.iter().zip(small[0]).all(|(bytes, first)| same(*bytes, first)));
    let residual = tokens.iter().map(|(n, bytes)| (bytes / (growth.intercept + growth.slope * n) - 1.0).abs());
    let off = residual.fold(0.0, f64::max);
    let [request, start, complete] = small[0];
    let measured = format!(
        "request {request:.0}, start {start:.0} and complete {complete:.0} bytes at every N{}; the token grows by \
         {:.2} ± {:.2} bytes per request that waits at first (mean over its way; no size off the line by more than \
         {:.0} %)",
        unless(constant),
        growth.slope,
        growth.half_width,
        100.0 * off
    );
    let line = |x: f64| Point { x, y: growth.intercept + growth.slope * x, low: f64::NAN, high: f64::NAN };
    let fitted = tokens.iter().map(|(n, _)| line(*n)).collect();
    let seen = tokens.iter().map(|(n, bytes)| Point { x: *n, y: *bytes, low: *bytes, high: *bytes }).collect();
    let mut lines = vec![series("token", seen), series("a straight line", fitted)];
    lines[1].dashed = true;
    Finding {
        measured,
        verdict: Verdict::Holds,
        as_expected: constant && !growth.may_be_flat() && growth.slope > 1.0 && off < 0.15,
        evidence: vec![
            Evidence::Table(
                "Mean bytes per message; N ask at once for N sessions (request, token) or one (start, complete)"
                    .to_owned(),
                table(&["N", "request", "start", "complete", "token"], rows),
            ),
            Evidence::Figure(
                "The token is as long as what it carries.".to_owned(),
                chart("Bytes of a token", ("requests that wait", ""), ("mean length", "B"), lines),
            ),
            Evidence::Note(
                "Ours carries the last request taken up of every process as well (the repair of G7), which is of the \
                 same order. Lengths are those of the repaired protocol's messages, without any header."
                    .to_owned(),
            ),
        ],
    }
}

fn fit(points: &[(f64, f64)]) -> Line {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    line(&xs, &ys, 0.95)
}

/// S4-6.
pub(super) fn on_average(lab: &Lab) -> Finding {
    let mut rows = Vec::new();
    let mut means = [Vec::new(), Vec::new()];
    let mut counts_fit = true;
    for &others in sizes(lab) {
        let mut row = vec![count(others)];
        for (same_session, means) in [true, false].into_iter().zip(&mut means) {
            let (outcome, _) = watched(&crowd(others, same_session), 1);
            let kinds = ["token", "start", "complete"].map(|kind| sent(&outcome, kind));
            let [tokens, starts, completes] = kinds.map(|totals| totals.messages);
            let followers = if same_session { u64::from(others) - 1 } else { 0 };
            let captains = u64::from(others) - followers;
            counts_fit &= [tokens, starts, completes] == [captains, followers, followers];
            let bytes: u64 = kinds.iter().map(|totals| totals.bytes).sum();
            let mean = bytes as f64 / (tokens + starts + completes) as f64;
            means.push((f64::from(others), mean));
            row.extend([count(tokens), count(starts), count(completes), Cell::Number(mean)]);
        }
        rows.push(row);
    }
    let last = |points: &[(f64, f64)]| points.last().copied().unwrap_or((f64::NAN, f64::NAN));
    let first = |points: &[(f64, f64)]| points.first().copied().unwrap_or((f64::NAN, f64::NAN));
    let [one, many] = &means;
    let ((few, one_few), (most, one_most)) = (first(one), last(one));
    let ((_, many_few), (_, many_most)) = (first(many), last(many));
    let measured = format!(
        "N ask for one session: 1 token, N - 1 starts, N - 1 completes{}, on average {one_few:.1} bytes at N = {few} and \
         {one_most:.1} at N = {most}; for N sessions: N tokens, {many_few:.1} and {many_most:.1} bytes",
        unless(counts_fit)
    );
    let points =
        |points: &[(f64, f64)]| points.iter().map(|(x, y)| Point { x: *x, y: *y, low: *y, high: *y }).collect();
    let lines = vec![series("one session", points(one)), series("N sessions", points(many))];
    let times = most / few;
    Finding {
        measured,
        verdict: Verdict::Holds,
        // Constant: at most one and a half times as long at N times as many. Linear: at least half as much longer.
        as_expected: counts_fit && one_most / one_few < 1.5 && many_most / many_few > times / 2.0,
        evidence: vec![
            Evidence::Table(
                "Messages after the requests, and their mean bytes".to_owned(),
                table(
                    &["N", "one: tokens", "starts", "completes", "bytes", "N: tokens", "starts", "completes", "bytes"],
                    rows,
                ),
            ),
            Evidence::Figure(
                "Mean length of tokens, starts and completes together.".to_owned(),
                chart("One session or N", ("N", ""), ("mean length", "B"), lines),
            ),
        ],
    }
}
