//! What clients see: grants, leases, timeouts, ids.

use meshlock_api::{Expiry, Kind, Mode, NewRequest, NewResource, Reason, State, Urgency};

use super::super::COME_BACK_MS;
use super::{Net, semaphore, wants, with_priority};

#[test]
fn a_name_that_nobody_knows_becomes_a_mutex_on_first_use() {
    let mut net = Net::line(3);
    let far = net.ask(2, wants("dock"));
    net.settle();
    let near = net.ask(0, wants("dock"));
    net.settle();
    assert_eq!((net.state(2, far), net.state(0, near)), (State::Granted, State::Queued));
    net.release(2, far);
    net.settle();
    assert_eq!(net.state(0, near), State::Granted);
    assert!(net.look(0, near).fence > net.look(2, far).fence);
}

#[test]
fn the_more_urgent_goes_first_wherever_it_asks() {
    let mut net = Net::line(4);
    let holder = net.ask(1, wants("dock"));
    net.settle();
    let low = net.ask(0, with_priority("dock", 1));
    let high = net.ask(3, with_priority("dock", 9));
    net.settle();
    net.release(1, holder);
    net.settle();
    assert_eq!((net.state(0, low), net.state(3, high)), (State::Queued, State::Granted));
}

#[test]
fn units_are_given_all_at_once_up_to_the_capacity() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(4));
    let three = net.ask(0, NewRequest { units: Some(3), ..wants("gpus") });
    let two = net.ask(1, NewRequest { units: Some(2), ..wants("gpus") });
    let one = net.ask(0, NewRequest { units: Some(1), ..wants("gpus") });
    net.settle();
    assert_eq!(net.state(0, three), State::Granted);
    net.release(0, three);
    net.settle();
    assert_eq!((net.state(1, two), net.state(0, one)), (State::Granted, State::Granted));
    let five = net.machines[0].ask(net.now, NewRequest { units: Some(5), ..wants("gpus") });
    assert_eq!(five.expect_err("never").reason, Reason::Conflict);
}

#[test]
fn readers_share_and_writers_do_not() {
    for protocol in [meshlock_api::Protocol::ReverseLink, meshlock_api::Protocol::Group] {
        let mut net = Net::line(3);
        let kind = Some(Kind::ReadersWriter);
        net.define(1, "map", NewResource { kind, protocol: Some(protocol), ..NewResource::default() });
        let read = |mode| NewRequest { mode: Some(mode), ..wants("map") };
        let (first, second) = (net.ask(0, read(Mode::Read)), net.ask(2, read(Mode::Read)));
        net.settle();
        let writer = net.ask(1, read(Mode::Write));
        net.settle();
        let states = (net.state(0, first), net.state(2, second), net.state(1, writer));
        assert_eq!(states, (State::Granted, State::Granted, State::Queued), "{protocol:?}");
        net.release(0, first);
        net.release(2, second);
        net.settle();
        net.pass_ms(3_000);
        assert_eq!(net.state(1, writer), State::Granted, "{protocol:?}");
    }
}

#[test]
fn one_session_at_a_time() {
    for protocol in [meshlock_api::Protocol::ReverseLink, meshlock_api::Protocol::Group] {
        let mut net = Net::line(3);
        let kind = Some(Kind::Sessions);
        net.define(0, "room", NewResource { kind, protocol: Some(protocol), ..NewResource::default() });
        let attend = |session: &str| NewRequest { session: Some(session.into()), ..wants("room") };
        let (red, also_red) = (net.ask(0, attend("red")), net.ask(1, attend("red")));
        net.settle();
        let blue = net.ask(2, attend("blue"));
        net.settle();
        let states = (net.state(0, red), net.state(1, also_red), net.state(2, blue));
        assert_eq!(states, (State::Granted, State::Granted, State::Queued), "{protocol:?}");
        net.release(0, red);
        net.release(1, also_red);
        net.settle();
        net.pass_ms(3_000);
        assert_eq!(net.state(2, blue), State::Granted, "{protocol:?}");
    }
}

