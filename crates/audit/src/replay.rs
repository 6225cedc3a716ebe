//! Event by event through the protocol.

use std::collections::BTreeMap;
use std::io::BufRead;

use meshlock_core::recovery::Remake;
use meshlock_core::{Event, Fence, Misuse, NodeId, Protocol, View};
use meshlock_properties::{Violation, Watcher};
use meshlock_trace::{End, Happening, NodeInfo, Reader, Source, TraceError, UnderWay, What};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::setup::Setup;
use super::{AuditError, Audited, Difference, Skipped};

pub(super) struct Replay<'a, P, F> {
    setup: &'a Setup,
    make: F,
    nodes: BTreeMap<NodeId, Node<P>>,
    under_way: UnderWay,
    watcher: Watcher,
    audited: Audited,
}

struct Node<P> {
    name: String,
    /// None if it cannot be built anew, with the reason.
    value: Result<P, &'static str>,
    /// How it looks, as far as that is known.
    view: Option<View>,
    /// All that it ever sent and received is in the trace.
    is_complete: bool,
    /// It was built with the token, and nothing has happened to it yet.
    begins_with_token: bool,
    skipped: u64,
}

/// What is wrong, before it has a line.
struct Wrong {
    node: Option<NodeId>,
    rule: Option<String>,
    what: String,
}

impl<'a, P, F> Replay<'a, P, F>
where
    P: Protocol,
    P::Message: Serialize + DeserializeOwned,
    F: Fn(NodeId, bool, Fence) -> P,
{
    pub(super) fn new(setup: &'a Setup, make: F) -> Self {
        let under_way = if setup.in_order { UnderWay::new() } else { UnderWay::unordered() };
        let audited = Audited {
            protocol: setup.name.clone(),
            rules: setup.rules.iter().map(|rule| rule.name()).collect(),
            by_wall_clock: setup.by_wall_clock,
            ..Audited::default()
        };
        let watcher = Watcher::new(setup.rules, setup.setting);
        Self { setup, make, nodes: BTreeMap::new(), under_way, watcher, audited }
    }

    pub(super) fn run<R: BufRead>(mut self, mut reader: Reader<R, P::Message>) -> Result<Audited, AuditError> {
        let first = reader.header().nodes.clone();
        let mut verdict = first.iter().try_for_each(|node| self.admit(node));
        while verdict.is_ok() {
            verdict = match reader.next() {
                None | Some(Err(TraceError::CutOff { .. })) => break,
                Some(record) => self.take(record?.what, reader.line()),
            };
        }
        self.audited.ended = reader.has_ended();
        self.audited.difference = verdict.err().map(|Wrong { node, rule, what }| {
            let line = reader.line();
            Difference { line, node, rule, what }
        });
        self.audited.nodes = self.nodes.len() as u64;
        let skipped = self.nodes.into_iter().filter(|(_, node)| node.skipped > 0);
        let skipped = skipped.filter_map(|(id, node)| {
            let reason = node.value.err()?;
            Some(Skipped { node: id, name: node.name, events: node.skipped, reason })
        });
        self.audited.skipped = skipped.collect();
        Ok(self.audited)
    }

    fn take(&mut self, what: What<P::Message>, line: u64) -> Result<(), Wrong> {
        match what {
            What::Event(happening) => self.event(&happening, line),
            What::Join(node) => self.admit(&node),
            What::Lost(lost) => {
                self.under_way.lost(lost.from, lost.to, &lost.message, lost.cause);
                Ok(())
            }
            What::End(End { violation: Some(broken), .. }) => {
                let what = format!("a rule was broken while this was recorded: {}", broken.what);
                Err(Wrong { node: broken.node, rule: Some(broken.rule), what })
            }
            What::End(End { violation: None, .. }) | What::Link(_) | What::Move(_) => Ok(()),
        }
    }

    /// A node of the header, or one that joins.
    fn admit(&mut self, info: &NodeInfo) -> Result<(), Wrong> {
        let is_simulated = self.setup.source == Source::Sim;
        let has_token = match &info.view {
            Some(view) => view.token.is_some(),
            None => is_simulated && self.setup.first == Some(info.id),
        };
        let fresh = (self.make)(info.id, has_token, Fence(0));
        let value = match &info.view {
            _ if info.resumed => Err("it went on from an earlier run"),
            Some(view) if fresh.view() != *view => Err("it had come some way when its recording began"),
            None if !is_simulated => Err("it is not said how it looked when its recording began"),
            Some(_) | None => Ok(fresh),
        };
        let begins_with_token = has_token && value.is_ok();
        let view = value.as_ref().map_or_else(|_| info.view.clone(), |value| Some(value.view()));
        // Links that are up when a recording begins may have carried anything before.
        let is_complete = match &info.view {
            Some(view) => view.neighbours.is_empty(),
            None => is_simulated,
        };
        if !is_complete && info.view.is_none() {
            self.under_way.ignore(info.id);
        }
        for neighbour in view.iter().flat_map(|view| view.neighbours.iter().copied()) {
            // A link that comes up answers nothing.
            let _ = self.under_way.happens::<P::Message>(info.id, &Event::LinkUp { neighbour });
        }
        let verdict = view.as_ref().map_or(Ok(()), |view| self.watcher.begins(info.id, view));
        self.nodes
            .insert(info.id, Node { name: info.name.clone(), value, view, is_complete, begins_with_token, skipped: 0 });
        verdict.map_err(Wrong::from)
    }

    fn event(&mut self, happening: &Happening<P::Message>, line: u64) -> Result<(), Wrong> {
        self.audited.events += 1;
        self.explain(happening)?;
        let id = happening.node;
        // The reader refuses events of nodes that were not introduced.
        let Some(node) = self.nodes.get_mut(&id) else { return Ok(()) };
        // Where a member was gone before the resource was made, another one of this name may have been lost with it. So
        // the fences of a new token begin above all that it can have given.
        if std::mem::take(&mut node.begins_with_token)
            && let Event::Census { census } = &happening.event
            && !census.is_pristine()
        {
            node.value = Ok((self.make)(id, true, Fence(Remake::first_number(census.rank()))));
        }
        let after = match &mut node.value {
            Ok(value) => {
                let result = value.handle(happening.event.clone());
                self.audited.replayed += 1;
                compare(happening, result.as_deref().map_err(|misuse| *misuse))?;
                let view = value.view();
                if let Some(recorded) = happening.view.as_ref().filter(|recorded| **recorded != view) {
                    let what = format!("its view comes out as {}, recorded is {}", text(&view), text(recorded));
                    return Err(Wrong::at(id, what));
                }
                Some(view)
            }
            Err(_) => {
                node.skipped += 1;
                happening.view.clone()
            }
        };
        let before = std::mem::replace(&mut node.view, after);
        if happening.misuse.is_none() {
            let views = before.as_ref().zip(node.view.as_ref());
            self.watcher.step(id, &happening.event, &happening.effects, views)?;
        }
        happening.effects.iter().for_each(|effect| self.under_way.effect(id, effect, line));
        Ok(())
    }

    /// What arrives was sent, and in order; what runs out was armed.
    fn explain(&mut self, happening: &Happening<P::Message>) -> Result<(), Wrong> {
        let (id, event) = (happening.node, &happening.event);
        let is_complete = |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.is_complete);
        let must_be_known = if let Event::Receive { from, .. } = event {
            let known = is_complete(&id) && is_complete(from) && !self.setup.cut_off.contains(from);
            *if known { &mut self.audited.messages } else { &mut self.audited.unchecked_messages } += 1;
            known
        } else {
            // A node that cannot be built anew may have armed timers before.
            self.nodes.get(&id).is_some_and(|node| node.value.is_ok())
        };
        let named = match (event, happening.cause) {
            (Event::Receive { from, message }, Some(cause)) => self.under_way.may_come_from(*from, id, message, cause),
            _ => true,
        };
        let found = self.under_way.happens(id, event);
        if !must_be_known {
            return Ok(());
        }
        let line =
            found.map_err(|unexplained| Wrong::at(id, format!("what happens here has no cause: {unexplained}")))?;
        let same = happening.cause.is_none() || happening.cause == line;
        if !same && (!named || matches!(event, Event::Expired { .. })) {
            let (cause, line) = (happening.cause.unwrap_or_default(), line.unwrap_or_default());
            return Err(Wrong::at(id, format!("line {cause} is named as its cause, but it is line {line}")));
        }
        Ok(())
    }
}

