//! S4-8 to S4-10: how many sessions are opened before one that waits, against somebody who wants it to wait long.

use meshlock_protocols::printed::group::Repairs;
use meshlock_report::chart::Point;
use meshlock_report::table::Cell;
use meshlock_sim::random::{Purpose, Stream, Streams};
use meshlock_sim::scenario::{ProtocolChoice, Scenario, Text};

use super::bench::{Bench, published, repaired};
use super::game;
use super::ledger::longest_queue;
use super::setting::{
    all_but, at_levels, busy, chart, count, group, mended, mended_but, printed, series, table, words,
};
use crate::claim::{Evidence, Finding, check};
use crate::lab::Lab;
use crate::verdict::{self, Column, Fact, Runs};

/// What one that waits at the lowest level sees.
struct Seen {
    /// Sessions opened until it is in, its own included.
    openings: u32,
    /// Its level after each opening, as long as it waits.
    levels: Vec<i64>,
}

/// Nobody waits longer: then the text is stuck.
const MOST_OPENINGS: u32 = 10_000;

/// The session the victim wants.
const WANTED: u64 = 0;

/// Lets one process wait for [`WANTED`] behind all other sessions, at the lowest level. Whenever a session opens, `more`
/// lets others ask. `None` if it is never served.
fn wait_for(bench: &mut Bench, victim: usize, mut more: impl FnMut(&mut Bench)) -> Option<Seen> {
    if !bench.ask(victim, WANTED, 1) {
        return None;
    }
    let mut seen = Seen { openings: 0, levels: Vec::new() };
    while !bench.is_inside(victim) && seen.openings < MOST_OPENINGS {
        if !bench.all_leave() {
            return None;
        }
        seen.openings += 1;
        seen.levels.extend(bench.level_of(WANTED));
        more(bench);
    }
    bench.is_inside(victim).then_some(seen)
}

/// The greedy adversary: all other sessions wait first, and whichever opens is asked for again at once at the top level.
fn greedy(mut bench: Bench, sessions: u32, levels: u32, victim: usize) -> Option<Seen> {
    // Where there are more sessions than others, one fewer can be ahead.
    bench.ask(0, WANTED, 1);
    for session in 1..sessions.min(victim as u32) {
        bench.ask(session as usize, session.into(), 1);
    }
    wait_for(&mut bench, victim, |bench| {
        let free = bench.idle().into_iter().find(|node| *node != victim);
        if let (Some(node), Some(session)) = (free, bench.open_session()) {
            bench.ask(node, session, levels);
        }
    })
}

/// An adversary without a plan: whoever is free asks for anything at any level, now and then.
fn random(mut bench: Bench, nodes: u32, sessions: u32, levels: u32, seed: u64) -> Option<Seen> {
    let mut dice = Streams::new(seed).stream(Purpose::Traffic, 0);
    let victim = nodes as usize - 1;
    let stir = |bench: &mut Bench, dice: &mut Stream| {
        for node in bench.idle().into_iter().filter(|node| *node != victim) {
            if dice.happens(0.8) {
                // Its own session would only help the victim.
                let session = 1 + dice.below(u64::from(sessions) - 1);
                bench.ask(node, session, 1 + dice.below(u64::from(levels)) as u32);
            }
        }
    };
    bench.ask(0, WANTED, 1);
    stir(&mut bench, &mut dice);
    wait_for(&mut bench, victim, |bench| stir(bench, &mut dice))
}

/// What the paper says: the greater of min(n, m) and K - 1.
fn claimed(nodes: u32, sessions: u32, levels: u32) -> u32 {
    nodes.min(sessions).max(levels.saturating_sub(1))
}

/// What is right: K - 2 openings while others can still pass, and one for each process that can be ahead, or its own.
pub(super) fn exact(nodes: u32, sessions: u32, levels: u32) -> u32 {
    (nodes - 1).min(sessions) + levels.saturating_sub(2)
}

/// Names of numbers.
pub(super) const ABOVE_CLAIM: &str = "most sessions opened beyond max{min(n, m), K - 1}";
pub(super) const SETTINGS: &str = "settings played";
pub(super) const OFF_AGING: &str =
    "settings in which the top is not reached after exactly K - 1 openings, one level each";