#[test]
fn protocols_that_serve_one_at_a_time_have_a_queue_in_front() {
    let mut net = Net::line(2);
    let flood = NewResource { protocol: Some(meshlock_api::Protocol::Flood), ..NewResource::default() };
    net.define(1, "belt", flood);
    let first = net.ask(1, wants("belt"));
    let low = net.ask(1, with_priority("belt", 1));
    let high = net.ask(1, with_priority("belt", 5));
    net.settle();
    assert_eq!(net.state(1, first), State::Granted);
    net.release(1, first);
    net.settle();
    assert_eq!((net.state(1, low), net.state(1, high)), (State::Queued, State::Granted));
    net.release(1, low); // cancelled while it stands at the desk
    net.release(1, high);
    net.settle();
    assert_eq!(net.state(1, low), State::Released);
}

#[test]
fn a_client_without_a_sign_of_life_loses_what_it_holds_and_its_place() {
    let mut net = Net::line(2);
    let holder = net.ask(0, NewRequest { lease_ms: Some(1_000), ..wants("dock") });
    let waiter = net.ask(1, NewRequest { lease_ms: Some(500), ..wants("dock") });
    let patient = net.ask(1, NewRequest { lease_ms: Some(60_000), ..wants("dock") });
    net.settle();
    net.pass_ms(600);
    assert_eq!((net.state(0, holder), net.state(1, waiter)), (State::Granted, State::Expired));
    net.machines[0].renew(net.now, holder, None).expect("alive");
    net.pass_ms(900);
    assert_eq!(net.state(0, holder), State::Granted, "it was renewed");
    net.pass_ms(200);
    assert_eq!((net.state(0, holder), net.state(1, patient)), (State::Expired, State::Granted));
    assert!(net.look(0, holder).reason.expect("told").contains("no sign"));
    assert_eq!(net.look(0, holder).expiry, Some(Expiry::Lease));
    assert!(net.look(1, patient).fence > net.look(0, holder).fence, "what it held is fenced off");
}

#[test]
fn a_client_that_went_away_while_it_waited_is_not_waited_for() {
    let hour = |priority| NewRequest { lease_ms: Some(3_600_000), ..with_priority("dock", priority) };
    let mut net = Net::line(2);
    let holder = net.ask(0, hour(0));
    net.settle();
    let (gone, next) = (net.ask(0, hour(9)), net.ask(1, hour(0)));
    net.settle();
    let machine = &mut net.machines[0];
    machine.attended(gone);
    machine.abandoned(net.now, gone);
    net.release(0, holder);
    net.settle();
    assert_eq!(net.state(0, gone), State::Granted, "it was first in line");
    net.pass_ms(COME_BACK_MS - 1);
    assert_eq!((net.state(0, gone), net.state(1, next)), (State::Granted, State::Queued));
    net.pass_ms(1);
    assert_eq!((net.state(0, gone), net.state(1, next)), (State::Expired, State::Granted));
    assert_eq!(net.look(0, gone).expiry, Some(Expiry::Disconnect));
}

#[test]
fn a_client_that_comes_back_keeps_its_place() {
    let asked = NewRequest { id: Some("b".into()), lease_ms: Some(60_000), ..wants("dock") };
    let mut net = Net::line(1);
    net.ask(0, NewRequest { lease_ms: Some(60_000), ..wants("dock") });
    let waits = net.ask(0, asked.clone());
    for asks_again in [true, false] {
        net.machines[0].attended(waits);
        net.machines[0].abandoned(net.now, waits);
        net.pass_ms(COME_BACK_MS - 1);
        if asks_again {
            assert_eq!(net.ask(0, asked.clone()), waits);
        } else {
            net.machines[0].renew(net.now, waits, None).expect("known");
        }
        net.pass_ms(COME_BACK_MS);
        assert_eq!(net.state(0, waits), State::Queued, "asks again: {asks_again}");
    }
    net.machines[0].attended(waits);
    net.machines[0].attended(waits); // somebody else
    net.machines[0].abandoned(net.now, waits);
    net.pass_ms(COME_BACK_MS);
    assert_eq!(net.state(0, waits), State::Queued, "somebody else waits for it");
}

