//! What a node reports about itself when it is asked, in parts of bounded work, so that no caller waits long for the machine.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::Urgency;
use meshlock_core::NodeId;

use super::clients::Ticket;
use super::registry::REGISTRY;
use super::{Machine, Now, Resource};
use crate::wire::{About, Fact, MOST_FACTS, MOST_RUNS, Number, Row, Token};

/// How many holders and how many waiters of one resource a node lists by name. All are counted.
pub const MOST_LISTED: usize = 1_000;
/// How many requests a node lists in one report.
const MOST_ROWS: usize = 4_000;
/// How many of them are told in one part.
const MOST_ROWS_AT_ONCE: usize = 250;
/// How many resources are looked at for one part.
const MOST_LOOKED_AT: usize = 5_000;
/// How many lost neighbours a node tells of.
const MOST_GONE: usize = 16;
/// How many resources a node names that its file declares otherwise.
const MOST_CONFLICTS: usize = 5;
/// For how many nodes a token tells what is in use there.
const MOST_LENT: usize = 1_000;

/// How far a report has come.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    links: Links,
    /// The next resource to look at.
    next: Number,
    /// Requests for that resource that were told already.
    listed: BTreeSet<Ticket>,
    rows: usize,
    is_done: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Links {
    #[default]
    None,
    Until(NodeId),
    All,
}

impl Cursor {
    fn is_new(&self) -> bool {
        matches!(self.links, Links::None) && self.next == REGISTRY
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }
}

impl Machine {
    /// The next facts, not many more than fit into one frame.
    pub(crate) fn facts(&self, now: Now, about: &About, cursor: &mut Cursor) -> Vec<Fact> {
        let mut facts = Vec::new();
        match about {
            About::Tokens(numbers) => {
                let known = numbers.iter().take(MOST_FACTS).filter_map(|number| self.resources.get(number));
                facts.extend(known.filter_map(|known| summary(now, known)));
                cursor.is_done = true;
            }
            About::Revoke(wanted) => {
                facts.extend(self.revocable(now, wanted));
                cursor.is_done = true;
            }
            About::Requests(only) => {
                if cursor.is_new() {
                    facts.push(self.condition(now));
                }
                self.links_of(now, cursor, &mut facts);
                self.resources_of(now, *only, cursor, &mut facts);
            }
        }
        facts
    }

    /// What an operator wants to know of a node.
    fn condition(&self, now: Now) -> Fact {
        let conflicts = self.resources.values().filter(|known| known.conflict.is_some());
        Fact::Condition {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unix_ms: self.settings.began_unix_ms.saturating_add(now.0 / 1_000_000),
            conflicts: conflicts.take(MOST_CONFLICTS).map(|known| known.entry.name.clone()).collect(),
        }
    }

    fn links_of(&self, now: Now, cursor: &mut Cursor, facts: &mut Vec<Fact>) {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = match cursor.links {
            Links::All => return,
            Links::None => Unbounded,
            Links::Until(id) => Excluded(id),
        };
        for (id, peer) in self.neighbours.range((from, Unbounded)) {
            if facts.len() >= MOST_FACTS {
                return;
            }
            facts.push(Fact::Link { id: *id, name: peer.name.clone(), address: peer.address.to_string() });
            cursor.links = Links::Until(*id);
        }
        cursor.links = Links::All;
        let gone = self.lost_neighbours(MOST_GONE).into_iter();
        facts.extend(gone.map(|known| Fact::Gone {
            id: known.id,
            name: known.name.clone(),
            ms_ago: now.ms_since(known.heard),
        }));
    }

