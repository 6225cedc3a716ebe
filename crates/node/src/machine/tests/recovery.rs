//! Nodes crash with tokens and grants, and the mesh repairs itself.

use std::collections::BTreeSet;

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, State};
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;
use meshlock_core::recovery::voters::{StartId, Word};

use super::super::{Now, Promise, Ticket, ToKeep};
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
fn an_heir_that_stopped_cleanly_and_goes_on_makes_no_token_twice() {
    let mut mesh = Mesh::full(3);
    let first = mesh.net.ask(0, wants("dock"));
    mesh.net.settle();
    mesh.net.release(0, first);
    // The census grows while the token is at the heir; then the token moves.
    mesh.kill(2);
    mesh.restart(2);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(1, held), State::Granted);
    mesh.stop_and_resume(0);
    let second = mesh.net.ask(0, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(0, second), State::Queued, "its token is alive at another node");
    mesh.net.release(1, held);
    mesh.net.settle();
    assert_eq!(mesh.state(0, second), State::Granted);
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

#[test]
fn with_voters_a_killed_holder_is_declared_gone_and_the_waiter_is_served() {
    let mut mesh = Mesh::voting(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.run_ms(100);
    assert_eq!(mesh.state(1, held), State::Granted);
    let fence = mesh.fence(1, held);
    let waits = mesh.net.ask(2, wants("dock"));
    mesh.run_ms(5_000);
    mesh.kill(1);
    mesh.run_ms(8_000);
    assert_eq!(mesh.state(2, waits), State::Queued, "its clients may still rely on what they hold");
    mesh.run_ms(4_000);
    assert_eq!(mesh.state(2, waits), State::Granted);
    assert!(mesh.fence(2, waits) > fence);
}

#[test]
fn with_voters_a_node_that_is_cut_off_stops_before_others_take_over() {
    let mut mesh = Mesh::voting(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.run_ms(100);
    assert_eq!(mesh.state(1, held), State::Granted);
    let waits = mesh.net.ask(2, wants("dock"));
    let stays = mesh.net.ask(1, wants("dock"));
    mesh.net.cut(0, 1);
    mesh.net.cut(1, 2);
    for _ in 0..200 {
        mesh.net.machines[1].renew(mesh.net.now, held, None).unwrap();
        mesh.net.machines[2].renew(mesh.net.now, waits, None).unwrap();
        mesh.run_ms(100);
        let (one, two) = (mesh.state(1, held), mesh.state(2, waits));
        assert!(one != State::Granted || two != State::Granted, "both at {:?}", mesh.net.now);
    }
    assert_eq!((mesh.state(1, held), mesh.state(2, waits)), (State::Revoked, State::Granted));
    assert_eq!(mesh.state(1, stays), State::Queued);
    mesh.net.link(0, 1);
    mesh.net.settle();
    assert!(mesh.net.machines[1].is_expelled());
    mesh.net.cut(0, 1);
    let now = mesh.net.now;
    mesh.net.machines[1].begin_anew(now, NodeId::of(1, 1), StartId(99)).unwrap();
    mesh.net.link(0, 1);
    mesh.run_ms(1_000);
    mesh.net.release(2, waits);
    mesh.run_ms(1_000);
    assert_eq!(mesh.state(1, stays), State::Granted);
}

#[test]
fn what_cannot_be_noted_any_more_goes_to_nobody_before_its_lease_is_over() {
    for resource in ["dock", "room"] {
        let mut mesh = Mesh::voting(3);
        let room =
            NewResource { kind: Some(Kind::Sessions), protocol: Some(Protocol::Group), ..NewResource::default() };
        mesh.net.define(0, "room", room);
        let wants = |session: &str| NewRequest {
            session: (resource == "room").then(|| session.into()),
            lease_ms: Some(3_000),
            ..wants(resource)
        };
        let (held, stops) = (mesh.net.ask(1, wants("plan")), mesh.net.ask(1, wants("plan")));
        mesh.run_ms(100);
        let next = mesh.net.ask(2, wants("other"));
        mesh.run_ms(100);
        assert_eq!((mesh.state(1, held), mesh.state(2, next)), (State::Granted, State::Queued));
        mesh.net.machines[1].cannot_note(mesh.net.now, "the disk is full");
        mesh.net.collect(1);
        mesh.run_ms(500);
        assert_eq!(mesh.state(1, held), State::Revoked, "its client is told to stop");
        assert_eq!(mesh.state(2, next), State::Queued, "{resource}: the client may rely on its lease");
        mesh.net.release(1, held);
        mesh.net.release(1, stops);
        mesh.run_ms(500);
        assert_eq!(mesh.state(2, next), State::Granted, "{resource}: it has stopped");
    }
}

#[test]
fn a_node_that_could_not_note_grants_again_when_it_can() {
    for voting in [true, false] {
        let mut mesh = if voting { Mesh::voting(3) } else { Mesh::full(3) };
        mesh.run_ms(100);
        assert!(mesh.net.machines[1].cannot_note(mesh.net.now, "the disk is full"));
        assert!(!mesh.net.machines[1].cannot_note(mesh.net.now, "the disk is full"), "that is no news");
        let waits = mesh.net.ask(1, wants("dock"));
        mesh.run_ms(9_000);
        assert_eq!(mesh.state(1, waits), State::Queued, "voters: {voting}: also after rounds of the voters");
        let machine = &mut mesh.net.machines[1];
        assert!(machine.take_try_again() && !machine.take_try_again(), "once a second");
        machine.can_note(mesh.net.now);
        mesh.net.collect(1);
        mesh.run_ms(1_000);
        assert_eq!(mesh.state(1, waits), State::Granted, "voters: {voting}");
        assert!(mesh.net.machines[1].take_promise().is_some(), "what was not noted before is noted now");
    }
}

/// The lease of a client that renews ends with the standing of its node. Both are over in the same moment.
#[test]
fn what_was_revoked_goes_back_although_its_node_loses_its_standing_meanwhile() {
    for (resource, stops) in [("dock", false), ("dock", true), ("room", false), ("room", true)] {
        let mut mesh = Mesh::voting(3);
        let room =
            NewResource { kind: Some(Kind::Sessions), protocol: Some(Protocol::Group), ..NewResource::default() };
        mesh.net.define(0, "room", room);
        let wants = || NewRequest { session: (resource == "room").then(|| "plan".into()), ..wants(resource) };
        let held: Vec<Ticket> = (0..if resource == "room" { 2 } else { 1 }).map(|_| mesh.net.ask(1, wants())).collect();
        let waits = mesh.net.ask(1, NewRequest { session: wants().session.map(|_| "other".into()), ..wants() });
        mesh.run_ms(100);
        let now = mesh.net.now;
        for held in &held {
            assert_eq!(mesh.state(1, *held), State::Granted);
            mesh.net.machines[1].renew(now, *held, None).unwrap();
            mesh.net.machines[1].end_when_stopped(now, *held, State::Revoked, None);
        }
        if stops {
            mesh.net.machines[1].stop(now);
        }
        mesh.net.collect(1);
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            mesh.net.cut(a, b);
        }
        mesh.run_ms(10_100); // no voter gives another up yet
        let machine = &mut mesh.net.machines[1];
        assert!(machine.suspended().is_some() && !machine.anybody_lingers(), "{resource}, stops: {stops}");
        let notes = machine.take_notes();
        assert!(!notes.iter().any(|note| note.contains("refused") || note.contains("could not")), "{notes:?}");
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            mesh.net.link(a, b);
        }
        mesh.run_ms(2_000);
        if !stops {
            assert_eq!(mesh.state(1, waits), State::Granted, "{resource}");
            mesh.net.release(1, waits);
        }
        let next = mesh.net.ask(2, wants());
        mesh.run_ms(1_000);
        let seen = mesh.net.look(2, next);
        assert_eq!(seen.state, State::Granted, "{resource}, stops: {stops}: {seen:?}");
        if stops && resource == "dock" {
            assert_eq!(mesh.net.machines[1].still_needed_for(), [""; 0]);
        }
    }
}

