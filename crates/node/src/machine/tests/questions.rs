//! Questions to everybody: they end, nobody displaces another's, and whoever is missing is named.

use std::task::Waker;

use meshlock_api::MeshStatus;
use meshlock_core::NodeId;

use super::super::Machine;
use super::{Net, settings};
use crate::wire::{About, Frame, Query, decode, encode};

impl Net {
    fn ring(nodes: u32) -> Self {
        let mut net = Self::line(nodes);
        net.link(nodes as usize - 1, 0);
        net.settle();
        net
    }

    pub(super) fn status(&mut self, at: usize) -> MeshStatus {
        let query = self.machines[at].begin_query(None).expect("always");
        self.settle();
        assert!(self.machines[at].poll_query(query, Waker::noop()), "all have answered");
        self.machines[at].end_query(self.now, query, None)
    }

    fn nothing_is_open(&self) {
        for machine in &self.machines {
            assert_eq!(machine.open_queries(), (0, 0));
        }
    }
}

fn names(status: &MeshStatus) -> Vec<&str> {
    status.nodes.iter().map(|node| node.name.as_str()).collect()
}

#[test]
fn however_often_one_node_has_asked_the_questions_of_another_end() {
    let mut net = Net::ring(6);
    for _ in 0..1_100 {
        let status = net.status(5);
        assert!(status.complete && status.nodes.len() == 6);
    }
    let both = [(); 2].map(|()| net.machines[0].begin_query(None).expect("always"));
    net.settle();
    for query in both {
        assert!(net.machines[0].poll_query(query, Waker::noop()));
        assert_eq!(names(&net.machines[0].end_query(net.now, query, None)), ["n0", "n1", "n2", "n3", "n4", "n5"]);
    }
    net.nothing_is_open();
}

#[test]
fn all_nodes_of_a_ring_may_ask_at_once_and_again_and_every_answer_is_complete() {
    let mut net = Net::ring(6);
    for _ in 0..200 {
        let asked: Vec<u64> =
            net.machines.iter_mut().map(|machine| machine.begin_query(None).expect("always")).collect();
        net.settle();
        for (at, query) in asked.into_iter().enumerate() {
            let status = net.machines[at].end_query(net.now, query, None);
            assert!(status.complete && status.nodes.len() == 6 && status.missing.is_empty(), "{status:?}");
        }
    }
    net.nothing_is_open();
}

#[test]
fn more_questions_than_a_node_may_ask_at_once_wait_for_their_turn() {
    let mut net = Net::line(3);
    let asked: Vec<u64> = (0..100).map(|_| net.machines[0].begin_query(None).expect("always")).collect();
    net.collect(0);
    assert!(net.on_wire((0, 1)) <= 8, "the others are not under way yet");
    net.settle();
    for query in asked {
        assert!(net.machines[0].poll_query(query, Waker::noop()));
        assert_eq!(net.machines[0].end_query(net.now, query, None).nodes.len(), 3);
    }
    net.nothing_is_open();
}

#[test]
fn a_line_of_questions_ends_when_the_last_link_goes() {
    let mut net = Net::line(2);
    let asked: Vec<u64> = (0..50_000).map(|_| net.machines[0].begin_query(None).expect("always")).collect();
    net.cut(0, 1);
    assert!(asked.iter().all(|query| net.machines[0].poll_query(*query, Waker::noop())));
}

