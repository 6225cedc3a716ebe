//! A node stops in order and starts again with what it saved, as a node of the product does.
//!
//! Waiting requests are cancelled, and grants may be released before or after. The node closes its links: it notices at
//! once, its neighbours later, so that its last messages may still arrive or be lost. Then it is away with its saved
//! state, while the others go on. When it starts again, no timer of it is armed, [`Event::Resume`] tells it so, and its
//! links come up. Where there are voters, it has no standing from its stop until it regains it, and may be declared gone.

use meshlock_core::{Event, NodeId};

use super::Space;
use super::turn::Turn;
use crate::counterexample::Fate;
use crate::environment::LinkState;
use crate::finding::Finding;
use crate::intern::Sequences;
use crate::members::Careless;
use crate::model::Medium;

impl Space {
    pub(super) fn stop(&mut self, turn: &mut Turn<'_>, node: u8) -> Result<bool, Finding> {
        let place = usize::from(node);
        let id = NodeId(node.into());
        if !self.cancel_waiting(turn, node, |_| true)? {
            return Ok(false);
        }
        for link in 0..self.layout.links.len() {
            self.close(turn, link, id)?;
        }
        if self.model.medium == Medium::AnyToAny {
            for channel in 0..self.layout.channels.len() {
                if self.layout.channels[channel].to == id {
                    self.empty(turn, channel);
                }
            }
        }
        let environment = self.change(turn);
        environment.timers[place] = None;
        environment.stops = environment.stops.saturating_sub(1);
        environment.away |= 1 << place;
        if environment.members.record.is_some() {
            environment.members.fenced |= 1 << place;
        }
        Ok(true)
    }

    pub(super) fn start_again(&mut self, turn: &mut Turn<'_>, node: u8) -> Result<bool, Finding> {
        let id = NodeId(node.into());
        self.change(turn).away &= !(1 << node);
        if self.model.careless == Some(Careless::Resumes) {
            self.change(turn).members.fenced &= !(1 << node);
        }
        self.oblige(turn, id, Event::Resume)?;
        for place in 0..self.layout.links.len() {
            let link = self.layout.links[place];
            if link.end_of(id).is_some() && link.up_at_start && self.current(turn).links[place] == LinkState::Down {
                self.join_ends(turn, place)?;
            }
        }
        Ok(true)
    }

    /// A node closes a link, if it is one of its links and not known to be down.
    fn close(&mut self, turn: &mut Turn<'_>, place: usize, node: NodeId) -> Result<(), Finding> {
        let link = self.layout.links[place];
        let Some(end) = link.end_of(node) else { return Ok(()) };
        let mut noticed = match self.current(turn).links[place] {
            LinkState::Up => [false, false],
            LinkState::Dying(noticed) if !noticed[usize::from(end)] => noticed,
            LinkState::Failed(by) if by != end => {
                let mut noticed = [false, false];
                noticed[usize::from(by)] = true;
                noticed
            }
            LinkState::Dying(_) | LinkState::Failed(_) | LinkState::Down => return Ok(()),
        };
        noticed[usize::from(end)] = true;
        self.change(turn).links[place] =
            if noticed == [true, true] { LinkState::Down } else { LinkState::Dying(noticed) };
        self.empty(turn, link.channel_into(end));
        self.oblige(turn, node, Event::LinkDown { neighbour: link.end(1 - end) }).map(drop)
    }

    /// What is on this channel is lost.
    pub(super) fn empty(&mut self, turn: &mut Turn<'_>, channel: usize) {
        let content = std::mem::replace(&mut turn.next[self.layout.channel(channel)], Sequences::EMPTY);
        self.note_vanished(channel, content, Sequences::EMPTY, Fate::Cut);
    }
}

#[cfg(test)]
mod tests;
