//! What a first use makes, and how a resource is removed or replaced.

use std::task::Waker;

use meshlock_api::{Kind, Mode, NewRequest, NewResource, Problem, Protocol, Reason, ResourceInfo, State, Urgency};
use meshlock_core::NodeId;
use meshlock_core::recovery::Census;

use super::super::registry::MOST_RESOURCES;
use super::super::{Machine, Making, Ticket};
use super::mesh::Mesh;
use super::{Net, definition, semaphore, settings, wants};
use crate::wire::{Entry, Frame, encode};

const PATIENCE_MS: u64 = 10_000;

impl Net {
    fn seize(&mut self, at: usize, name: &str) -> Ticket {
        let ticket = self.machines[at].seize(self.now, name, PATIENCE_MS).expect("known, and not in use here");
        self.settle();
        ticket
    }

    fn retire(&mut self, at: usize, ticket: Ticket, instead: Option<NewResource>) -> Result<ResourceInfo, Problem> {
        let making = self.machines[at].retire(self.now, ticket, instead.map(definition))?;
        self.settle();
        let Making::UnderWay(number) = making else { panic!("it takes the registry's lock") };
        self.machines[at].poll_making(number, Waker::noop()).expect("decided")
    }

    fn remove(&mut self, at: usize, name: &str) -> Result<ResourceInfo, Problem> {
        let ticket = self.seize(at, name);
        let result = self.retire(at, ticket, None);
        self.release(at, ticket);
        self.settle();
        result
    }

    fn granted(&mut self, at: usize, asked: NewRequest) -> (Ticket, u64) {
        let ticket = self.ask(at, asked);
        self.settle();
        let info = self.look(at, ticket);
        assert_eq!(info.state, State::Granted, "at {at}: {info:?}");
        (ticket, info.fence.unwrap_or(0))
    }

    fn knows(&self, at: usize, name: &str) -> bool {
        self.machines[at].resource_info(name).is_some()
    }

    fn known(&self, name: &str) -> Vec<bool> {
        (0..self.machines.len()).map(|at| self.knows(at, name)).collect()
    }
}

#[test]
fn a_refused_first_use_makes_nothing() {
    let mut net = Net::line(2);
    let two = NewRequest { units: Some(2), ..wants("gpu") };
    let refused = net.machines[0].ask(net.now, two.clone()).expect_err("unclear");
    assert!(refused.message.contains("meshlock resource make gpu --capacity 2"), "{refused}");
    let rejected = net.ask(1, two); // which has to ask whether there is one
    net.settle();
    let rejected = net.look(1, rejected);
    assert_eq!((rejected.state, rejected.reason), (State::Rejected, Some(refused.message)));
    assert_eq!(net.known("gpu"), [false, false]);
    net.define(1, "gpu", semaphore(2));
    net.granted(1, NewRequest { units: Some(2), ..wants("gpu") });
}

#[test]
fn a_first_use_makes_what_was_asked_for_and_says_so_once() {
    let mut net = Net::line(2);
    let read = NewRequest { mode: Some(Mode::Read), ..wants("map") };
    let (first, _) = net.granted(1, read.clone());
    let (second, _) = net.granted(0, read);
    assert_eq!(net.look(1, first).made.map(|made| made.kind), Some(Kind::ReadersWriter));
    assert_eq!(net.look(0, second).made, None, "it was there");
    net.granted(0, NewRequest { session: Some("red".into()), ..wants("track") });
    net.granted(0, NewRequest { urgency: Some(Urgency::Deadline(5)), ..wants("press") });
    let refused = net.machines[1].ask(net.now, wants("press")).expect_err("by deadline");
    assert_eq!(refused.reason, Reason::Conflict);
}

#[test]
fn what_was_removed_can_be_made_again_as_something_else_and_its_fences_go_on() {
    let kinds = [
        NewResource::default(),
        semaphore(3),
        NewResource { kind: Some(Kind::Sessions), ..NewResource::default() },
        NewResource { kind: Some(Kind::ReadersWriter), ..NewResource::default() },
        NewResource { protocol: Some(Protocol::Flood), ..NewResource::default() },
        NewResource { kind: Some(Kind::Sessions), protocol: Some(Protocol::Group), ..NewResource::default() },
        NewResource { kind: Some(Kind::ReadersWriter), protocol: Some(Protocol::Group), ..NewResource::default() },
    ];
    for kind in kinds {
        let mut net = Net::line(3);
        net.define(0, "thing", kind.clone());
        let session = (kind.kind == Some(Kind::Sessions)).then(|| "red".to_owned());
        let (used, before) = net.granted(2, NewRequest { session, ..wants("thing") });
        net.release(2, used);
        net.settle();
        assert_eq!(net.remove(1, "thing").expect("unused").definition, definition(kind.clone()));
        assert_eq!(net.known("thing"), [false; 3], "{kind:?}");
        let (again, fence) = net.granted(0, wants("thing"));
        assert!(fence > before, "{kind:?}: {fence} after {before}");
        assert_eq!(net.known("thing"), [true; 3]);
        net.release(0, again);
    }
}

