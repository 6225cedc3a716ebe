//! Several resources, all or none.

use meshlock_api::{Audited, Expiry, Kind, Mode, NewPart, NewRequest, NewResource, Protocol, Reason, State, Urgency};

use super::super::{ClosedBy, Machine, Origin, Settings, Ticket};
use super::mesh::Mesh;
use super::{Net, capacity, semaphore, settings, wants};

fn part(resource: &str) -> NewPart {
    NewPart { resource: resource.into(), ..NewPart::default() }
}

fn units(resource: &str, units: u32) -> NewPart {
    NewPart { units: Some(units), ..part(resource) }
}

fn all_of(parts: impl IntoIterator<Item = NewPart>) -> NewRequest {
    NewRequest { all: parts.into_iter().collect(), lease_ms: Some(30_000), ..NewRequest::default() }
}

fn all(names: &[&str]) -> NewRequest {
    all_of(names.iter().map(|name| part(name)))
}

fn hour(resource: &str) -> NewRequest {
    NewRequest { lease_ms: Some(3_600_000), ..wants(resource) }
}

impl Net {
    fn part_states(&self, at: usize, ticket: Ticket) -> Vec<State> {
        self.look(at, ticket).parts.iter().map(|part| part.state).collect()
    }

    /// Whether a client of this node can have all of these at once.
    fn are_free(&mut self, at: usize, names: &[&str]) -> bool {
        names.iter().all(|name| {
            let probe = self.ask(at, hour(name));
            self.settle();
            let is_free = self.state(at, probe) == State::Granted;
            self.release(at, probe);
            self.settle();
            is_free
        })
    }

    fn refusal(&mut self, asked: NewRequest) -> (Reason, String) {
        let problem = self.machines[0].ask(self.now, asked).expect_err("refused");
        (problem.reason, problem.message)
    }
}

#[test]
fn all_are_granted_as_one_request_and_given_back_as_one() {
    let mut net = Net::line(2);
    net.define(1, "lift", semaphore(3));
    net.define(1, "map", NewResource { kind: Some(Kind::ReadersWriter), ..NewResource::default() });
    let read = NewPart { mode: Some(Mode::Read), ..part("map") };
    let asked = all_of([read, units("lift", 2), part("dock")]);
    let held = net.ask(0, NewRequest { owner: Some("ann".into()), id: Some("job".into()), ..asked });
    net.settle();
    let info = net.look(0, held);
    assert_eq!((info.state, info.fence, info.resource.as_str()), (State::Granted, None, "map + lift + dock"));
    let parts: Vec<_> = info.parts.iter().map(|it| (it.resource.as_str(), it.units, it.mode, it.state)).collect();
    let granted = State::Granted;
    assert_eq!(
        parts,
        [("map", 1, Some(Mode::Read), granted), ("lift", 2, None, granted), ("dock", 1, None, granted)],
        "in the order of the client"
    );
    assert!(info.parts.iter().all(|part| part.fence.is_some() && part.fence_text.is_some()));
    assert_eq!(info.parts[1].slots, [0, 1]);
    assert!(info.parts[2].made.is_some(), "the dock was made on first use, and is said to be");

    // To others the parts are holders like any; to its own node's clients it is one request.
    let status = net.status(1);
    for name in ["dock", "lift", "map"] {
        let resource = status.resources.iter().find(|it| it.name == name).unwrap();
        let holders: Vec<_> = resource.holders.iter().map(|row| (row.id.as_str(), row.owner.as_deref())).collect();
        assert_eq!(holders, [("job", Some("ann"))], "{name}");
    }
    let listed: Vec<String> = net.machines[0].request_infos(net.now).into_iter().map(|info| info.id).collect();
    assert_eq!(listed, ["job"]);
    assert_eq!(net.machines[0].find("job").unwrap(), held);
    for number in held.0 + 1..held.0 + 4 {
        assert!(net.machines[0].find(&format!("~{number}")).is_err(), "parts have no id of their own");
    }

    net.release(0, held);
    net.settle();
    assert_eq!(net.state(0, held), State::Released);
    assert!(net.are_free(1, &["dock", "map"]));
}

#[test]
fn asked_again_with_its_id_it_is_the_same_request() {
    let mut net = Net::line(1);
    let asked = NewRequest { id: Some("job".into()), ..all(&["a", "b"]) };
    let first = net.ask(0, asked.clone());
    assert_eq!(net.ask(0, asked), first);
    let (reason, _) = net.refusal(NewRequest { id: Some("job".into()), ..all(&["b", "a"]) });
    assert_eq!(reason, Reason::Conflict);
}

