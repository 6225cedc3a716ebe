//! Links that fail, gently and harshly. Numbers of states are small enough to be counted by hand.

use crate::model::{Failing, Model, Workload};
use crate::testing::{explore, hello};
use crate::topology::Topology;
use meshlock_protocols::toys::Hello;

fn pair(failing: Failing, link_changes: u32) -> Model {
    let mut model = hello(Topology::line(2));
    model.failing = failing;
    model.budgets.link_changes = link_changes;
    model
}

/// The link is down at the start, and no node has greeted another.
fn strangers(failing: Failing, link_changes: u32) -> Model {
    let link = "0-1".parse().unwrap();
    let mut model = Model::settled(Hello::isolated(2), Topology::line(2), vec![link]).unwrap();
    model.workload = Workload::none(2);
    model.failing = failing;
    model.budgets.link_changes = link_changes;
    model
}

fn states(model: Model) -> u64 {
    let outcome = explore(model);
    assert!(outcome.is_complete(), "{:?}", outcome.finding());
    outcome.progress.unique
}

#[test]
fn without_changes_nothing_happens() {
    assert_eq!(states(pair(Failing::Harsh, 0)), 1);
}

#[test]
fn a_gentle_cut_is_one_step() {
    assert_eq!(states(pair(Failing::Gentle, 1)), 2);
}

#[test]
fn the_ends_of_a_harsh_cut_notice_one_after_the_other() {
    // Up, cut, noticed by the one or the other end, noticed by both.
    assert_eq!(states(pair(Failing::Harsh, 1)), 5);
}

#[test]
fn a_new_link_carries_two_greetings() {
    // Down; then each greeting is on its way or has arrived.
    assert_eq!(states(strangers(Failing::Gentle, 1)), 1 + 4);
}

#[test]
fn a_gentle_cut_waits_until_nothing_is_on_the_link() {
    // As before, and down again after both greetings have arrived.
    assert_eq!(states(strangers(Failing::Gentle, 2)), 1 + 4 + 1);
}

#[test]
fn what_is_on_a_harshly_cut_link_arrives_or_is_lost() {
    // After the cut each end has its greeting still to come, has got it, or has noticed.
    assert_eq!(states(strangers(Failing::Harsh, 2)), 1 + 4 + 9);
}

#[test]
fn a_link_forms_again_only_after_both_ends_have_noticed() {
    assert_eq!(states(strangers(Failing::Harsh, 3)), 1 + 4 + 9 + 4);
}

#[test]
fn a_network_that_must_stay_connected_loses_no_bridge() {
    let mut line = hello(Topology::line(3));
    line.budgets.link_changes = 1;
    line.keep_connected = true;
    assert_eq!(states(line), 1);
    let mut ring = hello(Topology::ring(3));
    ring.budgets.link_changes = 2;
    ring.keep_connected = true;
    // Whole; one of three links cut; formed again, with each of two greetings on its way or not.
    assert_eq!(states(ring), 1 + 3 + 3 * 4 - 2);
}

#[test]
fn only_changeable_links_change() {
    let mut model = hello(Topology::line(3));
    model.budgets.link_changes = 1;
    model.changeable = Some(vec!["1-2".parse().unwrap()]);
    assert_eq!(states(model), 2);
}

#[test]
fn lost_messages_are_a_budget_of_their_own() {
    let mut model = strangers(Failing::Gentle, 1);
    model.budgets.losses = 1;
    // Nothing lost: as above. Of the two greetings at most one is lost, while the other is on its way or there.
    assert_eq!(states(model), 1 + 4 + 4);
}
