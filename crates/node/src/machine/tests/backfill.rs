//! Smaller requests that pass one that waits for units: as often as the policy says, at any node, and no more.

use meshlock_api::{Kind, NewRequest, NewResource, Policy, Reason, State};

use super::super::Ticket;
use super::{Net, semaphore, wants};

const PASSES: usize = Policy::Backfill.passes() as usize;

fn units(units: u32) -> NewRequest {
    NewRequest { units: Some(units), ..wants("gpus") }
}

fn backfilled(capacity: u32) -> NewResource {
    NewResource { policy: Some(Policy::Backfill), ..semaphore(capacity) }
}

fn asks(net: &mut Net, at: usize, asked: u32) -> Ticket {
    let ticket = net.ask(at, units(asked));
    net.settle();
    ticket
}

/// Three of four units are held at node 1, and node 0 waits for all four.
fn blocked(resource: NewResource) -> (Net, Ticket, Ticket) {
    let mut net = Net::line(3);
    net.define(0, "gpus", resource);
    let held = asks(&mut net, 1, 3);
    let large = asks(&mut net, 0, 4);
    assert_eq!((net.state(1, held), net.state(0, large)), (State::Granted, State::Queued));
    (net, held, large)
}

/// Asks for one unit and gives it back, if it is granted at once.
fn passes(net: &mut Net, at: usize) -> bool {
    let small = asks(net, at, 1);
    let granted = net.state(at, small) == State::Granted;
    if granted {
        net.release(at, small);
        net.settle();
    }
    granted
}

#[test]
fn smaller_requests_pass_so_often_wherever_they_are_and_then_no_more() {
    let (mut net, held, large) = blocked(backfilled(4));
    let here = PASSES / 2;
    assert_eq!((0..here).filter(|_| passes(&mut net, 1)).count(), here);
    assert_eq!((here..PASSES).filter(|_| passes(&mut net, 2)).count(), PASSES - here, "the count has come along");
    let (late, later) = (asks(&mut net, 2, 1), asks(&mut net, 1, 1));
    assert_eq!((net.state(2, late), net.state(1, later)), (State::Queued, State::Queued), "it is strict now");
    net.release(1, held);
    net.settle();
    assert_eq!((net.state(0, large), net.state(2, late)), (State::Granted, State::Queued));
    net.release(0, large);
    net.settle();
    assert_eq!((net.state(2, late), net.state(1, later)), (State::Granted, State::Granted));
}

#[test]
fn the_next_one_that_does_not_fit_is_passed_as_often_again() {
    let (mut net, held, large) = blocked(backfilled(4));
    assert_eq!((0..PASSES).filter(|_| passes(&mut net, 1)).count(), PASSES);
    net.release(1, held);
    net.settle();
    net.release(0, large);
    net.settle();
    let again = asks(&mut net, 1, 3);
    let next = asks(&mut net, 0, 4);
    assert_eq!((net.state(1, again), net.state(0, next)), (State::Granted, State::Queued));
    assert_eq!((0..PASSES).filter(|_| passes(&mut net, 1)).count(), PASSES);
}

#[test]
fn a_more_urgent_request_of_the_same_size_does_not_wait_for_the_one_that_was_passed() {
    let (mut net, _, large) = blocked(backfilled(4));
    assert_eq!((0..PASSES).filter(|_| passes(&mut net, 1)).count(), PASSES);
    let urgent = net.ask(2, NewRequest { urgency: Some(meshlock_api::Urgency::Priority(100)), ..units(1) });
    net.settle();
    assert_eq!((net.state(2, urgent), net.state(0, large)), (State::Granted, State::Queued));
}

#[test]
fn strictly_none_passes() {
    let (mut net, _, large) = blocked(semaphore(4));
    assert!(!passes(&mut net, 1) && !passes(&mut net, 2));
    assert_eq!(net.state(0, large), State::Queued);
}

#[test]
fn the_policy_is_agreed_on_and_told() {
    let mut net = Net::line(2);
    net.define(0, "gpus", backfilled(4));
    let info = net.machines[1].resource_info("gpus").expect("made");
    assert_eq!(info.definition.policy, Policy::Backfill);
    let refused = net.machines[1].define(net.now, "gpus", &semaphore(4)).expect_err("it is backfilled");
    assert_eq!(refused.reason, Reason::Conflict);
    assert!(refused.message.contains("policy is strict as wanted and backfill in this mesh"), "{refused}");
    let mutex = NewResource { kind: Some(Kind::Mutex), capacity: None, ..backfilled(1) };
    let refused = net.machines[0].define(net.now, "dock", &mutex).expect_err("it has one unit");
    assert!(refused.message.contains("is for semaphores"), "{refused}");
}

#[test]
fn who_was_passed_is_saved_with_the_token() {
    let (mut net, _, _) = blocked(backfilled(4));
    assert_eq!((0..3).filter(|_| passes(&mut net, 1)).count(), 3);
    let saved = net.machines[1].save();
    let text = String::from_utf8_lossy(&saved);
    assert!(text.contains(r#""owed":{"origin":0,"#) && text.contains(r#""passed":3"#), "{text}");
}