#[test]
fn two_bundles_in_opposite_orders_never_deadlock() {
    for (protocol, kind) in
        [(Protocol::ReverseLink, Kind::Mutex), (Protocol::Flood, Kind::Mutex), (Protocol::Group, Kind::ReadersWriter)]
    {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut net = Net::line(3);
            for (at, name) in [(0, "a"), (1, "b"), (2, "c")] {
                net.define(
                    at,
                    name,
                    NewResource { protocol: Some(protocol), kind: Some(kind), ..NewResource::default() },
                );
            }
            let lists: [&[&str]; 4] = [&["a", "b"], &["b", "a"], &["c", "a", "b"], &["c", "b"]];
            let mut waiting: Vec<(usize, Ticket)> = Vec::new();
            for (number, names) in lists.iter().enumerate() {
                let asked = NewRequest { lease_ms: Some(3_600_000), ..all(names) };
                waiting.push((number % 3, net.ask(number % 3, asked)));
                some_messages(&mut net, &mut random);
            }
            let mut served = 0;
            while !waiting.is_empty() {
                net.settle();
                net.pass_ms(1_000); // timers of protocols
                let has_all = |(at, ticket): &(usize, Ticket)| net.state(*at, *ticket) == State::Granted;
                let granted: Vec<(usize, Ticket)> = waiting.iter().copied().filter(has_all).collect();
                assert!(!granted.is_empty(), "deadlock after {served} with {protocol:?} and seed {seed}");
                for (at, ticket) in granted {
                    net.release(at, ticket);
                    waiting.retain(|other| *other != (at, ticket));
                    served += 1;
                    some_messages(&mut net, &mut random);
                }
            }
            assert_eq!(served, lists.len());
        }
    }
}

fn some_messages(net: &mut Net, random: &mut fastrand::Rng) {
    for _ in 0..random.u32(0..6) {
        let busy = net.busy_wires();
        if let Some(wire) = busy.get(random.usize(..busy.len().max(1))) {
            net.deliver(*wire);
        }
    }
}

#[test]
fn parts_are_asked_for_in_the_order_of_their_names_whatever_the_client_says() {
    let mut net = Net::line(1);
    let blocker = net.ask(0, hour("b"));
    let waits = net.ask(0, all(&["c", "a", "b"]));
    // As named: c, a, b. a is held, b is waited for, and c is free.
    assert_eq!(net.part_states(0, waits), [State::Queued, State::Granted, State::Queued]);
    assert_eq!(net.state(0, waits), State::Queued);
    assert!(net.are_free(0, &["c"]));
    let info = net.look(0, waits);
    assert!(info.fence.is_none() && info.place.is_some_and(|place| place.exact), "the place is that at b: {info:?}");
    net.release(0, blocker);
    assert_eq!(net.state(0, waits), State::Granted);
}

#[test]
fn a_timeout_frees_everything() {
    let mut net = Net::line(2);
    let blocker = net.ask(1, hour("b"));
    net.settle();
    let waits = net.ask(0, NewRequest { timeout_ms: Some(500), ..all(&["b", "a"]) });
    net.settle();
    net.pass_ms(499);
    assert_eq!(net.state(0, waits), State::Queued);
    assert!(!net.are_free(1, &["a"]), "held while the other is waited for: that is the price");
    net.pass_ms(1);
    let info = net.look(0, waits);
    assert_eq!((info.state, info.expiry), (State::Expired, Some(Expiry::Timeout)));
    net.settle();
    assert!(net.are_free(1, &["a"]));
    net.release(1, blocker);
    net.settle();
    assert!(net.are_free(0, &["a", "b"]), "it does not wait for b any more either");
}

#[test]
fn no_longer_wanted_while_half_acquired_it_leaves_nothing_behind() {
    let mut net = Net::line(2);
    let blocker = net.ask(1, hour("b"));
    net.settle();
    let waits = net.ask(0, all(&["a", "b", "c"]));
    net.settle();
    net.release(0, waits);
    net.settle();
    assert_eq!(net.state(0, waits), State::Released);
    assert!(net.are_free(1, &["a", "c"]));
    net.release(1, blocker);
    net.settle();
    assert!(net.are_free(0, &["a", "b", "c"]));
}

