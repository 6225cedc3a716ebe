//! P-4, P-5 and P-13: two tokens, requests nobody answers, and what loss does.

use meshlock_properties::Rule;
use meshlock_report::table::Cell;
use meshlock_sim::distribution::Distribution;
use meshlock_sim::scenario::{
    Changes, MessageSize, Mobility, Network, Placement, ProtocolChoice, ProtocolName, Scenario, Shape, Wired,
};
use meshlock_sim::time::Span;

use super::kit::{
    ALL_REPAIRS, at_speed, broken, cell, in_a_row, number, on_air, over_runs, printed, printed_without, repaired,
    same_density, table, text, timed,
};
use crate::claim::{Evidence, Finding, Verdict};
use crate::lab::{Lab, Sample, Samples};

fn stuck(samples: &Samples) -> f64 {
    samples.sum(|sample| sample.measures.get("stuck").copied().unwrap_or(f64::NAN))
}

fn entries(sample: &Sample) -> f64 {
    sample.outcome.requests.iter().filter(|request| request.granted.is_some_and(|at| at <= sample.outcome.end)).count()
        as f64
}

/// A static network at the report's density on which everybody is busy. Some leave before slow copies of
/// the token arrive, others stay long enough to be met inside.
fn busy(protocol: ProtocolChoice, nodes: u32, duration: f64) -> Scenario {
    let grid = Mobility::Static(Placement::Grid);
    let mut scenario = timed(on_air(protocol, nodes, same_density(nodes), grid, 0.2), 0.0, duration, 30.0);
    scenario
        .traffic
        .classes
        .iter_mut()
        .for_each(|class| class.holding = Distribution::Choice(vec![(0.0005, 1.0), (0.02, 1.0)]));
    scenario
}

/// As printed floods never end, so such a run is short and has a short drain.
fn printed_to_the_letter(lab: &Lab, nodes: u32, seeds: u64) -> Samples {
    lab.replicate(&timed(busy(printed(&[]), nodes, 1.0), 0.0, lab.choose(0.5, 1.0, 1.0), 0.05), seeds)
}

/// P-4.
pub(super) fn one_inside(lab: &Lab) -> Finding {
    let (nodes, seeds) = (lab.choose(9, 16, 25), lab.choose(3, 6, 30));
    let duration = lab.choose(20.0, 30.0, 60.0);
    let literal = printed_to_the_letter(lab, nodes, seeds);
    let runs = [
        ("to the letter, cut off", literal),
        ("F1 repaired", lab.replicate(&busy(printed(&["f1"]), nodes, duration), seeds)),
        ("all but F3 repaired", lab.replicate(&busy(printed_without(&["f3"]), nodes, duration), seeds)),
        ("all but F4 repaired", lab.replicate(&busy(printed_without(&["f4"]), nodes, duration), seeds)),
        ("all repaired", lab.replicate(&busy(printed(&ALL_REPAIRS), nodes, duration), seeds)),
        ("our flood", lab.replicate(&busy(repaired(super::FLOOD), nodes, duration), seeds)),
    ];
    let mut rows = Vec::new();
    let mut two_inside = Vec::new();
    let mut two_tokens = Vec::new();
    for (label, samples) in &runs {
        let inside = over_runs(&samples.0, |sample| broken(sample, Rule::Exclusion));
        let tokens = over_runs(&samples.0, |sample| broken(sample, Rule::OneToken));
        let entered = over_runs(&samples.0, entries);
        two_inside.push(inside.mean);
        two_tokens.push(tokens.mean);
        rows.push(vec![text(*label), cell(entered), cell(inside), cell(tokens), number(stuck(samples))]);
    }
    let [letter, _, without_f3, _, all, ours] = [0, 1, 2, 3, 4, 5].map(|at: usize| two_inside[at] + two_tokens[at]);
    let as_expected = letter > 0.0 && without_f3 > 0.0 && two_inside[2] > 0.0 && all == 0.0 && ours == 0.0;
    let columns = ["flood", "#entries per run", "#second one inside", "#looks with two tokens", "#stuck in all runs"];
    Finding {
        measured: format!(
            "{nodes} nodes, {seeds} runs of {duration} s: a second one enters {:.1} times per run without the repair of F3 \
             (two tokens in {:.1} looks), 0 times with it; to the letter two tokens are seen in {:.1} looks within the \
             first second",
            two_inside[2], two_tokens[2], two_tokens[0]
        ),
        verdict: Verdict::HoldsRepaired,
        as_expected,
        evidence: vec![
            Evidence::Table("Broken rules per run, static radio network".to_owned(), table(&columns, rows)),
            Evidence::Note(
                "Expected: more than none as printed, none with transfers that are recognised. The destination takes \
                 every copy of a flooded token for a new one (F3). The list that is meant to prevent it marks a \
                 transfer by the sender's clock, which another sender may use as well (F4): then the token is dropped \
                 and everybody is stuck."
                    .to_owned(),
            ),
        ],
    }
}

