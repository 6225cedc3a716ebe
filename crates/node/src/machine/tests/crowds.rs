//! Many clients, many resources, long names: every answer is bounded and every frame fits.

use std::task::Waker;

use meshlock_api::resource::{LONGEST_SLOT_NAMES, MANY, MOST_SLOT_NAMES};
use meshlock_api::{Definition, Kind, Mode, NewRequest, NewResource, Protocol, State, Urgency};
use meshlock_core::reverse_link::{self, Body, Capacity, Height, Loan, MOST_LOANS, Owed, Token};
use meshlock_core::slots::MOST_NUMBERED;
use meshlock_core::{Fence, NodeId, Rank, RequestId, Session, Slots, Units};

use super::super::reports::Cursor;
use super::super::{MOST_LISTED, Machine, Making, Settings};
use super::{Net, semaphore, settings, wants};
use crate::links::LONGEST_FRAME;
use crate::wire::{
    About, Entry, Fact, Frame, LONGEST_WHOLE, MOST_FACTS, MOST_RUNS, Payload, Removals, Report, Row, decode, encode,
    pieces,
};

fn roomy(id: u32) -> Settings {
    Settings { most_requests: 100_000, ..settings(id) }
}

/// As long as the limits allow.
fn longest_row() -> Row {
    Row {
        id: "i".repeat(128),
        owner: Some("o".repeat(256)),
        state: State::Granted,
        units: u32::MAX,
        urgency: Urgency::Deadline(u64::MAX),
        session: Some("s".repeat(256)),
        mode: Some(Mode::Write),
        age_ms: u64::MAX,
        fence: Some(u64::MAX),
        slots: every_second(2 * MOST_RUNS as u32),
        rank: Some(i64::MIN),
    }
}

/// The even numbers below this one.
fn every_second(end: u32) -> Slots {
    (0..end).step_by(2).collect()
}

#[test]
fn everything_at_its_limit_fits_into_a_frame() {
    let row = Fact::Row(u64::MAX, longest_row());
    let report = Report {
        origin: NodeId(u32::MAX),
        number: u64::MAX,
        node: NodeId(u32::MAX),
        name: "n".repeat(63),
        last: true,
        facts: vec![row; MOST_FACTS],
    };
    assert!(encode(&Frame::Report(report)).len() <= LONGEST_FRAME);

    let definition = Definition { capacity: MANY, joins: u32::MAX, lease_ms: u64::MAX, ..Definition::default() };
    let name = "r".repeat(meshlock_api::resource::LONGEST_NAME);
    let entry = Entry { number: u64::MAX, name, definition, version: u64::MAX, home: NodeId(u32::MAX) };
    assert!(encode(&Frame::Catalogue(vec![entry; 1_000])).len() <= LONGEST_FRAME);

    let node = NodeId(u32::MAX);
    let grant = meshlock_core::GrantId { node, request: RequestId(u64::MAX) };
    let unnumbered = Loan { grant, units: Units(u32::MAX), session: Some(Session(u64::MAX)), slots: Slots::NONE };
    // As many runs as there can be: each unit is one of its own, in the fewest grants that have the longest lists.
    let slots = every_second(MOST_NUMBERED);
    let numbered = Loan { slots, ..unnumbered };
    let mut ledger = vec![unnumbered; MOST_LOANS - 2];
    ledger.extend([numbered.clone(), numbered]);
    let capacity = Capacity { version: u64::MAX, units: Units(u32::MAX) };
    let (granted, joined) = (Fence(u64::MAX), u32::MAX);
    let owed = Owed { origin: node, rank: Rank(i64::MIN), units: Units(u32::MAX), passed: u32::MAX };
    let token = Token { pass: u64::MAX, granted, ledger, joined, owed: Some(owed), capacity, base: u64::MAX };
    let height = Height { level: i64::MIN, depth: i64::MIN, id: node };
    let body = Body::Token { token, ask: None };
    let message = Payload::ReverseLink(reverse_link::Message {
        height,
        clock: Fence(u64::MAX),
        arrived: Some(u64::MAX),
        received: vec![grant; reverse_link::MOST_UNCONFIRMED],
        body,
    });
    assert!(encode(&Frame::Protocol { resource: u64::MAX, message }).len() <= LONGEST_FRAME);
}