#[test]
fn whoever_has_its_answer_may_close_the_connection() {
    let mut net = Net::line(1);
    let holder = net.ask(0, wants("dock"));
    let waits = net.ask(0, wants("dock"));
    let machine = &mut net.machines[0];
    machine.attended(waits);
    machine.answered(waits); // the time of its poll was over
    net.pass_ms(COME_BACK_MS + 1);
    assert_eq!(net.state(0, waits), State::Queued);
    net.machines[0].attended(waits);
    net.release(0, holder);
    net.machines[0].answered(waits);
    net.pass_ms(COME_BACK_MS + 1);
    assert_eq!(net.state(0, waits), State::Granted, "it was told of the grant");
}

#[test]
fn a_grant_that_its_client_never_heard_of_is_not_held_for_a_lease() {
    let hour = || NewRequest { id: Some("a".into()), lease_ms: Some(3_600_000), ..wants("dock") };
    for comes_back in [false, true] {
        let mut net = Net::line(1);
        let granted = net.ask(0, hour());
        net.machines[0].attended(granted); // by a stream of events
        net.machines[0].unheard(net.now, granted);
        net.pass_ms(COME_BACK_MS + 1);
        assert_eq!(net.state(0, granted), State::Granted, "somebody hears of it in another way");
        net.machines[0].answered(granted);
        net.machines[0].unheard(net.now, granted);
        if comes_back {
            net.ask(0, hour());
        }
        net.pass_ms(COME_BACK_MS + 1);
        assert_eq!(net.state(0, granted), if comes_back { State::Granted } else { State::Expired });
    }
}

#[test]
fn a_timeout_ends_waiting_but_not_holding() {
    let mut net = Net::line(2);
    let holder = net.ask(0, NewRequest { timeout_ms: Some(100), lease_ms: Some(10_000), ..wants("dock") });
    net.settle();
    let waiter = net.ask(1, NewRequest { timeout_ms: Some(100), lease_ms: Some(10_000), ..wants("dock") });
    net.settle();
    net.pass_ms(150);
    assert_eq!((net.state(0, holder), net.state(1, waiter)), (State::Granted, State::Expired));
    assert_eq!(net.look(1, waiter).expiry, Some(Expiry::Timeout));
}

#[test]
fn an_id_asked_again_is_the_same_request_also_after_its_end() {
    let mut net = Net::line(1);
    let asked = NewRequest { id: Some("job-1".into()), ..wants("dock") };
    let first = net.ask(0, asked.clone());
    assert_eq!(net.ask(0, asked.clone()), first);
    net.machines[0].reprioritize(net.now, first, Urgency::Priority(3)).expect_err("it is granted, not waiting");
    net.release(0, first);
    assert_eq!(net.ask(0, asked.clone()), first, "never a second grant");
    assert_eq!(net.state(0, first), State::Released);
    let other = NewRequest { units: Some(2), ..asked };
    assert_eq!(net.machines[0].ask(net.now, other).expect_err("another content").reason, Reason::Conflict);
}

#[test]
fn a_waiting_request_can_be_made_more_urgent() {
    let mut net = Net::line(2);
    let holder = net.ask(0, wants("dock"));
    net.settle();
    let (first, second) = (net.ask(0, with_priority("dock", 5)), net.ask(1, with_priority("dock", 1)));
    net.settle();
    net.machines[1].reprioritize(net.now, second, Urgency::Priority(9)).expect("it waits");
    net.settle();
    net.release(0, holder);
    net.settle();
    assert_eq!((net.state(0, first), net.state(1, second)), (State::Queued, State::Granted));
}

