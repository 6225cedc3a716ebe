//! How all nodes are doing: a question goes to each node once, reports come back the way it came.
//!
//! Every node passes the question on to its other neighbours, and tells the one it came from when all of them are done
//! (a neighbour that asks the same is done as far as we are concerned). So the asker knows when it has heard of all, and
//! needs its patience only when a link breaks on the way.
//!
//! A question ends. Its asker numbers its questions, and every node remembers for every member which of its numbers were
//! met: the greatest, and which of the 63 below. What was met is answered with `Done` and never passed on again, so each
//! node passes a question on at most once, whatever others ask, and it crosses at most [`MOST_HOPS`] links. Nothing of
//! one asker can displace anything of another: there is one short memory for each member, of its latest incarnation. An
//! earlier one is dead and does not wait for answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use meshlock_api::{MeshStatus, Problem};
use meshlock_core::NodeId;
use meshlock_core::relay::Window;

use super::alarms::Alarm;
use super::answers::{Answers, Gathered};
use super::reports::Cursor;
use super::{Machine, Now};
use crate::mesh::Member;
use crate::wire::{About, Fact, Frame, MOST_FACTS, Query, Report, encode};

/// How many links a question crosses.
const MOST_HOPS: u16 = 1_024;
/// How many questions of this node are under way at a time. The next ones wait for their turn.
const MOST_ASKED: usize = 8;
/// How many questions of one other node are under way here. The oldest of that node is given up for the next.
const MOST_OPEN: usize = 64;
/// How many bytes of reports are passed on for one question.
const MOST_RELAYED: usize = 4 << 20;
/// Between two parts of a report others have their turn.
const BETWEEN_PARTS_NS: u64 = 100_000;

/// Questions that are under way, and which were met.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    last: u64,
    askers: BTreeMap<Member, Asker>,
    /// What this node wants to know, by a number that others never see.
    mine: BTreeMap<u64, Mine>,
    last_mine: u64,
    /// Those of them that were asked, by the number of the question.
    asked: BTreeMap<u64, u64>,
    /// Those that wait for their turn.
    line: VecDeque<u64>,
}

/// The questions of one member.
#[derive(Debug)]
struct Asker {
    id: NodeId,
    met: Window,
    open: BTreeMap<u64, Open>,
}

/// A question that was passed on and is not answered by all nodes yet.
#[derive(Debug)]
struct Open {
    /// Whom it came from; `None` at the asker.
    parent: Option<NodeId>,
    /// Neighbours that are not done yet.
    pending: BTreeSet<NodeId>,
    about: About,
    /// What this node has still to report.
    report: Option<Cursor>,
    /// How many bytes were passed on.
    relayed: usize,
}

#[derive(Debug)]
struct Mine {
    about: About,
    answers: Answers,
    waker: Option<Waker>,
}

impl Machine {
    /// Asks all nodes about one resource or all. Look with [`poll_query`](Self::poll_query), then
    /// [`end_query`](Self::end_query).
    pub fn begin_query(&mut self, resource: Option<&str>) -> Result<u64, Problem> {
        let about = self.about(resource)?;
        Ok(self.ask_everybody(about))
    }

    /// What is to be asked about one resource or all.
    pub fn about(&self, resource: Option<&str>) -> Result<About, Problem> {
        let number = |name: &str| {
            let unknown = || Problem::unknown(format!("there is no resource {name:?}"));
            self.names.get(name).copied().ok_or_else(unknown)
        };
        Ok(About::Requests(resource.map(number).transpose()?))
    }

    /// Asks all nodes, now or as soon as it is this question's turn.
    pub(crate) fn ask_everybody(&mut self, about: About) -> u64 {
        self.queries.last_mine += 1;
        let mine = self.queries.last_mine;
        self.queries.mine.insert(mine, Mine { about, answers: Answers::default(), waker: None });
        self.queries.line.push_back(mine);
        self.ask_next_in_line();
        mine
    }

    /// Never from within [`pass_query`](Self::pass_query): a long line must not become a deep stack.
    fn ask_next_in_line(&mut self) {
        while self.queries.asked.len() < MOST_ASKED
            && let Some(next) = self.queries.line.pop_front()
        {
            let Some(mine) = self.queries.mine.get(&next) else { continue };
            let about = mine.about.clone();
            self.queries.last += 1;
            let query = Query { origin: self.settings.id, number: self.queries.last, hops: 0, about };
            self.queries.asked.insert(query.number, next);
            self.pass_query(None, query);
        }
    }