#[test]
fn one_lease_is_renewed_for_all_and_ends_for_all() {
    let mut net = Net::line(2);
    let held = net.ask(0, NewRequest { lease_ms: Some(1_000), ..all(&["a", "b"]) });
    net.settle();
    for _ in 0..5 {
        net.pass_ms(900);
        net.machines[0].renew(net.now, held, None).unwrap();
    }
    assert_eq!(net.part_states(0, held), [State::Granted; 2]);
    net.pass_ms(1_000);
    let info = net.look(0, held);
    assert_eq!((info.state, info.expiry), (State::Expired, Some(Expiry::Lease)));
    net.settle();
    assert!(net.are_free(1, &["a", "b"]));
}

#[test]
fn one_that_is_lost_ends_all_and_the_others_wait_for_the_client_to_stop() {
    for stops in [true, false] {
        let mut net = Net::line(1);
        let held = net.ask(0, all(&["a", "b", "c"]));
        let lost = net.machines[0].parts(held)[1];
        net.machines[0].revoke(net.now, lost, "its node is gone");
        let info = net.look(0, held);
        assert_eq!((info.state, info.reason.as_deref()), (State::Revoked, Some("\"b\": its node is gone")));
        assert!(net.are_free(0, &["b"]), "that one is taken already");
        assert!(!net.are_free(0, &["a"]) && !net.are_free(0, &["c"]), "these may still be used by the client");
        if stops {
            net.release(0, held);
        } else {
            net.pass_ms(30_000);
        }
        assert!(net.are_free(0, &["a", "b", "c"]), "{stops}");
        assert!(!net.machines[0].anybody_lingers());
    }
}

