//! Which actions are possible in a state.

use meshlock_core::Protocol;
use meshlock_protocols::recovering::Body;
use meshlock_protocols::{Message, Recovering};

use crate::action::Action;
use crate::environment::{Environment, LinkState};
use crate::intern::{Sequences, tiny};
use crate::layout::{Layout, LinkPlace};
use crate::model::{Failing, Model, Pick};
use crate::space::{EnvironmentFacts, Row, Space};

impl Space {
    /// Appends the actions that may be possible here. What an application may ask is decided by its node, so a few
    /// of them turn out to be impossible when they are tried.
    pub(crate) fn enabled(&self, row: &Row, actions: &mut Vec<Action>) {
        self.deliveries(row, actions);
        let environment = self.environment(row);
        let facts = self.environment_facts(row);
        if facts.notices {
            for (link, state) in environment.links.iter().enumerate() {
                match *state {
                    LinkState::Dying(noticed) => {
                        let ends = (0..2).filter(|end| !noticed[usize::from(*end)]);
                        actions.extend(ends.map(|end| Action::Notice { link: short(link), end }));
                    }
                    LinkState::Failed(by) => actions.push(Action::Notice { link: short(link), end: 1 - by }),
                    LinkState::Up | LinkState::Down => {}
                }
            }
        }
        let is_there = |node: &usize| !environment.is_away(*node) && environment.members.is_there(*node);
        for (node, id) in row.iter().take(self.layout.nodes).enumerate().filter(|(node, _)| is_there(node)) {
            let view = self.local.view(*id);
            actions
                .extend((0..view.holding.len()).map(|place| Action::Release { node: tiny(node), place: tiny(place) }));
        }
        actions.extend(
            (0..self.layout.nodes)
                .filter(|node| facts.behind >> node & 1 == 1 && is_there(node))
                .map(|node| Action::Learn { node: tiny(node) }),
        );
        self.timers(row, actions);
        let patient = self.waits_for_channels(row);
        for node in (0..self.layout.nodes).filter(is_there) {
            self.application(row, environment, node, patient, actions);
        }
        self.stops_and_starts(row, actions);
        self.incidents(row, actions);
        if usize::from(*environment.versions().end()) < self.model.budgets.capacities.len() {
            let there = (0..self.layout.nodes).filter(is_there);
            actions.extend(there.map(|node| Action::Resize { node: tiny(node) }));
        }
        if environment.link_changes > 0 {
            actions.extend(facts.changes.iter().filter(|change| self.link_is_free(row, **change)));
        }
    }

    /// Whether applications wait with requests until channels have emptied.
    fn waits_for_channels(&self, row: &Row) -> bool {
        let contents = &row[self.layout.nodes..self.layout.environment()];
        let most = self.model.workload.patience;
        most.is_some_and(|most| contents.iter().any(|content| self.channels.len(*content) > most))
    }

    fn deliveries(&self, row: &Row, actions: &mut Vec<Action>) {
        let may_lose = self.environment(row).losses > 0;
        for channel in 0..self.layout.channels.len() {
            let content = row[self.layout.nodes + channel];
            if content == Sequences::EMPTY {
                continue;
            }
            let mut add = |place, message| {
                actions.push(Action::Deliver { channel: short(channel), place });
                if may_lose && self.is_losable(message) {
                    actions.push(Action::Lose { channel: short(channel), place });
                }
            };
            if self.model.fifo {
                self.channels.iter(content).take(1).for_each(|head| add(0, head));
                continue;
            }
            let mut last = None;
            for (place, message) in self.channels.iter(content).enumerate() {
                if last.replace(message) != Some(message) {
                    add(tiny(place), message); // of equal messages the first stands for all
                }
            }
        }
    }

    /// Protocols with timers bear losses. A census or a report is lost only with its link: members rely on it.
    fn is_losable(&self, message: u32) -> bool {
        let Message::Recovering(frame) = self.local.message(message) else { return true };
        matches!(frame.body, Body::Inner { .. })
    }