pub(super) const TOO_LONG: &str = "most entries of the queue beyond min(n, m)";
pub(super) const QUEUED: &str = "most entries of the queue";

/// n, m and K for the greedy adversary.
fn settings(lab: &Lab) -> Vec<(u32, u32, u32)> {
    let many: &[u32] = lab.choose(&[2, 10], &[2, 3, 5, 10, 20], &[2, 3, 4, 5, 7, 10, 15, 20]);
    let deep: &[u32] = lab.choose(&[1, 2, 5, 10, 20], &[1, 2, 3, 5, 10, 20], &[1, 2, 3, 4, 5, 7, 10, 15, 20, 30]);
    let sizes = |sessions: u32| [sessions + 1, sessions, sessions.saturating_sub(2).max(3)];
    let mut all: Vec<(u32, u32, u32)> = many
        .iter()
        .flat_map(|&sessions| {
            sizes(sessions).into_iter().flat_map(move |nodes| deep.iter().map(move |&k| (nodes, sessions, k)))
        })
        .filter(|(nodes, ..)| *nodes >= 3)
        .collect();
    all.sort_by_key(|(nodes, sessions, levels)| (*sessions, *nodes, *levels));
    all.dedup();
    all
}

/// S4-8.
pub(super) fn bound(lab: &Lab) -> Finding {
    let mut rows = Vec::new();
    let (mut exceeded, mut as_computed) = (0, true);
    let (mut of_ten, mut claims, mut known) = (Vec::new(), Vec::new(), Vec::new());
    let all = settings(lab);
    let mut columns = [verdict::Text::Printed, mended(), verdict::Text::Repaired]
        .map(|label| Column::new(label, Runs { all: all.len() as u64, ..Runs::default() }, Vec::new()));
    let mut worst = [f64::NEG_INFINITY; 3];
    for &(nodes, sessions, levels) in &all {
        let victim = nodes as usize - 1;
        let found = [
            greedy(published(nodes, levels, Repairs::NONE), sessions, levels, victim),
            greedy(published(nodes, levels, Repairs::all_but([])), sessions, levels, victim),
            greedy(repaired(nodes, levels), sessions, levels, victim),
        ]
        .map(|seen| seen.map(|seen| seen.openings));
        let (says, right) = (claimed(nodes, sessions, levels), exact(nodes, sessions, levels));
        for ((openings, worst), column) in found.iter().zip(&mut worst).zip(&mut columns) {
            match openings {
                Some(openings) => *worst = worst.max(f64::from(*openings) - f64::from(says)),
                None => column.runs.stuck += 1,
            }
        }
        let ours = found[2];
        exceeded += u32::from(ours.is_some_and(|openings| openings > says));
        as_computed &= ours == Some(right);
        if (nodes, sessions) == (11, 10) {
            let point = |y: u32| Point { x: levels.into(), y: y.into(), low: y.into(), high: y.into() };
            of_ten.extend(ours.map(point));
            claims.push(point(says));
            known.push((levels, ours));
        }
        let verdict = ours.map_or(Cell::Empty, |openings| Cell::Verdict {
            good: openings <= says,
            text: if openings <= says { "within".to_owned() } else { "exceeded".to_owned() },
        });
        let mut row = vec![count(nodes), count(sessions), count(levels), count(says)];
        row.extend(found.map(|openings| openings.map_or(words("stuck"), count)));
        row.extend([count(right), verdict]);
        rows.push(row);
    }
    for (column, worst) in columns.iter_mut().zip(worst) {
        column.facts =
            vec![Fact::exact(ABOVE_CLAIM, worst.max(0.0)), Fact::count(SETTINGS, column.runs.all - column.runs.stuck)];
    }
    let wanted = [(5, 13), (10, 18), (20, 28)];
    let table_fits = wanted.iter().all(|(levels, openings)| known.contains(&(*levels, Some(*openings))));
    let played = game::played(lab);
    let game_fits = played.iter().all(|game| game.longest == Some(game.exact()));
    let (tries, beyond) = search(lab);
    let told: Vec<String> = known.iter().filter_map(|(k, seen)| Some(format!("K = {k}: {}", (*seen)?))).collect();
    let games: Vec<String> = played.iter().map(ToString::to_string).collect();
    let measured = format!(
        "sessions opened for a request at level 1, n = 11, m = 10: {} (claimed: max(10, K - 1)); the claim is exceeded in \
         {exceeded} of {} settings; exhaustive games (n, m, K): {}; {beyond} of {tries} random adversaries get beyond \
         min(n-1, m) + max(K-2, 0)",
        told.join(", "),
        rows.len(),
        games.join(", "),
    );
    let mut lines = vec![series("greedy adversary", of_ten), series("claimed", claims)];
    lines[1].dashed = true;
    Finding {
        columns: columns.to_vec(),
        measured,
        checks: vec![
            check("the greedy adversary reaches min(n-1, m) + max(K-2, 0) in every setting, also for n <= m", as_computed),
            check("m = 10: 13 for K = 5, 18 for K = 10, 28 for K = 20", table_fits),
            check("every exhaustive game ends there", game_fits),
            check("no random adversary gets beyond", beyond == 0),
        ],
        evidence: vec![
            Evidence::Table(
                "Sessions opened until a request at level 1 is served, its own included".to_owned(),
                table(
                    &["n", "m", "K", "claimed", "as printed", "g1 to g10", "repaired", "min(n-1, m) + max(K-2, 0)", "claim:"],
                    rows,
                ),
            ),
            Evidence::Figure(
                "Ten sessions: waiting to be at the top and waiting for those ahead follow one another.".to_owned(),
                chart("The bound on session switches, n = 11, m = 10", ("levels K", ""), ("sessions opened", ""), lines),
            ),
            Evidence::Note(
                "The real protocol was driven, message by message. In the games every move of the other processes is \
                 tried: who asks for what at which level, who leaves when, and when the victim asks. The longest game is \
                 the worst case. See G11 in docs/errata.md."
                    .to_owned(),
            ),
        ],
    }
}

