//! Situations, the models for which they make sense, and how they are recognised.

use meshlock_core::view::View;
use meshlock_core::{Demand, NodeId, Urgency};
use meshlock_protocols::Name;

use crate::action::Action;
use crate::environment::LinkState;
use crate::intern::Sequences;
use crate::model::Failing;
use crate::space::{Row, Space};
use crate::spec::Spec;

/// Something that can be reached in some models: [`Self::words`] says what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Situation {
    Granted,
    TokenMoves,
    Together,
    AllInUse,
    AnotherSession,
    GoesAhead,
    MessageLost,
    TokenLost,
    TokenAfterCut,
    Apart,
    GivenUpLate,
    HolderLeaves,
    EverybodyServed,
}

use Situation::{
    AllInUse, AnotherSession, Apart, EverybodyServed, GivenUpLate, GoesAhead, Granted, HolderLeaves, MessageLost,
    Together, TokenAfterCut, TokenLost, TokenMoves,
};

impl Situation {
    /// Each with its name and its words, those that are near first.
    pub(super) const TABLE: [(Self, &'static str, &'static str); 13] = [
        (Granted, "granted", "a request is granted"),
        (TokenMoves, "token-moves", "the token comes to another node"),
        (Together, "together", "two nodes are inside at the same time"),
        (AllInUse, "all-in-use", "all units are in use, and a request waits"),
        (AnotherSession, "another-session", "a request waits for another session than the one in use"),
        (GoesAhead, "goes-ahead", "a more urgent request goes ahead of one that was queued before"),
        (MessageLost, "message-lost", "a message is lost, or cut off with its link"),
        (TokenLost, "token-lost", "the token is lost in flight, or cut off with its link"),
        (
            TokenAfterCut,
            "token-after-cut",
            "the token comes to another node while a link is down that was up at the start",
        ),
        (Apart, "apart", "a request waits in a part of the network without the token"),
        (GivenUpLate, "given-up-late", "a request is given up while the token is on its way to it"),
        (HolderLeaves, "holder-leaves", "the node that has the token leaves"),
        (EverybodyServed, "everybody-served", "all requests have been made, served and released"),
    ];

    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    pub const fn words(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    /// Those that make sense for a model.
    pub fn of(spec: &Spec) -> Vec<Self> {
        let facts = Facts::of(spec);
        Self::TABLE
            .into_iter()
            .map(|(situation, ..)| situation)
            .filter(|situation| situation.makes_sense(spec, &facts))
            .collect()
    }

    fn makes_sense(self, spec: &Spec, facts: &Facts) -> bool {
        let budgets = &spec.budgets;
        let changes = budgets.link_changes > 0 && spec.subject.speaks_to_neighbours();
        let losses = budgets.losses > 0 || (changes && spec.failing == Failing::Harsh);
        match self {
            Granted => !facts.units.is_empty(),
            TokenMoves => facts.token && facts.asking_nodes() > 1,
            Together => facts.fit_together,
            AllInUse => !facts.in_sessions && facts.units.iter().sum::<u64>() > u64::from(spec.capacity),
            AnotherSession => facts.sessions > 1,
            GoesAhead => {
                let by_urgency =
                    matches!(spec.subject, Name::ReverseLink | Name::Group | Name::GroupOverRelay | Name::Central);
                by_urgency && (facts.urgencies > 1 || budgets.reprioritisations > 0) && facts.asking_nodes() > 1
            }
            MessageLost => losses,
            TokenLost => losses && facts.token,
            TokenAfterCut => changes && facts.token,
            Apart => changes && facts.token && !spec.keep_connected,
            GivenUpLate => budgets.cancels > 0 && facts.token,
            HolderLeaves => budgets.leaves > 0 && facts.token,
            EverybodyServed => !facts.units.is_empty() && !spec.workload.endless && facts.few,
        }
    }

    /// Whether a step leads to it.
    pub(super) fn is_seen(self, space: &mut Space, edge: &Edge<'_>) -> bool {
        match self {
            Granted => edge.granted != 0,
            TokenMoves => token_comes(space, edge),
            Together => views(space, edge.after).filter(|view| !view.holding.is_empty()).count() > 1,
            AllInUse => {
                let held = views(space, edge.after).flat_map(|view| &view.holding);
                let held: u64 = held.map(|grant| u64::from(grant.units.0)).sum();
                held >= u64::from(space.model.setting.capacity.0) && somebody_waits(space, edge.after)
            }
            AnotherSession => {
                let inside = views(space, edge.after).flat_map(|view| &view.holding).find_map(|grant| grant.session);
                let waiting = |view: &View| view.waiting.iter().any(|waiting| waiting.session != inside);
                inside.is_some() && views(space, edge.after).any(waiting)
            }
            GoesAhead => (0..space.layout.nodes).any(|node| {
                let view = |row: &Row| space.local.view(row[node]);
                let (before, after) = (&view(edge.before).queue, &view(edge.after).queue);
                let (Some(old), Some(new)) = (before.first(), after.first()) else { return false };
                let known = before.iter().any(|claimant| claimant.origin == new.origin);
                !known && after.iter().skip(1).any(|claimant| claimant.origin == old.origin)
            }),
            MessageLost => !edge.lost_messages(space).is_empty(),
            TokenLost => {
                let lost = edge.lost_messages(space);
                lost.into_iter().any(|(channel, message)| token_in(space, edge.before, channel, message))
            }
            TokenAfterCut => token_comes(space, edge) && is_cut(space, edge.after),
            Apart => {
                let parts = &space.environment_facts(edge.after).parts;
                let nodes = || (0..space.layout.nodes).map(|node| (node, space.local.view(edge.after[node])));
                let near = |part| nodes().any(|(node, view)| parts[node] == part && view.token.is_some());
                nodes().any(|(node, view)| {
                    let alone = parts.iter().any(|part| *part != parts[node]);
                    alone && !view.waiting.is_empty() && !near(parts[node])
                }) && nodes().any(|(_, view)| view.token.is_some())
            }
            GivenUpLate => {
                let Action::Cancel { node, .. } = edge.action else { return false };
                let to = NodeId(node.into());
                under_way_to(space, edge.before, to)
                    .into_iter()
                    .any(|(channel, message)| token_in(space, edge.before, channel, message))
            }
            HolderLeaves => {
                let Action::Leave { node } = edge.action else { return false };
                space.local.view(edge.before[usize::from(node)]).token.is_some()
            }
            EverybodyServed => {
                let environment = space.environment(edge.after);
                let wanted = space.model.workload.nodes.iter().map(|work| work.count);
                let all_made = environment.made.iter().zip(wanted).all(|(made, wanted)| *made >= wanted);
                all_made
                    && environment.cancels == space.model.budgets.cancels
                    && views(space, edge.after).all(|view| view.waiting.is_empty() && view.holding.is_empty())
                    && space.is_quiet(edge.after)
            }
        }
    }
}

/// What a description says about requests and the token.
struct Facts {
    /// For each node that asks, the most units at once.
    units: Vec<u64>,
    fit_together: bool,
    in_sessions: bool,
    sessions: usize,
    urgencies: usize,
    token: bool,
    /// Requests come to an end.
    few: bool,
}

impl Facts {
    fn of(spec: &Spec) -> Self {
        let asking = || spec.workload.nodes.iter().filter(|work| work.count > 0);
        let demands: Vec<&Demand> = asking().flat_map(|work| &work.demands).collect();
        let most = |demands: &[Demand]| demands.iter().map(|demand| u64::from(demand.units.0)).max().unwrap_or(0);
        let mut least: Vec<u64> =
            asking().filter_map(|work| work.demands.iter().map(|demand| u64::from(demand.units.0)).min()).collect();
        least.sort_unstable();
        let in_sessions = matches!(spec.subject, Name::Group | Name::GroupOverRelay);
        let two_fit = least.len() > 1 && least[..2].iter().sum::<u64>() <= u64::from(spec.setting().capacity.0);
        let mut sessions: Vec<_> = demands.iter().filter_map(|demand| demand.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let mut urgencies: Vec<i128> = demands.iter().map(|demand| number(demand.urgency)).collect();
        urgencies.sort_unstable();
        urgencies.dedup();
        Self {
            units: asking().map(|work| most(&work.demands) * u64::from(spec.workload.outstanding)).collect(),
            fit_together: two_fit,
            in_sessions,
            sessions: sessions.len(),
            urgencies: urgencies.len(),
            token: !matches!(spec.subject, Name::Central | Name::RicartAgrawala | Name::Lamport | Name::Raynal),
            few: asking().all(|work| work.count < u32::MAX),
        }
    }

    fn asking_nodes(&self) -> usize {
        self.units.len()
    }
}

fn number(urgency: Urgency) -> i128 {
    match urgency {
        Urgency::Priority(priority) => priority.0.into(),
        Urgency::Deadline(deadline) => deadline.0.into(),
    }
}

pub(super) struct Edge<'a> {
    pub(super) before: &'a Row,
    pub(super) action: Action,
    pub(super) after: &'a Row,
    pub(super) granted: u64,
}

impl Edge<'_> {
    /// The messages that are lost in this step, with their channels.
    fn lost_messages(&self, space: &Space) -> Vec<(usize, u32)> {
        let in_channel = |channel: usize| {
            let content = self.before[space.layout.channel(channel)];
            space.channels.iter(content).map(move |message| (channel, message))
        };
        if let Action::Lose { channel, place } = self.action {
            in_channel(channel.into()).nth(place.into()).into_iter().collect()
        } else if let Action::Notice { link, end } = self.action {
            in_channel(space.layout.links[usize::from(link)].channel_into(end)).collect()
        } else {
            Vec::new()
        }
    }
}