/// How many answers of voters to other nodes a node has heard of.
fn answers_to_others(mesh: &Mesh, node: usize) -> usize {
    let machine = &mesh.net.machines[node];
    let me = machine.settings().id;
    let to_others = |word: &&Word| matches!(word, Word::Answer { node, .. } if *node != me);
    machine.voting().unwrap().words().all().filter(to_others).count()
}

#[test]
fn answers_of_voters_go_where_the_question_came_from_and_find_another_way_when_it_is_cut() {
    let nodes = 9;
    let mut mesh = Mesh::voting_ring(nodes as u32);
    mesh.run_ms(40_000);
    let all_stand = |mesh: &Mesh| (0..nodes).all(|node| mesh.net.machines[node].standing_until() > Some(mesh.net.now));
    assert!(all_stand(&mesh));
    // Each of three voters answers each node. If all heard everything, each would know 24 to others.
    let known: usize = (0..nodes).map(|node| answers_to_others(&mesh, node)).sum();
    assert!(known <= nodes * 24 / 2, "{known} answers are known to those who do not need them");
    assert!((0..nodes).any(|node| answers_to_others(&mesh, node) > 0), "some pass them on");
    // The questions of all behind the cut come another way from now on.
    mesh.net.cut(0, nodes - 1);
    for _ in 0..400 {
        mesh.run_ms(100);
        assert!(all_stand(&mesh), "at {:?}", mesh.net.now);
    }
}

