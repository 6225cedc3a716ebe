//! The states that were stepped through, as a tree of paths.

use std::collections::BTreeMap;

use meshlock_trace::{At, Header, Record};

use super::{Choice, MOST_STEPS, Place, StepError, Wrong};
use crate::action::Action;
use crate::counterexample::{Step, recorded};
use crate::finding::Finding;
use crate::model::{Model, ModelError};
use crate::render;
use crate::space::{Applied, Row, Space};
use crate::spec::Spec;
use crate::trial::causes::Causes;
use crate::trial::trace::{self, HEADER_LINE};

/// When the cache holds this many states, it is emptied together with the tables.
pub(super) const MOST_VISITED: usize = if cfg!(test) { 500 } else { 20_000 };

/// A model with everything that was seen of it.
pub(super) struct Known {
    header: Header,
    space: Space,
    /// The start is the first.
    visited: Vec<Visited>,
}

/// A state at the end of a path.
struct Visited {
    row: Box<Row>,
    /// What the step that leads here is in a trace.
    records: Vec<Record>,
    /// The last line of the trace up to here.
    line: u64,
    /// What is in flight in that trace.
    causes: Causes,
    broken: Option<Finding>,
    /// The step that leads here was a mistake, so nothing follows.
    is_end: bool,
    /// What may happen here, computed on the first request.
    possible: Option<Vec<Action>>,
    /// Where it leads, by its number.
    after: BTreeMap<u32, usize>,
}

impl Known {
    pub(super) fn new(
        spec: &Spec,
        model: Model,
        reduce: bool,
        canonical: bool,
        replay: &str,
    ) -> Result<Self, ModelError> {
        let header = trace::header(spec, &model.nodes, None, replay);
        let mut known = Self { header, space: Space::new(model, reduce, canonical)?, visited: Vec::new() };
        known.begin();
        Ok(known)
    }

    fn begin(&mut self) {
        let row = self.space.start();
        let broken = self.space.check(&row).err();
        let causes = Causes::new(self.space.reductions().1);
        self.visited.clear();
        self.visited.push(Visited {
            row,
            records: Vec::new(),
            line: HEADER_LINE,
            causes,
            broken,
            is_end: false,
            possible: None,
            after: BTreeMap::new(),
        });
    }

    /// Empties the cache if it is full.
    fn make_room(&mut self) {
        if self.visited.len() > MOST_VISITED {
            let (reduce, canonical) = self.space.reductions();
            if let Ok(fresh) = Space::new(self.space.model.clone(), reduce, canonical) {
                self.space = fresh;
            }
            self.begin();
        }
    }

    /// What may happen at a state: everything that is really possible, and everything that is a mistake.
    fn possible(&mut self, at: usize) -> &[Action] {
        if self.visited[at].possible.is_none() {
            let mut actions = Vec::new();
            if !self.visited[at].is_end {
                let row = &self.visited[at].row;
                let mut next = row.clone();
                self.space.enabled(row, &mut actions);
                actions.retain(|action| {
                    let applied = self.space.apply(row, *action, &mut next);
                    !matches!(applied, Ok(Applied::Impossible | Applied::MustWait))
                });
            }
            self.visited[at].possible = Some(actions);
        }
        self.visited[at].possible.as_deref().unwrap_or_default()
    }

    /// The state one step further.
    fn go(&mut self, at: usize, number: u32, action: Action, step: usize) -> usize {
        if let Some(known) = self.visited[at].after.get(&number) {
            return *known;
        }
        let here = &self.visited[at];
        let mut row = here.row.clone();
        let (applied, happened) = recorded(&mut self.space, &here.row, action, &mut row);
        let mut causes = here.causes.clone();
        let happenings = trace::happenings(&happened, &mut causes, here.line + 1);
        let record = |what| Record { at: At::Step(step as u64), what: trace::untyped(what) };
        let records: Vec<Record> = happenings.into_iter().map(record).collect();
        let line = here.line + records.len() as u64;
        let is_end = applied.is_err();
        let broken = applied.err().or_else(|| self.space.check(&row).err());
        let (possible, after) = (None, BTreeMap::new());
        self.visited.push(Visited { row, records, line, causes, broken, is_end, possible, after });
        let there = self.visited.len() - 1;
        self.visited[at].after.insert(number, there);
        there
    }

    /// The states along a path, with the start.
    fn follow(&mut self, path: &[u32]) -> Result<Vec<usize>, StepError> {
        if path.len() > MOST_STEPS {
            return Err(StepError::TooLong(path.len()));
        }
        self.make_room();
        let mut way = vec![0];
        let mut at = 0;
        for (step, number) in (1..).zip(path.iter().copied()) {
            let possible = self.possible(at);
            let choices = possible.len();
            let action = possible.get(number as usize).copied();
            let action = action.ok_or(StepError::NoSuchStep { step, number, choices })?;
            at = self.go(at, number, action, step);
            way.push(at);
        }
        Ok(way)
    }

    fn choice(&mut self, at: usize, action: Action) -> Choice {
        let here = &self.visited[at];
        let mut next = here.row.clone();
        let (applied, step) = recorded(&mut self.space, &here.row, action, &mut next);
        let finding = applied.err().or_else(|| self.space.check(&next).err());
        let broken = here.broken.as_ref().map(Finding::rule_name);
        let breaks = finding.map(|finding| finding.rule_name()).filter(|rule| Some(*rule) != broken);
        Choice { action, label: render::label(&step), node: node_of(&step), breaks }
    }
}

/// Where a step happens; a change of a link is not at one node.
fn node_of(step: &Step) -> Option<u32> {
    let at_one = !matches!(step.action, Action::Cut { .. } | Action::Form { .. });
    step.moves.first().filter(|_| at_one).map(|made| made.node.0)
}

impl Known {
    pub(super) fn at(&mut self, path: &[u32]) -> Result<Place, StepError> {
        let way = self.follow(path)?;
        let at = way.last().copied().unwrap_or(0);
        let actions = self.possible(at).to_vec();
        let next = actions.into_iter().map(|action| self.choice(at, action)).collect();
        let records = way.iter().flat_map(|place| &self.visited[*place].records).cloned().collect();
        let here = &self.visited[at];
        Ok(Place {
            header: self.header.clone(),
            records,
            next,
            broken: here.broken.as_ref().map(Wrong::of),
            quiet: !here.is_end && self.space.is_quiet(&here.row),
        })
    }

    pub(super) fn path(&mut self, run: &[Action]) -> Result<Vec<u32>, StepError> {
        if run.len() > MOST_STEPS {
            return Err(StepError::TooLong(run.len()));
        }
        self.make_room();
        let mut path = Vec::with_capacity(run.len());
        let mut at = 0;
        for (step, action) in (1..).zip(run.iter().copied()) {
            let found = self.possible(at).iter().position(|possible| *possible == action);
            let number = found.and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or(StepError::NoSuchAction { step, action })?;
            at = self.go(at, number, action, step);
            path.push(number);
        }
        Ok(path)
    }
}
