//! The limits of docs/reliability.md at their edge: there everything works, beyond it the user is told which limit it
//! is and what to do, and the mesh goes on. Frames at their longest are in `crowds`, numbers of members in `mesh`.

use std::task::Waker;

use meshlock_api::{MeshStatus, NewRequest, NewResource, Reason, State};
use meshlock_core::NodeId;

use super::super::{Making, Settings, Ticket};
use super::{Net, definition, settings, wants};
use crate::links::LONGEST_FRAME;
use crate::mesh::{Incarnation, Member};
use crate::wire::{About, Frame, Query, Report, encode};

const MANY: usize = 100_000;

fn roomy(id: u32) -> Settings {
    Settings { most_requests: MANY, ..settings(id) }
}

fn named(id: &str, resource: &str) -> NewRequest {
    NewRequest { id: Some(id.into()), ..wants(resource) }
}

impl Net {
    /// Takes a lock at a node and gives it back, after which nothing is in flight.
    fn serves(&mut self, at: usize, resource: &str) {
        let ticket = self.ask(at, wants(resource));
        self.settle();
        assert_eq!(self.state(at, ticket), State::Granted, "{resource} at {at}");
        self.release(at, ticket);
        self.settle();
    }
}

#[test]
fn a_mesh_has_100_000_resources_and_the_next_one_is_refused() {
    let declared = (0..MANY).map(|number| (format!("r{number}"), definition(NewResource::default())));
    let mut net = Net::with_settings([Settings { declared: declared.collect(), ..settings(0) }, settings(1)]);
    net.link(0, 1);
    net.settle_however_long();
    assert_eq!(net.machines[1].resources.len(), MANY + 1, "the registry is one more");

    for at in [0, 1] {
        let Making::UnderWay(making) = net.define(at, "one-more", NewResource::default()) else { panic!("it is new") };
        let result = net.machines[at].poll_making(making, Waker::noop()).expect("decided");
        let refused = result.expect_err("one too many");
        assert_eq!(refused.reason, Reason::Conflict);
        let text = refused.message;
        assert!(text.contains("100000 resources") && text.contains("sessions"), "{text}");

        let waits = net.ask(at, wants("made-on-first-use"));
        net.settle();
        let told = net.look(at, waits);
        assert_eq!(told.state, State::Rejected, "it does not wait for what never comes");
        assert!(told.reason.is_some_and(|reason| reason.contains("100000 resources")));
    }
    net.serves(1, "r99999");
    net.serves(0, "r0");
}