#[test]
fn mistakes_are_refused_with_a_reason_and_change_nothing() {
    let mut net = Net::line(1);
    let bad = [
        NewRequest { id: Some("~1".into()), ..wants("dock") },
        NewRequest { id: Some("a b".into()), ..wants("dock") },
        NewRequest { lease_ms: Some(1), ..wants("dock") },
        NewRequest { owner: Some("x".repeat(300)), ..wants("dock") },
        wants("no/slashes"),
        wants("meshlock:registry"),
    ];
    for request in bad {
        let words = format!("{request:?}");
        assert_eq!(net.machines[0].ask(net.now, request).expect_err(&words).reason, Reason::BadRequest);
    }
    let mutex = net.ask(0, wants("dock"));
    net.release(0, mutex);
    for request in [
        NewRequest { units: Some(2), ..wants("dock") },
        NewRequest { session: Some("red".into()), ..wants("dock") },
        NewRequest { mode: Some(Mode::Read), ..wants("dock") },
        NewRequest { urgency: Some(Urgency::Deadline(7)), ..wants("dock") },
    ] {
        let words = format!("{request:?}");
        assert_eq!(net.machines[0].ask(net.now, request).expect_err(&words).reason, Reason::Conflict);
    }
    assert!(net.machines[0].request_infos(net.now).is_empty());
}

#[test]
fn a_place_in_the_queue_is_told_as_far_as_it_is_known() {
    let mut net = Net::line(2);
    let holder = net.ask(0, wants("dock"));
    net.settle();
    let (first, second) = (net.ask(0, wants("dock")), net.ask(0, wants("dock")));
    let far = net.ask(1, wants("dock"));
    net.settle();
    let place = |net: &Net, at, ticket| net.look(at, ticket).place.map(|place| (place.ahead, place.exact));
    // The one that came from afar has heard of fewer grants, so it counts as older.
    assert_eq!((place(&net, 0, first), place(&net, 0, second)), (Some((1, true)), Some((2, true))));
    assert_eq!(place(&net, 1, far), Some((0, false)));
    assert_eq!(place(&net, 0, holder), None);
}

#[test]
fn clients_of_one_node_attend_a_session_together_also_where_the_protocol_serves_one() {
    let mut net = Net::line(2);
    let group = Some(meshlock_api::Protocol::Group);
    net.define(0, "room", NewResource { kind: Some(Kind::Sessions), protocol: group, ..NewResource::default() });
    let attend = |session: &str| NewRequest { session: Some(session.into()), ..wants("room") };
    let first = net.ask(0, attend("red"));
    let blue = net.ask(0, attend("blue"));
    let second = net.ask(0, attend("red"));
    net.settle();
    let states = |net: &Net| (net.state(0, first), net.state(0, second), net.state(0, blue));
    assert_eq!(states(&net), (State::Granted, State::Granted, State::Queued));
    assert_eq!(net.look(0, first).fence, net.look(0, second).fence);
    net.release(0, first);
    net.settle();
    assert_eq!(net.state(0, blue), State::Queued, "one of them is still there");
    net.release(0, second);
    net.settle();
    net.pass_ms(3_000);
    assert_eq!(states(&net), (State::Released, State::Released, State::Granted));
}

#[test]
fn two_writers_of_one_node_do_not_share() {
    let mut net = Net::line(1);
    let group = Some(meshlock_api::Protocol::Group);
    net.define(0, "map", NewResource { kind: Some(Kind::ReadersWriter), protocol: group, ..NewResource::default() });
    let (first, second) = (net.ask(0, wants("map")), net.ask(0, wants("map")));
    net.settle();
    assert_eq!((net.state(0, first), net.state(0, second)), (State::Granted, State::Queued));
}
