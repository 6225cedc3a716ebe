//! Nodes that crash.

use meshlock_sim::run::run;
use meshlock_sim::scenario::file::Document;

#[test]
fn probe() {
    let path = std::env::var("PROBE").unwrap_or("../../scenarios/crashes.toml".to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let mut document = Document::parse(&path, &text).unwrap();
    for set in std::env::var("SET").unwrap_or_default().split(';').filter(|set| !set.is_empty()) {
        let (key, value) = set.split_once('=').unwrap();
        document.set(key, value).unwrap();
    }
    let scenario = document.resolve().unwrap_or_else(|error| panic!("{error}"));
    for seed in 1..=std::env::var("SEEDS").map_or(3, |n| n.parse().unwrap()) {
        let started = std::time::Instant::now();
        let outcome = run(&scenario, seed, &mut ()).unwrap();
        let seen = outcome.crashes.clone().unwrap();
        let stuck = outcome.requests.iter().filter(|r| r.granted.is_none() && r.cancelled.is_none()).count();
        println!(
            "seed {seed}: events {} requests {} granted {} stuck {stuck} quiet {:?} broken {:?} rejected {} crashes {} facts {} declared {} wrongly {} remade {} cut {} refused {} outages {} {:?} {:?}",
            outcome.events,
            outcome.requests.len(),
            outcome.requests.iter().filter(|r| r.granted.is_some()).count(),
            outcome.quiet,
            outcome.broken,
            outcome.rejected,
            seen.crashed.len(),
            seen.facts.len(),
            seen.declared.len(),
            seen.declared.iter().filter(|d| d.wrongly).count(),
            seen.remade.len(),
            seen.cut_short.len(),
            seen.refused.len(),
            seen.outages.len(),
            seen.outages.iter().map(|o| o.end.map(|e| e.since(o.start).seconds())).collect::<Vec<_>>(),
            started.elapsed(),
        );
    }
}
