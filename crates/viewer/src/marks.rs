//! The lines of a trace that people look for, and the curves over its time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::line::Line;
use crate::scene::Changed;

/// What people look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mark {
    Grant,
    Request,
    Release,
    Violation,
    Link,
    Lost,
    Token,
    End,
}

/// What is marked in one chunk of a trace, in the order of its lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    lines: BTreeMap<Mark, Vec<(u64, u64)>>,
    points: Vec<Point>,
}

/// How things stand after a line that changed something countable.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: u64,
    grants: u32,
    waited: u64,
    longest: u64,
    messages: u32,
    /// After the line.
    queued: u32,
    in_use: i64,
}

/// Curves over equal spans of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Figures {
    last: u64,
    marks: BTreeMap<Mark, Vec<u32>>,
    waiting: Vec<Option<f64>>,
    longest: Vec<Option<u64>>,
    in_use: Vec<i64>,
    queued: Vec<u32>,
    messages: Vec<u64>,
    grants: Vec<u64>,
    capacity: Option<u64>,
}

impl Marks {
    /// Notes what is worth noting in a line. `load` is how many wait and how much is in use after it.
    pub(crate) fn take(
        &mut self,
        number: u64,
        at: u64,
        line: &Line<'_>,
        changed: Changed,
        load: impl Fn() -> (u32, i64),
    ) {
        let mut mark = |mark| self.lines.entry(mark).or_default().push((number, at));
        let has_violation = |end: &serde_json::value::RawValue| {
            #[derive(Deserialize)]
            struct Glimpse {
                violation: Option<serde::de::IgnoredAny>,
            }
            serde_json::from_str::<Glimpse>(end.get()).is_ok_and(|glimpse| glimpse.violation.is_some())
        };
        let all = [
            (Mark::Grant, changed.grants > 0),
            (Mark::Request, changed.requests > 0),
            (Mark::Release, changed.releases > 0),
            (Mark::Violation, line.end.is_some_and(has_violation)),
            (Mark::Link, line.link.is_some()),
            (Mark::Lost, line.lost.is_some()),
            (Mark::Token, changed.token),
            (Mark::End, line.end.is_some()),
        ];
        all.into_iter().filter(|(_, is_so)| *is_so).for_each(|(kind, _)| mark(kind));
        let is_cancel = matches!(line.event, Some(meshlock_core::Event::Cancel { .. }));
        if changed != Changed::default() || is_cancel {
            let (queued, in_use) = load();
            let Changed { grants, waited, longest, messages, .. } = changed;
            self.points.push(Point { at, grants, waited, longest, messages, queued, in_use });
        }
    }

    /// The nearest marked line after a line, or before it.
    pub(crate) fn next(&self, mark: Mark, line: u64, back: bool) -> Option<(u64, u64)> {
        let lines = self.lines.get(&mark)?;
        if back {
            let place = lines.partition_point(|(other, _)| *other < line);
            place.checked_sub(1).map(|place| lines[place])
        } else {
            lines.get(lines.partition_point(|(other, _)| *other <= line)).copied()
        }
    }
}

/// All curves of some chunks, over so many spans from 0 to `last`.
pub(crate) fn figures<'a>(
    chunks: impl Iterator<Item = &'a Marks>,
    last: u64,
    spans: usize,
    capacity: Option<u64>,
) -> Figures {
    let spans = spans.clamp(1, 5_000);
    let mut figures = Figures {
        last,
        marks: BTreeMap::new(),
        waiting: vec![None; spans],
        longest: vec![None; spans],
        in_use: vec![0; spans],
        queued: vec![0; spans],
        messages: vec![0; spans],
        grants: vec![0; spans],
        capacity,
    };
    let span = |at: u64| ((u128::from(at) * spans as u128 / (u128::from(last) + 1)) as usize).min(spans - 1);
    let mut waited = vec![0_u64; spans];
    let (mut done, mut in_use, mut queued) = (0, 0, 0);
    for marks in chunks {
        for (mark, lines) in &marks.lines {
            let counts = figures.marks.entry(*mark).or_insert_with(|| vec![0; spans]);
            lines.iter().for_each(|(_, at)| counts[span(*at)] += 1);
        }
        for point in &marks.points {
            let here = span(point.at);
            // Until here nothing changed.
            figures.in_use[done..here].fill(in_use);
            figures.queued[done..here].fill(queued);
            (done, in_use, queued) = (here, point.in_use, point.queued);
            figures.messages[here] += u64::from(point.messages);
            if point.grants > 0 {
                figures.grants[here] += u64::from(point.grants);
                waited[here] += point.waited;
                figures.longest[here] = figures.longest[here].max(Some(point.longest));
            }
        }
    }
    figures.in_use[done..].fill(in_use);
    figures.queued[done..].fill(queued);
    for ((mean, waited), grants) in figures.waiting.iter_mut().zip(waited).zip(&figures.grants) {
        *mean = (*grants > 0).then(|| waited as f64 / *grants as f64);
    }
    figures
}
