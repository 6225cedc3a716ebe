//! What happens to members that recover; see [`crate::members`].

use meshlock_core::recovery::{Census, Keeper};
use meshlock_core::{Event, NodeId, Protocol};
use meshlock_properties::Occurrence;
use meshlock_protocols::{Node, Recovering};

use super::turn::Turn;
use super::{Row, Space};
use crate::action::Action;
use crate::environment::{Environment, LinkState};
use crate::finding::Finding;
use crate::intern::{next_id, tiny};
use crate::layout::LinkPlace;
use crate::members::{Careless, Incident};

impl Space {
    /// The member at a place, if nodes here are members.
    pub(crate) fn member(&self, row: &Row, place: usize) -> Option<&Recovering> {
        if let Node::Recovering(member) = self.local.node(row[place]) { Some(member) } else { None }
    }

    /// Whether a node takes part: it has joined, has neither crashed nor left, and was not declared gone after a fence.
    pub(crate) fn takes_part(&self, row: &Row, place: usize) -> bool {
        let members = &self.environment(row).members;
        let runs = self.member(row, place).is_none_or(Recovering::is_running);
        runs && members.is_there(place) && !(members.is_dead(place) && members.is_fenced(place))
    }

    /// The nodes that take part, as bits.
    pub(crate) fn taking_part(&self, row: &Row) -> u64 {
        let taking_part = (0..self.layout.nodes).filter(|place| self.takes_part(row, *place));
        taking_part.fold(0, |bits, place| bits | 1 << place)
    }

    /// For each node a number that is the same for nodes that are connected now, by nodes that take part.
    pub(crate) fn parts(&self, row: &Row) -> Vec<u32> {
        let whole = (0..self.layout.nodes).all(|place| self.takes_part(row, place));
        if whole {
            return self.environment_facts(row).parts.to_vec();
        }
        self.environment(row).parts_among(&self.layout, None, |place| self.takes_part(row, place))
    }

    /// Whether somebody is still expected to do something about a recovery: a repair may be open.
    pub(crate) fn is_recovering(&self, row: &Row) -> bool {
        if !self.model.recovers() {
            return false;
        }
        let mut due = Vec::new();
        self.incidents(row, &mut due);
        if due.iter().any(|action| action.is_obligatory()) {
            return true;
        }
        let all = || (0..self.layout.nodes).filter_map(|place| Some((place, self.member(row, place)?)));
        let present = || all().filter(|(place, _)| self.takes_part(row, *place)).map(|(_, member)| member.keeper());
        let doubtful = present().any(|keeper| !keeper.doubtful().is_empty());
        // A goodbye that arrived nowhere: who left is waited for like one who crashed.
        let said = |member: &Recovering| member.has_left() && member.keeper().is_gone();
        let unheard = |member: &Recovering| present().any(|keeper| !keeper.census().is_gone(member.me()));
        let unheard = all().any(|(_, member)| said(member) && unheard(member));
        doubtful || unheard || (self.is_split(row) && present().any(Keeper::is_open))
    }

    /// Whether those who take part have fallen into parts.
    fn is_split(&self, row: &Row) -> bool {
        let parts = self.parts(row);
        let mut present = (0..self.layout.nodes).filter(|place| self.takes_part(row, *place)).map(|place| parts[place]);
        let first = present.next();
        present.any(|part| Some(part) != first)
    }

    /// Appends what may happen to members.
    pub(crate) fn incidents(&self, row: &Row, actions: &mut Vec<Action>) {
        if !self.model.recovers() {
            return;
        }
        let environment = self.environment(row);
        let members = &environment.members;
        for place in 0..self.layout.nodes {
            let node = tiny(place);
            let Some(member) = self.member(row, place) else { continue };
            let mut add = |incident, at| actions.push(Action::Member { incident, node, at });
            let bit = 1 << place;
            if members.removed & bit != 0 {
                continue;
            }
            if environment.is_away(place) {
                // To the voters, one who has stopped in order is as silent as one who crashed.
                if members.record.is_some() && members.declarations > 0 && !members.is_dead(place) {
                    add(Incident::Declare, 0);
                }
                continue;
            }
            if members.invited & bit != 0 {
                add(Incident::Join, 0);
                continue;
            }
            let crashed = members.crashed & bit != 0;
            let gone_for_now = crashed || member.has_left();
            if gone_for_now && members.removals > 0 {
                let others = (0..self.layout.nodes).filter(|other| self.takes_part(row, *other));
                others.for_each(|other| add(Incident::Remove, tiny(other)));
            }
            if crashed && !members.is_dead(place) {
                add(Incident::Restart, 0);
            } else if gone_for_now {
                if members.returns > 0 {
                    add(Incident::Return, 0);
                }
            } else if !member.is_running() {
                add(Incident::Restart, 0);
            } else if members.crashes > 0 && self.model.budgets.members.only.is_none_or(|only| only == node) {
                add(Incident::Crash, 0);
            }
            let is_fenced = members.is_fenced(place) || self.model.careless == Some(Careless::Declares);
            let may_be_declared = (crashed || is_fenced) && !members.is_dead(place);
            if may_be_declared && members.declarations > 0 {
                add(Incident::Declare, 0);
            }
            if gone_for_now || !member.is_running() {
                continue;
            }
            if !members.is_fenced(place) && members.fences > 0 {
                add(Incident::Fence, 0);
            } else if members.is_fenced(place) && !members.is_dead(place) {
                add(Incident::Regain, 0);
            }
            let Some(record) = &members.record else { continue };
            if member.keeper().census().living().any(|living| record.is_gone(living)) {
                add(Incident::Hear, 0);
            }
            if member.keeper().wants_ratification() {
                add(Incident::Ratify, 0);
            }
        }
    }

