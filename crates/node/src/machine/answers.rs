//! What all nodes answered, put together for people: outside of the machine, so that no caller waits for it meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::{Link, MeshStatus, Missing, NodeInfo, OutOfReach, ResourceStatus, State};
use meshlock_core::NodeId;

use super::registry::REGISTRY;
use super::reports::Cursor;
use super::{Machine, Now};
use crate::mesh::Member;
use crate::wire::{About, Entry, Fact, Number, Report, Token};

/// How many facts are kept for one question, of all nodes together.
const MOST_KEPT: usize = 1_000_000;
/// How many resources are copied at once.
const MOST_COPIED: usize = 1_000;
/// A node that had the token so lately has passed it on to one that may have answered before it came.
pub(crate) const JUST_NOW_MS: u64 = 3_000;

/// What others have answered so far.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    nodes: BTreeMap<NodeId, Said>,
    kept: usize,
    pub(crate) is_complete: bool,
}

/// What one node said.
#[derive(Debug, Default)]
struct Said {
    name: String,
    facts: Vec<Fact>,
    /// Nothing is missing.
    is_whole: bool,
}

impl Answers {
    pub(crate) fn add(&mut self, report: Report) {
        let said = self.nodes.entry(report.node).or_default();
        said.name = report.name;
        said.is_whole = report.last && self.kept <= MOST_KEPT;
        if self.kept <= MOST_KEPT {
            self.kept += report.facts.len();
            said.facts.extend(report.facts);
        }
    }

    /// Who has a request that an operator wants to take back: the node, and how the request is doing.
    pub(crate) fn revocable(&self) -> Vec<(String, Fact)> {
        let is_one = |fact: &&Fact| matches!(fact, Fact::Revocable { .. });
        let of = |said: &Said| said.facts.iter().find(is_one).map(|fact| (said.name.clone(), fact.clone()));
        self.nodes.values().filter_map(of).collect()
    }

    /// Where tokens are, as far as those who answered know.
    pub(crate) fn sightings(&self) -> BTreeMap<Number, Sighting> {
        let mut sightings: BTreeMap<Number, Sighting> = BTreeMap::new();
        for said in self.nodes.values() {
            for fact in &said.facts {
                if let Fact::Resource { resource, token, .. } = fact {
                    sightings.entry(*resource).or_default().add(&said.name, token);
                }
            }
        }
        sightings
    }
}

/// Where a token is, or was seen last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) here: Option<String>,
    pub(crate) last: Option<LastSeen>,
    /// The shortest time since anybody saw it.
    ms_ago: Option<u64>,
}

/// Who saw it last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastSeen {
    pass: u64,
    /// It could tell the name of the node it went to.
    knows: bool,
    pub(crate) ms_ago: u64,
    /// The node it was at or on its way to.
    pub(crate) at: String,
}

impl Sighting {
    pub(crate) fn add(&mut self, node: &str, token: &Token) {
        match token {
            Token::Here => self.here = Some(node.to_owned()),
            Token::Left { pass, ms_ago, to } => {
                self.ms_ago = Some(self.ms_ago.map_or(*ms_ago, |least| least.min(*ms_ago)));
                // Of two who saw it go, the one that knows where to tells more.
                if self.last.as_ref().is_none_or(|last| (last.pass, last.knows) < (*pass, to.is_some())) {
                    let at = to.clone().unwrap_or_else(|| node.to_owned());
                    self.last = Some(LastSeen { pass: *pass, knows: to.is_some(), ms_ago: *ms_ago, at });
                }
            }
            Token::Unseen => {}
        }
    }

    /// A node that answered has it, or had it a moment ago.
    pub(crate) fn in_reach(&self) -> bool {
        self.here.is_some() || self.ms_ago.is_some_and(|ms_ago| ms_ago < JUST_NOW_MS)
    }
}

/// Everything that is needed to tell how the mesh is doing.
#[derive(Debug)]
pub(crate) struct Gathered {
    mesh: String,
    me: (NodeId, String),
    /// What others said; `None` if they were not asked.
    others: Option<Answers>,
    own_facts: Vec<Fact>,
    /// How far this node's own report has come.
    pub(crate) own: Cursor,
    entries: Vec<Entry>,
    /// The nodes that were ever heard of here, and how long ago.
    known: Vec<(NodeId, String, u64)>,
    recovery: Option<meshlock_api::RecoveryStatus>,
}

impl Machine {
    /// Begins to put together how the mesh is doing; go on with [`gather_more`](Self::gather_more).
    pub(crate) fn gather(&self, now: Now, others: Option<Answers>) -> Gathered {
        let known = self.known.values().map(|known| (known.id, known.name.clone(), now.ms_since(known.heard)));
        Gathered {
            mesh: self.settings.mesh.clone(),
            me: (self.settings.id, self.settings.name.clone()),
            others,
            own_facts: Vec::new(),
            own: Cursor::default(),
            entries: Vec::new(),
            known: known.collect(),
            recovery: self.recovery_status(now),
        }
    }

    /// Copies the next entries of the catalogue. True when there are no more.
    pub(crate) fn entries_after(&self, about: &About, gathered: &mut Gathered) -> bool {
        let wanted = match about {
            About::Requests(only) => *only,
            About::Tokens(_) | About::Revoke(_) => return true,
        };
        if let Some(only) = wanted {
            gathered.entries.extend(self.resources.get(&only).map(|known| known.entry.clone()));
            return true;
        }
        let last = gathered.entries.last().map_or(REGISTRY, |entry| entry.number);
        let next = self.resources.range(last.saturating_add(1)..).take(MOST_COPIED);
        let before = gathered.entries.len();
        gathered.entries.extend(next.map(|(_, known)| known.entry.clone()));
        gathered.entries.len() < before + MOST_COPIED
    }
}

