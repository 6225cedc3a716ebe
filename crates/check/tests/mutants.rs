//! Every planted bug is caught. One that survives is a hole in the rules or in the models.

use meshlock_check::suite::{self, Entry, Expected};
use meshlock_check::{Limits, Seeds, Silent, Subject, Variant};
use meshlock_core::{Planted, flood, group, reverse_link};

fn seeds() -> Vec<(String, Subject, Seeds)> {
    let rl = reverse_link::Bug::ALL.into_iter().map(|bug| {
        (
            format!("reverse-link {bug:?}"),
            Subject::ReverseLink,
            Seeds { reverse_link: Planted::bug(bug), ..Seeds::NONE },
        )
    });
    let fl = flood::Bug::ALL
        .into_iter()
        .map(|bug| (format!("flood {bug:?}"), Subject::Flood, Seeds { flood: Planted::bug(bug), ..Seeds::NONE }));
    let gr = group::Bug::ALL
        .into_iter()
        .map(|bug| (format!("group {bug:?}"), Subject::Group, Seeds { group: Planted::bug(bug), ..Seeds::NONE }));
    rl.chain(fl).chain(gr).collect()
}

#[test]
fn discover() {
    let mut entries: Vec<Entry> = suite::standard()
        .into_iter()
        .filter(|e| e.trial.spec.variant == Variant::Repaired && !matches!(e.expected, Expected::Breaks { .. }))
        .collect();
    entries.sort_by_key(|e| match e.expected {
        Expected::Holds { unique } => unique,
        _ => 300_000,
    });
    for (name, subject, seeds) in seeds() {
        let mut found = Vec::new();
        for entry in entries.iter().filter(|e| e.trial.spec.subject == subject) {
            let mut e = entry.clone();
            e.trial.spec.seeds = seeds;
            let limits = Limits { states: Some(3_000_000), ..Limits::default() };
            match e.run(&limits, &mut Silent) {
                Err(error) => {
                    found.push(format!("{} setup: {error}", e.name));
                    break;
                }
                Ok(r) => {
                    if let Some(b) = r.broken {
                        found.push(format!("{} {} in {} ({} states)", e.name, b.what, b.steps, r.progress.unique));
                        break;
                    }
                }
            }
        }
        println!("{name:40} {}", found.first().cloned().unwrap_or("SURVIVES".into()));
    }
}