/// P-5.
pub(super) fn nobody_stuck(lab: &Lab) -> Finding {
    let (nodes, seeds) = (lab.choose(9, 16, 25), lab.choose(3, 4, 30));
    let duration = lab.choose(10.0, 20.0, 60.0);
    let moving = |choice| {
        let nodes = lab.choose(25, 36, 49);
        timed(on_air(choice, nodes, same_density(nodes), at_speed(20.0), 0.5), 0.0, 2.0 * duration, 120.0)
    };
    let mut rows = Vec::new();
    let mut found = Vec::new();
    let mut measure = |label: &str, scenario: &Scenario| {
        let samples = lab.replicate(scenario, seeds);
        let runs =
            samples.0.iter().filter(|sample| sample.measures.get("stuck").is_some_and(|stuck| *stuck > 0.0)).count();
        let per_run = over_runs(&samples.0, |sample| sample.measures.get("stuck").copied().unwrap_or(f64::NAN));
        rows.push(vec![
            text(label),
            cell(over_runs(&samples.0, entries)),
            cell(per_run),
            text(format!("{runs} of {seeds}")),
            cell(samples.estimate("network.connected")),
        ]);
        found.push(per_run);
    };
    measure("static: F1 repaired", &busy(printed(&["f1"]), nodes, duration));
    for missing in ["f2", "f3", "f4", "f5", "f7"] {
        // F6 shows only where F7 is not repaired either.
        let without: &[&str] = if missing == "f7" { &["f6", "f7"] } else { &[missing] };
        let label = format!("static: all but {} repaired", without.join(" and ").to_uppercase().replace("AND", "and"));
        measure(&label, &busy(printed_without(without), nodes, duration));
    }
    measure("static: all repaired", &busy(printed(&ALL_REPAIRS), nodes, duration));
    measure("static: our flood", &busy(repaired(super::FLOOD), nodes, duration));
    measure("moving: all repaired (F8 and F9 have no switch)", &moving(printed(&ALL_REPAIRS)));
    measure("moving: our flood", &moving(repaired(super::FLOOD)));
    measure("moving: reverse-link", &moving(repaired(ProtocolName::ReverseLink)));
    let zero = |at: usize| found[at].mean == 0.0;
    let some = |at: usize| found[at].mean > 0.0;
    let as_expected = some(0) && some(1) && some(5) && zero(6) && zero(7) && some(8) && zero(9) && zero(10);
    let columns = ["flood", "#entries per run", "#stuck per run", "runs with stuck ones", "#connected"];
    Finding {
        measured: format!(
            "stuck at the end, of {nodes} that ask: F1 repaired {}, without the release rule (F6, F7) {}, all seven \
             repaired 0 on a static network and {} on a moving one; our flood and reverse-link 0 on both",
            found[0], found[5], found[8]
        ),
        verdict: Verdict::HoldsRepaired,
        as_expected,
        evidence: vec![
            Evidence::Table(
                format!("Requests that nobody answers, runs of {duration} s with a drain"),
                table(&columns, rows),
            ),
            Evidence::Note(
                "Expected: some stuck with F1 repaired alone, without F2, without F6 and F7, and on a moving network with \
                 all of F1 to F7 repaired; none for our flood and for reverse-link."
                    .to_owned(),
            ),
        ],
    }
}

/// A random graph with changing links, all together at all times.
fn rewired(protocol: ProtocolChoice, nodes: u32, duration: f64) -> Scenario {
    let changes = Changes { every: Some(Span::from_millis(20)), keep_connected: true, script: Vec::new() };
    let wired = Wired {
        shape: Shape::Random { connectivity: 0.4 },
        delay: Distribution::Uniform { low: 0.01, high: 0.03 },
        fifo: true,
        loss: 0.0,
        message: MessageSize::Fixed(200),
        gentle: false,
        changes,
    };
    let scenario = on_air(protocol, nodes, 1.0, at_speed(0.0), 0.5);
    timed(Scenario { network: Network::Wired(wired), ..scenario }, 0.0, duration, 60.0)
}

