//! Nodes that crash: what is repaired, how long that takes, and what shows that it was not.

use meshlock_properties::Rule;
use meshlock_sim::edit::Edits;
use meshlock_sim::measures::measures;
use meshlock_sim::outcome::{CrashesSeen, Outcome};
use meshlock_sim::record::{About, run_traced};
use meshlock_sim::run::run;
use meshlock_sim::scenario::file::Document;
use meshlock_sim::scenario::{Recovery, Scenario};
use meshlock_sim::time::Span;

fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let mut document = Document::parse("test", text).unwrap();
    for (key, value) in set {
        document.set(key, value).unwrap();
    }
    document.resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn ran(scenario: &Scenario, seed: u64) -> (Outcome, CrashesSeen) {
    let outcome = run(scenario, seed, &mut ()).unwrap();
    let seen = outcome.crashes.clone().unwrap();
    (outcome, seen)
}

fn stuck(outcome: &Outcome) -> usize {
    outcome.requests.iter().filter(|request| request.granted.is_none() && request.cancelled.is_none()).count()
}

/// How long the only outage lasted.
fn outage(seen: &CrashesSeen) -> f64 {
    let [outage] = seen.outages[..] else { panic!("one outage: {:?}", seen.outages) };
    outage.end.unwrap().since(outage.start).seconds()
}

/// Twenty nodes that move, each of which crashes about once in forty seconds.
const MOVING: &str = "nodes = 20\nduration = \"60s\"\nwarmup = \"1s\"\n[radio]\n[area]\ndegree = 8\n[mobility]\n\
    model = \"waypoint\"\nspeed = \"uniform(5mps, 15mps)\"\n[protocol]\ncapacity = 2\n[traffic]\nthink = \"exponential(2s)\"\n\
    holding = \"exponential(100ms)\"\npriority = \"uniform(1, 3)\"\nunits = \"uniform(1, 2)\"\n[crashes]\nper_hour = 90\n\
    back = \"exponential(2s)\"\nnever = 0.05\nlease = \"1s\"\n";

#[test]
fn many_crashes_break_no_rule_and_everybody_is_served_in_the_end() {
    let restart = [("crashes.recovery", "restart"), ("crashes.removal", "5s")];
    let voters = [("crashes.recovery", "voters"), ("crashes.standing", "2s")];
    for mode in [restart, voters] {
        let scenario = scenario(MOVING, &mode);
        let (mut remade, mut declared, mut outages) = (0, 0, 0);
        for seed in 1..=8 {
            let (outcome, seen) = ran(&scenario, seed);
            assert!(outcome.broken.is_empty(), "{mode:?}, seed {seed}: {:?}", outcome.broken);
            assert_eq!((stuck(&outcome), outcome.rejected), (0, 0), "{mode:?}, seed {seed}");
            assert!(seen.crashed.len() > 10, "{mode:?}, seed {seed}: {}", seen.crashed.len());
            remade += seen.remade.len();
            declared += seen.declared.len();
            outages += seen.outages.len();
        }
        assert!(remade >= 5 && outages >= 5, "{mode:?}: {remade} tokens, {outages} outages");
        assert_eq!(declared > 20, mode == voters, "{declared}");
    }
}

/// Protocols that serve one request of a node at a time, on a ring and without units. All come back: two that do not
/// would leave the ring in two parts.
const OTHERS: &str = "nodes = 8\nduration = \"60s\"\nwarmup = \"1s\"\n[topology]\nshape = \"ring\"\n\
    [traffic]\nthink = \"exponential(1s)\"\nholding = \"exponential(100ms)\"\n[crashes]\nper_hour = 120\n\
    back = \"exponential(2s)\"\nlease = \"1s\"\n";

#[test]
fn flood_and_group_recover_as_well() {
    let flood = vec![("protocol.name", "flood"), ("protocol.over", "links")];
    let group = vec![("protocol.name", "group"), ("protocol.over", "relay"), ("traffic.session", "uniform(1, 3)")];
    for protocol in [flood, group] {
        let name = protocol[0].1;
        let restart = [("crashes.recovery", "restart"), ("crashes.removal", "5s")];
        let voters = [("crashes.recovery", "voters"), ("crashes.standing", "2s")];
        for mode in [restart, voters] {
            let scenario = scenario(OTHERS, &[&protocol[..], &mode[..]].concat());
            let (mut remade, mut outages, mut crashed) = (0, 0, 0);
            for seed in 1..=8 {
                let (outcome, seen) = ran(&scenario, seed);
                assert!(outcome.broken.is_empty(), "{name}, {mode:?}, seed {seed}: {:?}", outcome.broken);
                assert_eq!((stuck(&outcome), outcome.rejected), (0, 0), "{name}, {mode:?}, seed {seed}");
                remade += seen.remade.len();
                outages += seen.outages.len();
                crashed += seen.crashed.len();
            }
            assert!(crashed > 50 && remade >= 5 && outages >= 5, "{name}, {mode:?}: {crashed}, {remade}, {outages}");
        }
    }
}