    pub(super) fn befall(
        &mut self,
        turn: &mut Turn<'_>,
        incident: Incident,
        node: u8,
        at: u8,
    ) -> Result<bool, Finding> {
        let id = NodeId(node.into());
        let place = usize::from(node);
        let bit: u64 = 1 << place;
        match incident {
            Incident::Crash => self.crash(turn, place),
            Incident::Restart | Incident::Join => self.begin(turn, id),
            Incident::Return => {
                let members = &mut self.change(turn).members;
                members.returns = members.returns.saturating_sub(1);
                self.begin(turn, id)
            }
            Incident::Remove => {
                let members = &mut self.change(turn).members;
                members.removals = members.removals.saturating_sub(1);
                members.removed |= bit;
                members.dead |= bit;
                // A removal names all who were invited, so that none is overlooked who came through the removed.
                let invited = members.invited;
                let known = (0..self.layout.nodes).filter(|other| invited >> other & 1 == 0);
                let known = Census::of_living(known.map(|other| NodeId(next_id(other))));
                let facts = known.merged(&Census::removed_fact(id.member()));
                self.observe(turn, Occurrence::Ended { node: id })?;
                self.oblige(turn, NodeId(at.into()), Event::Census { census: facts })
            }
            Incident::Fence => self.fence(turn, node),
            Incident::Regain => {
                self.change(turn).members.fenced &= !bit;
                Ok(true)
            }
            Incident::Declare => {
                let Some(me) = self.member(turn.next, place).map(Recovering::me) else { return Ok(false) };
                let members = &mut self.change(turn).members;
                members.declarations = members.declarations.saturating_sub(1);
                members.dead |= bit;
                members.record = members.record.as_ref().map(|record| record.merged(&Census::gone_fact(me)));
                if self.model.careless != Some(Careless::Declares) {
                    self.observe(turn, Occurrence::Ended { node: id })?;
                }
                Ok(true)
            }
            Incident::Hear => {
                let Some(census) = self.current(turn).members.record.clone() else { return Ok(false) };
                self.oblige(turn, id, Event::Census { census })
            }
            Incident::Ratify => {
                let Some(shown) = self.member(turn.next, place).map(|member| member.keeper().census().clone()) else {
                    return Ok(false);
                };
                let members = &mut self.change(turn).members;
                let census = members.record.as_ref().map_or_else(|| shown.clone(), |record| record.merged(&shown));
                members.record = Some(census.clone());
                self.oblige(turn, id, Event::Census { census })
            }
        }
    }

    /// Watches the decision of an heir. What one decides that was declared gone is of no use.
    pub(super) fn note_decision(
        &mut self,
        turn: &mut Turn<'_>,
        node: NodeId,
        before: u32,
        after: u32,
    ) -> Result<(), Finding> {
        if !self.model.recovers() {
            return Ok(());
        }
        let (Node::Recovering(former), Node::Recovering(member)) = (self.local.node(before), self.local.node(after))
        else {
            return Ok(());
        };
        let keeper = member.keeper();
        let was_decided = former.keeper().is_decided() && former.keeper().census() == keeper.census();
        let members = &self.current(turn).members;
        let is_dead = members.is_dead(node.0 as usize) && members.is_fenced(node.0 as usize);
        if was_decided || !keeper.is_decided() || !member.is_running() || is_dead {
            return Ok(());
        }
        let had_token = self.local.view(before).token.is_some();
        let pass = self.local.view(after).token.as_ref().filter(|_| !had_token).and_then(|token| token.pass);
        let first = keeper.first_number();
        Ok(self.observe(turn, Occurrence::Decided { node, first, pass })?)
    }

