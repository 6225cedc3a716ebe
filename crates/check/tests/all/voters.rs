//! The models of voters: all standard ones are explored completely, and every planted bug is caught by one of them.

use meshlock_check::plain::{Bounds, explore};
use meshlock_check::voters::{self, Standard};
use meshlock_core::recovery::voters::Bug;

fn explored(standard: &Standard) -> Option<String> {
    let bounds = Bounds { states: 200_000, progress: standard.progress };
    let t = std::time::Instant::now();
    let found = explore(&standard.model, bounds);
    eprintln!(
        "{} states {} steps {} depth {} reached {} complete {} {:?}",
        standard.name,
        found.states,
        found.steps,
        found.depth,
        found.reached,
        found.is_complete,
        t.elapsed()
    );
    if let Some(trace) = &found.broken {
        return Some(format!("{}: {} after\n{}", standard.name, trace.rule, trace.steps.join("\n")));
    }
    let is_as_pinned = found.is_complete && found.reached > 0 && found.states == standard.states;
    (!is_as_pinned).then(|| format!("{}: {found:?}", standard.name))
}

#[test]
fn voters_keep_their_rules() {
    let wrong: Vec<String> = voters::all().iter().filter_map(explored).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore]
fn survey() {
    for bug in Bug::ALL {
        let mut caught = 0;
        for mut standard in voters::all() {
            if caught >= 2 {
                break;
            }
            standard.model.plant = Some(std::sync::Arc::new(|voting| voting.plant(*bug)));
            standard.model.asks_others = *bug == Bug::ReplaceDiskByAsking;
            let found = explore(&standard.model, Bounds { states: 40_000, progress: standard.progress });
            if let Some(trace) = found.broken {
                caught += 1;
                eprintln!("{bug:?} {} {} {} states {}", standard.name, trace.rule, trace.steps.len(), found.states);
            }
        }
        eprintln!("{bug:?} done");
    }
}
