//! Streams: what the end of a client's connection means for its requests.

use meshlock_api::{Expiry, NewRequest, State};

use super::super::{COME_BACK_MS, ClosedBy, Origin, StreamId, Ticket};
use super::{Net, settings, wants};
use crate::machine::Settings;

/// Asks on a stream.
fn acquire(net: &mut Net, stream: StreamId, asked: NewRequest) -> Ticket {
    let ticket = net.ask(0, asked);
    net.machines[0].take_over(net.now, stream, ticket);
    ticket
}

fn close(net: &mut Net, stream: StreamId, by: ClosedBy) {
    net.machines[0].close_stream(net.now, stream, by);
    net.settle();
}

fn hour(resource: &str) -> NewRequest {
    NewRequest { lease_ms: Some(3_600_000), ..wants(resource) }
}

#[test]
fn who_closed_a_connection_and_where_decides_what_becomes_of_its_requests() {
    let (local, remote) = (Origin::Local, Origin::Remote);
    for (origin, by, at_once) in [
        (local, ClosedBy::Client, true),
        (local, ClosedBy::Node, false),
        (remote, ClosedBy::Client, false),
        (remote, ClosedBy::Node, false),
    ] {
        let mut net = Net::line(2);
        let stream = net.machines[0].open_stream(origin);
        let held = acquire(&mut net, stream, hour("dock"));
        let waits = acquire(&mut net, stream, hour("dock"));
        let next = net.ask(1, hour("dock"));
        net.settle();
        close(&mut net, stream, by);
        if at_once {
            assert_eq!((net.state(0, held), net.state(0, waits)), (State::Expired, State::Expired));
            assert_eq!(net.state(1, next), State::Granted, "in the same step");
            assert_eq!(net.look(1, next).fence, Some(2), "no other request of the dead client was granted in between");
        } else {
            net.pass_ms(COME_BACK_MS - 1);
            assert_eq!((net.state(0, held), net.state(0, waits)), (State::Granted, State::Queued));
            net.pass_ms(1);
            assert_eq!((net.state(0, held), net.state(0, waits)), (State::Granted, State::Expired));
        }
        assert_eq!(net.look(0, waits).expiry, Some(Expiry::Disconnect), "{origin:?} {by:?}");
        assert!(!net.machines[0].is_stream_used(stream));
    }
}

#[test]
fn a_waiting_request_lives_as_long_as_its_stream_and_its_lease_begins_with_the_grant() {
    let mut net = Net::line(1);
    let holder = net.ask(0, hour("dock"));
    let stream = net.machines[0].open_stream(Origin::Local);
    let waits = acquire(&mut net, stream, NewRequest { lease_ms: Some(1_000), ..wants("dock") });
    net.pass_ms(10_500);
    assert_eq!(net.state(0, waits), State::Queued);
    net.release(0, holder);
    assert_eq!((net.state(0, waits), net.look(0, waits).expires_in_ms), (State::Granted, Some(1_000)));
    net.pass_ms(1_000);
    let over = net.look(0, waits);
    assert_eq!((over.state, over.expiry), (State::Expired, Some(Expiry::Lease)), "a client that hangs loses it");
}

#[test]
fn a_timeout_on_a_stream_is_told_as_one() {
    let mut net = Net::line(1);
    net.ask(0, hour("dock"));
    let stream = net.machines[0].open_stream(Origin::Local);
    for lease_ms in [500, 1_000, 60_000] {
        let asked = NewRequest { lease_ms: Some(lease_ms), timeout_ms: Some(2_000), ..wants("dock") };
        let waits = acquire(&mut net, stream, asked);
        net.pass_ms(2_000);
        assert_eq!(net.look(0, waits).expiry, Some(Expiry::Timeout), "{lease_ms}");
    }
}

#[test]
fn an_anchor_outlives_its_client_and_every_lease() {
    let mut net = Net::line(2);
    let [client, first, second] = [(); 3].map(|()| net.machines[0].open_stream(Origin::Local));
    let held = acquire(&mut net, client, NewRequest { lease_ms: Some(1_000), ..wants("dock") });
    let next = net.ask(1, hour("dock"));
    net.settle();
    for anchor in [first, second] {
        net.machines[0].anchor(anchor, held).expect("by the book");
    }
    close(&mut net, client, ClosedBy::Client);
    net.pass_ms(100_000);
    close(&mut net, first, ClosedBy::Client);
    net.pass_ms(100_000);
    assert_eq!((net.state(0, held), net.state(1, next)), (State::Granted, State::Queued));
    close(&mut net, second, ClosedBy::Client);
    assert_eq!((net.look(0, held).expiry, net.state(1, next)), (Some(Expiry::Disconnect), State::Granted));
}

#[test]
fn a_client_that_comes_back_has_its_lease_again_beside_the_anchor() {
    let mut net = Net::line(1);
    let [client, anchor, again] = [(); 3].map(|()| net.machines[0].open_stream(Origin::Local));
    let held = acquire(&mut net, client, NewRequest { lease_ms: Some(1_000), ..wants("dock") });
    net.machines[0].anchor(anchor, held).expect("by the book");
    close(&mut net, client, ClosedBy::Client);
    net.pass_ms(10_000);
    net.machines[0].take_over(net.now, again, held);
    net.pass_ms(1_000);
    assert_eq!(net.look(0, held).expiry, Some(Expiry::Lease));
}

#[test]
fn a_node_that_stops_waits_for_an_anchor_and_for_nothing_once_it_is_closed() {
    let mut net = Net::line(2);
    let [client, anchor] = [(); 2].map(|()| net.machines[0].open_stream(Origin::Local));
    let held = acquire(&mut net, client, NewRequest { lease_ms: Some(1_000), ..wants("dock") });
    let next = net.ask(1, hour("dock"));
    net.machines[0].anchor(anchor, held).expect("by the book");
    net.machines[0].stop(net.now);
    net.settle();
    close(&mut net, client, ClosedBy::Client);
    net.pass_ms(100_000);
    assert!(net.machines[0].anybody_lingers());
    assert_eq!(net.state(1, next), State::Queued, "the command may be at work");
    close(&mut net, anchor, ClosedBy::Client);
    assert_eq!(net.state(1, next), State::Granted);
}

#[test]
fn places_are_told_when_they_change_and_so_many_at_once() {
    let mut net = Net::with_settings([Settings { most_requests: 10_000, ..settings(0) }]);
    let stream = net.machines[0].open_stream(Origin::Local);
    let all: Vec<Ticket> = (0..501).map(|_| acquire(&mut net, stream, hour("dock"))).collect();
    let told = |net: &mut Net| {
        net.pass_ms(1_000);
        net.machines[0].take_changed().len()
    };
    net.machines[0].take_changed();
    assert_eq!([(); 4].map(|()| told(&mut net)), [200, 200, 100, 0], "each once");
    net.release(0, all[1]); // the first that waits: all others move up
    net.machines[0].take_changed();
    assert_eq!([(); 4].map(|()| told(&mut net)), [200, 200, 99, 0]);
    close(&mut net, stream, ClosedBy::Client);
    net.pass_ms(1_000);
    assert_eq!(net.machines[0].next_wake(), None, "nothing is left to be told");
}
