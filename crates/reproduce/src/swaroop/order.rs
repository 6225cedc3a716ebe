//! S4-11, S4-13 and S4-16: when and in which order sessions follow each other.

use meshlock_core::Order;
use meshlock_report::chart::{Bar, BarGroup, Bars};
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::Outcome;
use meshlock_sim::scenario::{Class, Name, ProtocolChoice, Scenario, Text};
use meshlock_statistics::{Proportion, paired, proportion};

use super::ledger::{Entry, Ledger, Role, watched};
use super::setting::{at_levels, busy, group, in_t, same, three_texts};
use crate::prelude::*;
use crate::verdict;

/// From the last exit of a session to the first entry into the next.
struct HandOver {
    /// In units of T.
    delay: f64,
    /// What it must be: the captain has to know that all are out, and the token may have to travel.
    due: f64,
    last: Role,
    /// Whether the token went to another process.
    moved: bool,
}

/// All hand-overs of a run in which the captain knew of the next request when the last one left: under heavy load
/// nearly all. Otherwise that request's own way would be counted too.
fn hand_overs(ledger: &Ledger) -> Vec<HandOver> {
    let mut found = Vec::new();
    let mut inside: Vec<&Entry> = Vec::new();
    for (place, entry) in ledger.entries.iter().enumerate() {
        let left_all = !inside.is_empty() && inside.iter().all(|i| i.released.is_some_and(|at| at <= entry.granted));
        if left_all && inside[0].session != entry.session {
            let last = inside.iter().filter_map(|entry| Some((entry.released?, entry))).max_by_key(|(at, _)| *at);
            // The next captain may be told after its followers; both are told at the same moment.
            let at_once = ledger.entries[place..].iter().take_while(|other| other.granted == entry.granted);
            let moved = at_once.into_iter().all(|other| other.role != Role::Holder);
            if let Some((at, last)) = last.filter(|(at, _)| in_t(*at, entry.asked) >= 1.0) {
                let known = |entry: &&Entry| {
                    let before = entry.released.map_or(0.0, |released| in_t(at, released));
                    f64::from(u8::from(entry.role == Role::Follower)) - before
                };
                let due = inside.iter().map(known).fold(0.0, f64::max) + f64::from(u8::from(moved));
                let last = if last.role == Role::Follower { Role::Follower } else { Role::Captain };
                found.push(HandOver { delay: in_t(entry.granted, at), due, last, moved });
            }
        }
        if left_all {
            inside.clear();
        }
        inside.push(entry);
    }
    found
}

pub(super) const OUTSIDE: &str = "hand-overs that take less than T or more than 2T";
pub(super) const NOT_TWO: &str = "hand-overs with a follower last that do not take 2T";
pub(super) const HAND_OVERS: &str = "hand-overs to another captain";
pub(super) const PASSED: &str = "entries that pass a request of the same level asked for more than 2T before";
pub(super) const ENTRIES: &str = "entries";
pub(super) const LOW_TO_MIDDLE: &str = "mean wait at the lowest level, less that at the middle one (s)";
pub(super) const MIDDLE_TO_HIGH: &str = "mean wait at the middle level, less that at the highest (s)";