    /// A stopped node starts again once all neighbours have noticed that it was gone.
    fn stops_and_starts(&self, row: &Row, actions: &mut Vec<Action>) {
        let environment = self.environment(row);
        if environment.stops == 0 && environment.away == 0 {
            return;
        }
        for node in 0..self.layout.nodes {
            let id = self.model.nodes[node].id();
            let unnoticed = |(place, link): (usize, &LinkPlace)| {
                link.end_of(id).is_some()
                    && matches!(environment.links[place], LinkState::Dying(_) | LinkState::Failed(_))
            };
            let runs = self.member(row, node).is_none_or(Recovering::is_running);
            if !environment.members.is_there(node) || !runs {
                continue; // who is gone has nothing to save
            }
            if !environment.is_away(node) {
                actions.extend((environment.stops > 0).then_some(Action::Stop { node: tiny(node) }));
            } else if !self.layout.links.iter().enumerate().any(unnoticed) {
                actions.push(Action::Start { node: tiny(node) });
            }
        }
    }

    fn timers(&self, row: &Row, actions: &mut Vec<Action>) {
        let environment = self.environment(row);
        let facts = self.environment_facts(row);
        let held = || row[..self.layout.nodes].iter().any(|node| !self.local.view(*node).holding.is_empty());
        let idle = !facts.notices && !self.in_flight(row) && (self.model.timers.while_held || !held());
        let due = if idle { facts.due } else { 0 };
        let armed = environment.timers.iter().enumerate().filter(|(_, timer)| timer.is_some());
        for (node, _) in armed {
            if due >> node & 1 == 1 {
                actions.push(Action::Expire { node: tiny(node) });
            } else if environment.early_timers > 0 {
                actions.push(Action::ExpireEarly { node: tiny(node) });
            }
        }
    }

    fn application(&self, row: &Row, environment: &Environment, node: usize, patient: bool, actions: &mut Vec<Action>) {
        let view = self.local.view(row[node]);
        let work = &self.model.workload.nodes[node];
        let made = environment.made[node];
        let outstanding = view.waiting.len() + view.holding.len();
        let more = if self.model.workload.endless { work.count > 0 } else { made < work.count };
        let node = tiny(node);
        let stands = !environment.members.is_fenced(node.into());
        if environment.leaves > 0 && outstanding == 0 && !view.leaving {
            actions.push(Action::Leave { node });
        }
        if more && stands && !patient && outstanding < self.model.workload.outstanding as usize {
            match work.pick {
                Pick::Any => {
                    let demands = 0..work.demands.len();
                    actions.extend(demands.map(|demand| Action::Request { node, demand: tiny(demand) }));
                }
                Pick::InOrder => {
                    let demand = tiny(made as usize % work.demands.len().max(1));
                    actions.push(Action::Request { node, demand });
                }
            }
        }
        for place in 0..view.waiting.len() {
            let place = tiny(place);
            if environment.cancels > 0 {
                actions.push(Action::Cancel { node, place });
            }
            if environment.reprioritisations > 0 {
                let urgencies = 0..self.model.budgets.urgencies.len();
                actions.extend(urgencies.map(|at| Action::Reprioritize { node, place, urgency: tiny(at) }));
            }
        }
    }

    /// Whether what is in flight allows this change of a link.
    fn link_is_free(&self, row: &Row, change: Action) -> bool {
        match (change, self.model.failing) {
            (Action::Cut { link }, Failing::Gentle) => {
                let channels = self.layout.links[usize::from(link)].channels;
                channels.iter().all(|channel| row[self.layout.channel((*channel).into())] == Sequences::EMPTY)
            }
            _ => true,
        }
    }
}

impl EnvironmentFacts {
    pub(crate) fn of(model: &Model, layout: &Layout, environment: &Environment) -> Self {
        let mut changes = Vec::new();
        for (place, link) in layout.links.iter().enumerate() {
            if !link.changeable {
                continue;
            }
            match environment.links[place] {
                LinkState::Up => {
                    let apart = || environment.parts(layout, Some(place)).iter().any(|part| *part != 0);
                    if !(model.keep_connected && apart()) {
                        changes.push(Action::Cut { link: short(place) });
                    }
                }
                LinkState::Down => {
                    if (0..2).all(|end| environment.members.is_there(link.end(end).0 as usize)) {
                        changes.push(Action::Form { link: short(place) });
                    }
                }
                LinkState::Dying(_) | LinkState::Failed(_) => {}
            }
        }
        Self {
            parts: environment.parts(layout, None).into(),
            notices: environment.notice_pending(),
            behind: environment.behind(),
            due: environment.due(model.timers.rounds),
            changes: changes.into(),
        }
    }
}

fn short(place: usize) -> u16 {
    u16::try_from(place).expect("64 nodes have 4032 channels at most")
}
