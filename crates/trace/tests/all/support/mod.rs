//! Traces drawn at random, for the tests that write and read them.

use std::collections::BTreeMap;

use meshlock_core::reverse_link::Height;
use meshlock_core::view::{Claimant, LedgerView, Origin, Returning, TokenView, Waiting};
use meshlock_core::{
    Deadline, Delay, Demand, Effect, Event, Fence, Grant, GrantId, Misuse, NodeId, Priority, Rank, Rejection,
    RequestId, Session, Slots, Timer, Units, Urgency, View,
};
use meshlock_trace::{
    At, End, Happening, Header, Link, Lost, Move, NodeInfo, Record, Source, TraceError, Violation, What, Writer,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message type as protocols have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Message {
    Ask { rank: Rank, text: String },
    Token(Vec<u64>),
    Here,
}

/// A header and records that go together.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) header: Header,
    pub(crate) records: Vec<Record<Message>>,
}

/// How many nodes every drawn trace has.
const NODES: u32 = 4;

/// The bytes of a trace.
pub(crate) fn written(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut writer = Writer::new(Vec::new(), &trace.header)?;
    for record in &trace.records {
        writer.write(record)?;
    }
    writer.finish()
}

pub(crate) fn traces() -> impl Strategy<Value = Trace> {
    let records = vec((0..3_u64, whats()), 0..12);
    (headers(), records, any::<bool>(), option::of(ends())).prop_map(|(header, drawn, timed, end)| {
        let mut now = 0;
        let mut records = Vec::new();
        for (pause, what) in drawn.into_iter().chain(end.map(|end| (1, What::End(end)))) {
            now += pause;
            let at = if timed { At::TimeNs(now * 1_000_000_007) } else { At::Step(now) };
            records.push(Record { at, what: plausible(what, records.len(), at) });
        }
        Trace { header, records }
    })
}

/// Mends what only makes sense in its place: causes come earlier, and so does what is repeated.
fn plausible(what: What<Message>, earlier: usize, at: At) -> What<Message> {
    let cause = |cause: Option<u64>| cause.filter(|_| earlier > 0).map(|cause| 2 + cause % earlier as u64);
    match what {
        What::Event(event) => What::Event(Happening { cause: cause(event.cause), ..event }),
        What::Lost(lost) => What::Lost(Lost { cause: cause(lost.cause), ..lost }),
        What::End(end) => {
            let repeats_from = end.repeats_from.map(|from| from % (at.number() + 1));
            What::End(End { repeats_from, ..end })
        }
        What::Join(node) => What::Join(NodeInfo { id: NodeId(NODES + earlier as u32), ..node }),
        other @ (What::Link(_) | What::Move(_)) => other,
    }
}

fn headers() -> impl Strategy<Value = Header> {
    let source = prop_oneof![Just(Source::Check), Just(Source::Sim), Just(Source::Node)];
    let words = (any::<String>(), any::<String>(), option::of(any::<String>()), option::of(any::<String>()));
    let places = vec((any::<String>(), option::of(positions()), option::of(views())), NODES as usize);
    let links = vec(pairs(), 0..4);
    (source, words, parameters(), option::of(any::<u64>()), places, links).prop_map(
        |(source, (protocol, variant, made_by, replay), parameters, seed, places, links)| {
            let node =
                |(id, (name, position, view))| NodeInfo { id: NodeId(id), name, position, view, resumed: id == 1 };
            let nodes = (0..).zip(places).map(node).collect();
            Header { source, protocol, variant, parameters, seed, made_by, replay, nodes, links }
        },
    )
}

fn whats() -> impl Strategy<Value = What<Message>> {
    let name = any::<String>();
    prop_oneof![
        4 => happenings().prop_map(What::Event),
        1 => (pairs(), any::<bool>()).prop_map(|(between, up)| What::Link(Link { between, up })),
        1 => (nodes(), positions(), option::of(positions()))
            .prop_map(|(node, position, velocity)| What::Move(Move { node, position, velocity, gone: false, crashed: false })),
        1 => (pairs(), messages(), option::of(any::<u64>()))
            .prop_map(|((from, to), message, cause)| What::Lost(Lost { from, to, message, cause })),
        1 => (name, option::of(positions()), option::of(views()))
            .prop_map(|(name, position, view)| What::Join(NodeInfo { id: NodeId(0), name, position, view, resumed: false })),
    ]
}