    /// Notes a question that was never met, and passes it on to all neighbours but the one it came from.
    fn pass_query(&mut self, parent: Option<NodeId>, mut query: Query) {
        let (origin, number) = (query.origin, query.number);
        query.hops = query.hops.saturating_add(1);
        let goes_on = query.hops <= MOST_HOPS;
        let others = self.neighbours.keys().copied().filter(|id| goes_on && Some(*id) != parent);
        let pending: BTreeSet<NodeId> = others.collect();
        let frame = encode(&Frame::Query(query.clone()));
        for neighbour in &pending {
            self.post(*neighbour, &frame);
        }
        let report = parent.map(|_| Cursor::default());
        let open = Open { parent, pending, about: query.about, report, relayed: 0 };
        let asker = self.queries.askers.entry(Member::of(origin)).or_insert_with(|| Asker::new(origin));
        if asker.id != origin {
            *asker = Asker::new(origin);
        }
        asker.met.add(number);
        let oldest = if asker.open.len() >= MOST_OPEN { asker.open.pop_first() } else { None };
        asker.open.insert(number, open);
        if let Some((given_up, Open { parent: Some(parent), .. })) = oldest {
            self.tell_done(parent, origin, given_up);
        }
        self.finish_if_done(origin, number);
    }

    pub(crate) fn on_query(&mut self, now: Now, from: NodeId, query: Query) {
        let (origin, number) = (query.origin, query.number);
        if let Some(asker) = self.queries.askers.get_mut(&Member::of(origin)) {
            let is_met = asker.id == origin && asker.met.has(number);
            if let Some(open) = asker.open.get_mut(&number).filter(|_| is_met)
                && open.pending.remove(&from)
            {
                // It went over this link in both directions at once.
                self.finish_if_done(origin, number);
                return self.ask_next_in_line();
            }
            if is_met || asker.id > origin {
                return self.tell_done(from, origin, number);
            }
        }
        if let About::Revoke(wanted) = &query.about {
            self.revoke_here(now, &wanted.clone());
        }
        self.pass_query(Some(from), query);
        self.report_more(now, origin, number);
    }

    /// The next part of what this node has to say to a question.
    pub(crate) fn report_more(&mut self, now: Now, origin: NodeId, number: u64) {
        let Some(open) = self.open_query(origin, number) else { return };
        let (Some(parent), Some(mut cursor)) = (open.parent, open.report.take()) else { return };
        let about = open.about.clone();
        let facts = self.facts(now, &about, &mut cursor);
        let last = cursor.is_done();
        let me = (self.settings.id, self.settings.name.clone());
        for report in parts(facts, last, (origin, number), me) {
            let frame = encode(&Frame::Report(report));
            self.post(parent, &frame);
        }
        if last {
            return self.finish_if_done(origin, number);
        }
        if let Some(open) = self.open_query(origin, number) {
            open.report = Some(cursor);
            self.alarms.set(Now(now.0.saturating_add(BETWEEN_PARTS_NS)), Alarm::Report(origin, number));
        }
    }

    pub(crate) fn on_report(&mut self, now: Now, report: Report) {
        if report.facts.len() > MOST_FACTS {
            return self.note(format!("ignored a report of node {} that is too long", report.node));
        }
        if report.origin == self.settings.id {
            self.note_reported(now, &report);
            let mine = self.queries.asked.get(&report.number).and_then(|mine| self.queries.mine.get_mut(mine));
            if let Some(mine) = mine {
                mine.answers.add(report);
            }
            return;
        }
        let Some(open) = self.open_query(report.origin, report.number) else { return };
        let Some(parent) = open.parent else { return };
        let frame = encode(&Frame::Report(report));
        open.relayed = open.relayed.saturating_add(frame.len());
        // What is left out is missed: the last part does not come, or says that others did not.
        if open.relayed <= MOST_RELAYED {
            self.post(parent, &frame);
        }
    }

    pub(crate) fn on_done(&mut self, from: NodeId, origin: NodeId, number: u64) {
        if self.open_query(origin, number).is_some_and(|open| open.pending.remove(&from)) {
            self.finish_if_done(origin, number);
            self.ask_next_in_line();
        }
    }

    fn finish_if_done(&mut self, origin: NodeId, number: u64) {
        let Some(asker) = self.queries.askers.get_mut(&Member::of(origin)).filter(|asker| asker.id == origin) else {
            return;
        };
        let is_done = |open: &Open| open.pending.is_empty() && open.report.is_none();
        if !asker.open.get(&number).is_some_and(is_done) {
            return;
        }
        let Some(done) = asker.open.remove(&number) else { return };
        match done.parent {
            Some(parent) => self.tell_done(parent, origin, number),
            None => {
                let mine = self.queries.asked.remove(&number).and_then(|mine| self.queries.mine.get_mut(&mine));
                if let Some(mine) = mine {
                    mine.answers.is_complete = true;
                    self.woken.extend(mine.waker.take());
                }
            }
        }
    }

