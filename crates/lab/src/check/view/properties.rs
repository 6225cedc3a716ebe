//! What is promised and what can be reached, as the page shows it.

use meshlock_check::finding::{PROTOCOL, PROTOCOL_WORDS};
use meshlock_check::{Search, Situation, Trial, Verdict, Way};
use meshlock_properties::Rule;
use meshlock_viewer::explore::{BrokenRule, Property, PropertyKind, PropertyState};

use super::search::{Found, Known};
use crate::check::build::looked_for;
use meshlock_cli::text::{count, several};

/// All properties of a model: what must always be so, then what can be reached.
pub(super) fn of(trial: &Trial, known: &Known) -> Vec<Property> {
    let rules = trial.spec.watched().iter().map(|rule| {
        let watched = looked_for(trial).has(rule);
        always(known, rule.name(), rule.words(), watched, rule == Rule::Starvation)
    });
    let mistakes = always(known, PROTOCOL, PROTOCOL_WORDS, true, false);
    let examples = Situation::of(&trial.spec).into_iter().map(|situation| sometimes(known, situation));
    rules.chain([mistakes]).chain(examples).collect()
}

/// A rule. `on_graph`: it is looked for only after every state was seen.
fn always(known: &Known, name: &str, words: &str, watched: bool, on_graph: bool) -> Property {
    let found = known.broken.as_ref().filter(|found| found.rule == name);
    let (state, remark) = match (found, known.verdict) {
        (Some(found), _) => (PropertyState::Broken, how(found)),
        (None, _) if !watched => {
            (PropertyState::NotWatched, "; not looked for, because the graph of states is not kept here".to_owned())
        }
        (None, None) => (PropertyState::Searching, String::new()),
        (None, Some(Verdict::Holds)) => (PropertyState::Holds, String::new()),
        (None, Some(_)) if on_graph => {
            (PropertyState::NotWatched, "; not looked for, because the search ended before".to_owned())
        }
        (None, Some(_)) => (PropertyState::Holds, String::new()),
    };
    Property {
        name: name.to_owned(),
        words: format!("{words}{remark}"),
        kind: PropertyKind::Always,
        state,
        path: found.and_then(|found| found.path.clone()),
    }
}

fn sometimes(known: &Known, situation: Situation) -> Property {
    let path = known.examples.get(&situation).cloned();
    let (state, remark) = match (&path, known.examples_end) {
        (Some(_), _) => (PropertyState::Found, String::new()),
        (None, None) => (PropertyState::Searching, String::new()),
        (None, Some(end)) if end.complete => (PropertyState::NotFound, "; in no state".to_owned()),
        (None, Some(end)) => (PropertyState::NotFound, format!("; not in the {} nearest states", count(end.states))),
    };
    let words = format!("{}{remark}", situation.words());
    Property { name: situation.name().to_owned(), words, kind: PropertyKind::Sometimes, state, path }
}

/// How the search for broken rules ended, or that it has not.
pub(super) fn verdict(trial: &Trial, known: &Known) -> String {
    if let Some(error) = &known.failed {
        return format!("cannot be searched: {error}");
    }
    let shortest = matches!(trial.way, Way::Explore { search: Search::BreadthFirst, .. });
    match (&known.broken, known.verdict) {
        (_, None) => "is being searched".to_owned(),
        (Some(found), Some(_)) => {
            let what = if found.rule == PROTOCOL { "the protocol" } else { found.rule };
            let only = if shortest && found.repeats_from.is_none() { "; no shorter run breaks it" } else { "" };
            format!("breaks {what} in {}{only}{}", several(found.steps as u64, "step"), how(found))
        }
        (None, Some(Verdict::Holds | Verdict::Violated)) => "holds: no rule is broken in any state".to_owned(),
        (None, Some(Verdict::Cancelled)) if known.progress.broken_at.is_some() => {
            let steps = known.progress.broken_at.unwrap_or_default();
            format!(
                "was stopped; a rule is broken in {}, the run to it was not found yet",
                several(steps.into(), "step")
            )
        }
        (None, Some(Verdict::Cancelled)) => "was stopped; no rule is broken so far".to_owned(),
        (
            None,
            Some(limit @ (Verdict::StateLimit | Verdict::DepthLimit | Verdict::TimeLimit | Verdict::MemoryLimit)),
        ) => format!("was stopped by the {limit}; no rule is broken so far, but not everything was looked at"),
    }
}

/// What is special about a run.
fn how(found: &Found) -> String {
    let repeats = found.repeats_from.map(|step| format!("; from step {step} on the run repeats forever"));
    let lost = found.path.is_none().then_some("; the run cannot be stepped through, but `meshlock check` shows it");
    format!("{}{}", repeats.unwrap_or_default(), lost.unwrap_or_default())
}

/// What is wrong at the end of a path that was found to be wrong as a whole.
pub(super) fn broken_at(known: &Known, path: &[u32]) -> Option<BrokenRule> {
    let found = known.broken.as_ref().filter(|found| found.path.as_deref() == Some(path))?;
    let words = format!("{}{}", found.words, how(found));
    Some(BrokenRule { rule: found.rule.to_owned(), words, what: found.what.clone() })
}