fn happenings() -> impl Strategy<Value = Happening<Message>> {
    (nodes(), events(), vec(effects(), 0..4), option::of(misuses()), option::of(views()), option::of(any::<u64>()))
        .prop_map(|(node, event, effects, misuse, view, cause)| Happening { node, event, effects, misuse, view, cause })
}

fn ends() -> impl Strategy<Value = End> {
    let violation = (any::<String>(), option::of(nodes()), any::<String>());
    let violation = violation.prop_map(|(rule, node, what)| Violation { rule, node, what });
    (option::of(violation), option::of(any::<u64>()), parameters()).prop_map(|(violation, repeats_from, totals)| End {
        violation,
        repeats_from,
        totals,
    })
}

fn events() -> impl Strategy<Value = Event<Message>> {
    let request = || any::<u64>().prop_map(RequestId);
    let units = any::<u32>().prop_map(Units);
    let demand = (any::<u32>(), urgencies(), sessions()).prop_map(|(units, urgency, session)| Demand {
        units: Units(units),
        urgency,
        session,
    });
    prop_oneof![
        (request(), demand).prop_map(|(request, demand)| Event::Request { request, demand }),
        request().prop_map(|request| Event::Cancel { request }),
        (request(), urgencies()).prop_map(|(request, urgency)| Event::Reprioritize { request, urgency }),
        (request(), units).prop_map(|(request, units)| Event::Release { request, units }),
        nodes().prop_map(|neighbour| Event::LinkUp { neighbour }),
        nodes().prop_map(|neighbour| Event::LinkDown { neighbour }),
        (nodes(), messages()).prop_map(|(from, message)| Event::Receive { from, message }),
        any::<u64>().prop_map(|epoch| Event::Expired { timer: Timer { epoch } }),
        (any::<u64>(), any::<u32>())
            .prop_map(|(version, capacity)| Event::Resize { version, capacity: Units(capacity) }),
        Just(Event::Leave),
        Just(Event::Resume),
    ]
}