    fn resources_of(&self, now: Now, only: Option<Number>, cursor: &mut Cursor, facts: &mut Vec<Fact>) {
        let first = cursor.next.max(only.unwrap_or(REGISTRY + 1));
        let last = only.unwrap_or(Number::MAX).max(first);
        let mut rows = 0;
        for (at, (number, known)) in self.resources.range(first..=last).enumerate() {
            if at >= MOST_LOOKED_AT || facts.len() >= MOST_FACTS || rows >= MOST_ROWS_AT_ONCE {
                cursor.next = *number;
                return;
            }
            let Some(summary) = summary(now, known) else { continue };
            if cursor.listed.is_empty() {
                facts.push(summary);
                self.lent(known, facts);
            }
            if !self.rows(now, known, cursor, &mut rows, facts) {
                cursor.next = *number;
                return;
            }
            cursor.listed.clear();
        }
        cursor.is_done = true;
    }

    /// What the token says is in use, by node.
    fn lent(&self, known: &Resource, facts: &mut Vec<Fact>) {
        let mut lent: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (node, units) in known.instance.lent() {
            *lent.entry(node).or_default() += u64::from(units);
        }
        let resource = known.entry.number;
        facts.extend(lent.into_iter().take(MOST_LENT).map(|(to, units)| Fact::Lent { resource, to, units }));
    }

    /// False if there are more than can be told at once.
    fn rows(&self, now: Now, known: &Resource, cursor: &mut Cursor, told: &mut usize, facts: &mut Vec<Fact>) -> bool {
        // Who was told to stop and has not yet keeps others out as well.
        let number = known.entry.number;
        let stopping = self.lingering.range((number, Ticket(0))..=(number, Ticket(u64::MAX))).map(|(_, ticket)| ticket);
        let holders = known.usage.holders.iter().chain(stopping).take(MOST_LISTED).map(|ticket| (*ticket, None));
        let waiting = known.instance.first_waiting(MOST_LISTED).into_iter();
        let waiting = waiting.filter_map(|(request, rank)| Some((*known.tickets.get(&request)?, Some(rank.0))));
        let desk = known.desk.first(MOST_LISTED).map(|ticket| (ticket, None));
        let waiters = waiting.chain(desk).filter(|(ticket, _)| known.usage.waiters.contains(ticket)).take(MOST_LISTED);
        for (ticket, rank) in holders.chain(waiters) {
            if cursor.rows >= MOST_ROWS {
                return true;
            }
            if cursor.listed.contains(&ticket) {
                continue;
            }
            if *told >= MOST_ROWS_AT_ONCE {
                return false;
            }
            if let Some(row) = self.row(now, ticket, rank) {
                facts.push(Fact::Row(known.entry.number, row));
                cursor.listed.insert(ticket);
                cursor.rows += 1;
                *told += 1;
            }
        }
        true
    }

    fn row(&self, now: Now, ticket: Ticket, rank: Option<i64>) -> Option<Row> {
        let request = self.requests.get(ticket)?;
        Some(Row {
            id: self.id_of(ticket),
            owner: request.asked.owner.clone(),
            state: request.state,
            units: request.asked.units.unwrap_or(1),
            urgency: request.urgency.unwrap_or(Urgency::Priority(0)),
            session: request.asked.session.clone(),
            mode: request.asked.mode,
            age_ms: now.ms_since(request.granted_at.unwrap_or(request.asked_at)),
            fence: request.fence,
            slots: request.slots.clone().unless_longer(MOST_RUNS),
            rank,
        })
    }
}

/// A resource in numbers, unless there is nothing to say about it.
pub(crate) fn summary(now: Now, known: &Resource) -> Option<Fact> {
    let token = if known.instance.holds_token() {
        Token::Here
    } else if let Some(left) = &known.token_left {
        Token::Left { pass: left.pass, ms_ago: now.ms_since(left.at), to: left.to.clone() }
    } else {
        Token::Unseen
    };
    let (holders, waiters) = (count(known.usage.holders.len()), count(known.usage.waiters.len()));
    let silent = token == Token::Unseen && holders == 0 && waiters == 0;
    (!silent).then_some(Fact::Resource {
        resource: known.entry.number,
        token,
        holders,
        units: known.usage.units,
        waiters,
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
