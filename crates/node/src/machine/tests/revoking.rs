//! An operator takes away what a client holds, from any node; and what is written down of it.

use meshlock_api::{Audited, NewRequest, NewRevocation, State};
use meshlock_core::NodeId;

use super::{Net, wants};
use crate::wire::{About, Fact, Frame, Query, Revoke, encode};

fn named(id: &str, resource: &str) -> NewRequest {
    NewRequest { id: Some(id.into()), lease_ms: Some(30_000), ..wants(resource) }
}

impl Net {
    fn revocation(&self, at: usize, id: &str, force: bool) -> Revoke {
        let by = Some("ann".to_owned());
        let wanted = NewRevocation { id: id.into(), reason: Some("broken".into()), by, force, node: None };
        Revoke { acts: true, ..self.machines[at].revocation(&wanted).expect("by the book") }
    }

    /// What nodes say to it, and what they did.
    fn revoke(&mut self, at: usize, wanted: Revoke) -> Vec<(String, Fact)> {
        self.machines[at].revoke_here(self.now, &wanted);
        let query = self.machines[at].ask_everybody(About::Revoke(Box::new(wanted)));
        self.settle();
        self.machines[at].take_answers(query).revocable()
    }
}

#[test]
fn what_is_revoked_elsewhere_goes_to_others_when_its_client_has_stopped() {
    for stops in [true, false] {
        let mut net = Net::line(3);
        let held = net.ask(2, named("job", "dock"));
        net.settle();
        let next = net.ask(1, NewRequest { lease_ms: Some(600_000), ..wants("dock") });
        net.settle();
        let answers = net.revoke(0, net.revocation(0, "job", false));
        let [(node, Fact::Revocable { state: State::Revoked, stopped: false, .. })] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        assert_eq!(node, "n2");
        let told = net.look(2, held);
        assert_eq!(told.reason.as_deref(), Some("broken (ann at node n0)"));
        net.machines[2].renew(net.now, held, None).expect("known, but it gains nothing");
        net.pass_ms(29_000);
        assert_eq!(net.state(1, next), State::Queued, "its client may be at work");
        let query = net.machines[0].begin_query(Some("dock")).expect("known");
        net.settle();
        let status = net.machines[0].end_query(net.now, query, Some("dock"));
        assert_eq!(status.resources[0].holders[0].state, State::Revoked, "it is seen who keeps others out");
        if stops {
            net.release(2, held);
            net.settle();
        } else {
            net.pass_ms(1_000);
        }
        assert_eq!(net.state(1, next), State::Granted);
        assert!(!net.machines[2].anybody_lingers());
        net.release(1, next);
        let again = net.ask(2, wants("dock"));
        net.settle();
        assert_eq!(net.state(2, again), State::Granted, "the node goes on");
    }
}

#[test]
fn force_does_not_wait_also_after_a_revocation_that_does() {
    let mut net = Net::line(2);
    net.ask(1, named("job", "dock"));
    net.settle();
    let next = net.ask(0, wants("dock"));
    net.settle();
    net.revoke(0, net.revocation(0, "job", false));
    assert_eq!(net.state(0, next), State::Queued);
    net.revoke(0, net.revocation(0, "job", true));
    net.settle();
    assert_eq!(net.state(0, next), State::Granted);
}

#[test]
fn a_waiting_request_is_cancelled_and_one_that_is_over_is_left_alone() {
    let mut net = Net::line(2);
    let held = net.ask(0, named("holds", "dock"));
    let waits = net.ask(1, named("waits", "dock"));
    net.settle();
    net.revoke(0, net.revocation(0, "waits", false));
    assert_eq!((net.state(1, waits), net.state(0, held)), (State::Revoked, State::Granted));
    net.release(0, held);
    net.revoke(1, net.revocation(1, "holds", true));
    assert_eq!(net.state(0, held), State::Released);
}

#[test]
fn a_node_that_is_named_is_the_only_one_that_acts_and_a_question_changes_nothing() {
    let mut net = Net::line(2);
    let (a, b) = (net.ask(0, named("job", "dock")), net.ask(1, named("job", "crane")));
    net.settle();
    let looks = Revoke { acts: false, ..net.revocation(0, "job", false) };
    assert_eq!(net.revoke(0, looks).len(), 1, "the other one; the asker knows its own");
    assert_eq!((net.state(0, a), net.state(1, b)), (State::Granted, State::Granted));
    net.revoke(0, Revoke { node: Some("n1".into()), ..net.revocation(0, "job", false) });
    assert_eq!((net.state(0, a), net.state(1, b)), (State::Granted, State::Revoked));
}

#[test]
fn texts_that_are_too_long_are_refused_here_and_by_neighbours() {
    let mut net = Net::line(2);
    let long =
        |length: usize| NewRevocation { id: "a".into(), reason: Some("x".repeat(length)), ..NewRevocation::default() };
    assert!(net.machines[0].revocation(&long(256)).is_ok());
    assert!(net.machines[0].revocation(&long(257)).is_err());
    let wanted = Revoke { reason: "x".repeat(257), ..net.revocation(0, "a", false) };
    let about = About::Revoke(Box::new(wanted));
    let frame = encode(&Frame::Query(Query { origin: NodeId(1), number: 1, hops: 1, about }));
    assert!(net.machines[0].receive(net.now, NodeId(1), &frame).is_err());
}

#[test]
fn it_is_written_down_who_held_what_and_who_revoked() {
    let mut net = Net::line(2);
    net.machines[1].begin_audit(net.now);
    let held = net.ask(1, NewRequest { owner: Some("bob".into()), ..named("job", "dock") });
    net.settle();
    net.pass_ms(5_000);
    net.revoke(0, net.revocation(0, "job", false));
    net.pass_ms(1_000);
    net.release(1, held);
    let records = net.machines[1].take_audit();
    let what: Vec<&Audited> = records.iter().map(|record| &record.what).collect();
    let [
        Audited::Started { .. },
        Audited::Granted { grant, .. },
        Audited::Revoked { by, at, reason, forced: false, .. },
        Audited::Ended { state: State::Revoked, held_ms, .. },
        Audited::Stopped { .. },
    ] = what.as_slice()
    else {
        panic!("{what:?}")
    };
    assert_eq!((grant.owner.as_deref(), grant.fence.is_some(), *held_ms), (Some("bob"), true, 5_000));
    assert_eq!((by.as_str(), at.as_str(), reason.as_str()), ("ann", "n0", "broken"));
    assert_eq!(records[4].at_ms - records[1].at_ms, 6_000);
    assert!(net.machines[0].take_audit().is_empty(), "who does not write down keeps nothing");
}
