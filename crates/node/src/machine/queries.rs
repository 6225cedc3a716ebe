//! How everybody is doing: a question goes to everybody once, reports come back the way it came.
//!
//! Every node passes the question on to its other neighbours, and tells the one it came from when all of them are done
//! (a neighbour that asks the same is done as far as we are concerned). So the asker knows when it has heard of all, and
//! needs its patience only when a link breaks on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

use meshlock_api::{Link, MeshStatus, NodeInfo, Problem, ResourceStatus, State, Urgency};
use meshlock_core::NodeId;

use super::registry::REGISTRY;
use super::{Machine, Now};
use crate::wire::{Frame, Query, Report, Row, encode};

/// How many questions are remembered.
const REMEMBERED: usize = 1_024;
/// How many reports are kept for one question.
const MOST_REPORTS: usize = 65_536;

/// Questions that are under way.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    last: u64,
    seen: BTreeMap<(NodeId, u64), Seen>,
    mine: BTreeMap<u64, Answers>,
}

#[derive(Debug)]
struct Seen {
    /// Whom it came from; `None` at the asker.
    parent: Option<NodeId>,
    /// Neighbours that are not done yet.
    pending: BTreeSet<NodeId>,
}

/// What has been answered so far.
#[derive(Debug, Default)]
pub struct Answers {
    reports: Vec<Report>,
    is_complete: bool,
    waker: Option<Waker>,
}

impl Machine {
    /// Asks everybody about one resource or all. Look with [`poll_query`](Self::poll_query), then
    /// [`end_query`](Self::end_query).
    pub fn begin_query(&mut self, resource: Option<&str>) -> Result<u64, Problem> {
        let unknown = |name: &str| Problem::unknown(format!("there is no resource {name:?}"));
        let number = match resource {
            Some(name) => Some(*self.names.get(name).ok_or_else(|| unknown(name))?),
            None => None,
        };
        self.queries.last += 1;
        let query = Query { origin: self.settings.id, number: self.queries.last, resource: number };
        self.queries.mine.insert(query.number, Answers::default());
        self.pass_query(None, query);
        Ok(query.number)
    }

    fn pass_query(&mut self, parent: Option<NodeId>, query: Query) {
        let pending: BTreeSet<NodeId> = self.neighbours.keys().copied().filter(|id| Some(*id) != parent).collect();
        let frame = encode(&Frame::Query(query));
        for neighbour in &pending {
            self.post(*neighbour, &frame);
        }
        if self.queries.seen.len() >= REMEMBERED {
            self.queries.seen.pop_first();
        }
        self.queries.seen.insert((query.origin, query.number), Seen { parent, pending });
        self.finish_if_done(query.origin, query.number);
    }

    pub(crate) fn on_query(&mut self, now: Now, from: NodeId, query: Query) {
        if self.queries.seen.contains_key(&(query.origin, query.number)) {
            return self.on_done(from, query.origin, query.number);
        }
        let report = encode(&Frame::Report(self.report(now, query)));
        self.post(from, &report);
        self.pass_query(Some(from), query);
    }

    pub(crate) fn on_report(&mut self, report: Report) {
        if report.origin == self.settings.id {
            if let Some(answers) = self.queries.mine.get_mut(&report.number)
                && answers.reports.len() < MOST_REPORTS
                && answers.reports.iter().all(|known| known.node != report.node)
            {
                answers.reports.push(report);
            }
            return;
        }
        let parent = self.queries.seen.get(&(report.origin, report.number)).and_then(|seen| seen.parent);
        if let Some(parent) = parent {
            let frame = encode(&Frame::Report(report));
            self.post(parent, &frame);
        }
    }

    pub(crate) fn on_done(&mut self, from: NodeId, origin: NodeId, number: u64) {
        if let Some(seen) = self.queries.seen.get_mut(&(origin, number))
            && seen.pending.remove(&from)
        {
            self.finish_if_done(origin, number);
        }
    }

    fn finish_if_done(&mut self, origin: NodeId, number: u64) {
        let Some(seen) = self.queries.seen.get(&(origin, number)).filter(|seen| seen.pending.is_empty()) else {
            return;
        };
        match seen.parent {
            Some(parent) => {
                let frame = encode(&Frame::Done { origin, number });
                self.post(parent, &frame);
            }
            None => {
                let Some(answers) = self.queries.mine.get_mut(&number) else { return };
                answers.is_complete = true;
                if let Some(waker) = answers.waker.take() {
                    waker.wake();
                }
            }
        }
    }

    pub(crate) fn query_link_down(&mut self, gone: NodeId) {
        let waiting = self.queries.seen.iter_mut().filter_map(|(key, seen)| seen.pending.remove(&gone).then_some(*key));
        let waiting: Vec<(NodeId, u64)> = waiting.collect();
        for (origin, number) in waiting {
            self.finish_if_done(origin, number);
        }
    }