    fn crash(&mut self, turn: &mut Turn<'_>, place: usize) -> Result<bool, Finding> {
        let id = NodeId(next_id(place));
        let before = self.local.node(turn.next[place]);
        let waiting = next_id(self.local.view(turn.next[place]).waiting.len());
        let Some(crashed) = before.crashed() else { return Ok(false) };
        for link in 0..self.layout.links.len() {
            self.fail(turn, link, id);
        }
        turn.next[place] = self.local.add_node(crashed);
        turn.changed |= 1 << place;
        let environment = self.change(turn);
        environment.timers[place] = None;
        environment.made[place] = environment.made[place].saturating_sub(waiting); // they may be asked again
        let members = &mut environment.members;
        members.crashes = members.crashes.saturating_sub(1);
        members.crashed |= 1 << place;
        self.observe(turn, Occurrence::Crashed { node: id })?;
        Ok(true)
    }

    /// A link of a node that crashed. What the node has sent may still arrive, until the other end notices.
    fn fail(&mut self, turn: &mut Turn<'_>, place: usize, node: NodeId) {
        let link = self.layout.links[place];
        let Some(end) = link.end_of(node) else { return };
        let after = match self.current(turn).links[place] {
            LinkState::Up => LinkState::Failed(end),
            LinkState::Dying(mut noticed) => {
                noticed[usize::from(end)] = true;
                if noticed == [true, true] { LinkState::Down } else { LinkState::Dying(noticed) }
            }
            LinkState::Failed(by) if by == end => return,
            LinkState::Failed(_) | LinkState::Down => LinkState::Down,
        };
        self.change(turn).links[place] = after;
        self.empty(turn, link.channel_into(end));
    }

    fn begin(&mut self, turn: &mut Turn<'_>, id: NodeId) -> Result<bool, Finding> {
        let place = id.0 as usize;
        if self.model.careless != Some(Careless::Starts) {
            self.observe(turn, Occurrence::Ended { node: id })?;
        }
        if let Some(census) = self.current(turn).members.record.clone() {
            self.oblige(turn, id, Event::Census { census })?;
        }
        let members = &mut self.change(turn).members;
        for set in [&mut members.crashed, &mut members.dead, &mut members.fenced, &mut members.invited] {
            *set &= !(1 << place);
        }
        self.oblige(turn, id, Event::Resume)?;
        if let Some(me) = self.member(turn.next, place).map(Recovering::me) {
            let members = &mut self.change(turn).members;
            members.record = members.record.as_ref().map(|record| record.merged(&Census::living_fact(me)));
        }
        for link in 0..self.layout.links.len() {
            let LinkPlace { lasting, .. } = self.layout.links[link];
            let is_end = self.layout.links[link].end_of(id).is_some();
            if is_end && lasting && self.current(turn).links[link] == LinkState::Down {
                self.join_ends(turn, link)?;
            }
        }
        Ok(true)
    }

    /// Brings up a link that is down, if both ends are there.
    pub(super) fn join_ends(&mut self, turn: &mut Turn<'_>, place: usize) -> Result<(), Finding> {
        let link = self.layout.links[place];
        let is_there = |environment: &Environment, end: u8| {
            let node = link.end(end).0 as usize;
            environment.members.is_there(node) && !environment.is_away(node)
        };
        if (0..2).all(|end| is_there(self.current(turn), end)) {
            self.change(turn).links[place] = LinkState::Up;
            let link = u16::try_from(place).unwrap_or(u16::MAX);
            self.tell_both(turn, link, |neighbour| Event::LinkUp { neighbour })?;
        }
        Ok(())
    }

    fn fence(&mut self, turn: &mut Turn<'_>, node: u8) -> Result<bool, Finding> {
        let place = usize::from(node);
        let id = NodeId(node.into());
        let view = self.local.view(turn.next[place]);
        let waiting = next_id(view.waiting.len());
        let grants = view.holding.clone();
        if !self.cancel_waiting(turn, node, |_| true)? {
            return Ok(false);
        }
        for grant in grants {
            let event = Event::Release { request: grant.request, units: grant.units };
            let Some(step) = self.ask(turn, node, event) else { return Ok(false) };
            self.observe(turn, Occurrence::Released { node: id, request: grant.request })?;
            self.finish(turn, id, step)?;
        }
        let environment = self.change(turn);
        environment.made[place] = environment.made[place].saturating_sub(waiting);
        environment.members.fences = environment.members.fences.saturating_sub(1);
        environment.members.fenced |= 1 << place;
        Ok(true)
    }
}