/// How many random adversaries were tried, and how many got beyond the exact bound.
fn search(lab: &Lab) -> (u64, u64) {
    let tries = lab.choose(400, 4_000, 50_000);
    let mut beyond = 0;
    for seed in 1..=tries {
        let (sessions, levels) = (2 + (seed % 4) as u32, 1 + (seed % 5) as u32);
        let nodes = (sessions + (seed % 4) as u32).saturating_sub(1).max(3);
        let seen = random(repaired(nodes, levels), nodes, sessions, levels, seed);
        beyond += u64::from(seen.is_none_or(|seen| seen.openings > exact(nodes, sessions, levels)));
    }
    (tries, beyond)
}

/// S4-9.
pub(super) fn aging(lab: &Lab) -> Finding {
    let sessions = 10;
    let deep: &[u32] = lab.choose(&[2, 5, 10], &[2, 3, 5, 10, 20], &[2, 3, 4, 5, 7, 10, 15, 20, 30]);
    let mut rows = Vec::new();
    let mut columns = [verdict::Text::Printed, verdict::Text::Repaired].map(|label| {
        Column::new(label, Runs::default(), vec![Fact::exact(OFF_AGING, 0.0), Fact::exact(SETTINGS, 0.0)])
    });
    let mut uncapped = [0_u32; 2];
    for &levels in deep {
        let (nodes, victim) = (sessions + 1, sessions as usize);
        let runs = [
            greedy(published(nodes, levels, Repairs::NONE), sessions, levels, victim),
            greedy(repaired(nodes, levels), sessions, levels, victim),
        ];
        for ((seen, column), uncapped) in runs.into_iter().zip(&mut columns).zip(&mut uncapped) {
            column.runs.all += 1;
            let Some(seen) = seen else {
                column.runs.stuck += 1;
                continue;
            };
            let top = seen.levels.iter().position(|level| *level >= i64::from(levels)).map(|place| place + 1);
            // One level at every opening until then.
            let steady =
                seen.levels.iter().take(levels as usize - 1).zip(2..).all(|(level, expected)| *level == expected);
            let highest = seen.levels.iter().max().copied().unwrap_or(0);
            column.add(OFF_AGING, f64::from(u8::from(!(steady && top == Some(levels as usize - 1)))));
            column.add(SETTINGS, 1.0);
            *uncapped += u32::from(highest > i64::from(levels));
            rows.push(vec![
                words(column.text.to_string()),
                count(levels),
                top.map_or(Cell::Empty, count),
                count(levels - 1),
                count(highest),
            ]);
        }
    }
    let told: Vec<String> = columns
        .iter()
        .map(|column| {
            format!("{} {} of {}", column.text, column.facts[1].value - column.facts[0].value, column.runs.all)
        })
        .collect();
    Finding {
        columns: columns.to_vec(),
        measured: format!(
            "settings (K up to {}) in which a request at level 1 is at level K after exactly K - 1 openings: {}; levels \
             beyond K in {} settings as printed",
            deep.last().copied().unwrap_or(0),
            told.join(", "),
            uncapped[0]
        ),
        checks: vec![check("repaired, no level is beyond K", uncapped[1] == 0)],
        evidence: vec![Evidence::Table(
            "Openings until a request at level 1 is at the top, m = 10".to_owned(),
            table(&["text:", "K", "openings", "claimed", "highest level"], rows),
        )],
    }
}