/// A row of radios that lose receptions with this probability.
fn lossy(protocol: ProtocolChoice, nodes: u32, loss: f64, duration: f64) -> Scenario {
    let row = in_a_row(nodes);
    let mut scenario = timed(on_air(protocol, nodes, 100.0 * f64::from(nodes), row, 0.5), 0.0, duration, 60.0);
    if let Network::Radio(radio) = &mut scenario.network {
        radio.error = loss;
    }
    scenario
}

/// A network with trouble, for any protocol.
type Trouble = Box<dyn Fn(ProtocolChoice) -> Scenario>;

/// P-13.
pub(super) fn loss(lab: &Lab) -> Finding {
    let (nodes, seeds) = (lab.choose(8, 8, 10), lab.choose(3, 6, 30));
    let duration = lab.choose(20.0, 30.0, 120.0);
    let losses: &[f64] = lab.choose(&[0.05], &[0.01, 0.05], &[0.001, 0.01, 0.05, 0.1]);
    let contestants = [
        ("flood as printed, F1 to F7 repaired", printed(&ALL_REPAIRS)),
        ("our flood", repaired(super::FLOOD)),
        ("reverse-link", repaired(ProtocolName::ReverseLink)),
    ];
    let mut rows = Vec::new();
    let mut all_end = true;
    let mut ours_go_on = true;
    let mut last_entry = f64::NAN;
    let mut told = Vec::new();
    let mut cases: Vec<(String, Trouble)> = Vec::new();
    for &loss in losses {
        let case = format!("row, loss {}", percent(loss));
        cases.push((case, Box::new(move |choice| lossy(choice, nodes, loss, duration))));
    }
    cases.push((
        "links cut and joined 50 times a second".to_owned(),
        Box::new(move |choice| rewired(choice, nodes, duration)),
    ));
    for (case, scenario) in &cases {
        for (label, choice) in &contestants {
            let samples = lab.replicate(&scenario(choice.clone()), seeds);
            let ended =
                samples.0.iter().filter(|sample| sample.measures.get("stuck").is_some_and(|all| *all > 0.0)).count();
            let last = over_runs(&samples.0, |sample| {
                let granted = sample.outcome.requests.iter().filter_map(|request| request.granted);
                granted.filter(|at| *at <= sample.outcome.end).max().map_or(0.0, |at| at.seconds())
            });
            let wait = samples.estimate("wait.censored-mean");
            rows.push(vec![
                text(case.clone()),
                text(*label),
                cell(over_runs(&samples.0, entries)),
                cell(last),
                text(format!("{ended} of {seeds}")),
                cell(wait),
                violations(&samples),
            ]);
            if label.starts_with("flood as printed") {
                // With little loss a short run may get away; the others may not.
                all_end &= ended as u64 == seeds || case.ends_with("0.1 %");
                last_entry = last.mean;
                told.push(format!("{case}: {ended} of {seeds} deadlocked, last entry at {:.1} s", last.mean));
            } else {
                ours_go_on &= ended == 0 && last.mean > (2.0 * last_entry).min(0.8 * duration);
            }
        }
    }
    let as_expected = all_end && ours_go_on;
    let columns = [
        "network",
        "protocol",
        "#entries per run",
        "#last entry at, s",
        "deadlocked",
        "#wait with unserved, s",
        "#broken rules",
    ];
    Finding {
        measured: format!("as printed, F1 to F7 repaired: {}; our flood and reverse-link never", told.join("; ")),
        verdict: Verdict::HoldsRepaired,
        as_expected,
        evidence: vec![
            Evidence::Table(format!("{nodes} nodes, {seeds} runs of {duration} s"), table(&columns, rows)),
            Evidence::Note(
                "Expected: every run as printed ends in a deadlock (at a loss of 0.1 % not necessarily within the run), \
                 and no run of the repaired protocols: nobody is stuck after \
                 the drain, and the last entry is more than twice as late, or in the last fifth. Our flood survives, but on a row with much \
                 loss it is slow: its repetitions are end to end and come ever later. The report \
                 does not claim to survive a lost token, and names the error probability as a parameter."
                    .to_owned(),
            ),
        ],
    }
}

fn violations(samples: &Samples) -> Cell {
    number(samples.sum(|sample| sample.measures.get("violations").copied().unwrap_or(0.0)))
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}
