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

/// Writes all of it.
pub(super) fn tell(out: &mut impl Write, subject: &Subject, ran: &Ran) -> io::Result<()> {
    let scenario = &subject.scenario;
    writeln!(out, "{}, seed {}", styled(STRONG, &scenario.name), subject.seed)?;
    for (subject, words) in subjects(scenario) {
        labelled(out, &subject.to_lowercase(), &words)?;
    }
    labelled(out, "seen", &network(&ran.measures))?;
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

/// Those of these measures that are defined, each in its words.
fn told(measures: &Measures, parts: &[(&str, &dyn Fn(f64) -> String)]) -> String {
    let told: Vec<String> =
        parts.iter().filter_map(|(name, words)| measures.get(*name).map(|value| words(*value))).collect();
    told.join(", ")
}

/// What the network turned out to be like.
fn network(measures: &Measures) -> String {
    told(
        measures,
        &[
            ("network.degree", &|degree| format!("{} neighbours on average", three(degree))),
            ("network.connected", &|share| format!("connected {} of the time", percent(share))),
            ("network.parts", &|parts| {
                format!(
                    "in {} on average",
                    if parts == 1.0 { "1 part".to_owned() } else { format!("{} parts", three(parts)) }
                )
            }),
            ("network.hops", &|hops| format!("{} hops on average", three(hops))),
            ("network.diameter", &|hops| format!("at most {}", three(hops))),
            ("network.link-changes/s", &|rate| format!("{} link changes/s", three(rate))),
            ("network.lost/s", &|rate| format!("{} messages lost/s", three(rate))),
        ],
    )
}

const SPREAD: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];

fn waiting(out: &mut impl Write, subject: &Subject, measures: &Measures) -> io::Result<()> {
    heading(out, "Waiting time")?;
    if !measures.contains_key("wait.mean") {
        return writeln!(out, "  nobody who asked after the warm-up has entered");
    }
    let row = |label: String, name: &str| {
        let cell = |what: &str| match measures.get(&format!("{name}.{what}")) {
            Some(value) => Cell::Text(seconds(*value)),
            None => Cell::Empty,
        };
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

/// Who entered, how often, and how well the units were used.
fn entries(out: &mut impl Write, subject: &Subject, ran: &Ran) -> io::Result<()> {
    heading(out, "Entries")?;
    let (measures, capacity) = (&ran.measures, count(ran.outcome.capacity.into()));
    let warmup = match subject.scenario.warmup {
        Warmup::Fixed(_) => "",
        Warmup::Mser5 => " (found by MSER-5)",
    };
    let lines: [(&str, String); 7] = [
        (
            "entries",
            told(
                measures,
                &[
                    ("entries/s", &|rate| format!("{} per second", three(rate))),
                    ("entries", &|entries| format!("{} in all", three(entries))),
                    ("warmup", &|warm| format!("after a warm-up of {}{warmup}", seconds(warm))),
                    ("load", &|load| format!("load {}", three(load))),
                ],
            ),
        ),
        (
            "units",
            told(
                measures,
                &[
                    ("units.used", &|units| format!("{} of {} in use on average", three(units), capacity)),
                    ("units.idle-while-fitting", &|share| {
                        format!("idle {} of the time while somebody waits who would fit", percent(share))
                    }),
                    ("concurrency.max", &|most| format!("at most {} inside at once", three(most))),
                ],
            ),
        ),
        (
            "hand-over",
            told(
                measures,
                &[
                    ("sync-delay.mean", &|delay| format!("{} from a release to the next entry", seconds(delay))),
                    ("sync-delay.p95", &|delay| format!("95 % within {}", seconds(delay))),
                ],
            ),
        ),
        (
            "order",
            told(
                measures,
                &[
                    ("inversions.any/entry", &|share| {
                        format!("{} of entries passed somebody more urgent", percent(share))
                    }),
                    ("inversions.settled/entry", &|share| {
                        format!("{} one that everybody could have known of", percent(share))
                    }),
                    ("inversions.known", &|share| format!("{} one that the granter knew of", percent(share))),
                ],
            ),
        ),
        (
            "fairness",
            told(
                measures,
                &[
                    ("fairness.jain", &|index| format!("{} between nodes (Jain; 1 is even)", three(index))),
                    ("overtakes.max", &|most| format!("at most {} later requests were served before one", three(most))),
                ],
            ),
        ),
        (
            "sessions",
            told(
                measures,
                &[
                    ("sessions.switches/entry", &|rate| format!("{} changes per entry", three(rate))),
                    ("sessions.concurrency", &|grants| format!("{} inside at once on average", three(grants))),
                ],
            ),
        ),
        ("deadlines", told(measures, &[("deadline.missed", &|share| format!("{} missed", percent(share)))])),
    ];
    lines.iter().filter(|(_, text)| !text.is_empty()).try_for_each(|(label, text)| labelled(out, label, text))
}

fn costs(out: &mut impl Write, ran: &Ran) -> io::Result<()> {
    heading(out, "Sent for each entry")?;
    let measures = &ran.measures;
    if !measures.contains_key("messages/entry") {
        return writeln!(out, "  no entries");
    }
    let row = |label: &str, kind: &str| {
        let value = |what: &str| measures.get(&format!("{what}{kind}/entry")).copied();
        let number = |value: Option<f64>, words: &dyn Fn(f64) -> String| match value {
            Some(value) => Cell::Text(words(value)),
            None => Cell::Empty,
        };
        vec![
            Cell::Text(label.to_owned()),
            number(value("messages"), &three),
            number(value("frames"), &three),
            number(value("bytes"), &bytes),
        ]
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

/// What crashes did, if there could be any.
fn crashes(out: &mut impl Write, ran: &Ran) -> io::Result<()> {
    if ran.outcome.crashes.is_none() {
        return Ok(());
    }
    heading(out, "Crashes")?;
    let lines: [(&str, String); 5] = [
        (
            "crashes",
            told(
                &ran.measures,
                &[
                    ("crashes", &|crashes| format!("{} of nodes", three(crashes))),
                    ("tokens.remade", &|tokens| format!("{} tokens made anew", three(tokens))),
                ],
            ),
        ),
        (
            "outages",
            told(
                &ran.measures,
                &[
                    ("outages", &|outages| format!("{} times nothing could be granted", three(outages))),
                    ("outage.share", &|share| format!("{} of the time", percent(share))),
                    ("outage.mean", &|length| format!("{} on average", seconds(length))),
                    ("outage.p99", &|length| format!("99 % within {}", seconds(length))),
                    ("outage.max", &|length| format!("at most {}", seconds(length))),
                ],
            ),
        ),
        (
            "repairs",
            told(
                &ran.measures,
                &[
                    ("repairs", &|repairs| format!("{} times all nodes reported", three(repairs))),
                    ("messages/repair", &|messages| format!("{} messages each", three(messages))),
                    ("frames/repair", &|frames| format!("{} transmissions", three(frames))),
                    ("bytes/repair", &bytes),
                ],
            ),
        ),
        (
            "lost work",
            told(
                &ran.measures,
                &[
                    ("cut-short", &|grants| format!("{} clients had to stop before they were done", three(grants))),
                    ("refused", &|requests| format!("{} requests lost or turned away", three(requests))),
                ],
            ),
        ),
        (
            "voters",
            told(
                &ran.measures,
                &[
                    ("declared", &|nodes| format!("{} nodes declared gone", three(nodes))),
                    ("declared.wrongly", &|nodes| format!("{} of them while they were running", three(nodes))),
                ],
            ),
        ),
    ];
    lines.iter().try_for_each(|(label, text)| labelled(out, label, text))
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
