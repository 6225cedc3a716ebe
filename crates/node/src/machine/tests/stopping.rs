//! Clean stops.

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, Reason, State};

use super::super::{Machine, Now, Settings, Ticket};
use super::{Net, semaphore, settings, wants};

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
    net.release(0, held);
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

#[test]
fn what_is_leased_goes_to_nobody_else_before_its_client_stopped_or_the_lease_is_over() {
    for answers in [true, false] {
        let mut net = Net::line(2);
        let held = net.ask(1, NewRequest { lease_ms: Some(30_000), ..wants("dock") });
        net.settle();
        let next = net.ask(0, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
        net.pass_ms(10_000);
        net.machines[1].renew(net.now, held, None).expect("by the book");
        net.machines[1].stop(net.now);
        net.settle();
        assert_eq!(net.state(1, held), State::Revoked, "it is told at once");
        net.machines[1].renew(net.now.plus_ms(1_000), held, None).expect("known, but it gains nothing");
        net.pass_ms(29_999);
        assert_eq!(net.state(0, next), State::Queued, "the client may be at work until the end of its lease");
        assert!(net.machines[1].anybody_lingers());
        if answers {
            net.release(1, held);
            net.settle();
        } else {
            net.pass_ms(1);
        }
        assert_eq!(net.state(0, next), State::Granted);
        assert!(!net.machines[1].anybody_lingers() && !net.machines[1].is_leaving());
    }
}

#[test]
fn a_slow_client_of_one_resource_does_not_keep_the_tokens_of_others() {
    let mut net = Net::line(2);
    let (slow, quick) = (net.ask(1, wants("dock")), net.ask(1, wants("crane")));
    net.settle();
    net.machines[1].stop(net.now);
    net.release(1, quick);
    net.settle();
    let (dock, crane) = (net.ask(0, wants("dock")), net.ask(0, wants("crane")));
    net.settle();
    assert_eq!((net.state(0, dock), net.state(0, crane)), (State::Queued, State::Granted));
    let lingering = net.machines[1].lingering();
    assert_eq!((lingering.len(), lingering[0].resource.as_str()), (1, "dock"));
    assert_eq!(lingering[0].id, format!("~{}", slow.0));
    assert!(net.machines[1].still_needed_for().contains(&"dock".to_owned()));
    assert!(!net.machines[1].is_leaving(), "what a client holds is not waited for here");
}

/// Every kind of resource that can be held, and what to ask for.
fn kinds() -> Vec<(NewResource, NewRequest)> {
    let mutexes = [Protocol::ReverseLink, Protocol::Flood].map(|protocol| {
        let resource = NewResource { protocol: Some(protocol), ..NewResource::default() };
        (resource, wants("it"))
    });
    let sessions = [Protocol::ReverseLink, Protocol::Group].map(|protocol| {
        let kind = Some(Kind::Sessions);
        let resource = NewResource { kind, protocol: Some(protocol), ..NewResource::default() };
        (resource, NewRequest { session: Some("red".into()), ..wants("it") })
    });
    let units = (semaphore(3), NewRequest { units: Some(3), ..wants("it") });
    mutexes.into_iter().chain(sessions).chain([units]).collect()
}

/// Two nodes; the second holds, was stopped, and is back; somebody else waits at the first.
fn held_over_a_restart(resource: NewResource, request: &NewRequest) -> (Net, Ticket, Ticket) {
    let mut net = Net::line(2);
    net.define(0, "it", resource);
    let asked = NewRequest { id: Some("mine".into()), lease_ms: Some(30_000), ..request.clone() };
    let held = net.ask(1, asked.clone());
    net.settle();
    net.pass_ms(3_000);
    assert_eq!(net.state(1, held), State::Granted, "{request:?}");
    let fence = net.look(1, held).fence;
    let other = request.session.as_ref().map(|_| "blue".to_owned());
    let next = net.ask(0, NewRequest { session: other, lease_ms: Some(600_000), ..request.clone() });
    net.settle();
    net.machines[1].stop(net.now);
    net.settle();
    net.cut(0, 1);
    let saved = net.machines[1].save();
    net.machines[1] = Machine::resume(settings(1), &saved).expect("its own");
    net.now = Now(1); // its clock begins anew; the other one's does not run backwards, because nothing was due
    net.link(0, 1);
    net.settle();
    assert_eq!(net.machines[1].find("mine"), Ok(held), "known by its id");
    assert_eq!(net.ask(1, asked), held, "asking again is the same request");
    let look = net.look(1, held);
    assert_eq!((look.state, look.fence, look.lease_ms), (State::Granted, fence, 30_000));
    (net, held, next)
}

#[test]
fn what_cannot_be_waited_for_is_saved_and_held_until_its_client_gives_it_back() {
    for (resource, request) in kinds() {
        let (mut net, held, next) = held_over_a_restart(resource, &request);
        net.pass_ms(20_000);
        net.machines[1].renew(net.now, held, None).expect("as before");
        net.pass_ms(20_000);
        assert_eq!((net.state(1, held), net.state(0, next)), (State::Granted, State::Queued), "{request:?}");
        net.release(1, held);
        net.settle();
        net.pass_ms(5_000);
        assert_eq!((net.state(1, held), net.state(0, next)), (State::Released, State::Granted), "{request:?}");
    }
}

#[test]
fn what_was_saved_is_held_for_a_whole_lease_at_most() {
    for (resource, request) in kinds() {
        let (mut net, held, next) = held_over_a_restart(resource, &request);
        net.pass_ms(29_990);
        assert_eq!((net.state(1, held), net.state(0, next)), (State::Granted, State::Queued), "{request:?}");
        net.pass_ms(5_000);
        assert_eq!((net.state(1, held), net.state(0, next)), (State::Expired, State::Granted), "{request:?}");
    }
}

#[test]
fn those_who_attend_a_session_together_are_kept_together() {
    let mut net = Net::line(1);
    let kind = Some(Kind::Sessions);
    net.define(0, "room", NewResource { kind, protocol: Some(Protocol::Group), ..NewResource::default() });
    let attend = |session: &str| NewRequest { session: Some(session.into()), ..wants("room") };
    let (first, second) = (net.ask(0, attend("red")), net.ask(0, attend("red")));
    net.machines[0].stop(net.now);
    net.release(0, first); // its grant in the protocol is the second's too
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("its own");
    let blue = net.ask(0, attend("blue"));
    assert_ne!(blue, second, "names that the node gave are not given again");
    net.settle();
    assert_eq!((net.state(0, second), net.state(0, blue)), (State::Granted, State::Queued));
    net.release(0, second);
    net.settle();
    net.pass_ms(3_000);
    assert_eq!(net.state(0, blue), State::Granted);
}

#[test]
fn no_grant_is_forgotten_however_many_are_told_to_stop() {
    let mut net = Net::with_settings([Settings { most_requests: 2_000, ..settings(0) }]);
    net.define(0, "docks", semaphore(1_500));
    let held: Vec<Ticket> = (0..1_500).map(|_| net.ask(0, wants("docks"))).collect();
    net.machines[0].stop(net.now);
    for ticket in held {
        assert!(net.machines[0].find(&format!("~{}", ticket.0)).is_ok());
        net.release(0, ticket);
    }
    assert!(!net.machines[0].anybody_lingers());
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("its own");
    let all = net.ask(0, NewRequest { units: Some(1_500), ..wants("docks") });
    assert_eq!(net.state(0, all), State::Granted);
}

#[test]
fn a_flood_resource_lives_on_after_the_stop_of_a_node_whose_client_waited() {
    let mut net = Net::line(2);
    net.define(0, "belt", NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() });
    let held = net.ask(0, wants("belt"));
    net.settle();
    let waits = net.ask(1, wants("belt"));
    net.settle();
    assert_eq!((net.state(0, held), net.state(1, waits)), (State::Granted, State::Queued));
    net.machines[1].stop(net.now);
    net.settle();
    net.cut(0, 1);
    let saved = net.machines[1].save();
    net.release(0, held); // the token goes to node 1, where nobody is
    net.settle();
    net.machines[1] = Machine::resume(settings(1), &saved).expect("its own");
    net.link(0, 1);
    net.settle();
    let next = net.ask(0, wants("belt"));
    net.pass_ms(5_000);
    assert_eq!(net.state(0, next), State::Granted, "node 1 has asked again, and given the token on");
}

#[test]
fn who_was_removed_says_so_and_waits_for_no_client() {
    let mut net = Net::line(2);
    let held = net.ask(1, wants("dock"));
    net.settle();
    net.machines[1].leave_mesh(net.now);
    net.settle();
    let told = net.look(1, held);
    assert_eq!((told.state, told.reason.as_deref()), (State::Revoked, Some("its node was removed from the mesh")));
    assert_eq!(net.machines[1].still_needed_for(), [""; 0], "the token is passed on");
    let next = net.ask(0, wants("dock"));
    net.settle();
    assert_eq!(net.state(0, next), State::Granted);
    let refused = net.machines[1].ask(net.now, wants("dock")).expect_err("it serves nobody");
    assert_eq!(refused.reason, Reason::Unavailable);
    for words in ["removed from mesh \"test\"", "mesh invite n1", "mesh join", "ask another node"] {
        assert!(refused.message.contains(words), "{}", refused.message);
    }
    let refused =
        net.machines[1].define(net.now, "gate", &NewResource::default()).expect_err("nor does it make anything");
    assert!(refused.message.contains("removed from mesh"), "{}", refused.message);
}