/// S4-11.
pub(super) fn sync_delay(lab: &Lab) -> Finding {
    let (nodes, sessions) = (12, 3);
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 200.0), lab.choose(4_u64, 16, 30));
    let mut columns = Vec::new();
    let mut found: Vec<HandOver> = Vec::new();
    for (label, text) in three_texts() {
        let scenario = group(text, nodes, seconds, vec![busy(nodes, sessions, 0.05, 0.05)]);
        let seeds = if label == verdict::Text::Repaired { seeds } else { seeds.div_ceil(4) };
        let (ledgers, outcomes): (Vec<Ledger>, Vec<Outcome>) = watched(&scenario, seeds).into_iter().unzip();
        found = ledgers.iter().flat_map(hand_overs).collect();
        let moved = || found.iter().filter(|one| one.moved);
        let outside = moved().filter(|one| one.delay < 1.0 - 1e-6 || one.delay > 2.0 + 1e-6).count();
        let follower = moved().filter(|one| one.last == Role::Follower && !same(one.delay, 2.0)).count();
        let facts = vec![
            Fact::count(OUTSIDE, outside),
            Fact::count(NOT_TWO, follower),
            Fact::count(HAND_OVERS, moved().count() as u64),
        ];
        columns.push(Column::new(label, Runs::of(&outcomes), facts));
    }
    let mut rows = Vec::new();
    for (last, moved) in
        [(Role::Captain, true), (Role::Follower, true), (Role::Captain, false), (Role::Follower, false)]
    {
        let of_kind: Vec<&HandOver> = found.iter().filter(|one| one.last == last && one.moved == moved).collect();
        let exactly = |delay: f64| of_kind.iter().filter(|one| same(one.delay, delay)).count();
        let [none, one, two] = [0.0, 1.0, 2.0].map(exactly);
        rows.push(vec![
            words(if last == Role::Follower { "a follower" } else { "the captain" }),
            words(if moved { "another process" } else { "the same process" }),
            count(of_kind.len()),
            count(none),
            count(one),
            count(two),
            count(of_kind.len() - none - one - two),
        ]);
    }
    let as_due = found.iter().all(|one| same(one.delay, one.due));
    let moved: Vec<&HandOver> = found.iter().filter(|one| one.moved).collect();
    let share = |of: &dyn Fn(&HandOver) -> bool| {
        proportion(moved.iter().filter(|one| of(one)).count() as u64, moved.len() as u64, 0.95)
    };
    let (one, two) = (share(&|one| same(one.delay, 1.0)), share(&|one| same(one.delay, 2.0)));
    let follower_last = share(&|one| one.last == Role::Follower);
    let between = share(&|one| !same(one.delay, 1.0) && !same(one.delay, 2.0));
    let percent =
        |of: Proportion| format!("{:.1} % ({:.1} to {:.1})", 100.0 * of.share, 100.0 * of.low, 100.0 * of.high);
    let measured = format!(
        "repaired: of {} hand-overs to another captain {} take T and {} take 2T; the last to leave is a follower in \
         {}; {} lie between, where a follower left less than T before the captain",
        moved.len(),
        percent(one),
        percent(two),
        percent(follower_last),
        percent(between),
    );
    let bar = |name: &str, share: Proportion| BarGroup {
        name: name.to_owned(),
        bars: vec![Bar { name: "share".to_owned(), value: share.share, low: share.low, high: share.high }],
    };
    let bars = Bars {
        title: "From the last exit to the next entry".to_owned(),
        y: scale("share of hand-overs", ""),
        groups: vec![bar("T", one), bar("between", between), bar("2T", two), bar("follower last", follower_last)],
        stacked: false,
        note: None,
    };
    Finding {
        measured,
        checks: vec![
            check("more than 50 hand-overs", moved.len() > 50),
            check("every delay is what the captain's knowledge of the last exit explains", as_due),
            check(
                "more than a tenth take T, and less than 15 % lie between T and 2T",
                one.share > 0.1 && between.share < 0.15,
            ),
        ],
        columns,
        evidence: vec![
            table(
                "Hand-overs of the repaired text under heavy load, n = 12, three sessions",
                "last to leave | next captain | hand-overs | 0 | T | 2T | others",
                rows,
            ),
            drawn("Two atoms, and the share of the second.", bars.svg()),
            note(
                "The captain has to hear of every exit. If it leaves last, but less than T after a follower, that \
                 follower's complete is still on its way, and the delay lies between T and 2T. Every delay is exactly \
                 what this rule says.",
            ),
            note(
                "If the captain itself is one of the next to enter, the repaired protocol keeps the token there and \
                 saves one T; the paper does not have this case.",
            ),
        ],
    }
}

/// How often a request is served before one that was asked for more than `by` T earlier. Both at the same level, and
/// for different sessions.
fn passed(outcome: &Outcome, by: f64) -> usize {
    let served: Vec<_> = outcome.requests.iter().filter_map(|request| Some((request, request.granted?))).collect();
    let passes = |(later, granted): &(&meshlock_sim::outcome::Request, meshlock_sim::time::Time)| {
        served.iter().any(|(earlier, when)| {
            earlier.session != later.session && in_t(later.asked, earlier.asked) > by && when > granted
        })
    };
    served.iter().filter(|later| passes(later)).count()
}

/// S4-13.
pub(super) fn first_come(lab: &Lab) -> Finding {
    let nodes = 12;
    let (seconds, seeds) = (lab.choose(10.0, 30.0, 60.0), lab.choose(3, 16, 30));
    let own = |node: u32| Class {
        name: format!("{node}"),
        nodes: vec![node],
        session: Some(Distribution::Constant(f64::from(node))),
        ..at_levels(busy(nodes, 1, 0.3, 0.02), &[2])
    };
    let runs = [
        ("every process its own session", (0..nodes).map(own).collect::<Vec<_>>()),
        ("three sessions", vec![at_levels(busy(nodes, 3, 0.3, 0.02), &[2])]),
    ];
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mut joined = (0, 0);
    for (label, text) in three_texts() {
        for (place, (name, classes)) in runs.iter().enumerate() {
            let scenario = group(text.clone(), nodes, seconds, classes.clone());
            let samples = lab.replicate(&scenario, seeds);
            let sum = |by: f64| samples.outcomes().map(|outcome| passed(outcome, by)).sum::<usize>();
            let entries = samples.granted();
            let (any, beyond) = (sum(0.0), sum(2.0));
            rows.push(vec![words(&label), words(*name), count(entries), count(any), count(beyond)]);
            if place == 0 {
                let facts = vec![
                    Fact::count(PASSED, beyond),
                    Fact::count(ENTRIES, entries),
                    Fact::count("entries that pass one asked for at all before", any as u64),
                ];
                columns.push(Column::new(label.clone(), &samples, facts));
            } else {
                joined = (any, beyond);
            }
        }
    }
    let told = told(&columns, |column| format!("{} of {}", column.value(PASSED), column.value(ENTRIES)));
    Finding {
        columns,
        measured: format!(
            "each process its own session, entries that pass a request of the same level asked for more than 2T \
             before: {told}; with three sessions, repaired, {} do, because who joins an entry of the queue goes with \
             it",
            joined.1
        ),
        checks: vec![check("with three sessions some pass others", joined.0 > 0)],
        evidence: vec![
            table(
                "Entries that pass an earlier request of the same level, n = 12, one level",
                "text | sessions | entries | pass an earlier one | by more than 2T",
                rows,
            ),
            note(
                "A request needs T to the holder, and the token may be on its way for another T: who asks in that time \
                 has no order that anybody could know. What arrives while the token is under way is taken up in the \
                 order of names.",
            ),
        ],
    }
}