#[test]
fn a_frame_that_is_too_long_goes_in_pieces_and_one_that_is_far_too_long_not_at_all() {
    let whole = |length: usize| crate::links::Outgoing::from(vec![7; length]);
    for (length, count) in [(LONGEST_FRAME, 1), (LONGEST_FRAME + 1, 2), (LONGEST_WHOLE, 17)] {
        let pieces = pieces(&whole(length)).expect("not too long");
        assert_eq!(pieces.len(), count);
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST_FRAME));
    }
    assert_eq!(pieces(&whole(LONGEST_WHOLE + 1)), None);

    let mut net = Net::line(2);
    let removals = Removals::Signed(vec![vec![1; LONGEST_FRAME]; 3]);
    net.machines[0].post(NodeId(1), &encode(&Frame::Removals(removals.clone())));
    net.collect(0);
    assert_eq!(net.on_wire((0, 1)), 4);
    net.settle();
    assert!(net.machines[1].take_removals() == [(NodeId(0), removals)], "it has come as it was");
    net.machines[0].post(NodeId(1), &whole(LONGEST_WHOLE + 1));
    assert!(net.machines[0].take_outbox().is_empty());
    assert!(net.machines[0].take_notes()[0].contains("was not sent"));
}

#[test]
fn pieces_without_end_close_the_link() {
    let mut net = Net::line(2);
    let piece = encode(&Frame::Piece { last: false, bytes: vec![0; LONGEST_FRAME - 64] });
    let refused = (0..100).find_map(|_| net.machines[0].receive(net.now, NodeId(1), &piece).err());
    assert!(refused.expect("at some time").contains("pieces"));
}

#[test]
fn a_catalogue_of_long_names_comes_in_parts() {
    let mut net = Net::with_settings([roomy(0), roomy(1)]);
    let name = |number: usize| format!("{number:0>121}");
    for number in 0..1_100 {
        let making = net.machines[0].define(net.now, &name(number), &NewResource::default()).expect("fine");
        assert!(matches!(making, Making::UnderWay(_)));
    }
    net.link(0, 1);
    for frame in net.frames((0, 1)) {
        let entries = if let Ok(Frame::Catalogue(entries)) = decode(&frame) { entries.len() } else { 0 };
        assert!(frame.len() <= LONGEST_FRAME && entries <= 1_000, "{entries} entries, {} bytes", frame.len());
    }
    net.settle_however_long();
    assert_eq!(net.machines[1].resource_infos().len(), 1_100);
}

#[test]
fn a_catalogue_of_named_units_comes_in_parts() {
    let mut net = Net::with_settings([roomy(0), roomy(1)]);
    let length = LONGEST_SLOT_NAMES / MOST_SLOT_NAMES;
    let slots: Vec<String> = (0..MOST_SLOT_NAMES).map(|slot| format!("{slot:0>length$}")).collect();
    for number in 0..100 {
        let named = NewResource { slots: Some(slots.clone()), ..NewResource::default() };
        net.machines[0].define(net.now, &format!("pool-{number}"), &named).expect("at its limit");
    }
    net.link(0, 1);
    let frames = net.frames((0, 1));
    assert!(frames.iter().all(|frame| frame.len() <= LONGEST_FRAME));
    net.settle_however_long();
    let known = net.machines[1].resource_infos();
    assert!(known.len() == 100 && known.iter().all(|info| info.definition.slots == slots));
}

#[test]
fn a_crowd_is_counted_and_its_first_are_listed_in_order() {
    const CROWD: usize = 5_000;
    let mut net = Net::with_settings([roomy(0), roomy(1)]);
    net.link(0, 1);
    net.settle();
    let holder = net.ask(0, wants("dock"));
    for number in 0..CROWD {
        let urgency = Some(Urgency::Priority((number % 7) as i32));
        net.ask(0, NewRequest { owner: Some("o".repeat(256)), urgency, ..wants("dock") });
    }
    net.settle();
    let query = net.machines[1].begin_query(None).expect("always");
    net.settle();
    net.pass_ms(5);
    assert!(net.machines[1].poll_query(query, Waker::noop()));
    let status = net.machines[1].end_query(net.now, query, None);
    let dock = &status.resources[0];
    assert!(status.complete);
    assert_eq!(
        (dock.holders.len(), dock.waiters.len(), dock.more_waiters as usize),
        (1, MOST_LISTED, CROWD - MOST_LISTED)
    );
    assert_eq!(dock.holders[0].fence, net.look(0, holder).fence);
    let is_urgent = |row: &meshlock_api::Row| matches!(row.urgency, Urgency::Priority(5..=6));
    assert!(dock.waiters.iter().all(is_urgent), "the most urgent are listed");
    let last = net.machines[0].requests.alive_ones().pop().expect("many");
    let place = net.look(0, last).place.expect("it waits");
    assert_eq!((place.ahead, place.exact), (1_000, false), "counted up to a limit");
}

