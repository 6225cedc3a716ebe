//! Links that come and go.

use meshlock_core::{Event, NodeId};

use super::leave::Presence;
use super::{Medium, World};
use crate::agenda::Due;
use crate::observe::Observer;
use crate::time::Span;
use crate::topology::draw_change;

impl World {
    /// The distance of two nodes crosses the range.
    pub(super) fn cross(&mut self, a: u32, b: u32, legs: u32, up: bool, observer: &mut dyn Observer) {
        let Medium::Air { reach, .. } = &self.medium else { return };
        let barred = up && reach.is_barred(a, b);
        if !reach.is_current(a, b, legs) || self.links.is_up(a, b) == up || barred {
            return;
        }
        self.set_link(a, b, up, observer);
        if let Medium::Air { reach, .. } = &self.medium {
            reach.watch(a, b, &self.links, self.now, &mut self.agenda);
        }
    }

    /// Puts the next random change on the agenda.
    pub(super) fn plan_change(&mut self) {
        let Medium::Wire { wired, .. } = &self.medium else { return };
        if let Some(every) = wired.changes.every {
            let after = Span::from_seconds(self.changes.exponential(every.seconds()));
            self.agenda.add(self.now + after, Due::Change);
        }
    }

    /// A random link goes and a random link comes.
    pub(super) fn change(&mut self, observer: &mut dyn Observer) {
        let Medium::Wire { wired, .. } = &self.medium else { return };
        let (cut, add) = draw_change(&self.links, wired.changes.keep_connected, &mut self.changes);
        for (link, up) in [(cut, false), (add, true)] {
            if let Some((a, b)) = link {
                self.set_link(a, b, up, observer);
            }
        }
        self.plan_change();
    }

    pub(super) fn scripted(&mut self, index: u32, observer: &mut dyn Observer) {
        let Medium::Wire { wired, .. } = &self.medium else { return };
        if let Some(change) = wired.changes.script.get(index as usize).copied() {
            self.set_link(change.a, change.b, change.up, observer);
        }
    }

    /// A link that does not answer any more is taken for broken, and found again at once.
    pub(super) fn reset(&mut self, a: u32, b: u32, observer: &mut dyn Observer) {
        if self.links.is_up(a, b) {
            self.set_link(a, b, false, observer);
            self.set_link(a, b, true, observer);
        }
    }

    pub(super) fn set_link(&mut self, a: u32, b: u32, up: bool, observer: &mut dyn Observer) {
        if a.max(b) as usize >= self.nodes.len() {
            return;
        }
        self.note_link(a, b, up);
        if self.links.is_up(a, b) == up {
            return;
        }
        if up && (self.is_gone(a) || self.is_gone(b)) {
            return;
        }
        let crashed = self.is_gone(a) || self.is_gone(b);
        let gentle = match &self.medium {
            Medium::Air { radio, .. } => radio.gentle,
            Medium::Wire { wired, .. } => wired.gentle,
        };
        if gentle && !up && !self.manner.routed && !crashed {
            self.flush(a, b, observer);
        }
        self.figures.link_changes(self.now, self.links.count());
        if up {
            self.links.bring_up(a, b);
        } else {
            self.links.take_down(a, b);
        }
        observer.linked(self.now, (NodeId(a), NodeId(b)), up);
        if !up {
            self.lose_held(a, b, observer);
        }
        if self.manner.hears_links {
            self.announce(a, b, up, observer);
        }
        if up && self.manner.routed {
            self.try_stranded(observer);
        }
    }

    /// Both ends of a link hear that it is up or down.
    pub(super) fn announce(&mut self, a: u32, b: u32, up: bool, observer: &mut dyn Observer) {
        for (node, neighbour) in [(a, NodeId(b)), (b, NodeId(a))] {
            if self.presence[node as usize] == Presence::Down {
                continue;
            }
            let event = if up { Event::LinkUp { neighbour } } else { Event::LinkDown { neighbour } };
            // Links are never a caller's mistake.
            let _ = self.handle(node, event, observer);
        }
    }
}
