//! Frames, questions to everybody, and neighbours that make mistakes.

use std::collections::{BTreeSet, VecDeque};

use meshlock_api::{Kind, NewResource, State};
use meshlock_core::NodeId;

use super::super::instance::Instance;
use super::super::{Machine, Making, Post};
use super::{Net, capacity, semaphore, wants, with_priority};
use crate::links::Outgoing;
use crate::wire::{About, Entry, Frame, Query, REMOVED, decode, encode};

#[test]
fn everybody_is_asked_how_they_are_doing() {
    let mut net = Net::line(4);
    let holder = net.ask(3, wants("dock"));
    net.settle();
    let low = net.ask(0, with_priority("dock", 1));
    net.ask(1, with_priority("dock", 5));
    net.settle();
    let query = net.machines[0].begin_query(Some("dock")).expect("known");
    net.settle();
    assert!(net.machines[0].poll_query(query, std::task::Waker::noop()), "all have answered");
    let status = net.machines[0].end_query(net.now, query, Some("dock"));
    assert_eq!(status.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n0", "n1", "n2", "n3"]);
    let dock = &status.resources[0];
    assert_eq!((dock.token_at.as_deref(), dock.in_use), (Some("n3"), 1));
    assert_eq!(dock.holders[0].fence, net.look(3, holder).fence);
    let waiters: Vec<&str> = dock.waiters.iter().map(|row| row.node.as_str()).collect();
    assert_eq!(waiters, ["n1", "n0"], "the most urgent first");
    assert_eq!(net.state(0, low), State::Queued);
}

#[test]
fn questions_end_in_a_ring_and_when_a_link_breaks_on_the_way() {
    let mut net = Net::line(4);
    net.link(3, 0);
    net.settle();
    let query = net.machines[0].begin_query(None).expect("always");
    net.settle();
    assert!(net.machines[0].poll_query(query, std::task::Waker::noop()));
    assert_eq!(net.machines[0].end_query(net.now, query, None).nodes.len(), 4);

    let query = net.machines[0].begin_query(None).expect("always");
    net.collect(0);
    net.deliver((0, 1));
    net.cut(1, 2);
    net.cut(0, 3);
    net.settle();
    assert!(net.machines[0].poll_query(query, std::task::Waker::noop()));
    assert_eq!(net.machines[0].end_query(net.now, query, None).nodes.len(), 2);
}

#[test]
fn a_neighbour_that_talks_nonsense_is_told_why_its_link_is_closed() {
    let mut net = Net::line(2);
    let holder = net.ask(0, wants("dock"));
    net.settle();
    let definition = net.machines[0].resource_info("dock").expect("made").definition;
    let nothing = super::Definition { capacity: 0, ..definition.clone() };
    let entry = |number, name: &str| {
        let (name, definition) = (name.to_owned(), definition.clone());
        Entry { number, name, definition, version: 0, home: NodeId(1) }
    };
    let other_kind = super::definition(NewResource { kind: Some(Kind::Sessions), ..NewResource::default() });
    let nonsense = [
        b"".to_vec(),
        b"\x01\xff\xff\xff\xff".to_vec(),
        b"\x63hello".to_vec(),
        encode(&Frame::Catalogue(vec![entry(1, "other")])).to_vec(),
        encode(&Frame::Catalogue(vec![entry(7, "dock")])).to_vec(),
        encode(&Frame::Catalogue(vec![entry(7, "meshlock:x")])).to_vec(),
        encode(&Frame::Catalogue(vec![entry(u64::MAX, "last")])).to_vec(),
        encode(&Frame::Catalogue(vec![Entry { version: 9, definition: other_kind, ..entry(1, "dock") }])).to_vec(),
        encode(&Frame::Catalogue(vec![Entry { definition: nothing, ..entry(7, "zero") }])).to_vec(),
    ];
    for bytes in nonsense {
        let reason = net.machines[0].receive(net.now, NodeId(1), &bytes).expect_err("nonsense");
        assert!(!reason.is_empty());
    }
    assert_eq!(net.state(0, holder), State::Granted);
    assert_eq!(net.machines[0].resource_infos().len(), 1);
}

#[test]
fn a_resource_that_was_changed_as_often_as_can_be_told_is_not_changed_again() {
    let mut net = Net::line(2);
    net.define(0, "gpus", semaphore(2));
    let info = net.machines[0].resource_info("gpus").expect("made");
    let entry =
        Entry { number: 1, name: "gpus".into(), definition: info.definition, version: REMOVED - 1, home: NodeId(0) };
    let frame = encode(&Frame::Catalogue(vec![entry]));
    assert_eq!(net.machines[0].receive(net.now, NodeId(1), &frame), Ok(()));
    let making = net.machines[0].change(net.now, "gpus", capacity(3)).expect("a wish");
    let Making::UnderWay(number) = making else { panic!("nothing to do: {making:?}") };
    let refused = net.machines[0].poll_making(number, std::task::Waker::noop()).expect("done at once");
    assert!(refused.expect_err("refused").message.contains("too often"));
}

#[test]
fn frames_of_strangers_and_of_closed_links_are_ignored() {
    let mut net = Net::line(1);
    let query = encode(&Frame::Query(Query { origin: NodeId(9), number: 1, hops: 1, about: About::Requests(None) }));
    assert_eq!(net.machines[0].receive(net.now, NodeId(9), &query), Ok(()));
    assert!(net.machines[0].take_outbox().is_empty());
}

/// What a machine has to send after an event: to whom, and whether it can wait.
fn outbox(machine: &mut Machine) -> Vec<(NodeId, bool)> {
    machine.take_outbox().into_iter().map(|post| (post.to, post.can_wait)).collect()
}

#[test]
fn only_confirmations_can_wait() {
    let mut net = Net::line(2);
    let first = net.ask(0, wants("dock"));
    net.settle();
    let deliver = |net: &mut Net, from: usize, frame: &Outgoing| {
        let sender = net.machines[from].settings.id;
        net.machines[1 - from].receive(net.now, sender, frame).unwrap();
    };
    let second = net.machines[1].ask(net.now, wants("dock")).unwrap();
    let ask = net.machines[1].take_outbox().remove(0);
    assert!(!ask.can_wait, "an ask");
    deliver(&mut net, 1, &ask.frame);
    assert_eq!(outbox(&mut net.machines[0]), [], "nothing at all");
    net.machines[0].release(net.now, first);
    let token = net.machines[0].take_outbox().remove(0);
    assert!(!token.can_wait, "the token");
    deliver(&mut net, 0, &token.frame);
    assert_eq!(net.state(1, second), State::Granted);
    assert_eq!(outbox(&mut net.machines[1]), [(NodeId(0), true)], "that it has arrived");
}

#[test]
fn a_confirmation_can_wait_for_the_giver_and_not_for_those_whom_it_shows_the_way() {
    let mut net = Net::line(3);
    net.link(0, 2);
    net.settle();
    let mut confirmations = BTreeSet::new();
    for node in [2, 1, 0, 2, 1, 0] {
        let ticket = net.machines[node].ask(net.now, wants("dock")).unwrap();
        let asked = net.machines[node].take_outbox();
        let mut posts: VecDeque<(usize, Post)> = asked.into_iter().map(|post| (node, post)).collect();
        while let Some((from, post)) = posts.pop_front() {
            let (giver, to) = (net.machines[from].settings.id, net.index(post.to));
            net.machines[to].receive(net.now, giver, &post.frame).unwrap();
            for post in net.machines[to].take_outbox() {
                let frame = decode::<Frame>(&post.frame).unwrap();
                if matches!(&frame, Frame::Protocol { message, .. } if Instance::kind(message) == "here") {
                    confirmations.insert((post.to == giver, post.can_wait));
                }
                posts.push_back((to, post));
            }
        }
        assert_eq!(net.state(node, ticket), State::Granted);
        net.machines[node].release(net.now, ticket);
        net.machines[node].take_outbox();
    }
    assert_eq!(confirmations, BTreeSet::from([(true, true), (false, false)]));
}
