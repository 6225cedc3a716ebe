//! The models of voters: all standard ones are explored completely, and every planted bug is caught by one of them.

use meshlock_check::plain::{Bounds, explore};
use meshlock_check::voters::{self, Standard};

fn explored(standard: &Standard) -> Option<String> {
    let bounds = Bounds { states: 300_000, progress: standard.progress };
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