fn views<'a>(space: &'a Space, row: &'a Row) -> impl Iterator<Item = &'a View> {
    row.iter().take(space.layout.nodes).map(|node| space.local.view(*node))
}

fn somebody_waits(space: &Space, row: &Row) -> bool {
    views(space, row).any(|view| !view.waiting.is_empty())
}

/// Whether a node has the token that did not have it before.
fn token_comes(space: &Space, edge: &Edge<'_>) -> bool {
    let (before, after) = (views(space, edge.before), views(space, edge.after));
    before.zip(after).any(|(before, after)| before.token.is_none() && after.token.is_some())
}

/// Whether a link is missing that was there at the start.
fn is_cut(space: &Space, row: &Row) -> bool {
    let states = &space.environment(row).links;
    space.layout.links.iter().zip(states).any(|(link, state)| link.up_at_start && *state != LinkState::Up)
}

/// The messages in flight to a node, with their channels.
fn under_way_to(space: &Space, row: &Row, to: NodeId) -> Vec<(usize, u32)> {
    let channels = space.layout.channels.iter().enumerate().filter(|(_, channel)| channel.to == to);
    let filled = channels.map(|(place, _)| (place, row[space.layout.channel(place)]));
    let filled = filled.filter(|(_, content)| *content != Sequences::EMPTY);
    filled.flat_map(|(place, content)| space.channels.iter(content).map(move |message| (place, message))).collect()
}

/// Whether a message in this channel would bring the token.
fn token_in(space: &mut Space, row: &Row, channel: usize, message: u32) -> bool {
    let channel = space.layout.channels[channel];
    space.local.token_in(row[channel.to.0 as usize], channel.from, message).is_some()
}
