//! S4-7, S4-12 and S4-15: who may be inside together, and what the rule of entry costs.

use meshlock_core::NodeId;
use meshlock_core::group::readers_writer::Access;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::outcome::{Outcome, Request};
use meshlock_sim::scenario::{Arrivals, Class, Name, ProtocolChoice, Scenario, Text};
use meshlock_sim::time::{Span, Time};
use meshlock_statistics::{Comparison, paired};

use super::setting::{T, busy, group, in_t, three_texts};
use crate::prelude::*;
use crate::scenarios::{G, REPAIRED, all_but, mended, with};
use crate::verdict;

/// S4-7.
pub(super) fn everybody(lab: &Lab) -> Finding {
    let sizes: &[u32] = lab.choose(&[8], &[8, 16, 32], &[8, 16, 32, 64]);
    let at = |name: &str, nodes: Vec<u32>, moment: f64| Class {
        name: name.to_owned(),
        nodes,
        arrivals: Arrivals::Burst { at: Span::from_seconds(moment), requests: 1 },
        holding: Distribution::Constant(20.0 * T),
        ..busy(1, 1, 1.0, 1.0)
    };
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for &nodes in sizes {
        let mut row = vec![count(nodes)];
        for (label, text) in three_texts() {
            // The first holder opens the session, so that the printed text meets none of its defects.
            let classes = vec![at("first", vec![0], T), at("others", (1..nodes).collect(), 2.0 * T)];
            let scenario = Scenario { warmup: NO_WARMUP, ..group(text, nodes, 1.0, classes) };
            let samples = lab.replicate(&scenario, 1);
            let most = samples.estimate("concurrency.max").mean;
            Column::of(&mut columns, &label, &samples).add(LEFT_OUT, f64::from(nodes) - most);
            row.push(number(most));
        }
        rows.push(row);
    }
    let (mixed, mut evidence, falls) = with_another_session(lab);
    evidence.insert(
        0,
        table(
            "Most processes inside at once, if all ask for one session",
            "n | as printed | with g1 to g10 | repaired",
            rows,
        ),
    );
    evidence.extend(readers_and_writers(lab));
    let left_out = told(&columns, |column| column.value(LEFT_OUT).to_string());
    Finding {
        columns,
        measured: format!(
            "processes of n that are not inside with all others, n up to {}: {left_out}; repaired, {mixed}",
            sizes.last().copied().unwrap_or(0)
        ),
        checks: vec![check("repaired, fewer are inside together if one of them wants another session", falls)],
        evidence,
    }
}

pub(super) const LEFT_OUT: &str = "processes that are not inside with all others, over all n";
pub(super) const LATE: &str = "requests for the open session that wait longer than 2T";
pub(super) const ASKED: &str = "requests for the open session";
pub(super) const STUCK: &str = "requests never served";
pub(super) const ENTRIES: &str = "entries per run";

const NO_WARMUP: meshlock_sim::scenario::Warmup = meshlock_sim::scenario::Warmup::Fixed(Span::ZERO);

/// How many are inside together if some ask for another session.
fn with_another_session(lab: &Lab) -> (String, Vec<Evidence>, bool) {
    let nodes = 12;
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 150.0), lab.choose(4, 12, 20));
    let mut points = Vec::new();
    for others in 0..=3_u32 {
        let session = |name: &str, nodes: Vec<u32>, session: u32| Class {
            name: name.to_owned(),
            nodes,
            session: Some(Distribution::Constant(f64::from(session))),
            ..busy(1, 1, 0.02, 0.1)
        };
        let mut classes = vec![session("many", (others..nodes).collect(), 1)];
        if others > 0 {
            classes.push(session("few", (0..others).collect(), 2));
        }
        let samples = lab.replicate(&group(Text::Repaired, nodes, seconds, classes), seeds);
        points.push(point(f64::from(others), samples.estimate("sessions.concurrency")));
    }
    let (alone, opposed) = (points[0], points[1]);
    let told =
        format!("under load {:.1} of 12 on average, {:.1} if one of them wants another session", alone.y, opposed.y);
    let falls = opposed.high < alone.low;
    let figure = captioned(
        "One other session that is wanted keeps newcomers out.",
        "Twelve busy processes, some of them in another session",
        scale("processes in the other session", ""),
        scale("inside together", "processes"),
        vec![line("mean", points)],
    );
    (told, vec![figure], falls)
}

