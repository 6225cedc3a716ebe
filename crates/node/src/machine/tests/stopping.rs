//! Clean stops.

use meshlock_api::State;

use super::super::Machine;
use super::{Net, settings, wants};

#[test]
fn a_node_that_stops_gives_its_tokens_to_a_neighbour() {
    let mut net = Net::line(2);
    let held = net.ask(1, wants("dock"));
    net.settle();
    net.machines[1].stop(net.now);
    net.settle();
    assert_eq!(net.state(1, held), State::Revoked);
    let early = net.ask(0, wants("dock"));
    net.settle();
    assert_eq!(net.state(0, early), State::Queued, "its client has not stopped yet");
    net.release(0, early);
    net.release(1, held); // the client has stopped its work
    net.settle();
    assert_eq!(net.machines[1].still_needed_for(), Vec::<String>::new());
    net.cut(0, 1);
    let next = net.ask(0, wants("dock"));
    assert_eq!(net.state(0, next), State::Granted, "the token was passed on");
}

#[test]
fn alone_it_saves_its_tokens_and_goes_on_as_itself() {
    let mut net = Net::line(1);
    let held = net.ask(0, wants("dock"));
    let fence = net.look(0, held).fence;
    net.machines[0].stop(net.now);
    net.machines[0].end_lingering(net.now); // its client does not answer
    assert_eq!(net.machines[0].still_needed_for(), ["meshlock:registry", "dock"]);
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("its own");
    let next = net.ask(0, wants("dock"));
    assert_eq!(net.state(0, next), State::Granted);
    assert!(net.look(0, next).fence > fence);
    assert!(Machine::resume(settings(1), &saved).is_err(), "somebody else's");
    assert!(Machine::resume(settings(0), &saved[..saved.len() / 2]).is_err(), "damaged");
}

#[test]
fn a_stopping_node_takes_no_requests() {
    let mut net = Net::line(2);
    net.machines[1].stop(net.now);
    assert!(net.machines[1].ask(net.now, wants("dock")).is_err());
}

#[test]
fn a_lone_founder_that_crashed_makes_its_resources_anew_above_all_old_fences() {
    let mut net = Net::line(1);
    let held = net.ask(0, wants("dock"));
    let mut again = settings(0);
    again.first_fence = 1 << 40;
    let before = net.look(0, held).fence;
    net.machines[0] = Machine::new(again);
    let next = net.ask(0, wants("dock"));
    assert_eq!(net.state(0, next), State::Granted);
    assert!(net.look(0, next).fence > before);
}
