//! What the page is told, without a page.

use meshlock_check::{Trial, suite};
use meshlock_viewer::explore::{Property, PropertyKind, PropertyState};

use super::*;

fn job(name: &str) -> Job {
    let entry = suite::named(name).unwrap();
    let trial: Trial = entry.trial.clone();
    Job { name: name.to_owned(), trial, entry: Some(entry), exact: true, command: format!("meshlock check {name}") }
}

/// The model after both searches have ended.
fn searched(name: &str, limits: Limits) -> Model {
    let model = Model::start(job(name), limits).unwrap();
    let mut changes = model.changes();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let done = |_: &u64| {
            let known = model.searches.known();
            known.verdict.is_some() && known.examples_end.is_some()
        };
        changes.wait_for(done).await.unwrap();
    });
    model
}

fn property(model: &Model, name: &str) -> Property {
    model.overview().properties.into_iter().find(|property| property.name == name).unwrap()
}

#[test]
fn a_broken_rule_has_a_path_to_it() {
    let model = searched("reverse-link/p1", Limits::default());
    let overview = model.overview();
    assert!(overview.search.done && overview.search.states > 0);
    assert_eq!(overview.search.verdict, "breaks nobody-waits in 20 steps; no shorter run breaks it");
    assert_eq!(overview.command, "meshlock check reverse-link/p1");
    let broken = property(&model, "nobody-waits");
    assert_eq!((broken.kind, broken.state), (PropertyKind::Always, PropertyState::Broken));
    let path = broken.path.unwrap();
    let place = model.at(&path).unwrap();
    assert_eq!(place.broken.unwrap().rule, "nobody-waits");
    assert_eq!(place.path, path);
    assert_eq!(property(&model, "protocol").state, PropertyState::Holds);
    let granted = property(&model, "granted");
    assert_eq!((granted.kind, granted.state), (PropertyKind::Sometimes, PropertyState::Found));
    assert!(model.at(&granted.path.unwrap()).is_ok());
    assert!(model.at(&[4_000]).unwrap_err().0.contains("step 1 of this path is not possible"));
}

#[test]
fn a_run_that_repeats_for_ever_is_wrong_at_its_end() {
    let model = searched("central/strict-endless", Limits::default());
    let starving = property(&model, "starvation");
    assert_eq!(starving.state, PropertyState::Broken);
    assert!(starving.words.contains("on the run repeats forever"), "{}", starving.words);
    let path = starving.path.unwrap();
    assert_eq!(model.at(&path).unwrap().broken.unwrap().rule, "starvation");
    assert_eq!(model.at(&path[..1]).unwrap().broken, None);
}

#[test]
fn a_limit_is_no_verdict() {
    let model = searched("reverse-link/line-3-units", Limits { states: Some(100), ..Limits::default() });
    let verdict = model.overview().search.verdict;
    assert!(verdict.starts_with("was stopped by the state limit"), "{verdict}");
    assert_eq!(property(&model, "exclusion").state, PropertyState::Holds);
    assert_eq!(property(&model, "starvation").state, PropertyState::NotWatched);
}

#[test]
fn a_model_that_is_walked_is_searched_near_the_start() {
    let model = searched("reverse-link/walk-line-12", Limits { states: Some(500), ..Limits::default() });
    assert_eq!(model.about().notes.len(), 1);
    assert!(!model.at(&[]).unwrap().next.is_empty());
}
