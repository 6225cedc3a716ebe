//! Nodes crash with tokens and grants, and the mesh repairs itself.

use meshlock_api::State;
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::StartId;

use super::mesh::Mesh;
use super::wants;

#[test]
fn a_waiter_is_served_when_the_killed_holder_comes_back() {
    let mut mesh = Mesh::full(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(1, held), State::Granted);
    let fence = mesh.fence(1, held);
    let waits = mesh.net.ask(2, wants("dock"));
    mesh.net.settle();
    mesh.kill(1);
    assert_eq!(mesh.state(2, waits), State::Queued, "nobody knows whether it is dead");
    mesh.restart(1);
    assert_eq!(mesh.state(2, waits), State::Granted);
    assert!(mesh.fence(2, waits) > fence);
    mesh.net.release(2, waits);
    let again = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(1, again), State::Granted);
}

#[test]
fn a_removal_frees_what_a_node_had_that_never_comes_back() {
    let mut mesh = Mesh::full(3);
    let _held = mesh.net.ask(1, wants("dock"));
    let waits = mesh.net.ask(2, wants("dock"));
    mesh.net.settle();
    mesh.kill(1);
    mesh.net.machines[2].learn_facts(mesh.net.now, &Census::removed_fact(1)).unwrap();
    mesh.net.collect(2);
    mesh.net.settle();
    assert_eq!(mesh.state(2, waits), State::Granted);
}

#[test]
fn a_token_that_is_alive_is_not_touched() {
    let mut mesh = Mesh::full(4);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    let fence = mesh.fence(1, held);
    mesh.kill(3);
    mesh.restart(3);
    assert_eq!(mesh.state(1, held), State::Granted);
    mesh.net.release(1, held);
    let next = mesh.net.ask(3, wants("dock"));
    mesh.net.settle();
    assert_eq!((mesh.state(3, next), mesh.fence(3, next)), (State::Granted, fence + 1));
}

#[test]
fn who_is_declared_gone_begins_anew_and_its_waiting_clients_stay() {
    let mut mesh = Mesh::full(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    let other = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    // Cut off, and declared gone by an operator's mistake or by voters.
    mesh.kill(1);
    let gone = mesh.net.machines[1].settings.id;
    mesh.net.machines[0].learn_facts(mesh.net.now, &Census::gone_fact(gone)).unwrap();
    mesh.net.collect(0);
    mesh.net.settle();
    let taken = mesh.net.ask(0, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(0, taken), State::Granted);
    // It comes back into reach and hears of it.
    mesh.net.link(0, 1);
    mesh.net.settle();
    assert!(mesh.net.machines[1].is_expelled());
    assert_eq!(mesh.state(1, held), State::Revoked);
    assert_eq!(mesh.state(1, other), State::Queued);
    mesh.net.cut(0, 1);
    let now = mesh.net.now;
    mesh.net.machines[1].begin_anew(now, NodeId::of(1, 1), StartId(1)).unwrap();
    mesh.net.collect(1);
    mesh.net.link(0, 1);
    mesh.net.settle();
    assert_eq!(mesh.state(1, other), State::Queued);
    mesh.net.release(0, taken);
    mesh.net.settle();
    assert_eq!(mesh.state(1, other), State::Granted);
}

#[test]
fn all_lost_comes_back_with_all() {
    let mut mesh = Mesh::full(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    let fence = mesh.fence(1, held);
    for node in 0..3 {
        mesh.kill(node);
    }
    for node in 0..3 {
        mesh.restart(node);
    }
    let next = mesh.net.ask(2, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(2, next), State::Granted);
    assert!(mesh.fence(2, next) > fence, "{} after {fence}", mesh.fence(2, next));
}

#[test]
fn what_cannot_be_made_durable_is_not_believed() {
    let mut mesh = Mesh::full(3);
    mesh.set_full(2, true);
    let fact = Census::gone_fact(NodeId(1));
    let before = mesh.net.machines[2].census().unwrap().clone();
    assert!(mesh.net.machines[2].learn_facts(mesh.net.now, &fact).is_err());
    assert_eq!(mesh.net.machines[2].census(), Some(&before));
    mesh.set_full(2, false);
    mesh.net.machines[2].learn_facts(mesh.net.now, &fact).unwrap();
    assert!(mesh.net.machines[2].census().unwrap().is_gone(NodeId(1)));
}