#[test]
fn a_change_of_resources_counts_as_kept_when_it_is_on_disk() {
    let mut mesh = Mesh::full(3);
    mesh.net.define(0, "gate", NewResource::default());
    mesh.run_ms(100);
    let machine = &mut mesh.net.machines[0];
    let changes = machine.keep_catalogue_now().expect("nothing was written yet");
    let (ToKeep::Whole(entries), told) = machine.take_catalogue().expect("at once, and not after a moment") else {
        panic!("the first time, all of it")
    };
    assert!(entries.iter().any(|entry| entry.name == "gate"));
    assert_eq!((told, machine.is_catalogue_kept(changes)), (changes, false));
    machine.catalogue_kept(told);
    assert!(machine.is_catalogue_kept(changes));
    assert_eq!(machine.keep_catalogue_now(), None, "all is on disk");
    mesh.net.define(0, "lift", NewResource::default());
    let machine = &mut mesh.net.machines[0];
    let later = machine.keep_catalogue_now().expect("there is more");
    assert!(later > changes && !machine.is_catalogue_kept(later));
    let lift = machine.entries().into_iter().find(|entry| entry.name == "lift").expect("made");
    let only_lift = ToKeep::Changes(vec![(lift.number, Some(lift.clone()))]);
    assert_eq!(machine.take_catalogue(), Some((only_lift, later)));
    assert_eq!(machine.take_catalogue(), None, "it is being written");
    // It could not be written: all of it, then.
    machine.keep_catalogue_again(mesh.net.now);
    mesh.run_ms(1_000);
    let machine = &mut mesh.net.machines[0];
    let Some((ToKeep::Whole(entries), told)) = machine.take_catalogue() else { panic!("it is not tried again") };
    assert!(entries.contains(&lift) && told >= later);
    machine.forget_resource(mesh.net.now, lift.number, "it was removed", None);
    machine.keep_catalogue_now().expect("it has changed");
    let (gone, _) = machine.take_catalogue().expect("to be written");
    assert_eq!(gone, ToKeep::Changes(vec![(lift.number, None)]));
}

#[test]
fn who_hears_of_many_crashes_at_once_tells_of_them_in_one_line() {
    let mut mesh = Mesh::full(3);
    let machine = &mut mesh.net.machines[0];
    machine.take_notes();
    let before = Census::of_living((0..20).map(NodeId));
    let after =
        |gone: u32| (10..10 + gone).fold(before.clone(), |known, id| known.merged(&Census::gone_fact(NodeId(id))));
    machine.tell_facts(&before, &after(2));
    let notes = machine.take_notes();
    assert!(notes.len() == 2 && notes[0].starts_with("member 10 is gone"), "{notes:?}");
    machine.tell_facts(&before, &after(9));
    let notes = machine.take_notes();
    assert!(notes.len() == 1 && notes[0].starts_with("9 members"), "{notes:?}");
}

#[test]
fn with_voters_any_one_of_three_may_be_lost() {
    for lost in 0..3 {
        let mut mesh = Mesh::voting(3);
        let held = mesh.net.ask(lost, wants("dock"));
        mesh.run_ms(100);
        assert_eq!(mesh.state(lost, held), State::Granted, "{lost}");
        mesh.kill(lost);
        let other = (lost + 1) % 3;
        let waits = mesh.net.ask(other, wants("dock"));
        let new = mesh.net.ask(other, wants("meanwhile"));
        mesh.run_ms(12_000);
        assert_eq!(mesh.state(other, waits), State::Granted, "{lost}");
        assert_eq!(mesh.state(other, new), State::Granted, "{lost}");
        mesh.restart(lost);
        mesh.run_ms(1_000);
        let again = mesh.net.ask(lost, wants("afterwards"));
        mesh.run_ms(1_000);
        assert_eq!(mesh.state(lost, again), State::Granted, "{lost} is back");
    }
}