fn compare<M>(recorded: &Happening<M>, result: Result<&[meshlock_core::Effect<M>], Misuse>) -> Result<(), Wrong>
where
    M: PartialEq + Serialize,
{
    let node = recorded.node;
    match (result, recorded.misuse) {
        (Ok(effects), None) if effects == recorded.effects => Ok(()),
        (Ok(effects), None) => {
            let what = format!("its effects come out as {}, recorded are {}", text(&effects), text(&recorded.effects));
            Err(Wrong::at(node, what))
        }
        // The words of this one are not in the trace.
        (Err(Misuse::Unsupported(_)), Some(Misuse::Unsupported(_))) => Ok(()),
        (Err(misuse), Some(other)) if misuse == other && recorded.effects.is_empty() => Ok(()),
        (Err(misuse), _) => Err(Wrong::at(node, format!("it comes out as a caller's mistake: {misuse}"))),
        (Ok(_), Some(misuse)) => {
            Err(Wrong::at(node, format!("recorded is a caller's mistake ({misuse}), but it comes out as none")))
        }
    }
}

/// As it would stand in the trace.
fn text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}

impl Wrong {
    fn at(node: NodeId, what: String) -> Self {
        Self { node: Some(node), rule: None, what }
    }
}

impl From<Violation> for Wrong {
    fn from(Violation { rule, node, what }: Violation) -> Self {
        Self { node, rule: Some(rule.name().to_owned()), what }
    }
}