#[test]
fn no_part_of_a_report_is_much_work() {
    let mut net = Net::with_settings([roomy(0)]);
    for number in 0..2_000 {
        let held = net.ask(0, wants(&format!("r{number}")));
        if number % 4 == 3 {
            net.release(0, held);
        }
    }
    net.define(0, "pool", semaphore(MANY));
    for _ in 0..3_000 {
        net.ask(0, wants("pool"));
    }
    let (mut cursor, mut parts, mut all) = (Cursor::default(), 0, Vec::new());
    while !cursor.is_done() {
        let facts = net.machines[0].facts(net.now, &About::Requests(None), &mut cursor);
        let rows = facts.iter().filter(|fact| matches!(fact, Fact::Row(..))).count();
        assert!(rows <= 250 && facts.len() <= MOST_FACTS + 250 + 1_001, "{} at once", facts.len());
        all.extend(facts);
        parts += 1;
    }
    assert!(parts > 3);
    let held: u32 = all.iter().map(|fact| if let Fact::Resource { holders, .. } = fact { *holders } else { 0 }).sum();
    assert_eq!(held, 4_500, "all are counted");
    let rows = all.iter().filter(|fact| matches!(fact, Fact::Row(..))).count();
    assert_eq!(rows, 1_500 + MOST_LISTED, "all but those of the pool");
}

#[test]
fn the_reports_of_everybody_come_through_one_node_in_parts() {
    let mut net = Net::with_settings((0..3).map(roomy));
    net.link(0, 1);
    net.link(1, 2);
    net.settle();
    for number in 0..1_200 {
        net.ask(2, NewRequest { owner: Some("o".repeat(256)), ..wants(&format!("r{number}")) });
        net.settle();
    }
    let query = net.machines[0].begin_query(None).expect("always");
    net.settle();
    net.pass_ms(50);
    assert!(net.machines[0].poll_query(query, Waker::noop()));
    let status = net.machines[0].end_query(net.now, query, None);
    assert!(status.complete && status.resources.len() == 1_200);
    assert!(status.resources.iter().all(|resource| resource.holders.len() == 1));
}

#[test]
fn desks_keep_their_order_by_priority_and_arrival() {
    for protocol in [Protocol::Flood, Protocol::Group] {
        let mut net = Net::line(1);
        let kind = (protocol == Protocol::Group).then_some(Kind::Sessions);
        net.define(0, "belt", NewResource { kind, protocol: Some(protocol), ..NewResource::default() });
        let attend = |number: usize| NewRequest {
            session: kind.map(|_| format!("s{number}")),
            urgency: Some(Urgency::Priority((number % 3) as i32)),
            ..wants("belt")
        };
        let first = net.ask(0, attend(0));
        let others: Vec<_> = (1..50).map(|number| net.ask(0, attend(number))).collect();
        let second = others[1]; // the first with priority 2
        let place = |net: &Net, ticket| net.look(0, ticket).place.expect("waits").ahead;
        assert_eq!((place(&net, second), place(&net, others[4]), place(&net, others[0])), (1, 2, 17));
        net.machines[0].reprioritize(net.now, others[0], Urgency::Priority(2)).expect("it waits");
        assert_eq!(place(&net, others[0]), 17, "behind those who were as urgent before");
        net.release(0, others[4]);
        assert_eq!(place(&net, others[0]), 16);
        net.release(0, first);
        net.settle();
        assert_eq!(net.state(0, second), State::Granted, "{protocol:?}");
    }
}

#[test]
fn a_node_that_makes_many_resources_makes_each_once() {
    let names = (0..1_500).map(|number| (format!("d{number}"), super::definition(NewResource::default())));
    let mut net = Net::with_settings([roomy(0), Settings { declared: names.collect(), ..roomy(1) }]);
    let asked: Vec<_> = (0..1_500).map(|number| net.ask(1, wants(&format!("d{number}")))).collect();
    let other = net.ask(1, wants("another"));
    net.release(1, asked[7]);
    net.link(0, 1);
    net.settle_however_long();
    assert_eq!(net.machines[0].resource_infos().len(), 1_501);
    let states: Vec<State> = asked.iter().map(|ticket| net.state(1, *ticket)).collect();
    assert!(states.iter().enumerate().all(|(at, state)| (*state == State::Granted) == (at != 7)));
    assert_eq!(net.state(1, other), State::Granted);
}

#[test]
fn a_capacity_is_limited_where_it_is_given() {
    let capacity = |capacity| NewResource { capacity: Some(capacity), ..NewResource::default() }.complete();
    assert!(capacity(MANY).is_ok());
    assert!(capacity(MANY + 1).expect_err("too much").contains("1000000"));
    let mut machine = Machine::new(settings(0));
    let refused = machine.define(super::Now(1), "pool", &semaphore(MANY + 1)).expect_err("too much");
    assert!(refused.message.contains("out of range"));
}