/// S4-10.
pub(super) fn queue(lab: &Lab) -> Finding {
    let sizes: &[(u32, u32)] = lab.choose(
        &[(6, 2), (6, 6)],
        &[(6, 2), (6, 6), (12, 4), (12, 20)],
        &[(6, 2), (6, 6), (6, 12), (12, 4), (12, 12), (12, 20), (24, 8), (24, 40)],
    );
    let (seconds, seeds) = (lab.choose(5.0, 20.0, 60.0), lab.choose(2, 6, 20));
    let scenario = |text: Text, nodes: u32, sessions: u32| -> Scenario {
        let class = at_levels(busy(nodes, sessions, 0.02, 0.03), &[1, 2, 3]);
        let scenario = group(text, nodes, seconds, vec![class]);
        Scenario { protocol: ProtocolChoice { levels: 3, ..scenario.protocol.clone() }, ..scenario }
    };
    let texts = [
        (verdict::Text::Printed, printed()),
        (mended_but("g4"), all_but(&["g4"])),
        (mended(), all_but(&[])),
        (verdict::Text::Repaired, Text::Repaired),
    ];
    let mut columns = texts.each_ref().map(|(label, _)| Column::new(label.clone(), Runs::default(), Vec::new()));
    let (mut rows, mut reached) = (Vec::new(), true);
    let (mut beyond, mut most) = ([0; 4], [0; 4]);
    for &(nodes, sessions) in sizes {
        let limit = nodes.min(sessions) as usize;
        let mut row = [nodes as usize, sessions as usize, limit].map(count).to_vec();
        for (place, (label, text)) in texts.iter().enumerate() {
            let (longest, runs) = longest_queue(&scenario(text.clone(), nodes, sessions), seeds);
            columns[place].runs = columns[place].runs.and(runs);
            beyond[place] = beyond[place].max(longest.saturating_sub(limit));
            most[place] = most[place].max(longest);
            // Somebody is always inside, so with as many sessions as processes one fewer waits.
            reached &= *label != verdict::Text::Repaired || longest + 1 >= limit;
            row.push(count(longest));
        }
        rows.push(row);
    }
    for (place, column) in columns.iter_mut().enumerate() {
        column.facts = vec![Fact::count(TOO_LONG, beyond[place] as u64), Fact::count(QUEUED, most[place] as u64)];
    }
    let told: Vec<String> = columns.iter().map(|column| format!("{} {}", column.text, column.facts[0].value)).collect();
    Finding {
        columns: columns.to_vec(),
        measured: format!("most entries beyond min(n, m) in {} settings: {}", sizes.len(), told.join(", ")),
        checks: vec![check("repaired, within one of min(n, m) in every setting", reached)],
        evidence: vec![Evidence::Table(
            "Most entries in the queue of the token, heavy load, three levels".to_owned(),
            table(&["n", "m", "min(n, m)", "as printed", "all but g4", "g1 to g10", "repaired"], rows),
        )],
    }
}
