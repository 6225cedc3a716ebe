//! A token that cannot be reached is told as what it is, and no longer than it is so.

use meshlock_api::{Kind, MeshStatus, NewRequest, NewResource, Protocol, RequestInfo, State};

use super::super::{Machine, Settings};
use super::{Net, semaphore, settings, wants};

/// The node is gone without a word, and comes back as another.
fn crash(net: &mut Net, at: usize) {
    for other in 0..net.machines.len() {
        if net.is_linked(at, other) {
            net.cut(at, other);
        }
    }
    let again =
        Settings { id: meshlock_core::NodeId(0x1_0000 + at as u32), founds_registry: false, ..settings(at as u32) };
    net.machines[at] = Machine::new(again);
}

fn status(net: &mut Net, at: usize) -> MeshStatus {
    let query = net.machines[at].begin_query(None).expect("always");
    net.settle();
    net.machines[at].end_query(net.now, query, None)
}

fn lost(info: &RequestInfo) -> Option<(Option<u64>, Option<&str>)> {
    info.out_of_reach.as_ref().map(|lost| (lost.for_ms, lost.last_seen.as_deref()))
}

const PATIENT: u64 = 600_000;

fn patient(resource: &str) -> NewRequest {
    NewRequest { lease_ms: Some(PATIENT), ..wants(resource) }
}

#[test]
fn a_token_that_was_lost_in_a_crash_is_told_as_lost_with_all_protocols() {
    for protocol in [Protocol::ReverseLink, Protocol::Flood, Protocol::Group] {
        let mut net = Net::line(3);
        let kind = (protocol == Protocol::Group).then_some(Kind::ReadersWriter);
        net.define(0, "dock", NewResource { kind, protocol: Some(protocol), ..NewResource::default() });
        let first = net.ask(0, patient("dock"));
        net.settle();
        net.release(0, first);
        let holder = net.ask(2, patient("dock"));
        net.settle();
        net.pass_ms(2_000);
        assert_eq!(net.state(2, holder), State::Granted, "{protocol:?}");
        let waiter = net.ask(0, NewRequest { timeout_ms: Some(60_000), ..patient("dock") });
        net.settle();
        net.pass_ms(20_000);
        let info = net.look(0, waiter);
        assert_eq!(lost(&info), None, "others hold it: {protocol:?}");
        assert!(info.place.is_some());

        crash(&mut net, 2);
        net.pass_ms(12_000);
        let info = net.look(0, waiter);
        let (for_ms, last_seen) = lost(&info).unwrap_or_else(|| panic!("{protocol:?} {info:?}"));
        assert_eq!(last_seen, Some("n2"), "{protocol:?}");
        assert!(for_ms.expect("known") >= 12_000, "{protocol:?} {info:?}");
        assert_eq!(info.place, None, "there is no place in a line that does not move");
        assert_eq!(net.machines[0].lost_resources(net.now, 10).len(), 1);
        let told = status(&mut net, 0);
        let dock = &told.resources[0];
        assert!(dock.token_at.is_none() && told.complete);
        assert_eq!(dock.out_of_reach.as_ref().expect("told").last_seen.as_deref(), Some("n2"), "{protocol:?}");
        assert_eq!(told.missing.iter().map(|missing| missing.name.as_str()).collect::<Vec<_>>(), ["n2"]);

        net.link(1, 2); // its new self knows nothing of it
        net.settle();
        net.pass_ms(12_000);
        assert!(lost(&net.look(0, waiter)).is_some(), "{protocol:?}");
        net.pass_ms(60_000);
        let reason = net.look(0, waiter).reason.expect("it timed out");
        assert!(reason.contains("out of reach") && reason.contains("n2"), "{protocol:?}: {reason}");
    }
}

#[test]
fn a_token_behind_a_cut_is_out_of_reach_until_the_link_is_back() {
    for protocol in [Protocol::ReverseLink, Protocol::Flood] {
        let mut net = Net::line(4);
        net.define(0, "dock", NewResource { protocol: Some(protocol), ..NewResource::default() });
        let holder = net.ask(3, patient("dock"));
        net.settle();
        net.pass_ms(2_000);
        let waiter = net.ask(0, patient("dock"));
        net.settle();
        net.cut(1, 2);
        net.pass_ms(10_000);
        assert!(lost(&net.look(0, waiter)).is_some(), "{protocol:?}");
        net.link(1, 2);
        net.settle();
        net.pass_ms(7_000);
        let info = net.look(0, waiter);
        assert_eq!((lost(&info), info.place.is_some()), (None, true), "{protocol:?}");
        assert!(net.machines[0].lost_resources(net.now, 10).is_empty());
        net.release(3, holder);
        net.settle();
        net.pass_ms(30_000);
        assert_eq!(net.state(0, waiter), State::Granted, "{protocol:?}");
    }
}

#[test]
fn a_node_alone_knows_at_once_that_nobody_can_serve_it() {
    let mut net = Net::line(2);
    let holder = net.ask(0, patient("dock"));
    net.settle();
    net.cut(0, 1);
    let waiter = net.ask(1, patient("dock"));
    net.pass_ms(2_000);
    assert_eq!(lost(&net.look(1, waiter)).expect("told").1, Some("n0"), "where it began");
    assert_eq!(net.state(0, holder), State::Granted);
    // Without the registry's token a new name cannot be made.
    let new = net.ask(1, patient("other"));
    net.pass_ms(2_000);
    assert!(lost(&net.look(1, new)).is_some());
}

#[test]
fn a_token_that_moves_all_the_time_is_never_told_as_lost() {
    let mut net = Net::line(4);
    let mut waiting: Vec<_> = (0..4).map(|at| (at, net.ask(at, patient("dock")))).collect();
    for round in 0..400 {
        net.settle();
        net.pass_ms(100);
        let at = waiting.iter().position(|(at, ticket)| net.state(*at, *ticket) == State::Granted).expect("one holds");
        let (node, ticket) = waiting.remove(at);
        net.release(node, ticket);
        waiting.push((node, net.ask(node, patient("dock"))));
        for (at, ticket) in &waiting {
            assert_eq!(lost(&net.look(*at, *ticket)), None, "round {round}");
        }
    }
    assert!(net.machines.iter().all(|machine| machine.last_query() == 0), "a way is known, so nobody asks");
}

#[test]
fn units_of_a_node_that_crashed_are_not_told_as_free() {
    let mut net = Net::line(3);
    net.define(0, "gpus", semaphore(3));
    net.ask(2, NewRequest { units: Some(2), ..patient("gpus") });
    net.settle();
    let mine = net.ask(0, NewRequest { units: Some(1), ..patient("gpus") });
    net.settle();
    assert_eq!(net.state(0, mine), State::Granted, "the token is here");
    let before = status(&mut net, 1);
    assert_eq!((before.resources[0].in_use, before.resources[0].elsewhere), (3, 0));
    crash(&mut net, 2);
    net.link(1, 2);
    net.settle();
    let after = status(&mut net, 1);
    let gpus = &after.resources[0];
    assert_eq!((gpus.token_at.as_deref(), gpus.in_use, gpus.elsewhere), (Some("n0"), 3, 2));
    assert_eq!(gpus.holders.len(), 1);
}