#[test]
fn one_that_can_no_longer_be_granted_ends_the_wait_and_frees_the_others() {
    let mut net = Net::line(1);
    net.define(0, "b", semaphore(4));
    let blocker = net.ask(0, hour("b"));
    let waits = net.ask(0, all_of([part("a"), units("b", 4)]));
    net.machines[0].change(net.now, "b", capacity(3)).unwrap();
    net.settle();
    let info = net.look(0, waits);
    assert_eq!(info.state, State::Rejected);
    assert!(info.reason.is_some_and(|reason| reason.starts_with("\"b\": 4 units can no longer be granted")));
    assert!(net.are_free(0, &["a"]));
    net.release(0, blocker);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_held_or_made() {
    let mut net = Net::line(1);
    net.define(0, "lift", semaphore(2));
    let (reason, message) = net.refusal(all_of([part("dock"), units("lift", 3)]));
    assert_eq!(reason, Reason::Conflict);
    assert!(message.contains("3 units can never be granted"), "{message}");
    let (_, message) = net.refusal(all_of([part("dock"), units("new", 2)]));
    assert!(message.contains("meshlock resource make new --capacity 2"), "{message}");
    let seventeen: Vec<String> = (0..17).map(|number| format!("r{number:02}")).collect();
    let seventeen: Vec<&str> = seventeen.iter().map(String::as_str).collect();
    for (asked, words) in [
        (all(&["dock", "dock"]), "named twice"),
        (NewRequest { resource: "dock".into(), ..all(&["lift"]) }, "not both"),
        (NewRequest { units: Some(2), ..all(&["lift"]) }, "of each resource"),
        (NewRequest { mode: Some(Mode::Read), ..all(&["lift"]) }, "of each resource"),
        (all(&seventeen), "at most 16"),
        (all(&["dock", "a b"]), "cannot have ' '"),
        (all(&["dock", ""]), "say what is asked for"),
        (NewRequest::default(), "say what is asked for"),
    ] {
        let (reason, message) = net.refusal(asked);
        assert_eq!(reason, Reason::BadRequest, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let (reason, _) = net.refusal(NewRequest { urgency: Some(Urgency::Deadline(5)), ..all(&["lift", "dock"]) });
    assert_eq!(reason, Reason::Conflict, "all of them are ordered in the same way, or it is refused");
    assert!(net.machines[0].request_infos(net.now).is_empty());
    assert_eq!(net.machines[0].resource_infos().len(), 1, "nothing was made but the lift");
}

#[test]
fn sixteen_are_granted_together() {
    let mut net = Net::line(2);
    let names: Vec<String> = (0..16).map(|number| format!("r{number:02}")).collect();
    let names: Vec<&str> = names.iter().rev().map(String::as_str).collect();
    let (first, second) = (net.ask(0, all(&names)), net.ask(1, all(&names)));
    net.settle();
    assert_eq!((net.state(0, first), net.state(1, second)), (State::Granted, State::Queued));
    net.release(0, first);
    net.settle();
    assert_eq!(net.state(1, second), State::Granted);
    assert_eq!(net.look(1, second).parts.len(), 16);
}

#[test]
fn parts_count_towards_the_requests_of_a_node() {
    let limited = |most_requests| Net::with_settings([Settings { most_requests, ..settings(0) }]);
    let (mut tight, mut enough) = (limited(2), limited(3));
    assert_eq!(tight.refusal(all(&["a", "b"])).0, Reason::Unavailable);
    let held = enough.ask(0, all(&["a", "b"]));
    assert_eq!(enough.state(0, held), State::Granted);
    assert_eq!(enough.refusal(wants("c")).0, Reason::Unavailable);
    enough.release(0, held);
    let next = enough.ask(0, all(&["a", "b"]));
    assert_eq!(enough.state(0, next), State::Granted);
}

#[test]
fn the_more_urgent_one_goes_first_and_urgency_can_be_changed() {
    let mut net = Net::line(1);
    let blocker = net.ask(0, hour("a"));
    let priority = |priority, names| NewRequest { urgency: Some(Urgency::Priority(priority)), ..all(names) };
    let (low, high) = (net.ask(0, priority(1, &["a", "b"])), net.ask(0, priority(5, &["b", "a"])));
    let single = net.ask(0, NewRequest { urgency: Some(Urgency::Priority(3)), ..hour("b") });
    net.release(0, single);
    net.machines[0].reprioritize(net.now, low, Urgency::Priority(9)).unwrap();
    assert_eq!(net.look(0, low).urgency, Urgency::Priority(9));
    assert!(net.machines[0].reprioritize(net.now, low, Urgency::Deadline(9)).is_err());
    net.release(0, blocker);
    assert_eq!((net.state(0, low), net.state(0, high)), (State::Granted, State::Queued));
    net.release(0, low);
    assert_eq!(net.state(0, high), State::Granted);
}

#[test]
fn the_end_of_its_connection_frees_everything_unless_a_child_keeps_it() {
    let mut net = Net::line(1);
    let stream = net.machines[0].open_stream(Origin::Local);
    let held = net.ask(0, all(&["a", "b"]));
    net.machines[0].take_over(net.now, stream, held);
    let waits = net.ask(0, all(&["c", "b"]));
    net.machines[0].take_over(net.now, stream, waits);
    let child = net.machines[0].open_stream(Origin::Local);
    net.machines[0].anchor(child, held).unwrap();
    net.machines[0].close_stream(net.now, stream, ClosedBy::Client);
    assert_eq!((net.state(0, held), net.state(0, waits)), (State::Granted, State::Expired));
    net.pass_ms(300_000);
    assert_eq!(net.state(0, held), State::Granted, "kept without a lease");
    assert!(net.are_free(0, &["c"]) && !net.are_free(0, &["a"]));
    net.machines[0].close_stream(net.now, child, ClosedBy::Client);
    assert_eq!(net.state(0, held), State::Expired);
    assert!(net.are_free(0, &["a", "b", "c"]));
}

#[test]
fn an_operator_takes_all_of_it_and_the_audit_names_each() {
    let mut net = Net::line(1);
    net.machines[0].begin_audit(net.now);
    let held = net.ask(0, NewRequest { id: Some("job".into()), ..all(&["a", "b"]) });
    net.machines[0].end_when_stopped(net.now, held, State::Revoked, Some("broken".into()));
    assert_eq!(net.part_states(0, held), [State::Revoked; 2]);
    assert!(!net.are_free(0, &["a"]) && !net.are_free(0, &["b"]), "its client has not stopped yet");
    net.release(0, held);
    assert!(net.are_free(0, &["a", "b"]));
    let mut written = Vec::new();
    for record in net.machines[0].take_audit() {
        let (what, grant) = match record.what {
            Audited::Granted { grant, .. } => ("granted", grant),
            Audited::Ended { grant, .. } => ("ended", grant),
            Audited::Stopped { grant } => ("stopped", grant),
            Audited::Started { .. } | Audited::Revoked { .. } | Audited::Missed { .. } => continue,
        };
        if grant.request == "job" {
            assert!(grant.fence.is_some());
            written.push(format!("{} {what}", grant.resource));
        }
    }
    written.sort();
    assert_eq!(written, ["a ended", "a granted", "a stopped", "b ended", "b granted", "b stopped"]);
}

#[test]
fn a_stop_waits_for_the_client_and_keeps_each_part_that_it_cannot_wait_for() {
    let mut net = Net::line(1);
    let held = net.ask(0, all(&["a", "b"]));
    let blocked = net.ask(0, all(&["a", "c"]));
    net.machines[0].stop(net.now);
    assert_eq!((net.state(0, held), net.state(0, blocked)), (State::Revoked, State::Revoked));
    let kept: Vec<String> = net.machines[0].lingering().into_iter().map(|held| held.resource).collect();
    assert_eq!(kept, ["a", "b"]);
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("its own");
    assert!(!net.are_free(0, &["a"]) && !net.are_free(0, &["b"]) && net.are_free(0, &["c"]));
    net.pass_ms(30_000);
    assert!(net.are_free(0, &["a", "b", "c"]), "each for a whole lease");

    let held = net.ask(0, all(&["a", "b"]));
    net.machines[0].stop(net.now);
    assert!(net.machines[0].anybody_lingers());
    net.release(0, held);
    assert!(!net.machines[0].anybody_lingers(), "one word of the client is enough");
}

#[test]
fn what_is_taken_back_while_it_waits_is_asked_for_again() {
    let mut mesh = Mesh::full(2);
    let blocker = mesh.net.ask(1, hour("b"));
    mesh.run_ms(10);
    let waits = mesh.net.ask(0, NewRequest { lease_ms: Some(3_600_000), ..all(&["a", "b"]) });
    mesh.run_ms(10);
    assert_eq!(mesh.net.part_states(0, waits), [State::Granted, State::Queued]);
    mesh.net.machines[0].suspend(mesh.net.now, "it may not grant");
    mesh.run_ms(10);
    assert_eq!(mesh.state(0, waits), State::Queued, "its client was never told of a");
    assert!(mesh.net.are_free(1, &["a"]), "and a is free for others meanwhile");
    let now = mesh.net.now;
    mesh.net.machines[0].resume_granting(now);
    mesh.run_ms(10);
    assert_eq!(mesh.net.part_states(0, waits), [State::Granted, State::Queued]);
    mesh.net.release(1, blocker);
    mesh.run_ms(10);
    assert_eq!(mesh.state(0, waits), State::Granted);
    assert!(mesh.net.look(0, waits).parts.iter().all(|part| part.state == State::Granted && part.fence.is_some()));
}

#[test]
fn what_a_crash_took_with_its_node_goes_to_others() {
    let mut mesh = Mesh::full(3);
    let held = mesh.net.ask(1, all(&["a", "b"]));
    mesh.run_ms(10);
    let next = mesh.net.ask(0, NewRequest { lease_ms: Some(3_600_000), ..all(&["b", "a"]) });
    mesh.run_ms(10);
    assert_eq!((mesh.state(1, held), mesh.state(0, next)), (State::Granted, State::Queued));
    mesh.kill(1);
    mesh.restart(1);
    mesh.run_ms(120_000);
    assert_eq!(mesh.state(0, next), State::Granted);
}

#[test]
fn many_that_fail_one_after_the_other_need_no_deep_stack() {
    let mut net = Net::with_settings([Settings { most_requests: 100_000, ..settings(0) }]);
    net.define(0, "b", semaphore(2));
    let blocker = net.ask(0, hour("a"));
    let waiting: Vec<Ticket> = (0..20_000).map(|_| net.ask(0, all_of([part("a"), units("b", 2)]))).collect();
    net.machines[0].change(net.now, "b", capacity(1)).unwrap();
    net.release(0, blocker);
    assert!(net.machines[0].request_infos(net.now).is_empty());
    assert_eq!(net.state(0, *waiting.last().unwrap()), State::Rejected);
    assert!(net.are_free(0, &["a", "b"]));
}

#[test]
fn ended_ones_are_forgotten_with_their_parts() {
    let mut net = Net::line(1);
    for _ in 0..2_000 {
        let held = net.ask(0, all(&["a", "b"]));
        net.release(0, held);
    }
    assert!(net.machines[0].requests.iter().count() <= 1_000);
    let named = net.ask(0, NewRequest { id: Some("job".into()), ..all(&["a", "b"]) });
    net.release(0, named);
    net.pass_ms(1);
    assert_eq!(net.look(0, named).parts.len(), 2, "remembered, with its parts");
    net.now = net.now.plus_ms(600_000);
    net.machines[0].wake(net.now);
    assert_eq!(net.machines[0].requests.iter().count(), 0);
}