fn effects() -> impl Strategy<Value = Effect<Message>> {
    let arm = |(epoch, least_ms, most_ms)| Effect::Arm { timer: Timer { epoch }, after: Delay { least_ms, most_ms } };
    let reason = prop_oneof![Just(Rejection::SecondToken), Just(Rejection::UnknownSender)];
    prop_oneof![
        (nodes(), messages()).prop_map(|(to, message)| Effect::Send { to, message }),
        messages().prop_map(|message| Effect::Multicast { to: vec![NodeId(1), NodeId(3)], message }),
        messages().prop_map(|message| Effect::Broadcast { message }),
        grants().prop_map(|grant| Effect::Granted { grant }),
        (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(arm),
        (nodes(), reason).prop_map(|(from, reason)| Effect::Reject { from, reason }),
    ]
}

fn views() -> impl Strategy<Value = View> {
    let state =
        (any::<String>(), option::of(heights()), option::of(tokens()), (any::<bool>(), any::<bool>(), any::<bool>()));
    let lists = (vec(nodes(), 0..3), vec(claimants(), 0..3), vec(waitings(), 0..3), vec(grants(), 0..3));
    let group = (option::of(nodes()), option::of(any::<i64>()), option::of(nodes()), vec(returnings(), 0..3));
    let capacity = option::of(any::<u32>());
    (state, lists, group, capacity).prop_map(|((role, height, token, flags), lists, group, capacity)| {
        let (keeps_copy, by_permission, leaving) = flags;
        let (neighbours, queue, waiting, holding) = lists;
        let (captain, followers, asked, returning) = group;
        View {
            role,
            height,
            token,
            keeps_copy,
            by_permission,
            neighbours,
            asked,
            queue,
            waiting,
            holding,
            returning,
            capacity: capacity.map(Units),
            leaving,
            captain,
            followers,
        }
    })
}

fn tokens() -> impl Strategy<Value = TokenView> {
    let ledger = (grant_ids(), any::<u32>(), sessions()).prop_map(|(grant, units, session)| LedgerView {
        grant,
        units: Units(units),
        session,
    });
    let counts = (option::of(any::<u64>()), any::<u32>(), option::of(any::<i64>()), option::of(any::<u32>()));
    (counts, option::of(vec(ledger, 0..3)), sessions(), vec(claimants(), 0..3)).prop_map(
        |((pass, free, followers, capacity), ledger, session, queue)| TokenView {
            pass,
            free: Units(free),
            capacity: capacity.map(Units),
            ledger,
            session,
            queue,
            followers,
        },
    )
}

fn claimants() -> impl Strategy<Value = Claimant> {
    let origin =
        prop_oneof![any::<u64>().prop_map(|request| Origin::Local(RequestId(request))), nodes().prop_map(Origin::Node)];
    (origin, any::<i64>(), any::<u32>(), sessions()).prop_map(|(origin, rank, units, session)| Claimant {
        origin,
        rank: Rank(rank),
        units: Units(units),
        session,
    })
}

fn waitings() -> impl Strategy<Value = Waiting> {
    (any::<u64>(), any::<i64>(), any::<u32>(), sessions()).prop_map(|(request, rank, units, session)| Waiting {
        request: RequestId(request),
        rank: Rank(rank),
        units: Units(units),
        session,
    })
}

fn grants() -> impl Strategy<Value = Grant> {
    (any::<u64>(), any::<u32>(), sessions(), option::of(any::<u64>())).prop_map(|(request, units, session, fence)| {
        Grant { request: RequestId(request), units: Units(units), session, fence: fence.map(Fence), slots: Slots::NONE }
    })
}

fn returnings() -> impl Strategy<Value = Returning> {
    (option::of(grant_ids()), any::<u32>()).prop_map(|(grant, units)| Returning { grant, units: Units(units) })
}

fn heights() -> impl Strategy<Value = Height> {
    (any::<i64>(), any::<i64>(), nodes()).prop_map(|(level, depth, id)| Height { level, depth, id })
}

fn grant_ids() -> impl Strategy<Value = GrantId> {
    (nodes(), any::<u64>()).prop_map(|(node, request)| GrantId { node, request: RequestId(request) })
}

fn messages() -> impl Strategy<Value = Message> {
    prop_oneof![
        (any::<i64>(), any::<String>()).prop_map(|(rank, text)| Message::Ask { rank: Rank(rank), text }),
        vec(any::<u64>(), 0..4).prop_map(Message::Token),
        Just(Message::Here),
    ]
}

fn misuses() -> impl Strategy<Value = Misuse> {
    prop_oneof![
        Just(Misuse::ZeroUnits),
        any::<u64>().prop_map(|request| Misuse::UnknownRequest(RequestId(request))),
        (any::<u32>(), any::<u32>())
            .prop_map(|(asked, capacity)| Misuse::OverCapacity { asked: Units(asked), capacity: Units(capacity) }),
    ]
}

fn urgencies() -> impl Strategy<Value = Urgency> {
    prop_oneof![
        any::<i32>().prop_map(|priority| Urgency::Priority(Priority(priority))),
        any::<u64>().prop_map(|deadline| Urgency::Deadline(Deadline(deadline))),
    ]
}

fn sessions() -> impl Strategy<Value = Option<Session>> {
    option::of(any::<u64>().prop_map(Session))
}

fn nodes() -> impl Strategy<Value = NodeId> {
    (0..NODES).prop_map(NodeId)
}

fn pairs() -> impl Strategy<Value = (NodeId, NodeId)> {
    (0..NODES, 1..NODES).prop_map(|(a, step)| (NodeId(a), NodeId((a + step) % NODES)))
}

fn positions() -> impl Strategy<Value = [f64; 2]> {
    let number = || any::<f64>().prop_filter("finite", |number| number.is_finite());
    [number(), number()]
}

fn parameters() -> impl Strategy<Value = BTreeMap<String, Value>> {
    let value = prop_oneof![any::<u64>().prop_map(Value::from), any::<String>().prop_map(Value::from)];
    proptest::collection::btree_map(any::<String>(), value, 0..3)
}
