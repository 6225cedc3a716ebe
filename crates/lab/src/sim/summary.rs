//! A run for people: what was run, how long everybody waited, what it cost, what went wrong.

use std::io::{self, Write};

use meshlock_report::table::{Cell, Column, Table};
use meshlock_sim::measures::Measures;
use meshlock_sim::run::watched;
use meshlock_sim::scenario::Warmup;
use meshlock_study::methods::subjects;

use super::progress::speed;
use super::units::{bytes, percent, seconds, three};
use super::{Ran, Subject};
use meshlock_cli::output::{labelled, table_width};
use meshlock_cli::style::{ALARM, GOOD, KNOWN, PARTIAL, STRONG, styled};
use meshlock_cli::text::{count, several};

pub(super) fn tell(out: &mut impl Write, subject: &Subject, ran: &Ran) -> io::Result<()> {
    let scenario = &subject.scenario;
    writeln!(out, "{}, seed {}", styled(STRONG, &scenario.name), subject.seed)?;
    for (subject, words) in subjects(scenario) {
        labelled(out, &subject.to_lowercase(), &words)?;
    }
    labelled(out, "seen", &told(&ran.measures, NETWORK))?;
    if !ran.complete {
        let note = format!("incomplete: ended by Ctrl-C at {} of {}", ran.outcome.end, scenario.duration);
        writeln!(out, "{}", styled(PARTIAL, note))?;
    } else if let Some(storm) = &ran.outcome.storm {
        writeln!(out, "{}", styled(PARTIAL, format!("incomplete: stopped: {storm}")))?;
    } else if ran.outcome.stopped {
        let note = format!("incomplete: ended by a broken rule at {}", ran.outcome.end);
        writeln!(out, "{}", styled(ALARM, note))?;
    }
    waiting(out, subject, &ran.measures)?;
    entries(out, subject, ran)?;
    costs(out, ran)?;
    crashes(out, ran)?;
    trouble(out, subject, ran)?;
    writeln!(out)?;
    labelled(out, "hash", &format!("{:016x}", ran.outcome.trace_hash))?;
    labelled(out, "speed", &speed(&ran.outcome, ran.wall))?;
    if let Some(trace) = &ran.trace {
        labelled(out, "trace", trace)?;
    }
    out.flush()
}

fn heading(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", styled(STRONG, text))
}

