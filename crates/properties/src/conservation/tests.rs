use meshlock_core::Units;
use meshlock_core::view::TokenView;

use crate::rule::Rule;
use crate::scene::{Scene, entry, released};

/// k = 3; node 0 has the token, node 1 uses two units.
fn one_grant() -> Scene {
    Scene::of(Rule::Conservation, 3).capacity(3).token(0, 1).ledger(0, &[entry(1, 1, 2)]).uses(1, 1, 2)
}

#[test]
fn units_in_use_and_units_on_their_way_back_are_accounted_for() {
    one_grant().holds();
    let released_there = one_grant().releases(1, 1);
    released_there.clone().at(1, |view| view.returning.push(released(1, 1, 2))).busy().holds();
    released_there.return_flies(1, 2, released(1, 1, 2)).holds();
}

#[test]
fn several_grants_of_several_nodes_are_accounted_for() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).token(0, 0);
    let scene = scene.ledger(0, &[entry(1, 1, 1), entry(1, 2, 1), entry(2, 1, 1)]);
    scene.uses(1, 1, 1).uses(1, 2, 1).uses(2, 1, 1).holds();
}

#[test]
fn an_entry_for_a_node_that_does_not_exist_breaks_the_rule() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(1).token(0, 0).ledger(0, &[entry(9, 1, 1)]);
    scene.breaks("conservation broken: the ledger has grant 9.1, but it is neither in use nor on its way back");
}

#[test]
fn a_token_on_its_way_keeps_its_books_too() {
    let token = TokenView { free: Units(1), ledger: Some(vec![entry(1, 1, 2)]), ..TokenView::default() };
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).uses(1, 1, 2);
    scene.clone().flies_with(0, 2, token.clone()).holds();
    scene
        .releases(1, 1)
        .flies_with(0, 2, token)
        .breaks("conservation broken: the ledger has grant 1.1, but it is neither in use nor on its way back");
}

#[test]
fn without_a_visible_token_there_is_nothing_to_compare() {
    Scene::of(Rule::Conservation, 3).capacity(3).uses(1, 1, 2).busy().holds();
}

#[test]
fn a_grant_unknown_to_the_ledger_breaks_the_rule() {
    one_grant()
        .uses(2, 4, 1)
        .breaks("conservation broken at node 2: grant 2.4 of 1 units is in use, but the ledger does not say so");
}

#[test]
fn a_grant_booked_with_other_units_breaks_the_rule() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).token(0, 1).ledger(0, &[entry(1, 1, 2)]).uses(1, 1, 1);
    scene.breaks("conservation broken at node 1: grant 1.1 of 1 units is in use, but the ledger does not say so");
}

#[test]
fn a_release_that_got_lost_breaks_the_rule() {
    one_grant()
        .releases(1, 1)
        .busy()
        .breaks("conservation broken: the ledger has grant 1.1, but it is neither in use nor on its way back");
}

#[test]
fn a_wrong_count_of_free_units_breaks_the_rule() {
    let scene = one_grant().at(0, |view| view.token.as_mut().unwrap().free = Units(2));
    scene.breaks("conservation broken: 2 units free and 2 in the ledger, of 3");
}

#[test]
fn a_ledger_that_names_a_grant_twice_breaks_the_rule() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(2).token(0, 0);
    scene
        .ledger(0, &[entry(1, 1, 1), entry(1, 1, 1)])
        .uses(1, 1, 1)
        .breaks("conservation broken: the ledger has grant 1.1 twice");
}

#[test]
fn a_copy_of_a_release_that_has_arrived_does_no_harm() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).token(0, 3).ledger(0, &[]);
    scene.at(1, |view| view.returning.push(released(1, 1, 2))).holds();
}

#[test]
fn without_a_ledger_the_sum_must_come_out() {
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).token(0, 1).uses(1, 1, 1);
    scene.clone().return_flies(2, 0, released(2, 1, 1)).holds();
    scene.busy().breaks("conservation broken: 1 units free, 1 in use, 0 on their way back, of 3");
}

#[test]
fn without_a_ledger_copies_of_one_release_count_once() {
    let mut nameless = released(2, 1, 1);
    nameless.grant = None;
    let scene = Scene::of(Rule::Conservation, 3).capacity(3).token(0, 1);
    let copies = scene.clone().return_flies(2, 0, released(2, 1, 2)).return_flies(1, 0, released(2, 1, 2));
    copies.holds();
    scene.return_flies(2, 0, nameless).return_flies(1, 0, nameless).holds();
}

#[test]
fn units_that_never_come_back_break_the_rule_when_all_is_quiet() {
    let scene = one_grant().releases(1, 1).at(1, |view| view.returning.push(released(1, 1, 2)));
    scene.clone().busy().holds();
    scene.clone().parts(&[0, 1, 0]).holds();
    scene.breaks("conservation broken at node 1: 2 released units stay here, and nothing brings them to the token");
}