#[test]
fn crashes_are_the_same_every_time_also_if_they_are_recorded() {
    let scenario = scenario(MOVING, &[("duration", "20s")]);
    let (outcome, _) = ran(&scenario, 3);
    assert_eq!(outcome, ran(&scenario, 3).0);
    assert_ne!(outcome.trace_hash, ran(&scenario, 4).0.trace_hash);
    let mut bytes = Vec::new();
    let traced = run_traced(&scenario, 3, &Edits::default(), &mut (), &mut bytes, &About::default()).unwrap();
    assert_eq!(traced.outcome, outcome);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.lines().next().unwrap().contains("\"recovering\""), "nobody takes its messages for plain ones");
}

/// Five nodes on wires. Node 0 has the token until node 4, which asks from the fourth second on, gets it.
const WIRES: &str = "nodes = 5\nduration = \"60s\"\nwarmup = \"0s\"\n[topology]\nshape = \"ring\"\n\
    [[traffic.class]]\nname = \"first\"\nnodes = 4\nburst = 1\nat = \"4s\"\nholding = \"100ms\"\n\
    [[traffic.class]]\nname = \"others\"\nnodes = \"1..3\"\nthink = \"uniform(0s, 100ms)\"\nholding = \"10ms\"\nstart = \"10s\"\n\
    [crashes]\nlease = \"6s\"\n[[crashes.script]]\nat = \"10s\"\nnode = 4\nfor = \"2s\"\n";

#[test]
fn a_holder_that_returns_brings_the_token_back_at_once_if_its_clients_held_nothing() {
    let (outcome, seen) = ran(&scenario(WIRES, &[("crashes.recovery", "restart")]), 1);
    assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
    assert!((2.0..2.1).contains(&outage(&seen)), "{seen:?}");
    assert_eq!((seen.remade.len(), seen.facts.len(), seen.cut_short.len()), (1, 1, 0));
}

#[test]
fn a_node_that_returns_waits_for_the_leases_of_its_former_clients() {
    let set = [("crashes.recovery", "restart"), ("traffic.class.first.holding", "40s")];
    let (outcome, seen) = ran(&scenario(WIRES, &set), 1);
    assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
    // Granted soon after 4 s, renewed every two seconds: for the last time shortly before the crash at 10 s.
    let end = outage(&seen);
    assert!((4.0..6.1).contains(&end), "{end}");
    assert_eq!(seen.cut_short.len(), 1, "it would have worked on");
    let first = outcome.requests.iter().find(|request| request.class == 0).unwrap();
    assert!(first.released.unwrap() <= seen.outages[0].end.unwrap());
}

#[test]
fn a_holder_that_never_returns_is_declared_gone_after_the_wait_of_voters() {
    let text = WIRES.replace("for = \"2s\"\n", "");
    let (outcome, seen) = ran(&scenario(&text, &[("crashes.standing", "6s")]), 1);
    assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
    // W = 1.02 T + 0.2 s from its last round, which was up to T / 6 before the crash.
    let (wait, lasted) = (1.02 * 6.0 + 0.2, outage(&seen));
    assert!((wait - 1.01..wait + 0.1).contains(&lasted), "{lasted}");
    assert_eq!((seen.declared.len(), seen.remade.len()), (1, 1));
    assert!(!seen.declared[0].wrongly);
}

#[test]
fn a_holder_that_never_returns_is_removed_by_an_operator() {
    let text = WIRES.replace("for = \"2s\"\n", "");
    let (outcome, seen) = ran(&scenario(&text, &[("crashes.recovery", "restart"), ("crashes.removal", "20s")]), 1);
    assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
    assert!((20.0..20.1).contains(&outage(&seen)), "{seen:?}");
}

#[test]
fn a_living_token_is_not_interrupted() {
    let text = WIRES.replace("at = \"10s\"\nnode = 4", "at = \"20s\"\nnode = 0");
    for recovery in ["restart", "voters"] {
        let (outcome, seen) = ran(&scenario(&text, &[("crashes.recovery", recovery)]), 1);
        assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
        assert_eq!((seen.crashed.len(), seen.outages.len(), seen.remade.len()), (1, 0, 0), "{recovery}");
    }
}

