//! The rules, watched in every run.
//!
//! What applications see is watched at every event. A look at the whole network costs time in proportion to its size,
//! so it is taken every so many events that the cost of an event stays the same, and once more when all is quiet. The size
//! is that of the nodes, or of the messages in flight where these are more.

use meshlock_core::{GrantId, NodeId, Units};
use meshlock_properties::{History, Occurrence, Rule, RuleSet, Setting, Violation};

use crate::outcome::Broken;
use crate::scenario::{Name, ProtocolChoice, Text};
use crate::time::Time;

/// Events per node between two looks at the whole network.
const EVENTS_PER_LOOK: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) rules: RuleSet,
    pub(crate) setting: Setting,
    pub(crate) history: History,
    /// Whether a broken rule ends the run.
    stops: bool,
    pub(crate) broken: Vec<Broken>,
    next_look: u64,
    every: u64,
}

impl Watch {
    pub(crate) fn new(choice: &ProtocolChoice, nodes: u32) -> Self {
        let rules = promised(choice);
        let capacity = Units(capacity(choice, nodes));
        let ProtocolChoice { order, joins, passes, .. } = *choice;
        let setting = Setting { capacity, order, joins, overtaking_bound: u32::MAX, passes, numbered: false };
        let every = EVENTS_PER_LOOK * u64::from(nodes);
        let stops = choice.text == Text::Repaired;
        let history = History::of_many(rules, setting);
        Self { rules, setting, history, stops, broken: Vec::new(), next_look: every, every }
    }

    /// Whether it is time to look at the whole network, with so many messages in it.
    pub(crate) fn is_look_due(&mut self, events: u64, in_flight: usize) -> bool {
        let due = events >= self.next_look;
        if due {
            self.next_look = events + self.every.max(in_flight as u64);
        }
        due
    }

    /// Takes in what an application did or was told.
    pub(crate) fn observe(&mut self, occurrence: &Occurrence, now: Time) {
        let verdict = self.history.observe(occurrence);
        self.judge(verdict, now);
    }

    pub(crate) fn judge(&mut self, verdict: Result<(), Violation>, now: Time) {
        let Err(violation) = verdict else { return };
        if let Some(known) = self.broken.iter_mut().find(|broken| broken.rule == violation.rule) {
            known.times += 1;
            return;
        }
        let Violation { rule, node, what } = violation;
        self.broken.push(Broken { rule, times: 1, at: now, node, words: what });
    }

    pub(crate) fn must_stop(&self) -> bool {
        self.stops && !self.broken.is_empty()
    }

    /// Whether grants must go to the most urgent that is known.
    pub(crate) fn watches_order(&self) -> bool {
        self.rules.has(Rule::GrantOrder)
    }

    pub(crate) fn waits(&mut self, id: GrantId, demand: &meshlock_core::Demand, now: Time) {
        let GrantId { node, request } = id;
        let (units, session) = (demand.units, demand.session);
        let rank = self.setting.order.rank(demand.urgency, meshlock_core::Fence(0)).unwrap_or_default();
        self.observe(&Occurrence::Requested { node, request, rank, units, session }, now);
    }

    pub(crate) fn cancelled(&mut self, GrantId { node, request }: GrantId, now: Time) {
        self.observe(&Occurrence::Cancelled { node, request }, now);
    }

    pub(crate) fn released(&mut self, GrantId { node, request }: GrantId, now: Time) {
        self.observe(&Occurrence::Released { node, request }, now);
    }

    pub(crate) fn granted(&mut self, node: NodeId, grant: meshlock_core::Grant, now: Time) {
        self.observe(&Occurrence::Granted { node, grant }, now);
    }
}

/// What limits how many may be inside. In a group protocol units do not.
pub(crate) fn capacity(choice: &ProtocolChoice, nodes: u32) -> u32 {
    if choice.name.has_sessions_only() { nodes } else { choice.capacity }
}

/// What each protocol promises of every run, or claims to.
pub(crate) fn promised(choice: &ProtocolChoice) -> RuleSet {
    let all = [Rule::Exclusion, Rule::UnwantedGrant, Rule::Cancelled, Rule::Forgotten, Rule::NobodyWaits];
    let more: &[Rule] = match choice.name {
        Name::ReverseLink => &[
            Rule::OneToken,
            Rule::Conservation,
            Rule::GrantOrder,
            Rule::MostUrgentKnown,
            Rule::NoIdleUnits,
            Rule::OneSession,
            Rule::Queues,
        ],
        Name::Group | Name::GroupOverRelay => &[Rule::OneToken, Rule::OneSession, Rule::Occupancy],
        Name::Central | Name::Omniscient => &[Rule::OneSession],
        Name::Flood | Name::Raymond | Name::SuzukiKasami | Name::NaimiTrehel => &[Rule::OneToken],
        Name::RicartAgrawala | Name::Lamport | Name::Raynal => &[],
    };
    let fenced = match choice.name {
        Name::ReverseLink | Name::Flood | Name::Group | Name::GroupOverRelay => true,
        // With more units than one, two of the coordinator's grants may overtake each other on their way.
        Name::Central => choice.capacity == 1,
        Name::Raymond
        | Name::SuzukiKasami
        | Name::NaimiTrehel
        | Name::RicartAgrawala
        | Name::Lamport
        | Name::Raynal
        | Name::Omniscient => false,
    };
    let fences = (fenced && choice.text == Text::Repaired).then_some(Rule::Fences);
    all.iter().chain(more).copied().chain(fences).collect()
}