/// Readers and writers: all readers in one session, every writer in its own.
fn readers_and_writers(lab: &Lab) -> Vec<Evidence> {
    let nodes = 12;
    let (seconds, seeds) = (lab.choose(20.0, 60.0, 150.0), lab.choose(4, 12, 20));
    let session = |access: Access| Some(Distribution::Constant(access.session().0 as f64));
    let mut rows = Vec::new();
    for writers in [1, 3, 6] {
        let class = |name: &str, nodes: Vec<u32>, access: Access| Class {
            name: name.to_owned(),
            nodes,
            session: session(access),
            ..busy(1, 1, 0.1, 0.05)
        };
        let mut classes = vec![class("readers", (writers..nodes).collect(), Access::Read)];
        classes.extend((0..writers).map(|node| class("writers", vec![node], Access::Write(NodeId(node)))));
        let samples = lab.replicate(&group(Text::Repaired, nodes, seconds, classes), seeds);
        let wait = |reads: bool| {
            mean(samples.estimate_of(|sample| {
                let requests = sample.granted().filter(|request| reads_in(request) == reads);
                let waits: Vec<f64> = requests.filter_map(|request| Some(request.wait()?.seconds())).collect();
                waits.iter().sum::<f64>() / waits.len() as f64
            }))
        };
        rows.push(vec![
            count(nodes - writers),
            count(writers),
            count(samples.peak(|request| reads_in(request).into())),
            count(samples.peak(|request| (!reads_in(request)).into())),
            wait(true),
            wait(false),
        ]);
    }
    let columns = "readers | writers | most reading | most writing | readers wait (s) | writers wait (s)";
    vec![table("Readers and writers as sessions", columns, rows)]
}

fn reads_in(request: &Request) -> bool {
    request.session.is_some_and(|session| Access::of(session) == Some(Access::Read))
}

