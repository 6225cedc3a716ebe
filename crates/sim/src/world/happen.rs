//! What each entry of the agenda does.

use meshlock_core::{Event, NodeId, Timer};

use super::leave::Presence;
use super::{Medium, World};
use crate::agenda::Due;
use crate::observe::Observer;

impl World {
    pub(super) fn happen(&mut self, due: Due, observer: &mut dyn Observer) {
        match due {
            Due::Ask { client } => {
                if let Some(request) = self.clients.ask(client, self.now, self.tally.all, &mut self.agenda) {
                    self.submit(request, observer);
                }
            }
            Due::Release { request } => self.release(request, observer),
            Due::GiveUp { request } => self.give_up(request, observer),
            Due::Timer { node, epoch } => {
                // A protocol that refuses its own timer is none of ours.
                let _ = self.handle(node, Event::Expired { timer: Timer { epoch } }, observer);
            }
            Due::Land { frame } => self.land(frame, observer),
            Due::Free { node } => self.wake(node, observer),
            Due::Leg { node, version } => self.start_leg(node, version, observer),
            Due::Cell { node, version } => {
                if let Medium::Air { reach, .. } = &mut self.medium {
                    reach.next_cell(node, version, &self.links, self.now, &mut self.agenda);
                }
            }
            Due::Cross { a, b, versions, up } => self.cross(a, b, versions, up, observer),
            Due::Change => self.change(observer),
            Due::Scripted { index } => self.scripted(index, observer),
            Due::Sample => {
                if self.now <= self.end && !self.manner.direct {
                    let presence = &self.presence;
                    let present = |node: u32| match &self.medium {
                        Medium::Air { reach, .. } => reach.leg(node).present,
                        Medium::Wire { .. } => presence[node as usize] != Presence::Gone,
                    };
                    self.figures.sample(&self.links, present);
                    self.agenda.add(self.now + self.figures.every(), Due::Sample);
                }
            }
            Due::WarmedUp => self.kinds_before = self.tally.kinds(),
            Due::Depart { node } => self.depart(node, observer),
        }
    }

    fn start_leg(&mut self, node: u32, version: u32, observer: &mut dyn Observer) {
        if let Medium::Air { reach, .. } = &mut self.medium
            && reach.next_leg(node, version, &self.links, self.now, &mut self.agenda)
        {
            observer.moved(self.now, NodeId(node), reach.leg(node));
        }
    }
}