/// What is known of one resource.
#[derive(Debug, Default)]
struct Picture {
    token: Sighting,
    holders: Vec<meshlock_api::Row>,
    waiters: Vec<meshlock_api::Row>,
    counted: (u64, u64),
    in_use: u64,
    /// In use at nodes that did not answer.
    elsewhere: u64,
}

impl Gathered {
    pub(crate) fn add_own(&mut self, facts: Vec<Fact>) {
        self.own_facts.extend(facts);
    }

    pub(crate) fn assemble(self) -> MeshStatus {
        let asked = self.others.is_some();
        let answers = self.others.unwrap_or_default();
        let mut nodes = vec![(self.me.0, Said { name: self.me.1.clone(), facts: self.own_facts, is_whole: true })];
        nodes.extend(answers.nodes.into_iter().filter(|(id, _)| *id != self.me.0));
        let answered: BTreeSet<NodeId> = nodes.iter().map(|(id, _)| *id).collect();
        let mut known: BTreeMap<Member, (NodeId, String, u64)> =
            self.known.into_iter().map(|known| (Member::of(known.0), known)).collect();
        let mut pictures: BTreeMap<Number, Picture> = BTreeMap::new();
        let mut infos = Vec::new();
        let mut in_part = Vec::new();
        for (id, Said { name, facts, is_whole: all }) in nodes {
            if !all {
                in_part.push(Missing { name: name.clone(), heard_ms_ago: 0 });
            }
            let mut links = Vec::new();
            let mut condition = (None, None, Vec::new());
            for fact in facts {
                match fact {
                    Fact::Link { id, name, address } => {
                        note(&mut known, (id, name.clone(), 0));
                        links.push(Link { to: name, address: Some(address) });
                    }
                    Fact::Revocable { .. } => {}
                    Fact::Condition { version, unix_ms, conflicts: all } => {
                        (condition.0, condition.1, condition.2) = (Some(version), Some(unix_ms), all);
                    }
                    Fact::Gone { id, name, ms_ago } => note(&mut known, (id, name, ms_ago)),
                    Fact::Resource { resource, token, holders, units, waiters } => {
                        let picture = pictures.entry(resource).or_default();
                        picture.token.add(&name, &token);
                        picture.counted.0 += u64::from(holders);
                        picture.counted.1 += u64::from(waiters);
                        picture.in_use += units;
                    }
                    Fact::Lent { resource, to, units } if !answered.contains(&to) => {
                        pictures.entry(resource).or_default().elsewhere += units;
                    }
                    Fact::Lent { .. } => {}
                    Fact::Row(resource, row) => {
                        let picture = pictures.entry(resource).or_default();
                        let list = if row.state == State::Queued { &mut picture.waiters } else { &mut picture.holders };
                        list.push(row.at(&name));
                    }
                }
            }
            let (version, unix_ms, conflicts) = condition;
            infos.push(NodeInfo { name, id: id.0, links, version, unix_ms, conflicts });
        }
        let complete = asked && answers.is_complete && in_part.is_empty();
        let names: BTreeMap<Member, String> =
            known.iter().map(|(member, (_, name, _))| (*member, name.clone())).collect();
        let missing = known.into_values().filter(|(id, ..)| asked && !answered.contains(id));
        let missing = missing.map(|(_, name, heard_ms_ago)| Missing { name, heard_ms_ago }).chain(in_part);
        let status = |entry: Entry| {
            let picture = pictures.remove(&entry.number).unwrap_or_default();
            picture.status(entry, complete, &names)
        };
        let mut resources: Vec<ResourceStatus> = self.entries.into_iter().map(status).collect();
        resources.sort_by(|a, b| a.name.cmp(&b.name));
        let (missing, alarms) = (missing.collect(), Vec::new());
        MeshStatus {
            mesh: self.mesh,
            node: self.me.1,
            complete,
            nodes: infos,
            missing,
            resources,
            alarms,
            recovery: self.recovery,
        }
    }
}

/// The latest incarnation counts, and the latest news of it.
fn note(known: &mut BTreeMap<Member, (NodeId, String, u64)>, (id, name, ms_ago): (NodeId, String, u64)) {
    let newest = known.entry(Member::of(id)).or_insert_with(|| (id, name.clone(), ms_ago));
    if newest.0 < id || (newest.0 == id && newest.2 > ms_ago) {
        *newest = (id, name, ms_ago);
    }
}

impl Picture {
    fn status(mut self, entry: Entry, complete: bool, names: &BTreeMap<Member, String>) -> ResourceStatus {
        self.holders.sort_by(|a, b| (a.fence, &a.node, &a.id).cmp(&(b.fence, &b.node, &b.id)));
        self.waiters.sort_by_key(|row| std::cmp::Reverse((row.rank, row.age_ms)));
        let clamp = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let out_of_reach = (complete && !self.token.in_reach()).then(|| OutOfReach {
            for_ms: self.token.last.as_ref().map(|last| last.ms_ago),
            last_seen: self.token.last.map(|last| last.at).or_else(|| names.get(&Member::of(entry.home)).cloned()),
        });
        ResourceStatus {
            name: entry.name,
            definition: entry.definition,
            token_at: self.token.here,
            out_of_reach,
            in_use: clamp(self.in_use.saturating_add(self.elsewhere)),
            elsewhere: clamp(self.elsewhere),
            more_holders: clamp(self.counted.0.saturating_sub(self.holders.len() as u64)),
            more_waiters: clamp(self.counted.1.saturating_sub(self.waiters.len() as u64)),
            holders: self.holders,
            waiters: self.waiters,
        }
    }
}