/// S4-12.
pub(super) fn occupancy(lab: &Lab) -> Finding {
    let nodes = 10;
    let (seconds, seeds) = (lab.choose(100.0, 200.0, 500.0), lab.choose(3, 10, 30));
    let (mut rows, mut columns, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut longest_repaired = f64::NAN;
    for (label, text) in [with(&[]), all_but(&G, &["g3"]), mended(&G), REPAIRED] {
        let class = busy(nodes, 1, 1.0, 0.3);
        let samples = lab.replicate(&group(text, nodes, seconds, vec![class]), seeds);
        let waits: Vec<Wait> = samples.outcomes().flat_map(waits).collect();
        let open: Vec<f64> = waits.iter().filter(|wait| wait.open).map(|wait| wait.length).collect();
        let longest = |of: &mut dyn Iterator<Item = f64>| of.fold(0.0, f64::max);
        let (longest_open, longest_any) =
            (longest(&mut open.iter().copied()), longest(&mut waits.iter().map(|wait| wait.length)));
        let late = open.iter().filter(|wait| **wait > 2.0 + 1e-6).count();
        longest_repaired = longest_any;
        rows.push(vec![
            words(&label),
            count(open.len()),
            number(longest_open),
            count(late),
            count(waits.len()),
            number(longest_any),
        ]);
        told.push(format!("{label} {late} of {}, the longest {longest_open:.1} T", open.len()));
        let facts = vec![Fact::count(LATE, late), Fact::count(ASKED, open.len())];
        columns.push(Column::new(label, &samples, facts));
    }
    Finding {
        columns,
        measured: format!("requests for the open session that wait longer than 2T: {}", told.join("; ")),
        checks: vec![check("repaired, no request at all waits longer than 3T", longest_repaired < 3.0 + 1e-6)],
        evidence: vec![
            table(
                "Requests for a session that somebody attends until they arrive, while nobody wants another one",
                "text | requests | longest wait (T) | longer than 2T | all requests | longest wait (T)",
                rows,
            ),
            note(
                "G3 (in some lists G5): the idle token is sent on without the session, so the next captain does not \
                 know that a newcomer wants the same. Who was never served counts as waiting to the end of the run.",
            ),
            note(
                "A request that meets the token on its way to somebody else waits up to 3T: the session is not open \
                 then, but about to be.",
            ),
        ],
    }
}

/// How long a request waited.
struct Wait {
    /// In units of T.
    length: f64,
    /// Whether the session was attended from the request until its arrival.
    open: bool,
}

fn waits(outcome: &Outcome) -> Vec<Wait> {
    let trip = Span::from_seconds(T);
    let attends = |other: &Request, asked: Time| {
        other.granted.is_some_and(|from| from <= asked) && other.released.is_none_or(|to| asked + trip < to)
    };
    let wait = |request: &Request| Wait {
        length: in_t(request.granted.unwrap_or(outcome.end), request.asked),
        open: outcome.requests.iter().any(|other| attends(other, request.asked)),
    };
    outcome.requests.iter().map(wait).collect()
}

/// S4-15.
pub(super) fn entry_rule(lab: &Lab) -> Finding {
    let (nodes, sessions) = (12, 3);
    let (seconds, seeds) = (lab.choose(40.0, 100.0, 200.0), lab.choose(4, 10, 20));
    let any_session = vec![busy(nodes, sessions, 0.05, 0.1)];
    let of_session = |session: u32| Class {
        name: format!("session {session}"),
        nodes: (0..nodes).filter(|node| node % sessions == session - 1).collect(),
        session: Some(Distribution::Constant(f64::from(session))),
        ..busy(1, 1, 0.05, 0.1)
    };
    let own_session: Vec<Class> = (1..=sessions).map(of_session).collect();
    let run = |classes: &[Class], name: Name, joins: u32| {
        let base = group(Text::Repaired, nodes, seconds, classes.to_vec());
        let protocol = ProtocolChoice { name, joins, capacity: nodes, ..base.protocol.clone() };
        lab.replicate(&Scenario { protocol, ..base }, seeds)
    };
    let rivals = [
        ("group", Name::Group, 0),
        ("reverse-link, no joins", Name::ReverseLink, 0),
        ("reverse-link, 6 joins", Name::ReverseLink, 6),
        ("coordinator, no joins", Name::Central, 0),
        ("coordinator, 6 joins", Name::Central, 6),
        ("coordinator, greedy", Name::Central, GREEDY),
    ];
    let as_text = |text: Text, classes: &[Class]| {
        lab.replicate(&group(text, nodes, seconds, classes.to_vec()), seeds.div_ceil(3))
    };
    let both = |classes: &[Class]| rivals.map(|(name, protocol, joins)| (name, run(classes, protocol, joins)));
    let (mixed, fixed) = (both(&any_session), both(&own_session));
    let pair = |of: &[(&str, Samples); 6], measure: &str| -> Option<Comparison> {
        paired(&of[0].1.values(measure), &of[5].1.values(measure), 0.95)
    };
    let below = |of: &[(&str, Samples); 6], measure: &str| pair(of, measure).is_some_and(|p| p.difference.high() < 0.0);
    let all = || mixed.iter().chain(&fixed);
    let column = |label: verdict::Text, samples: [&Samples; 2]| {
        let stuck: f64 =
            samples.iter().map(|of| of.sum(|sample| sample.measures.get("stuck").copied().unwrap_or(1.0))).sum();
        let entries: u64 = samples.iter().map(|of| of.granted()).sum();
        let runs = samples.iter().fold(Runs::default(), |all, of| all.and((*of).into()));
        let entries = Fact::exact(ENTRIES, entries as f64 / runs.all as f64);
        Column::new(label, runs, vec![Fact::exact(STUCK, stuck), entries])
    };
    let mut columns: Vec<Column> = [with(&[]), mended(&G)]
        .map(|(label, text)| {
            let runs = [&any_session, &own_session].map(|classes| as_text(text.clone(), classes));
            column(label, runs.each_ref())
        })
        .to_vec();
    columns.push(column(verdict::Text::Repaired, [&mixed[0].1, &fixed[0].1]));
    let stuck = told(&columns, |column| column.value(STUCK).to_string());
    let broken = all().map(|(_, samples)| samples.sum(|sample| sample.outcome.broken.len() as f64)).sum::<f64>();
    let told = |of: &[(&str, Samples); 6], place: usize| {
        let samples = &of[place].1;
        format!("{:.1} and {:.2}", samples.estimate("entries/s"), samples.estimate("sessions.concurrency"))
    };
    let measured = format!(
        "requests never served: {stuck}; repaired, each process in its own of three sessions: the longest wait is \
         {:.2} s, against {:.1} s if everybody may join the open one (greedy); any of three sessions: entries/s and \
         processes inside together are {}, greedy {}, reverse-link with 6 joins {}",
        fixed[0].1.estimate("wait.max"),
        fixed[5].1.estimate("wait.max"),
        told(&mixed, 0),
        told(&mixed, 5),
        told(&mixed, 2),
    );
    Finding {
        measured,
        checks: vec![
            check("repaired and in baselines, no rule broke", broken == 0.0),
            check("repaired, the longest wait is shorter than where everybody may join", below(&fixed, "wait.max")),
            check(
                "throughput and concurrency are lower",
                below(&mixed, "entries/s") && below(&mixed, "sessions.concurrency"),
            ),
        ],
        columns,
        evidence: vec![
            rivals_table("Twelve busy processes, any of three sessions each time", &mixed),
            rivals_table("The same, each process always in the same session", &fixed),
            note(
                "A session may be joined only while nobody waits for another one. That bounds every wait, and costs \
                 concurrency: the next session waits for the slowest of the present one. Greedy joining keeps a \
                 session open as long as its processes come back in time, and the others wait. A number of joins past \
                 the front buys concurrency for a bounded wait. Without joins coordinator and reverse-link let only \
                 neighbours in the queue in together; the group protocol has one entry per session.",
            ),
        ],
    }
}

fn rivals_table(caption: &str, rivals: &[(&str, Samples)]) -> Evidence {
    let measures = ["entries/s", "sessions.concurrency", "sessions.switches/entry", "wait.mean", "wait.max"];
    let row = |(name, samples): &(&str, Samples)| {
        let mut row = vec![words(*name)];
        row.extend(measures.iter().map(|measure| mean(samples.estimate(measure))));
        row.push(number(samples.total("unserved")));
        row.push(number(samples.sum(|sample| sample.get("stuck"))));
        row
    };
    let columns = "protocol | entries/s | inside together | switches per entry | mean wait (s) | longest wait (s) | \
                   unserved at the end | stuck";
    table(caption, columns, rivals.iter().map(row).collect())
}

/// More than ever join in a run.
const GREEDY: u32 = 1_000_000;
