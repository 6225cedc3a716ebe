use meshlock_sim::scenario::file::Constraint;

use super::*;
use crate::testing::{Toy, axis, spec};

fn names(spec: &StudySpec) -> Vec<String> {
    Plan::of("toy", spec, &Toy, "v").unwrap().points.iter().map(Point::name).collect()
}

fn error(spec: &StudySpec) -> String {
    Plan::of("toy", spec, &Toy, "v").unwrap_err().to_string()
}

fn constraint(left: &str, op: &str, right: &str) -> Constraint {
    Constraint { left: left.to_owned(), op: op.to_owned(), right: right.to_owned() }
}

#[test]
fn axes_are_crossed_and_the_last_varies_fastest() {
    assert_eq!(names(&spec()), ["nodes=10 k=1", "nodes=10 k=2", "nodes=20 k=1", "nodes=20 k=2"]);
    let plan = Plan::of("toy", &spec(), &Toy, "v").unwrap();
    assert_eq!((plan.points[3].scenario.nodes, plan.points[3].scenario.protocol.capacity), (20, 2));
    assert_eq!(plan.points[3].canonical, "k = 2\nnodes = 20\nspeed = \"5mps\"\n");
}

#[test]
fn a_study_without_axes_has_one_point() {
    let spec = StudySpec { repeat: 2, ..StudySpec::default() };
    assert_eq!(names(&spec), ["the only point"]);
}

#[test]
fn zipped_axes_advance_together_at_the_place_of_the_first() {
    let mut spec = spec();
    spec.axes.push(axis("speed", &["\"1mps\"", "\"2mps\""]));
    spec.zip = vec![vec!["speed".to_owned(), "nodes".to_owned()]];
    assert_eq!(
        names(&spec),
        ["nodes=10 k=1 speed=1mps", "nodes=10 k=2 speed=1mps", "nodes=20 k=1 speed=2mps", "nodes=20 k=2 speed=2mps"]
    );
}

#[test]
fn constraints_leave_points_out() {
    for (condition, kept) in [
        (constraint("nodes", "<=", "10"), vec!["nodes=10 k=1", "nodes=10 k=2"]),
        (constraint("k", "!=", "2"), vec!["nodes=10 k=1", "nodes=20 k=1"]),
        (constraint("15", "<", "nodes"), vec!["nodes=20 k=1", "nodes=20 k=2"]),
        (constraint("nodes", ">", "k"), vec!["nodes=10 k=1", "nodes=10 k=2", "nodes=20 k=1", "nodes=20 k=2"]),
        (constraint("speed", "==", "18kmph"), vec!["nodes=10 k=1", "nodes=10 k=2", "nodes=20 k=1", "nodes=20 k=2"]),
    ] {
        let spec = StudySpec { constraints: vec![condition.clone()], ..spec() };
        assert_eq!(names(&spec), kept, "{condition:?}");
    }
    let both = vec![constraint("nodes", "==", "20"), constraint("k", ">=", "2")];
    assert_eq!(names(&StudySpec { constraints: both, ..spec() }), ["nodes=20 k=2"]);
}

#[test]
fn constraints_that_cannot_be_decided_are_errors() {
    let with = |left, op, right| error(&StudySpec { constraints: vec![constraint(left, op, right)], ..spec() });
    assert_eq!(with("nodes", "<", "many"), "the constraint `nodes < many`: `10` and `many` are not both numbers");
    assert_eq!(with("nodes", "=<", "5"), "the constraint `nodes =< 5`: `=<` is none of <, <=, >, >=, ==, !=");
    assert_eq!(with("radio.rnge", "<", "5"), "the constraint `radio.rnge < 5`: `radio.rnge` has no value");
    assert_eq!(with("nodes", ">", "99"), "no point of the study meets its constraints");
}

#[test]
fn what_cannot_be_a_study_is_refused() {
    let axes = |axes| StudySpec { axes, ..spec() };
    assert_eq!(error(&axes(vec![axis("k", &["1", "\"1\""])])), "the value `1` of the axis `k` is given twice");
    assert_eq!(error(&axes(vec![axis("kk", &["1"])])), "at kk=1: there is no key `kk`");
    assert_eq!(error(&axes(vec![axis("nodes", &["x"]), axis("k", &["3"])])), "at nodes=x k=3: `nodes` is no number");
}

#[test]
fn the_same_replication_of_every_point_has_the_same_seed() {
    let plan = Plan::of("toy", &spec(), &Toy, "v").unwrap();
    assert_eq!([plan.seed_of(0), plan.seed_of(2)], [100, 102]);
    let hashes: std::collections::BTreeSet<String> =
        plan.points.iter().flat_map(|point| [plan.run_hash(point, 0), plan.run_hash(point, 1)]).collect();
    assert_eq!(hashes.len(), 8);
}