    /// Whether everybody has answered; otherwise wakes when they have.
    pub fn poll_query(&mut self, number: u64, waker: &Waker) -> bool {
        let Some(answers) = self.queries.mine.get_mut(&number) else { return true };
        if !answers.is_complete {
            answers.waker = Some(waker.clone());
        }
        answers.is_complete
    }

    /// What was answered until now. The question is forgotten.
    pub fn end_query(&mut self, now: Now, number: u64, resource: Option<&str>) -> MeshStatus {
        let answers = self.queries.mine.remove(&number).unwrap_or_default();
        let query = Query {
            origin: self.settings.id,
            number,
            resource: resource.and_then(|name| self.names.get(name)).copied(),
        };
        let mut reports = vec![self.report(now, query)];
        reports.extend(answers.reports);
        self.assemble(&reports, query.resource)
    }

    /// Nobody wants to know any more.
    pub fn forget_query(&mut self, number: u64) {
        self.queries.mine.remove(&number);
    }

    #[cfg(test)]
    pub(crate) fn open_queries(&self) -> usize {
        self.queries.mine.len()
    }

    pub(crate) fn last_query(&self) -> u64 {
        self.queries.last
    }

    pub(crate) fn go_on_after_query(&mut self, number: u64) {
        self.queries.last = number;
    }

    fn assemble(&self, reports: &[Report], only: Option<u32>) -> MeshStatus {
        let nodes = reports.iter().map(|report| NodeInfo {
            name: report.name.clone(),
            id: report.node.0,
            links: report.links.iter().map(link).collect(),
        });
        let numbers = self.names.values().copied().filter(|number| only.is_none_or(|only| only == *number));
        let resources = numbers.filter_map(|number| {
            let entry = &self.resources.get(&number)?.entry;
            let of_state = |state| {
                let wanted = move |(of, row): &&(u32, Row)| *of == number && row.state == state;
                reports
                    .iter()
                    .flat_map(move |report| report.rows.iter().filter(wanted).map(move |(_, row)| row.at(&report.name)))
            };
            let mut holders: Vec<meshlock_api::Row> = of_state(State::Granted).collect();
            holders.sort_by_key(|row| (row.fence, row.node.clone(), row.id.clone()));
            let mut waiters: Vec<meshlock_api::Row> = of_state(State::Queued).collect();
            waiters.sort_by_key(|row| std::cmp::Reverse((row.rank, row.age_ms)));
            Some(ResourceStatus {
                name: entry.name.clone(),
                definition: entry.definition,
                token_at: reports
                    .iter()
                    .find(|report| report.tokens.contains(&number))
                    .map(|report| report.name.clone()),
                in_use: holders.iter().map(|row| row.units).sum(),
                holders,
                waiters,
            })
        });
        MeshStatus {
            mesh: self.settings.mesh.clone(),
            node: self.settings.name.clone(),
            nodes: nodes.collect(),
            resources: resources.collect(),
        }
    }

    fn report(&self, now: Now, query: Query) -> Report {
        let wanted = |number: u32| number != REGISTRY && query.resource.is_none_or(|only| only == number);
        let known = || self.resources.iter().filter(|(number, _)| wanted(**number));
        let tokens = known().filter(|(_, resource)| resource.instance.holds_token()).map(|(number, _)| *number);
        let mut rows = Vec::new();
        for ticket in self.requests.alive_ones() {
            let Some(request) = self.requests.get(ticket) else { continue };
            let Some(number) = request.resource.filter(|number| wanted(*number)) else { continue };
            let since = request.granted_at.unwrap_or(request.asked_at);
            let rank = request.number.and_then(|id| {
                let view = self.resources.get(&number)?.instance.view();
                view.waiting.iter().find(|waiting| waiting.request == id).map(|waiting| waiting.rank.0)
            });
            let row = Row {
                id: request.asked.id.clone().unwrap_or_else(|| format!("~{}", ticket.0)),
                owner: request.asked.owner.clone(),
                state: request.state,
                units: request.asked.units.unwrap_or(1),
                urgency: request.urgency.unwrap_or(Urgency::Priority(0)),
                session: request.asked.session.clone(),
                mode: request.asked.mode,
                age_ms: now.ms_since(since),
                fence: request.fence,
                rank,
            };
            rows.push((number, row));
        }
        Report {
            origin: query.origin,
            number: query.number,
            node: self.settings.id,
            name: self.settings.name.clone(),
            links: self.neighbour_names(),
            tokens: tokens.collect(),
            rows,
        }
    }
}

fn link((name, address): &(String, String)) -> Link {
    Link { to: name.clone(), address: Some(address.clone()) }
}