fn table(out: &mut impl Write, first: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> io::Result<()> {
    let mut heads = vec![Column { name: first.to_owned(), numeric: false }];
    heads.extend(columns.iter().map(|name| Column { name: (*name).to_owned(), numeric: true }));
    let table = Table { columns: heads, rows };
    for line in table.text(table_width()).lines() {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// What is told of a measure: how its number is written, and the words around it.
type Told = (&'static str, fn(f64) -> String, &'static str);

/// Those of these measures that are defined, each in its words.
fn told(measures: &Measures, parts: &[Told]) -> String {
    let words = |(name, number, words): &Told| Some(words.replace("{}", &number(*measures.get(*name)?)));
    parts.iter().filter_map(words).collect::<Vec<_>>().join(", ")
}

/// What the network turned out to be like.
const NETWORK: &[Told] = &[
    ("network.degree", three, "{} neighbours on average"),
    ("network.connected", percent, "connected {} of the time"),
    ("network.parts", parts, "in {} on average"),
    ("network.hops", three, "{} hops on average"),
    ("network.diameter", three, "at most {}"),
    ("network.link-changes/s", three, "{} link changes/s"),
    ("network.lost/s", three, "{} messages lost/s"),
];

fn parts(parts: f64) -> String {
    if parts == 1.0 { "1 part".to_owned() } else { format!("{} parts", three(parts)) }
}

/// Who entered, how often, and how well the units were used. A line of which nothing is defined is left out.
const ENTRIES: &[(&str, &[Told])] = &[
    (
        "entries",
        &[
            ("entries/s", three, "{} per second"),
            ("entries", three, "{} in all"),
            ("warmup", seconds, "after a warm-up of {}[warmup]"),
            ("load", three, "load {}"),
        ],
    ),
    (
        "units",
        &[
            ("units.used", three, "{} of [capacity] in use on average"),
            ("units.idle-while-fitting", percent, "idle {} of the time while somebody waits who would fit"),
            ("concurrency.max", three, "at most {} inside at once"),
        ],
    ),
    (
        "hand-over",
        &[
            ("sync-delay.mean", seconds, "{} from a release to the next entry"),
            ("sync-delay.p95", seconds, "95 % within {}"),
        ],
    ),
    (
        "order",
        &[
            ("inversions.any/entry", percent, "{} of entries passed somebody more urgent"),
            ("inversions.settled/entry", percent, "{} one that everybody could have known of"),
            ("inversions.known", percent, "{} one that the granter knew of"),
        ],
    ),
    (
        "fairness",
        &[
            ("fairness.jain", three, "{} between nodes (Jain; 1 is even)"),
            ("overtakes.max", three, "at most {} later requests were served before one"),
        ],
    ),
    (
        "sessions",
        &[
            ("sessions.switches/entry", three, "{} changes per entry"),
            ("sessions.concurrency", three, "{} inside at once on average"),
        ],
    ),
    ("deadlines", &[("deadline.missed", percent, "{} missed")]),
];

const SPREAD: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];

fn waiting(out: &mut impl Write, subject: &Subject, measures: &Measures) -> io::Result<()> {
    heading(out, "Waiting time")?;
    if !measures.contains_key("wait.mean") {
        return writeln!(out, "  nobody who asked after the warm-up has entered");
    }
    let row = |label: String, name: &str| {
        let value = |what: &str| measures.get(&format!("{name}.{what}"));
        let cell = |what| value(what).map_or(Cell::Empty, |value| Cell::Text(seconds(*value)));
        std::iter::once(Cell::Text(label)).chain(SPREAD.map(cell)).collect::<Vec<Cell>>()
    };
    let mut rows = vec![row("all".to_owned(), "wait")];
    let classes = &subject.scenario.traffic.classes;
    if classes.len() > 1 {
        rows.extend(classes.iter().map(|class| row(class.name.clone(), &format!("wait.{}", class.name))));
    }
    let priority = |name: &String| name.strip_prefix("wait.priority-")?.strip_suffix(".mean")?.parse::<i32>().ok();
    let mut priorities: Vec<i32> = measures.keys().filter_map(priority).collect();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    rows.extend(priorities.iter().map(|p| row(format!("priority {p}"), &format!("wait.priority-{p}"))));
    table(out, "", &SPREAD, rows)
}

fn entries(out: &mut impl Write, subject: &Subject, ran: &Ran) -> io::Result<()> {
    heading(out, "Entries")?;
    let capacity = count(ran.outcome.capacity.into());
    let warmup = match subject.scenario.warmup {
        Warmup::Fixed(_) => "",
        Warmup::Mser5 => " (found by MSER-5)",
    };
    for (label, parts) in ENTRIES {
        let text = told(&ran.measures, parts).replace("[warmup]", warmup).replace("[capacity]", &capacity);
        if !text.is_empty() {
            labelled(out, label, &text)?;
        }
    }
    Ok(())
}

fn costs(out: &mut impl Write, ran: &Ran) -> io::Result<()> {
    heading(out, "Sent for each entry")?;
    let measures = &ran.measures;
    if !measures.contains_key("messages/entry") {
        return writeln!(out, "  no entries");
    }
    let row = |label: &str, kind: &str| {
        let cell = |what: &str, number: fn(f64) -> String| {
            let value = measures.get(&format!("{what}{kind}/entry"));
            value.map_or(Cell::Empty, |value| Cell::Text(number(*value)))
        };
        let all = [cell("messages", three), cell("frames", three), cell("bytes", bytes)];
        std::iter::once(Cell::Text(label.to_owned())).chain(all).collect()
    };
    let kinds = &ran.outcome.kinds;
    let mut rows: Vec<Vec<Cell>> = kinds.iter().map(|kind| row(kind.name, &format!(".{}", kind.name))).collect();
    if kinds.len() != 1 {
        rows.push(row("all", ""));
    }
    if let Some(acks) = measures.get("acks/entry").filter(|acks| **acks > 0.0) {
        rows.push(vec![Cell::Text("(acknowledgements)".to_owned()), Cell::Empty, Cell::Text(three(*acks))]);
    }
    table(out, "kind", &["messages", "frames", "bytes"], rows)
}

const CRASHES: &[(&str, &[Told])] = &[
    ("crashes", &[("crashes", three, "{} of nodes"), ("tokens.remade", three, "{} tokens made anew")]),
    (
        "outages",
        &[
            ("outages", three, "{} times nothing could be granted"),
            ("outage.share", percent, "{} of the time"),
            ("outage.mean", seconds, "{} on average"),
            ("outage.p99", seconds, "99 % within {}"),
            ("outage.max", seconds, "at most {}"),
        ],
    ),
    (
        "repairs",
        &[
            ("repairs", three, "{} times all nodes reported"),
            ("messages/repair", three, "{} messages each"),
            ("frames/repair", three, "{} transmissions"),
            ("bytes/repair", bytes, "{}"),
        ],
    ),
    (
        "lost work",
        &[
            ("cut-short", three, "{} clients had to stop before they were done"),
            ("refused", three, "{} requests lost or turned away"),
        ],
    ),
    (
        "voters",
        &[
            ("declared", three, "{} nodes declared gone"),
            ("declared.wrongly", three, "{} of them while they were running"),
        ],
    ),
];

/// Nothing is told of crashes where there could be none.
fn crashes(out: &mut impl Write, ran: &Ran) -> io::Result<()> {
    if ran.outcome.crashes.is_none() {
        return Ok(());
    }
    heading(out, "Crashes")?;
    CRASHES.iter().try_for_each(|(label, parts)| labelled(out, label, &told(&ran.measures, parts)))
}

/// Always told, also if there is none: who was not served, and which rules broke.
fn trouble(out: &mut impl Write, subject: &Subject, ran: &Ran) -> io::Result<()> {
    heading(out, "Trouble")?;
    let measure = |name: &str| ran.measures.get(name).copied();
    let unserved = measure("unserved").map_or_else(
        || "not known".to_owned(),
        |unserved| {
            let of = measure("requests").map(three).unwrap_or_default();
            format!("{} of {of} measured requests still wait at the end", three(unserved))
        },
    );
    labelled(out, "unserved", &unserved)?;
    let stuck = match measure("stuck") {
        Some(stuck) => format!("{} requests were not served afterwards either", three(stuck)),
        None => "not known, because the run was ended early".to_owned(),
    };
    labelled(out, "stuck", &stuck)?;
    if let Some(cancelled) = measure("cancelled").filter(|cancelled| *cancelled > 0.0) {
        labelled(out, "given up", &format!("{} requests", three(cancelled)))?;
    }
    if let Some(rejected) = measure("rejected").filter(|rejected| *rejected > 0.0) {
        labelled(out, "rejected", &format!("{} messages, as mistakes of their senders", three(rejected)))?;
    }
    let rules: Vec<&str> = watched(&subject.scenario.protocol).iter().map(|rule| rule.name()).collect();
    labelled(out, "watched", &rules.join(", "))?;
    if ran.outcome.broken.is_empty() {
        return writeln!(out, "{}", styled(GOOD, "✓ no rule broke"));
    }
    let style = if ran.outcome.stopped && ran.outcome.storm.is_none() { ALARM } else { KNOWN };
    for broken in &ran.outcome.broken {
        let place = broken.node.map(|node| format!(" at node {node}")).unwrap_or_default();
        let head = format!("✗ {} broke {}", broken.rule, several(broken.times, "time"));
        writeln!(out, "{}, first at {}{place}: {}", styled(style, head), broken.at, broken.words)?;
    }
    Ok(())
}