/// The first change makes three voters of one: the founder, its neighbour, and one that hears of the founder through
/// others only.
#[test]
fn a_voter_may_be_lost_at_every_step_of_the_first_change_of_voters() {
    for lost in [1, 2] {
        let mut changed = 0;
        for steps in 0.. {
            let mut mesh = Mesh::voting_ring(5);
            let mut busy = true;
            for _ in 0..steps {
                let wire = mesh.net.busy_wires().first().copied();
                busy = wire.is_some();
                wire.into_iter().for_each(|wire| mesh.net.deliver(wire));
            }
            mesh.kill(lost);
            mesh.run_ms(25_000);
            let lists: BTreeSet<Vec<u16>> =
                (0..5).filter(|node| *node != lost).map(|node| voters(&mesh, node)).collect();
            assert_eq!(lists.len(), 1, "all know who votes: {lists:?}");
            changed += usize::from(lists.first() == Some(&vec![0, 1, 2]));
            for node in (0..5).filter(|node| *node != lost) {
                assert_eq!(mesh.net.machines[node].suspended(), None, "n{node}, without n{lost}, after {steps} frames");
                let ticket = mesh.net.ask(node, wants("dock"));
                mesh.run_ms(1_000);
                assert_eq!(mesh.state(node, ticket), State::Granted, "n{node}, without n{lost}, after {steps} frames");
                mesh.net.release(node, ticket);
            }
            if !busy {
                break;
            }
        }
        assert!(changed > 10, "the lost one was a voter in {changed} runs");
    }
}

/// The members that vote, as this node knows it.
fn voters(mesh: &Mesh, node: usize) -> Vec<u16> {
    let known = mesh.net.machines[node].voters_known().expect("a list is in force");
    known.list.voters().iter().map(|voter| voter.member).collect()
}

#[test]
fn with_voters_all_lost_comes_back() {
    let mut mesh = Mesh::voting(3);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.run_ms(100);
    let fence = mesh.fence(1, held);
    for node in 0..3 {
        mesh.kill(node);
    }
    for node in 0..2 {
        mesh.restart(node);
    }
    mesh.run_ms(1_000);
    let next = mesh.net.ask(0, wants("dock"));
    mesh.run_ms(12_000);
    assert_eq!(mesh.state(0, next), State::Granted);
    assert!(mesh.fence(0, next) > fence);
}

#[test]
fn many_short_locks_leave_no_alarms_behind() {
    let mut mesh = Mesh::voting(1);
    for _ in 0..1_000 {
        let held = mesh.net.ask(0, wants("dock"));
        assert_eq!(mesh.state(0, held), State::Granted);
        let _ = mesh.net.machines[0].take_promise();
        mesh.net.release(0, held);
        mesh.net.now = Now(mesh.net.now.0 + 1_000);
    }
    assert!(mesh.net.machines[0].alarms.len() < 10, "{} alarms", mesh.net.machines[0].alarms.len());
    mesh.run_ms(200);
    assert_eq!(mesh.net.machines[0].take_promise(), Some(Promise::Nothing));
}

#[test]
fn a_request_has_one_alarm_although_its_lease_is_cut_to_the_standing() {
    let mut mesh = Mesh::voting(1);
    let made = mesh.net.ask(0, wants("dock"));
    mesh.net.release(0, made);
    mesh.run_ms(200);
    let (before, sets) = (mesh.net.machines[0].alarms.len(), mesh.net.machines[0].alarms.sets());
    let held = mesh.net.ask(0, wants("dock"));
    let lease = mesh.net.look(0, held).lease_ms;
    assert!(lease < meshlock_api::resource::DEFAULT_LEASE_MS, "{lease}");
    assert_eq!(mesh.net.machines[0].alarms.sets() - sets, 1);
    mesh.net.release(0, held);
    assert_eq!(mesh.net.machines[0].alarms.len(), before);
    // One that waits is ended by its own, and one that is granted later by the shorter of both.
    let (held, waits) = (mesh.net.ask(0, wants("dock")), mesh.net.ask(0, wants("dock")));
    mesh.net.machines[0].renew(mesh.net.now, held, None).unwrap();
    mesh.net.release(0, held);
    assert_eq!(mesh.state(0, waits), State::Granted);
    mesh.run_ms(30_000);
    assert_eq!(mesh.state(0, waits), State::Expired);
}

#[test]
fn what_is_held_again_after_a_clean_stop_is_promised_again() {
    let mut mesh = Mesh::full(2);
    let held = mesh.net.ask(1, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(1, held), State::Granted);
    mesh.net.machines[1].stop(mesh.net.now);
    mesh.net.collect(1);
    mesh.stop_and_resume(1);
    // It may be killed at once: its next start has to wait for the client.
    let promise = mesh.net.machines[1].take_promise();
    let lease = meshlock_api::resource::DEFAULT_LEASE_MS;
    assert!(matches!(promise, Some(Promise::Until(until)) if until >= Now::default().plus_ms(lease)), "{promise:?}");
}
