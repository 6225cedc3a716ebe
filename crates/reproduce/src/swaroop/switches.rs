//! S4-8 to S4-10: how many sessions are opened before one that waits, against adversaries.

use meshlock_report::table::Cell;
use meshlock_sim::random::{Purpose, Stream, Streams};
use meshlock_sim::scenario::{ProtocolChoice, Scenario, Text};

use super::by_hand::HandDriven;
use super::game;
use super::ledger::longest_queue;
use super::setting::{at_levels, busy, group, three_texts};
use crate::prelude::*;
use crate::scenarios::{G, REPAIRED, all_but, mended, with};
use crate::verdict;

/// What one that waits at the lowest level sees.
struct Waited {
    /// Sessions opened until it is in, its own included.
    openings: u32,
    /// Its level after each opening, as long as it waits.
    levels: Vec<i64>,
}

/// After so many openings the text counts as stuck.
const MOST_OPENINGS: u32 = 10_000;

/// The session the victim wants.
pub(super) const WANTED: u64 = 0;

/// Lets one process wait for [`WANTED`] behind all other sessions, at the lowest level. Whenever a session opens,
/// `more` lets others ask. `None` if it is never served.
fn wait_for(network: &mut HandDriven, victim: usize, mut more: impl FnMut(&mut HandDriven)) -> Option<Waited> {
    if !network.ask(victim, WANTED, 1) {
        return None;
    }
    let mut waited = Waited { openings: 0, levels: Vec::new() };
    while !network.is_inside(victim) && waited.openings < MOST_OPENINGS {
        if !network.all_leave() {
            return None;
        }
        waited.openings += 1;
        waited.levels.extend(network.level_of(WANTED));
        more(network);
    }
    network.is_inside(victim).then_some(waited)
}

/// The greedy adversary: all other sessions wait first, and the one that opens is asked for again at the top level.
fn greedy(text: Text, nodes: u32, sessions: u32, levels: u32) -> Option<Waited> {
    let (mut network, victim) = (HandDriven::new(text, nodes, levels), nodes as usize - 1);
    // Where there are more sessions than others, one fewer can be ahead.
    network.ask(0, WANTED, 1);
    for session in 1..sessions.min(victim as u32) {
        network.ask(session as usize, session.into(), 1);
    }
    wait_for(&mut network, victim, |network| {
        let free = network.idle().into_iter().find(|node| *node != victim);
        if let (Some(node), Some(session)) = (free, network.open_session()) {
            network.ask(node, session, levels);
        }
    })
}

/// A random adversary: idle processes ask for anything at any level, now and then.
fn random(nodes: u32, sessions: u32, levels: u32, seed: u64) -> Option<Waited> {
    let mut dice = Streams::new(seed).stream(Purpose::Traffic, 0);
    let (mut network, victim) = (HandDriven::new(Text::Repaired, nodes, levels), nodes as usize - 1);
    let stir = |network: &mut HandDriven, dice: &mut Stream| {
        for node in network.idle().into_iter().filter(|node| *node != victim) {
            if dice.happens(0.8) {
                // Its own session would only help the victim.
                let session = 1 + dice.below(u64::from(sessions) - 1);
                network.ask(node, session, 1 + dice.below(u64::from(levels)) as u32);
            }
        }
    };
    network.ask(0, WANTED, 1);
    stir(&mut network, &mut dice);
    wait_for(&mut network, victim, |network| stir(network, &mut dice))
}

/// What the paper says: the greater of min(n, m) and K - 1.
fn claimed(nodes: u32, sessions: u32, levels: u32) -> u32 {
    nodes.min(sessions).max(levels.saturating_sub(1))
}

