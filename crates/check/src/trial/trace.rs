//! A counterexample in the trace format.

use meshlock_core::Protocol;
use meshlock_trace::{At, End, Happening, Header, Link, Lost, NodeInfo, Record, Source, Violation, What, Writer};
use serde::Serialize;

use crate::action::Action;
use crate::counterexample::Step;
use crate::report::Broken;
use crate::spec::{Spec, Variant};

/// The whole trace as text.
pub(super) fn write<P>(spec: &Spec, broken: &Broken<P>, seed: Option<u64>, replay: &str) -> String
where
    P: Protocol,
    P::Message: Serialize,
{
    let mut writer =
        Writer::new(Vec::new(), &header(spec, broken, seed, replay)).expect("a header of our own is sound");
    let counterexample = &broken.counterexample;
    for (number, step) in (1..).zip(&counterexample.steps) {
        for what in happenings(step) {
            writer.write(&Record { at: At::Step(number), what }).expect("a step of our own is sound");
        }
    }
    let last = counterexample.steps.len() as u64;
    let violation = Violation {
        rule: broken.finding.rule().map_or("protocol", |rule| rule.name()).to_string(),
        node: broken.finding.node(),
        what: broken.finding.to_string(),
    };
    let repeats_from = counterexample.cycle_from.map(|from| from as u64 + 1);
    let end = End { violation: Some(violation), repeats_from, ..End::default() };
    let end: Record<P::Message> = Record { at: At::Step(last), what: What::End(end) };
    writer.write(&end).expect("an end of our own is sound");
    let bytes = writer.finish().expect("writing into memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn header<P: Protocol>(spec: &Spec, broken: &Broken<P>, seed: Option<u64>, replay: &str) -> Header {
    let variant = match &spec.variant {
        Variant::Repaired if spec.subject.is_baseline() => "baseline",
        Variant::Repaired => "repaired",
        Variant::Published { .. } => "published",
    };
    let node =
        |node: &P| NodeInfo { view: Some(node.view()), ..NodeInfo::new(node.id().0, format!("node {}", node.id())) };
    let nodes = broken.counterexample.start.iter().map(node).collect();
    let up = spec.topology.links().iter().filter(|link| !spec.down.contains(link));
    let links =
        if spec.subject.is_any_to_any() { Vec::new() } else { up.map(|link| (link.low(), link.high())).collect() };
    let mut header = Header::new(Source::Check, spec.subject.name(), variant, nodes, links);
    let mut set = |name: &str, value: serde_json::Value| header.parameters.insert(name.to_string(), value);
    set("topology", spec.topology.to_string().into());
    set("capacity", spec.setting().capacity.0.into());
    if let Variant::Published { repairs } = &spec.variant {
        set("repairs", repairs.clone().into());
    }
    header.seed = seed;
    header.made_by = Some(format!("meshlock check {}", env!("CARGO_PKG_VERSION")));
    header.replay = Some(replay.to_string());
    header
}

/// What a step is in the words of a trace: the link, the events, what was lost.
fn happenings<P: Protocol>(step: &Step<P>) -> Vec<What<P::Message>> {
    let mut all = Vec::new();
    match (step.action, step.link) {
        (Action::Cut { .. }, Some(between)) => all.push(What::Link(Link { between, up: false })),
        (Action::Form { .. }, Some(between)) => all.push(What::Link(Link { between, up: true })),
        _ => {}
    }
    for m in &step.moves {
        let happening =
            Happening { effects: m.effects.clone(), view: Some(m.view()), ..Happening::new(m.node, m.event.clone()) };
        all.push(What::Event(happening));
    }
    for lost in &step.vanished {
        let (from, to, message) = (lost.from, lost.to, lost.message.clone());
        all.push(What::Lost(Lost { from, to, message, cause: None }));
    }
    all
}
