//! A run that shows what is wrong, step by step, for rendering and for trace files.

use std::fmt;

use meshlock_core::view::View;
use meshlock_core::{Effect, Event, NodeId, Protocol};
use meshlock_protocols::{Message, Node};

use crate::action::Action;
use crate::finding::Finding;
use crate::render;
use crate::space::{Applied, Noted, Row, Space};

/// A run from the start of a model.
#[derive(Clone, Debug)]
pub struct Counterexample {
    pub start: Vec<Node>,
    pub steps: Vec<Step>,
    /// If the run is infinite: the steps from this place on (counted from 0) repeat.
    pub cycle_from: Option<usize>,
    /// Counters were renumbered after each step, so that a message may not arrive as it was sent.
    pub renumbered: bool,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub action: Action,
    /// The link that changed or was noticed to be cut, if it was one.
    pub link: Option<(NodeId, NodeId)>,
    /// The events that nodes handled, in order: one, two for a change of a link, none for a loss, several for a stop.
    pub moves: Vec<Move>,
    pub sent: Vec<Sent>,
    /// The messages that were lost or removed in this step.
    pub vanished: Vec<Vanished>,
}

/// One event at one node.
#[derive(Clone, Debug)]
pub struct Move {
    pub node: NodeId,
    pub event: Event<Message>,
    pub effects: Vec<Effect<Message>>,
    pub before: Node,
    pub after: Node,
}

impl Move {
    pub fn view_before(&self) -> View {
        self.before.view()
    }

    pub fn view(&self) -> View {
        self.after.view()
    }
}

#[derive(Clone, Debug)]
pub struct Sent {
    /// By which of [`Step::moves`].
    pub by: usize,
    pub from: NodeId,
    pub to: NodeId,
    pub message: Message,
}

/// A message that will not be delivered.
#[derive(Clone, Debug)]
pub struct Vanished {
    pub from: NodeId,
    pub to: NodeId,
    pub message: Message,
    pub fate: Fate,
}

/// Why a message is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was lost on the way.
    Lost,
    Cut,
    /// The receiver would ignore it now and later, so it was removed.
    Stale,
}

impl Counterexample {
    /// Follows a path of actions from the start, with the numbers as they are if possible.
    pub(crate) fn replay(space: &Space, path: &[Action], cycle_from: Option<usize>) -> Self {
        let (reduce, canonical) = space.reductions();
        let follow = |canonical| follow(space, reduce, canonical, path);
        // Without order in channels, places depend on the content of messages, so there the renumbered states are shown.
        let plain = if canonical && space.model.fifo { follow(false) } else { None };
        let renumbered = canonical && plain.is_none();
        let steps = plain.or_else(|| follow(canonical)).unwrap_or_default();
        Self { start: space.model.nodes.clone(), steps, cycle_from, renumbered }
    }
}

/// The steps of a path; `None` if it cannot be followed to its end.
fn follow(space: &Space, reduce: bool, canonical: bool, path: &[Action]) -> Option<Vec<Step>> {
    let mut space = Space::new(space.model.clone(), reduce, canonical).ok()?;
    let mut row = space.start();
    let mut next = row.clone();
    let mut steps = Vec::with_capacity(path.len());
    for (place, action) in path.iter().enumerate() {
        let (applied, step) = recorded(&mut space, &row, *action, &mut next);
        match applied {
            Ok(Applied::Made { .. }) => {}
            Err(_) if place + 1 == path.len() => {}
            Ok(Applied::Impossible | Applied::MustWait) | Err(_) => return None,
        }
        steps.push(step);
        std::mem::swap(&mut row, &mut next);
    }
    Some(steps)
}

/// Makes a step and tells what happened in it.
pub(crate) fn recorded(
    space: &mut Space,
    row: &Row,
    action: Action,
    next: &mut Row,
) -> (Result<Applied, Finding>, Step) {
    space.local.record = Some(Vec::new());
    space.noted = Some(Noted::default());
    let applied = space.apply(row, action, next);
    (applied, told(space, action))
}

fn told(space: &mut Space, action: Action) -> Step {
    let record = space.local.record.take().unwrap_or_default();
    let moves = record.into_iter().map(|(node, event)| {
        let before = space.local.node(node).clone();
        let event = event.map(|message| space.local.message(message).clone());
        let mut after = before.clone();
        let effects = after.handle(event.clone()).unwrap_or_default();
        Move { node: before.id(), event, effects, before, after }
    });
    let moves = moves.collect();
    let Noted { sent, vanished } = space.noted.take().unwrap_or_default();
    let sent = sent.into_iter().map(|sent| {
        let channel = space.layout.channels[sent.channel];
        let message = space.local.message(sent.message).clone();
        Sent { by: sent.by, from: channel.from, to: channel.to, message }
    });
    let sent = sent.collect();
    let vanished = vanished.into_iter().map(|vanished| {
        let channel = space.layout.channels[vanished.channel];
        let message = space.local.message(vanished.message).clone();
        Vanished { from: channel.from, to: channel.to, message, fate: vanished.fate }
    });
    let link = if let Action::Notice { link, .. } | Action::Cut { link } | Action::Form { link } = action {
        let link = space.layout.links[usize::from(link)].link;
        Some((link.low(), link.high()))
    } else {
        None
    };
    Step { action, link, moves, sent, vanished: vanished.collect() }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render::counterexample(self, f)
    }
}