/// What is right: K - 2 openings while others can still pass, and one for each process that can be ahead, or its own.
pub(super) fn exact(nodes: u32, sessions: u32, levels: u32) -> u32 {
    (nodes - 1).min(sessions) + levels.saturating_sub(2)
}

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
    let mut columns = Vec::new();
    for &(nodes, sessions, levels) in &all {
        let (says, right) = (claimed(nodes, sessions, levels), exact(nodes, sessions, levels));
        let found = three_texts().map(|(label, text)| {
            let openings = greedy(text, nodes, sessions, levels).map(|waited| waited.openings);
            let column =
                Column::of(&mut columns, &label, Runs { all: 1, stuck: openings.is_none().into(), ..Runs::default() });
            column.most(ABOVE_CLAIM, openings.map_or(0.0, |openings| f64::from(openings.saturating_sub(says))));
            column.add(SETTINGS, f64::from(u8::from(openings.is_some())));
            openings
        });
        let ours = found[2];
        exceeded += u32::from(ours.is_some_and(|openings| openings > says));
        as_computed &= ours == Some(right);
        if (nodes, sessions) == (11, 10) {
            of_ten.extend(ours.map(|openings| exact_point(levels, openings)));
            claims.push(exact_point(levels, says));
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
    let wanted = [(5, 13), (10, 18), (20, 28)];
    let table_fits = wanted.iter().all(|(levels, openings)| known.contains(&(*levels, Some(*openings))));
    let played = game::played(lab);
    let game_fits = played.iter().all(|game| game.longest == Some(game.exact()));
    let (tries, beyond) = search(lab);
    let told: Vec<String> = known.iter().filter_map(|(k, found)| Some(format!("K = {k}: {}", (*found)?))).collect();
    let games: Vec<String> = played.iter().map(ToString::to_string).collect();
    let measured = format!(
        "sessions opened for a request at level 1, n = 11, m = 10: {} (claimed: max(10, K - 1)); the claim is exceeded \
         in {exceeded} of {} settings; exhaustive games (n, m, K): {}; {beyond} of {tries} random adversaries get \
         beyond min(n-1, m) + max(K-2, 0)",
        told.join(", "),
        rows.len(),
        games.join(", "),
    );
    let lines = vec![line("greedy adversary", of_ten), dashed("claimed", claims)];
    Finding {
        columns,
        measured,
        checks: vec![
            check(
                "the greedy adversary reaches min(n-1, m) + max(K-2, 0) in every setting, also for n <= m",
                as_computed,
            ),
            check("m = 10: 13 for K = 5, 18 for K = 10, 28 for K = 20", table_fits),
            check("every exhaustive game ends there", game_fits),
            check("no random adversary gets beyond", beyond == 0),
        ],
        evidence: vec![
            table(
                "Sessions opened until a request at level 1 is served, its own included",
                "n | m | K | claimed | as printed | g1 to g10 | repaired | min(n-1, m) + max(K-2, 0) | claim",
                rows,
            ),
            captioned(
                "Ten sessions: waiting to be at the top and waiting for those ahead follow one another.",
                "The bound on session switches, n = 11, m = 10",
                scale("levels K", ""),
                scale("sessions opened", ""),
                lines,
            ),
            note(
                "The real protocol was driven, message by message. In the games every move of the other processes is \
                 tried: who asks for what at which level, who leaves when, and when the victim asks. The longest game \
                 is the worst case. See G11 in docs/errata.md.",
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
        let waited = random(nodes, sessions, levels, seed);
        beyond += u64::from(waited.is_none_or(|waited| waited.openings > exact(nodes, sessions, levels)));
    }
    (tries, beyond)
}

/// S4-9.
pub(super) fn aging(lab: &Lab) -> Finding {
    let sessions = 10;
    let deep: &[u32] = lab.choose(&[2, 5, 10], &[2, 3, 5, 10, 20], &[2, 3, 4, 5, 7, 10, 15, 20, 30]);
    let (mut rows, mut columns, mut uncapped) = (Vec::new(), Vec::new(), [0_u32; 2]);
    for &levels in deep {
        for ((label, text), uncapped) in [with(&[]), REPAIRED].into_iter().zip(&mut uncapped) {
            let waited = greedy(text, sessions + 1, sessions, levels);
            let runs = Runs { all: 1, stuck: waited.is_none().into(), ..Runs::default() };
            let column = Column::of(&mut columns, &label, runs);
            column.add(OFF_AGING, 0.0);
            column.add(SETTINGS, f64::from(u8::from(waited.is_some())));
            let Some(waited) = waited else { continue };
            let top = waited.levels.iter().position(|level| *level >= i64::from(levels)).map(|place| place + 1);
            // One level at every opening until then.
            let steady =
                waited.levels.iter().take(levels as usize - 1).zip(2..).all(|(level, expected)| *level == expected);
            let highest = waited.levels.iter().max().copied().unwrap_or(0);
            column.add(OFF_AGING, f64::from(u8::from(!(steady && top == Some(levels as usize - 1)))));
            *uncapped += u32::from(highest > i64::from(levels));
            rows.push(vec![
                words(&column.text),
                count(levels),
                top.map_or(Cell::Empty, count),
                count(levels - 1),
                count(highest),
            ]);
        }
    }
    let told =
        told(&columns, |column| format!("{} of {}", column.value(SETTINGS) - column.value(OFF_AGING), column.runs.all));
    Finding {
        columns,
        measured: format!(
            "settings (K up to {}) in which a request at level 1 is at level K after exactly K - 1 openings: {told}; \
             levels beyond K in {} settings as printed",
            deep.last().copied().unwrap_or(0),
            uncapped[0]
        ),
        checks: vec![check("repaired, no level is beyond K", uncapped[1] == 0)],
        evidence: vec![table(
            "Openings until a request at level 1 is at the top, m = 10",
            "text | K | openings | claimed | highest level",
            rows,
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
    let texts = [with(&[]), all_but(&G, &["g4"]), mended(&G), REPAIRED];
    let (mut rows, mut columns, mut reached) = (Vec::new(), Vec::new(), true);
    for &(nodes, sessions) in sizes {
        let limit = nodes.min(sessions) as usize;
        let mut row = [nodes as usize, sessions as usize, limit].map(count).to_vec();
        for (label, text) in &texts {
            let (longest, runs) = longest_queue(&scenario(text.clone(), nodes, sessions), seeds);
            let column = Column::of(&mut columns, label, runs);
            column.most(TOO_LONG, longest.saturating_sub(limit) as f64);
            column.most(QUEUED, longest as f64);
            // One is always inside, so with as many sessions as processes one fewer waits.
            reached &= *label != verdict::Text::Repaired || longest + 1 >= limit;
            row.push(count(longest));
        }
        rows.push(row);
    }
    let told = told(&columns, |column| column.value(TOO_LONG).to_string());
    Finding {
        columns,
        measured: format!("most entries beyond min(n, m) in {} settings: {told}", sizes.len()),
        checks: vec![check("repaired, within one of min(n, m) in every setting", reached)],
        evidence: vec![table(
            "Most entries in the queue of the token, heavy load, three levels",
            "n | m | min(n, m) | as printed | all but g4 | g1 to g10 | repaired",
            rows,
        )],
    }
}
