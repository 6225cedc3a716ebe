//! A run in the trace format.

use meshlock_core::{Effect, Event, NodeId, Protocol};
use meshlock_protocols::{Message, Node, Text};
use meshlock_trace::{At, End, Happening, Header, Link, Lost, NodeInfo, Record, Source, Violation, What, Writer};
use serde::Serialize;
use serde_json::Value;

use super::causes::Causes;
use crate::action::Action;
use crate::counterexample::Step;
use crate::report::Broken;
use crate::spec::Spec;

/// The whole trace of a run that breaks a rule, as text.
pub(super) fn write(spec: &Spec, broken: &Broken, seed: Option<u64>, replay: &str) -> String {
    let counterexample = &broken.counterexample;
    let header = header(spec, &counterexample.start, seed, replay);
    let mut writer = Writer::new(Vec::new(), &header).expect("a header of our own is sound");
    let mut causes = Causes::new(counterexample.renumbered);
    let mut line = HEADER_LINE;
    for (number, step) in (1..).zip(&counterexample.steps) {
        for what in happenings(step, &mut causes, line + 1) {
            line = writer.write(&Record { at: At::Step(number), what }).expect("a step of our own is sound");
        }
    }
    let last = counterexample.steps.len() as u64;
    let violation = Violation {
        rule: broken.finding.rule_name().to_string(),
        node: broken.finding.node(),
        what: broken.finding.to_string(),
    };
    let repeats_from = counterexample.cycle_from.map(|from| from as u64 + 1);
    let end = End { violation: Some(violation), repeats_from, ..End::default() };
    let end: Record<Message> = Record { at: At::Step(last), what: What::End(end) };
    writer.write(&end).expect("an end of our own is sound");
    let bytes = writer.finish().expect("writing into memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Lines are counted from 1, with the header.
pub(crate) const HEADER_LINE: u64 = 1;

/// The header of a trace of a model, with the nodes as they are at the start.
pub(crate) fn header(spec: &Spec, start: &[Node], seed: Option<u64>, replay: &str) -> Header {
    let variant = match &spec.text {
        Text::Repaired if spec.subject.is_baseline() => "baseline",
        Text::Repaired => "repaired",
        Text::Published { .. } => "published",
    };
    let node =
        |node: &Node| NodeInfo { view: Some(node.view()), ..NodeInfo::new(node.id().0, format!("n{}", node.id())) };
    let nodes = start.iter().map(node).collect();
    let up = spec.topology.links().iter().filter(|link| !spec.down.contains(link));
    let links = if spec.subject.speaks_to_neighbours() {
        up.map(|link| (link.low(), link.high())).collect()
    } else {
        Vec::new()
    };
    let mut header = Header::new(Source::Check, spec.subject.name(), variant, nodes, links);
    let mut set = |name: &str, value: Value| header.parameters.insert(name.to_string(), value);
    set("topology", spec.topology.to_string().into());
    set("capacity", spec.setting().capacity.0.into());
    if let Text::Published { repairs } = &spec.text {
        set("repairs", repairs.clone().into());
    }
    if !spec.readings.is_empty() {
        set("readings", spec.readings.clone().into());
    }
    header.seed = seed;
    header.made_by = Some(format!("meshlock check {}", env!("CARGO_PKG_VERSION")));
    header.replay = Some(replay.to_string());
    header
}

/// What a step is in the words of a trace, from this line on: the link, the events, what was lost.
pub(crate) fn happenings(step: &Step, causes: &mut Causes, first_line: u64) -> Vec<What<Message>> {
    let mut all = Vec::new();
    match (step.action, step.link) {
        (Action::Cut { .. }, Some(between)) => all.push(What::Link(Link { between, up: false })),
        (Action::Form { .. }, Some(between)) => all.push(What::Link(Link { between, up: true })),
        (Action::Stop { node } | Action::Start { node }, _) => {
            let own = step.moves.iter().filter(|made| made.node.0 == u32::from(node));
            all.extend(own.filter_map(|made| link_of(made.node, &made.event)).map(What::Link));
        }
        _ => {}
    }
    for (place, made) in step.moves.iter().enumerate() {
        let cause = causes.moves(step, place, made, first_line + all.len() as u64);
        let (effects, view) = (made.effects.clone(), Some(made.view()));
        all.push(What::Event(Happening { effects, view, cause, ..Happening::new(made.node, made.event.clone()) }));
    }
    for lost in &step.vanished {
        let cause = causes.vanishes(step, lost);
        let (from, to, message) = (lost.from, lost.to, lost.message.clone());
        all.push(What::Lost(Lost { from, to, message, cause }));
    }
    all
}

/// The change of a link that a node is told about.
fn link_of<M>(node: NodeId, event: &Event<M>) -> Option<Link> {
    let up = matches!(event, Event::LinkUp { .. });
    let (Event::LinkUp { neighbour } | Event::LinkDown { neighbour }) = event else { return None };
    Some(Link { between: (node.min(*neighbour), node.max(*neighbour)), up })
}

/// The same with messages as a viewer reads them.
pub(crate) fn untyped<M: Serialize>(what: What<M>) -> What {
    let value = |message: M| serde_json::to_value(message).unwrap_or(Value::Null);
    match what {
        What::Event(Happening { node, event, effects, misuse, view, cause }) => {
            let effects = effects.into_iter().map(|effect| untyped_effect(effect, value)).collect();
            What::Event(Happening { node, event: Event::map(event, value), effects, misuse, view, cause })
        }
        What::Lost(Lost { from, to, message, cause }) => What::Lost(Lost { from, to, message: value(message), cause }),
        What::Link(link) => What::Link(link),
        What::Move(moved) => What::Move(moved),
        What::Join(node) => What::Join(node),
        What::End(end) => What::End(end),
    }
}

fn untyped_effect<M>(effect: Effect<M>, value: impl FnOnce(M) -> Value) -> Effect<Value> {
    match effect {
        Effect::Send { to, message } => Effect::Send { to, message: value(message) },
        Effect::Multicast { to, message } => Effect::Multicast { to, message: value(message) },
        Effect::Broadcast { message } => Effect::Broadcast { message: value(message) },
        Effect::Granted { grant } => Effect::Granted { grant },
        Effect::Arm { timer, after } => Effect::Arm { timer, after },
        Effect::Reject { from, reason } => Effect::Reject { from, reason },
    }
}