/// Two parts that meet after forty seconds. The token is lost in one of them.
const SPLIT: &str = "nodes = 4\nduration = \"60s\"\nwarmup = \"0s\"\n[topology]\nlinks = [[0, 1], [2, 3]]\n\
    [[topology.change]]\nat = \"40s\"\nup = [1, 2]\n\
    [traffic]\nnodes = [1, 3]\nthink = \"uniform(0s, 100ms)\"\nholding = \"10ms\"\nstart = \"11s\"\n\
    [crashes]\nrecovery = \"restart\"\n[[crashes.script]]\nat = \"10s\"\nnode = 0\nfor = \"2s\"\n";

#[test]
fn a_token_that_is_lost_in_one_part_is_made_anew_when_the_parts_meet() {
    let (outcome, seen) = ran(&scenario(SPLIT, &[]), 1);
    assert!(outcome.broken.is_empty() && stuck(&outcome) == 0);
    assert!((30.0..30.1).contains(&outage(&seen)), "{seen:?}");
    let apart = SPLIT.replace("[[topology.change]]\nat = \"40s\"\nup = [1, 2]\n", "");
    let (outcome, seen) = ran(&scenario(&apart, &[]), 1);
    assert!(outcome.broken.is_empty(), "all that could be done was done: {:?}", outcome.broken);
    assert_eq!((stuck(&outcome), seen.remade.len()), (2, 0));
}

#[test]
fn without_recovery_the_token_is_lost_and_the_measures_say_so() {
    let scenario = scenario(WIRES, &[("crashes.recovery", "none")]);
    let (outcome, seen) = ran(&scenario, 1);
    assert_eq!(seen.outages.len(), 1);
    assert_eq!(seen.outages[0].end, None, "nothing is granted any more");
    assert_eq!(stuck(&outcome), 3, "one of each client");
    let measures = measures(&scenario, &outcome);
    assert!((measures["outage.share"] - 50.0 / 60.0).abs() < 0.01, "{measures:?}");
    assert_eq!((measures["tokens.remade"], measures["stuck"]), (0.0, 3.0));
}

/// Node 4 is cut off for twenty seconds while its client is inside.
const PARTED: &str = "nodes = 5\nduration = \"60s\"\nwarmup = \"0s\"\n[topology]\nshape = \"line\"\n\
    [[topology.change]]\nat = \"10s\"\ncut = [3, 4]\n[[topology.change]]\nat = \"30s\"\nup = [3, 4]\n\
    [[traffic.class]]\nname = \"first\"\nnodes = 4\nburst = 1\nat = \"4s\"\nholding = \"40s\"\n\
    [[traffic.class]]\nname = \"others\"\nnodes = \"1..3\"\nthink = \"uniform(0s, 100ms)\"\nholding = \"10ms\"\nstart = \"5s\"\n\
    [crashes]\nstanding = \"6s\"\n[[crashes.script]]\nat = \"55s\"\nnode = 0\nfor = \"1s\"\n";

#[test]
fn who_is_cut_off_stops_before_the_others_go_on_without_it() {
    let scenario = scenario(PARTED, &[]);
    let (outcome, seen) = ran(&scenario, 1);
    assert!(outcome.broken.is_empty(), "{:?}", outcome.broken);
    assert_eq!((stuck(&outcome), seen.cut_short.len(), seen.remade.len()), (0, 1, 1));
    assert!(seen.declared[0].wrongly && seen.declared[0].node.0 == 4);
    assert!((15.0..18.0).contains(&seen.declared[0].at.seconds()), "{seen:?}");
    assert!(seen.facts.len() >= 2, "it begins anew when it is back");
    let measures = measures(&scenario, &outcome);
    assert_eq!((measures["declared.wrongly"], measures["cut-short"]), (1.0, 1.0));
    assert!(measures["messages/repair"] > 0.0 && measures["bytes/repair"] > 0.0);
}

#[test]
fn voters_that_do_not_wait_long_enough_are_found_out() {
    let mut scenario = scenario(PARTED, &[]);
    let Some(Recovery::Voters(voting)) = scenario.crashes.as_mut().map(|crashes| &mut crashes.recovery) else {
        panic!("voters are the default");
    };
    voting.wait = Span::from_seconds(2.0);
    let (outcome, seen) = ran(&scenario, 1);
    assert!(seen.declared[0].wrongly);
    assert_eq!(outcome.broken[0].rule, Rule::Exclusion, "the client of node 4 is still inside");
}

#[test]
fn a_node_that_does_not_wait_for_its_former_clients_is_found_out() {
    let set = [("crashes.recovery", "restart"), ("traffic.class.first.holding", "40s")];
    let mut scenario = scenario(WIRES, &set);
    if let Some(crashes) = &mut scenario.crashes {
        crashes.believed_lease = Span::ZERO;
    }
    let (outcome, _) = ran(&scenario, 1);
    assert_eq!(outcome.broken[0].rule, Rule::Exclusion, "the client of the dead node is still inside");
    assert!((12.0..12.1).contains(&outcome.broken[0].at.seconds()), "as soon as the node is back");
}