#[test]
fn who_holds_or_waits_anywhere_makes_a_removal_refuse() {
    let mut net = Net::line(3);
    let (held, _) = net.granted(2, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
    let here = net.machines[2].seize(net.now, "dock", PATIENCE_MS).expect_err("held at this very node");
    assert_eq!(here.reason, Reason::Conflict);
    let seized = net.seize(0, "dock");
    let refused = net.machines[0].retire(net.now, seized, None).expect_err("held at another");
    assert!(refused.message.contains("in use"), "{refused}");
    // Behind all others: who asks later is served before it.
    let later = net.ask(1, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
    net.settle();
    net.release(2, held);
    net.settle();
    assert_eq!((net.state(1, later), net.state(0, seized)), (State::Granted, State::Queued));
    net.pass_ms(PATIENCE_MS);
    assert_eq!(net.state(0, seized), State::Expired, "patience is over, and nothing is left of it");
    net.release(1, later);
    net.settle();
    net.granted(2, wants("dock"));
    assert_eq!(net.known("dock"), [true; 3]);
}

#[test]
fn of_two_nodes_that_remove_at_once_one_does() {
    let mut net = Net::line(3);
    net.define(1, "dock", NewResource::default());
    let (a, b) = (net.seize(0, "dock"), net.seize(2, "dock"));
    let (first, other, at) = if net.state(0, a) == State::Granted { (a, b, (0, 2)) } else { (b, a, (2, 0)) };
    net.retire(at.0, first, None).expect("it holds");
    assert!(net.machines[at.1].retire(net.now, other, None).is_err(), "it does not");
    assert_eq!(net.state(at.1, other), State::Rejected);
    assert_eq!(net.known("dock"), [false; 3], "who wants to remove it does not make it anew");
}

#[test]
fn a_kind_is_changed_while_unused_and_late_waiters_are_judged_by_the_new_one() {
    let mut net = Net::line(3);
    let (used, before) = net.granted(2, wants("gpu"));
    net.release(2, used);
    net.settle();
    net.cut(1, 2);
    let late = net.ask(2, wants("gpu"));
    let seized = net.seize(0, "gpu");
    if net.state(0, seized) != State::Granted {
        net.link(1, 2); // the token was at the other side
        net.settle();
    }
    // Whoever is first: the late one is served, and the change is made when nobody uses it.
    if net.state(2, late) == State::Granted {
        net.release(2, late);
        net.settle();
    }
    let info = net.retire(0, seized, Some(semaphore(4))).expect("unused");
    assert_eq!(info.definition.capacity, 4);
    let (_, fence) = net.granted(2, NewRequest { units: Some(4), ..wants("gpu") });
    assert!(fence > before);
}

#[test]
fn a_node_that_was_cut_off_hears_of_a_removal_and_its_waiter_makes_the_next() {
    let mut net = Net::line(3);
    net.define(0, "dock", NewResource::default());
    net.cut(1, 2);
    let waits = net.ask(2, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
    net.settle();
    net.remove(0, "dock").expect("unused, as far as can be known");
    assert_eq!(net.known("dock"), [false, false, true]);
    net.link(1, 2);
    net.settle();
    assert_eq!(net.state(2, waits), State::Granted, "of the next resource with this name");
    assert_eq!(net.known("dock"), [true; 3]);
}

#[test]
fn a_node_that_was_cut_off_hears_of_a_replacement() {
    let mut net = Net::line(3);
    net.define(0, "gpu", NewResource::default());
    net.cut(1, 2);
    let (fits, too_many) = (net.ask(2, wants("gpu")), net.ask(2, NewRequest { units: Some(1), ..wants("gpu") }));
    let seized = net.seize(0, "gpu");
    let sessions = NewResource { kind: Some(Kind::Sessions), ..NewResource::default() };
    net.retire(0, seized, Some(sessions)).expect("unused, as far as can be known");
    net.link(1, 2);
    net.settle();
    for ticket in [fits, too_many] {
        let info = net.look(2, ticket);
        assert_eq!(info.state, State::Rejected, "it has sessions now");
        assert!(info.reason.is_some_and(|reason| reason.contains("sessions")));
    }
    assert_eq!(net.machines[2].resource_info("gpu").map(|info| info.definition.kind), Some(Kind::Sessions));
}

#[test]
fn a_mesh_that_makes_nothing_on_first_use_tells_those_who_waited() {
    let strict = |id| super::Settings { create_on_first_use: false, ..settings(id) };
    let mut net = Net::with_settings([strict(0), strict(1)]);
    net.link(0, 1);
    net.settle();
    net.define(0, "dock", NewResource::default());
    net.cut(0, 1);
    let waits = net.ask(1, wants("dock"));
    net.remove(0, "dock").expect("unused");
    net.link(0, 1);
    net.settle();
    let info = net.look(1, waits);
    assert_eq!(info.state, State::Rejected);
    assert!(info.reason.is_some_and(|reason| reason.contains("was removed")));
}

#[test]
fn a_stopped_node_neither_brings_back_what_was_removed_nor_forgets_it() {
    let mut net = Net::line(3);
    net.define(1, "dock", NewResource::default());
    net.define(1, "crane", NewResource::default());
    // Node 2 is away with all it knows.
    net.cut(1, 2);
    let saved = net.machines[2].save();
    net.remove(0, "dock").expect("unused");
    net.machines[2] = Machine::resume(settings(2), &saved).expect("its own");
    assert!(net.knows(2, "dock"));
    net.link(1, 2);
    net.settle();
    assert_eq!(net.known("dock"), [false; 3]);
    // Now it is the only one that knows of the removal, and comes back with it.
    let saved = net.machines[2].save();
    net.cut(1, 2);
    net.machines[2] = Machine::resume(settings(2), &saved).expect("its own");
    let former = net.machines[2].removed_entries();
    assert_eq!(former.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["dock"]);
    net.link(1, 2);
    net.settle();
    assert_eq!(net.known("dock"), [false; 3]);
    net.granted(2, wants("crane"));
    net.granted(2, wants("dock"));
}

#[test]
fn a_remover_that_crashes_before_it_is_done_removes_nothing() {
    let mut mesh = Mesh::full(3);
    mesh.net.define(0, "dock", NewResource::default());
    let seized = mesh.net.seize(1, "dock");
    assert_eq!(mesh.state(1, seized), State::Granted);
    mesh.kill(1);
    mesh.restart(1);
    let waits = mesh.net.ask(2, wants("dock"));
    mesh.net.settle();
    assert_eq!(mesh.state(2, waits), State::Granted, "what it held is free");
}

#[test]
fn a_crash_after_a_removal_does_not_bring_the_resource_back() {
    let mut mesh = Mesh::full(3);
    mesh.net.define(0, "dock", NewResource::default());
    mesh.net.define(0, "crane", NewResource::default());
    mesh.net.remove(1, "dock").expect("unused");
    mesh.kill(1);
    mesh.restart(1);
    mesh.kill(0);
    mesh.restart(0);
    mesh.net.settle();
    assert_eq!(mesh.net.known("dock"), [false; 3]);
    mesh.net.granted(2, wants("crane"));
    mesh.net.granted(1, wants("dock"));
}

#[test]
fn a_removal_that_no_living_node_heard_of_is_void() {
    let mut mesh = Mesh::full(3);
    mesh.net.define(1, "dock", NewResource::default());
    let seized = mesh.net.seize(1, "dock");
    // The registry's lock is here too, and then no frame leaves this node any more.
    let (other, _) = (mesh.net.define(1, "crane", NewResource::default()), ());
    assert!(matches!(other, Making::UnderWay(_)));
    mesh.kill(1);
    let _ = mesh.net.retire(1, seized, None);
    let alone = !mesh.net.knows(1, "dock");
    let gone = mesh.net.machines[1].settings.id;
    mesh.net.machines[0].learn_facts(mesh.net.now, &Census::gone_fact(gone)).unwrap();
    mesh.net.collect(0);
    mesh.net.settle();
    let (held, _) = mesh.net.granted(0, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
    mesh.dead.remove(&1);
    mesh.net.link(0, 1);
    mesh.net.settle();
    mesh.tend();
    mesh.net.settle();
    assert!(alone, "it had the registry's lock");
    assert_eq!(mesh.state(0, held), State::Granted, "the living went on without it");
    assert_eq!(mesh.net.known("dock"), [true; 3]);
}

#[test]
fn names_that_were_removed_count_and_can_be_used_again() {
    let mut net = Net::line(2);
    let entry = |number: u64| {
        let definition = definition(NewResource::default());
        let entry = Entry { number, name: format!("r{number}"), definition, version: 0, home: NodeId(1) };
        entry.removed(7, NodeId(1))
    };
    let all: Vec<Entry> = (1..=MOST_RESOURCES as u64).map(entry).collect();
    for part in all.chunks(1_000) {
        let frame = encode(&Frame::Catalogue(part.to_vec()));
        net.machines[0].receive(net.now, NodeId(1), &frame).expect("as many as there can be");
        net.collect(0);
    }
    let frame = encode(&Frame::Catalogue(vec![entry(MOST_RESOURCES as u64 + 1)]));
    assert!(net.machines[0].receive(net.now, NodeId(1), &frame).is_err(), "one too many");
    let waits = net.ask(0, wants("new"));
    assert_eq!(net.state(0, waits), State::Rejected);
    let (_, fence) = net.granted(0, wants("r5"));
    assert!(fence > 7);
    assert!(net.machines[0].registry.superseded.len() <= 10_001);
    assert!(net.machines[0].is_gone(3) && !net.machines[0].is_gone(0), "also what is remembered no longer by number");
}
