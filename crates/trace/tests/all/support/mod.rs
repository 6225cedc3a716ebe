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

pub(crate) fn written(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut writer = Writer::new(Vec::new(), &trace.header)?;
    for record in &trace.records {
        writer.write(record)?;
    }
    writer.finish()
}

pub(crate) fn traces() -> impl Strategy<Value = Trace> {
    let records = vec((0..3_u64, Draw::draw()), 0..12);
    (Draw::draw(), records, any::<bool>(), <Option<End>>::draw()).prop_map(|(header, drawn, timed, end)| {
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

/// Values of a type, drawn at random.
trait Draw: Sized + std::fmt::Debug + 'static {
    fn draw() -> BoxedStrategy<Self>;
}

fn two<A: Draw, B: Draw>() -> impl Strategy<Value = (A, B)> {
    (A::draw(), B::draw())
}

/// Draws structs field by field, each by its type.
macro_rules! fields {
    ($($type:ty { $($field:ident),+ })+) => {
        draw! {$(
            $type = ($({
                stringify!($field);
                Draw::draw()
            },)+).prop_map(|($($field,)+)| Self { $($field),+ });
        )+}
    };
}

macro_rules! draw {
    ($($type:ty = $strategy:expr;)+) => {
        $(impl Draw for $type {
            fn draw() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        })+
    };
}

fields! {
    Demand { units, urgency, session }
    Timer { epoch }
    Delay { least_ms, most_ms }
    Grant { request, units, session, fence, slots }
    GrantId { node, request }
    Returning { grant, units }
    Height { level, depth, id }
    Waiting { request, rank, units, session }
    Claimant { origin, rank, units, session }
    LedgerView { grant, units, session, slots }
    TokenView { pass, free, capacity, ledger, session, queue, followers }
    Link { between, up }
    Lost<Message> { from, to, message, cause }
    Happening<Message> { node, event, effects, misuse, view, cause }
    Violation { rule, node, what }
    End { violation, repeats_from, totals }
}

draw! {
    bool = any::<Self>();
    u32 = any::<Self>();
    u64 = any::<Self>();
    i64 = any::<Self>();
    String = any::<Self>();
    RequestId = any::<u64>().prop_map(Self);
    Units = any::<u32>().prop_map(Self);
    Session = any::<u64>().prop_map(Self);
    Fence = any::<u64>().prop_map(Self);
    Rank = any::<i64>().prop_map(Self);
    Slots = proptest::collection::btree_set(0..50u32, 0..4).prop_map(|slots| slots.into_iter().collect());
    NodeId = (0..NODES).prop_map(NodeId);
    // Two different ones.
    (NodeId, NodeId) = (0..NODES, 1..NODES).prop_map(|(a, step)| (NodeId(a), NodeId((a + step) % NODES)));
    f64 = any::<f64>().prop_filter("finite", |number| number.is_finite());
    [f64; 2] = [f64::draw(), f64::draw()];
    Value = prop_oneof![u64::draw().prop_map(Value::from), String::draw().prop_map(Value::from)];
    BTreeMap<String, Value> = proptest::collection::btree_map(String::draw(), Value::draw(), 0..3);
    Source = prop_oneof![Just(Source::Check), Just(Source::Sim), Just(Source::Node)];
    Origin = prop_oneof![Draw::draw().prop_map(Origin::Local), Draw::draw().prop_map(Origin::Node)];
    Urgency = prop_oneof![
        any::<i32>().prop_map(|priority| Urgency::Priority(Priority(priority))),
        any::<u64>().prop_map(|deadline| Urgency::Deadline(Deadline(deadline))),
    ];
    Rejection = prop_oneof![Just(Rejection::SecondToken), Just(Rejection::UnknownSender)];
    Misuse = prop_oneof![
        Just(Misuse::ZeroUnits),
        Draw::draw().prop_map(Misuse::UnknownRequest),
        two().prop_map(|(asked, capacity)| Misuse::OverCapacity { asked, capacity }),
    ];
    Message = prop_oneof![
        two().prop_map(|(rank, text)| Message::Ask { rank, text }),
        Draw::draw().prop_map(Message::Token),
        Just(Message::Here),
    ];
    Event<Message> = prop_oneof![
        two().prop_map(|(request, demand)| Event::Request { request, demand }),
        Draw::draw().prop_map(|request| Event::Cancel { request }),
        two().prop_map(|(request, urgency)| Event::Reprioritize { request, urgency }),
        two().prop_map(|(request, units)| Event::Release { request, units }),
        Draw::draw().prop_map(|neighbour| Event::LinkUp { neighbour }),
        Draw::draw().prop_map(|neighbour| Event::LinkDown { neighbour }),
        two().prop_map(|(from, message)| Event::Receive { from, message }),
        Draw::draw().prop_map(|timer| Event::Expired { timer }),
        two().prop_map(|(version, capacity)| Event::Resize { version, capacity }),
        Just(Event::Leave),
        Just(Event::Resume),
    ];
    Effect<Message> = prop_oneof![
        two().prop_map(|(to, message)| Effect::Send { to, message }),
        Draw::draw().prop_map(|message| Effect::Multicast { to: vec![NodeId(1), NodeId(3)], message }),
        Draw::draw().prop_map(|message| Effect::Broadcast { message }),
        Draw::draw().prop_map(|grant| Effect::Granted { grant }),
        two().prop_map(|(timer, after)| Effect::Arm { timer, after }),
        two().prop_map(|(from, reason)| Effect::Reject { from, reason }),
    ];
    What<Message> = prop_oneof![
        4 => Draw::draw().prop_map(What::Event),
        1 => Draw::draw().prop_map(What::Link),
        1 => (Draw::draw(), Draw::draw(), Draw::draw()).prop_map(|(node, position, velocity)| {
            What::Move(Move { node, position, velocity, gone: false, crashed: false })
        }),
        1 => Draw::draw().prop_map(What::Lost),
        1 => (Draw::draw(), Draw::draw(), Draw::draw()).prop_map(|(name, position, view)| {
            What::Join(NodeInfo { id: NodeId(0), name, position, view, resumed: false })
        }),
    ];
    View = ((Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw()),
        (Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw()))
        .prop_map(|((role, height, token, keeps_copy, by_permission, leaving, capacity), rest)| {
            let (neighbours, queue, waiting, holding, captain, followers, asked, returning) = rest;
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
                capacity,
                leaving,
                captain,
                followers,
            }
        });
    Header = {
        let places = vec((Draw::draw(), Draw::draw(), Draw::draw()), NODES as usize);
        let words = (Draw::draw(), Draw::draw(), Draw::draw(), Draw::draw());
        (words, Draw::draw(), Draw::draw(), Draw::draw(), places, Draw::draw()).prop_map(
            |((protocol, variant, made_by, replay), source, parameters, seed, places, links)| {
                let node =
                    |(id, (name, position, view))| NodeInfo { id: NodeId(id), name, position, view, resumed: id == 1 };
                let nodes = (0..).zip(places).map(node).collect();
                Header { source, protocol, variant, parameters, seed, made_by, replay, nodes, links }
            },
        )
    };
}

impl<T: Draw> Draw for Option<T> {
    fn draw() -> BoxedStrategy<Self> {
        option::of(T::draw()).boxed()
    }
}

impl<T: Draw> Draw for Vec<T> {
    fn draw() -> BoxedStrategy<Self> {
        vec(T::draw(), 0..4).boxed()
    }
}