    fn tell_done(&mut self, to: NodeId, origin: NodeId, number: u64) {
        let frame = encode(&Frame::Done { origin, number });
        self.post(to, &frame);
    }

    fn open_query(&mut self, origin: NodeId, number: u64) -> Option<&mut Open> {
        let asker = self.queries.askers.get_mut(&Member::of(origin)).filter(|asker| asker.id == origin)?;
        asker.open.get_mut(&number)
    }

    pub(crate) fn query_link_down(&mut self, gone: NodeId) {
        let mut waited = Vec::new();
        for asker in self.queries.askers.values_mut() {
            // Whom the question came from is gone, and with it the way back.
            asker.open.retain(|_, open| open.parent != Some(gone));
            let waits =
                asker.open.iter_mut().filter_map(|(number, open)| open.pending.remove(&gone).then_some(*number));
            waited.extend(waits.map(|number| (asker.id, number)));
        }
        for (origin, number) in waited {
            self.finish_if_done(origin, number);
        }
        self.ask_next_in_line();
    }

    /// Whether all nodes have answered; otherwise wakes when they have.
    pub fn poll_query(&mut self, mine: u64, waker: &Waker) -> bool {
        let Some(mine) = self.queries.mine.get_mut(&mine) else { return true };
        if !mine.answers.is_complete {
            mine.waker = Some(waker.clone());
        }
        mine.answers.is_complete
    }

    /// Whether all nodes have answered.
    pub(crate) fn is_answered(&self, mine: u64) -> bool {
        self.queries.mine.get(&mine).is_none_or(|mine| mine.answers.is_complete)
    }

    /// What was answered until now, with what this node knows itself. The question is forgotten.
    pub fn end_query(&mut self, now: Now, mine: u64, resource: Option<&str>) -> MeshStatus {
        let answers = self.take_answers(mine);
        let about = self.about(resource).unwrap_or(About::Tokens(Vec::new()));
        let mut gathered = self.gather(now, Some(answers));
        while !self.gather_more(now, &about, &mut gathered) {}
        gathered.assemble()
    }

    /// What was answered until now. The question is forgotten.
    pub(crate) fn take_answers(&mut self, mine: u64) -> Answers {
        let ended = self.queries.mine.remove(&mine);
        self.queries.asked.retain(|_, other| *other != mine);
        self.queries.line.retain(|other| *other != mine);
        self.ask_next_in_line();
        ended.map(|mine| mine.answers).unwrap_or_default()
    }

    /// The asker has given up.
    pub fn forget_query(&mut self, mine: u64) {
        self.take_answers(mine);
    }

    /// Adds a bounded part of what this node knows to what others answered. True when there is nothing to add.
    pub(crate) fn gather_more(&self, now: Now, about: &About, gathered: &mut Gathered) -> bool {
        if !gathered.own.is_done() {
            let facts = self.facts(now, about, &mut gathered.own);
            gathered.add_own(facts);
            return false;
        }
        self.entries_after(about, gathered)
    }

    /// How many questions this node asks, and how many questions of all nodes are under way here.
    #[cfg(test)]
    pub(crate) fn open_queries(&self) -> (usize, usize) {
        (self.queries.mine.len(), self.queries.askers.values().map(|asker| asker.open.len()).sum())
    }

    pub(crate) fn last_query(&self) -> u64 {
        self.queries.last
    }

    pub(crate) fn go_on_after_query(&mut self, number: u64) {
        self.queries.last = number;
    }
}

impl Asker {
    fn new(id: NodeId) -> Self {
        Self { id, met: Window::default(), open: BTreeMap::new() }
    }
}

/// What a node has to say, each part short enough for one frame. There is always one, for the name.
fn parts(
    facts: Vec<Fact>,
    last: bool,
    (origin, number): (NodeId, u64),
    (node, name): (NodeId, String),
) -> impl Iterator<Item = Report> {
    let count = facts.len().div_ceil(MOST_FACTS).max(1);
    let mut facts = facts.into_iter();
    (1..=count).map(move |part| Report {
        origin,
        number,
        node,
        name: name.clone(),
        last: last && part == count,
        facts: facts.by_ref().take(MOST_FACTS).collect(),
    })
}