#[test]
fn a_question_that_was_met_is_done_and_goes_nowhere() {
    let mut net = Net::line(3);
    let ask = |net: &mut Net, origin: u32, number| {
        let query = Query { origin: NodeId(origin), number, hops: 1, about: About::Requests(None) };
        net.machines[1].receive(net.now, NodeId(0), &encode(&Frame::Query(query))).expect("fine");
        let sent = net.machines[1].take_outbox();
        let frames: Vec<(NodeId, Frame)> =
            sent.iter().map(|post| (post.to, decode(&post.frame).expect("whole"))).collect();
        net.machines[1].on_done(NodeId(2), NodeId(origin), number);
        net.machines[1].take_outbox();
        frames
    };
    let passed = |frames: &[(NodeId, Frame)]| frames.iter().any(|(_, frame)| matches!(frame, Frame::Query(_)));
    let is_done = |frames: &[(NodeId, Frame)]| matches!(frames, [(NodeId(0), Frame::Done { .. })]);
    assert!(passed(&ask(&mut net, 0, 7)), "it is new");
    assert!(is_done(&ask(&mut net, 0, 7)), "it was met");
    assert!(passed(&ask(&mut net, 0, 6)), "late, but never met");
    assert!(is_done(&ask(&mut net, 0, 6)));
    assert!(passed(&ask(&mut net, 0x1_0000, 1)), "the member was started again");
    assert!(is_done(&ask(&mut net, 0, 8)), "nobody waits for the answer to its former self");
    let last = Query { origin: NodeId(9), number: 1, hops: 1_024, about: About::Requests(None) };
    net.machines[1].receive(net.now, NodeId(0), &encode(&Frame::Query(last))).expect("fine");
    let sent = net.machines[1].take_outbox();
    assert!(sent.iter().all(|post| post.to == NodeId(0)), "it has come far enough");
}

#[test]
fn one_asker_that_gets_no_answers_costs_little_and_harms_nobody() {
    let mut net = Net::line(3);
    for number in 1..=10_000 {
        let query = Query { origin: NodeId(0), number, hops: 1, about: About::Requests(None) };
        net.machines[1].receive(net.now, NodeId(0), &encode(&Frame::Query(query))).expect("fine");
    }
    assert_eq!(net.machines[1].open_queries(), (0, 64));
    net.machines[1].take_outbox();
    assert_eq!(names(&net.status(2)), ["n2", "n0", "n1"]);
}

#[test]
fn a_node_that_was_linked_to_after_it_had_answered_says_so() {
    let mut net = Net::line(4);
    let query = net.machines[0].begin_query(None).expect("always");
    net.collect(0);
    net.deliver((0, 1)); // 1 has it, 2 and 3 do not
    net.link(1, 3);
    for _ in 0..20 {
        net.deliver((1, 2));
    }
    net.settle();
    assert!(net.machines[0].poll_query(query, Waker::noop()));
    assert_eq!(net.machines[0].end_query(net.now, query, None).nodes.len(), 4);
    net.nothing_is_open();
}

#[test]
fn whoever_does_not_answer_is_named() {
    let mut net = Net::line(4);
    assert!(net.status(0).missing.is_empty());
    net.now = net.now.plus_ms(5_000);
    let query = net.machines[0].begin_query(None).expect("always");
    net.collect(0);
    net.deliver((0, 1));
    net.deliver((1, 0)); // 1 reports; 2 does not answer in time
    let status = net.machines[0].end_query(net.now, query, None);
    assert!(!status.complete);
    let missing = |status: &MeshStatus| -> Vec<(String, u64)> {
        status.missing.iter().map(|missing| (missing.name.clone(), missing.heard_ms_ago)).collect()
    };
    assert_eq!(missing(&status), [("n2".into(), 0), ("n3".into(), 5_000)], "1 says that it is linked to 2");
    net.settle();
    net.cut(1, 2);
    let status = net.status(0);
    assert!(status.complete, "everybody in reach has answered");
    assert_eq!(missing(&status), [("n2".into(), 0), ("n3".into(), 0)], "their late reports were heard");
}

#[test]
fn after_a_clean_stop_numbers_go_on() {
    let mut net = Net::line(2);
    for _ in 0..70 {
        net.status(0);
    }
    net.cut(0, 1);
    net.machines[0].stop(net.now);
    let saved = net.machines[0].save();
    net.machines[0] = Machine::resume(settings(0), &saved).expect("its own");
    net.link(0, 1);
    net.settle();
    assert_eq!(net.status(0).nodes.len(), 2, "its questions are new to its neighbour");
}