#[test]
fn a_node_has_100_000_requests_and_the_next_one_is_sent_elsewhere() {
    let mut net = Net::with_settings([roomy(0), roomy(1)]);
    net.link(0, 1);
    net.settle();
    let tickets: Vec<Ticket> = (0..MANY).map(|number| net.ask(0, named(&number.to_string(), "dock"))).collect();
    net.settle();
    let refused = net.machines[0].ask(net.now, wants("dock")).expect_err("one too many");
    assert_eq!(refused.reason, Reason::Unavailable);
    for part in ["100000 requests", "again later or at another node"] {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    assert_eq!(net.ask(0, named("7", "dock")), tickets[7], "who is in the queue already keeps its place");
    let elsewhere = net.ask(1, wants("dock"));
    net.serves(1, "gate");
    net.release(0, tickets[MANY - 1]);
    let last = net.ask(0, wants("dock"));
    for ticket in tickets {
        net.release(0, ticket);
    }
    net.settle();
    let served = [net.state(1, elsewhere), net.state(0, last)];
    assert!(served.contains(&State::Granted), "{served:?}");
}

#[test]
fn of_ended_requests_the_last_100_000_with_an_id_and_1_000_others_are_remembered() {
    let mut net = Net::with_settings([roomy(0)]);
    let ids = |number: usize| format!("job-{number}");
    let unnamed: Vec<Ticket> = (0..=1_000)
        .map(|_| {
            let ticket = net.ask(0, wants("dock"));
            net.release(0, ticket);
            ticket
        })
        .collect();
    for number in 0..=MANY {
        let ticket = net.ask(0, named(&ids(number), "dock"));
        net.release(0, ticket);
    }
    let machine = &net.machines[0];
    assert!(machine.look(net.now, unnamed[0]).is_err() && machine.look(net.now, unnamed[1]).is_ok());
    let forgotten = machine.find(&ids(0)).expect_err("the oldest");
    assert_eq!(forgotten.reason, Reason::Unknown);
    for part in ["10 minutes", "100000"] {
        assert!(forgotten.message.contains(part), "{}", forgotten.message);
    }
    let oldest = machine.find(&ids(1)).expect("still remembered");
    assert_eq!(net.state(0, oldest), State::Released);
    assert_eq!(net.ask(0, named(&ids(1), "dock")), oldest, "asked again, it is not granted a second time");
    net.pass_ms(600_000);
    net.machines[0].wake(net.now);
    assert!(net.machines[0].find(&ids(MANY)).is_err(), "ten minutes later none is left");
    net.serves(0, "dock");
}

#[test]
fn the_last_incarnation_of_the_last_member_is_a_node_like_others() {
    let last = Member(u16::MAX).node(Incarnation(u16::MAX));
    assert_eq!((last, Member::of(last)), (NodeId(u32::MAX), Member(u16::MAX)));
    let mut net = Net::with_settings([settings(0), settings(last.0)]);
    net.link(0, 1);
    net.settle();
    net.serves(1, "dock");
    net.serves(0, "dock");
    assert_eq!(net.status(1).nodes.len(), 2);
}

/// A report of node 2 that is a frame of exactly this length.
fn report(number: u64, length: usize) -> Frame {
    let of = |name: String| {
        Frame::Report(Report { origin: NodeId(0), number, node: NodeId(2), name, last: true, facts: Vec::new() })
    };
    let overhead = encode(&of("n".repeat(length / 2))).len() - length / 2;
    of("n".repeat(length - overhead))
}

#[test]
fn four_mebibytes_of_reports_are_passed_on_for_one_question_and_not_a_byte_more() {
    let mut net = Net::line(3);
    let relayed = |net: &mut Net, number: u64, lengths: &[usize]| -> usize {
        let query = Query { origin: NodeId(0), number, hops: 1, about: About::Requests(None) };
        net.machines[1].receive(net.now, NodeId(0), &encode(&Frame::Query(query))).expect("fine");
        net.machines[1].take_outbox();
        for length in lengths {
            let frame = encode(&report(number, *length));
            assert_eq!(frame.len(), *length);
            net.machines[1].receive(net.now, NodeId(2), &frame).expect("fine");
        }
        net.machines[1].take_outbox().iter().map(|post| post.frame.len()).sum()
    };
    let whole = [LONGEST_FRAME; 4];
    assert_eq!(relayed(&mut net, 7, &whole), 4 << 20);
    let one_more = [&whole[..3], &[LONGEST_FRAME - 50, 51]].concat();
    assert_eq!(relayed(&mut net, 8, &one_more), (4 << 20) - 50, "the last one is left out");
}

#[test]
fn a_node_whose_report_was_left_out_is_missing_and_named() {
    let mut net = Net::with_settings((0..4).map(roomy));
    for other in [0, 2, 3] {
        net.link(1, other);
    }
    net.settle();
    let long = |number: usize| NewRequest {
        id: Some(format!("{number:0>128}")),
        owner: Some("o".repeat(256)),
        session: Some("s".repeat(256)),
        ..wants(&format!("r{}", number / 1_000))
    };
    let kind = Some(meshlock_api::Kind::Sessions);
    for number in 0..8 {
        net.define(0, &format!("r{number}"), NewResource { kind, ..NewResource::default() });
    }
    let asked: Vec<(usize, Ticket)> =
        (0..8_000).map(|number| (2 + number / 4_000, net.ask(2 + number / 4_000, long(number)))).collect();
    net.settle();
    let status = |net: &mut Net| -> MeshStatus {
        let query = net.machines[0].begin_query(None).expect("always");
        net.settle();
        net.pass_ms(50);
        assert!(net.machines[0].poll_query(query, Waker::noop()));
        net.machines[0].end_query(net.now, query, None)
    };
    let too_long = status(&mut net);
    assert!(!too_long.complete);
    let missing: Vec<&str> = too_long.missing.iter().map(|missing| missing.name.as_str()).collect();
    assert!(!missing.is_empty() && missing.iter().all(|name| ["n2", "n3"].contains(name)), "{missing:?}");
    for (at, ticket) in asked {
        net.release(at, ticket);
    }
    net.settle();
    assert!(status(&mut net).complete);
    net.serves(0, "dock");
}