/// S4-16.
pub(super) fn levels(lab: &Lab) -> Finding {
    let nodes = 15;
    let (seconds, seeds) = (lab.choose(30.0, 100.0, 200.0), lab.choose(5, 16, 30));
    let own = |node: u32, levels: &[u32]| Class {
        name: "all".to_owned(),
        nodes: vec![node],
        session: Some(Distribution::Constant(f64::from(node))),
        ..at_levels(busy(nodes, 1, 0.1, 0.03), levels)
    };
    let run = |text: Text, levels: &[u32], greatest: u32| {
        let scenario = group(text, nodes, seconds, (0..nodes).map(|node| own(node, levels)).collect());
        let protocol = ProtocolChoice { levels: greatest, ..scenario.protocol.clone() };
        lab.replicate(&Scenario { protocol, ..scenario }, seeds)
    };
    let central = |levels: &[u32]| {
        let scenario = group(Text::Repaired, nodes, seconds, (0..nodes).map(|node| own(node, levels)).collect());
        let order = Order::Priority { aging: meshlock_core::Aging(0) };
        let protocol = ProtocolChoice { name: Name::Central, order, ..scenario.protocol.clone() };
        lab.replicate(&Scenario { protocol, ..scenario }, seeds)
    };
    let apart = [1, 6, 11];
    let close = [1, 2, 3];
    let wait = |samples: &Samples, level: u32| samples.estimate(&format!("wait.priority-{level}.mean"));
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    let mut tell = |name: &str, samples: &Samples, levels: [u32; 3]| {
        let waits = levels.map(|level| wait(samples, level));
        let inversions = samples.estimate("inversions.any/entry");
        lines.push(line(name, levels.iter().zip(waits).map(|(level, wait)| point(f64::from(*level), wait)).collect()));
        let [low, middle, high] = waits.map(mean);
        rows.push(vec![words(name), low, middle, high, mean(inversions)]);
        inversions
    };
    let (narrow, strict) = (run(Text::Repaired, &close, 3), central(&apart));
    let difference = |samples: &Samples, lower: u32, higher: u32| {
        let values = |level: u32| samples.values(&format!("wait.priority-{level}.mean"));
        let pair = paired(&values(lower), &values(higher), 0.95);
        pair.map_or(meshlock_statistics::Estimate::of(&[], 0.95), |pair| pair.difference)
    };
    let mut columns = Vec::new();
    let mut wide = strict.clone();
    let mut inversions = strict.estimate("inversions.any/entry");
    for (label, text) in three_texts() {
        wide = run(text, &apart, 11);
        inversions = tell(&format!("{label}, levels 1, 6, 11 of K = 11"), &wide, apart);
        let facts = vec![
            Fact::mean(LOW_TO_MIDDLE, difference(&wide, 1, 6)),
            Fact::mean(MIDDLE_TO_HIGH, difference(&wide, 6, 11)),
        ];
        columns.push(Column::new(label, &wide, facts));
    }
    tell("repaired, levels 1, 2, 3 of K = 3", &narrow, close);
    let strict_inversions = tell("a coordinator without aging", &strict, apart);
    let [low, middle, high] = apart.map(|level| wait(&wide, level));
    let measured = format!(
        "repaired, mean wait at levels 1, 6, 11 of 11: {low:.3}, {middle:.3}, {high:.3} s; {:.1} % of the entries pass \
         a more urgent request (without aging, by a coordinator: {:.1} %)",
        100.0 * inversions.mean,
        100.0 * strict_inversions.mean
    );
    Finding {
        measured,
        columns,
        checks: vec![check(
            "repaired, aging lets more pass more urgent ones than a coordinator without aging does",
            inversions.low() > strict_inversions.high(),
        )],
        evidence: vec![
            table(
                "Mean wait (s) at the lowest, the middle and the highest level, n = 15, a session each",
                "who | lowest | middle | highest | inversions per entry",
                rows,
            ),
            captioned(
                "Urgent requests wait less; aging makes them wait more than they would.",
                "Waiting by level",
                scale("level", ""),
                scale("mean wait", "s"),
                lines,
            ),
        ],
    }
}
