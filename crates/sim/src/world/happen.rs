//! What each entry of the agenda does.

use meshlock_core::{Event, NodeId, Timer};

use super::leave::Presence;
use super::{Medium, World};
use crate::agenda::{Ballot, Due};
use crate::observe::Observer;

impl World {
    pub(super) fn happen(&mut self, due: Due, observer: &mut dyn Observer) {
        match due {
            Due::Ask { client } => {
                let node = self.clients.node_of(client);
                if !self.serves(node) {
                    return self.turn_away(client);
                }
                let place = (client, self.life(node));
                if let Some(request) = self.clients.ask(place, self.now, self.tally.all, &mut self.agenda) {
                    self.submit(request, observer);
                }
            }
            Due::Release { request } => self.release(request, observer),
            Due::GiveUp { request } => self.give_up(request, observer),
            Due::Timer { node, life, .. } if life != self.life(node) || self.is_gone(node) => {}
            Due::Timer { node, epoch, .. } => {
                // A protocol that refuses its own timer is none of ours.
                let _ = self.handle(node, Event::Expired { timer: Timer { epoch } }, observer);
            }
            Due::Land { frame } => self.land(frame, observer),
            Due::Held { from, to } => self.hold_no_longer(from, to, observer),
            Due::Free { node } => self.wake(node, observer),
            Due::Leg { node, version } => self.start_leg(node, version, observer),
            Due::Cell { node, version } => {
                if let Medium::Air { reach, .. } = &mut self.medium {
                    reach.next_cell(node, version, &self.links, self.now, &mut self.agenda);
                }
            }
            Due::Cross { a, b, legs, up } => self.cross(a, b, legs, up, observer),
            Due::Change => self.change(observer),
            Due::Scripted { index } => self.scripted(index, observer),
            Due::Sample => {
                if self.now <= self.end && !self.manner.direct {
                    let presence = &self.presence;
                    let present = |node: u32| match &self.medium {
                        Medium::Air { reach, .. } => {
                            reach.leg(node).present && presence[node as usize] != Presence::Down
                        }
                        Medium::Wire { .. } => !matches!(presence[node as usize], Presence::Gone | Presence::Down),
                    };
                    self.figures.sample(&self.links, present);
                    self.agenda.add(self.now + self.figures.every(), Due::Sample);
                }
            }
            Due::WarmedUp => self.kinds_before = self.tally.kinds(),
            Due::Depart { node } => self.depart(node, observer),
            Due::Crash { node, life } => self.crash_at_random(node, life, observer),
            Due::ScriptedCrash { index } => self.scripted_crash(index, observer),
            Due::Return { node } => self.come_back(node, observer),
            Due::Remove { node } => self.be_removed(node, observer),
            Due::LeaseOver { request } => self.lease_over(request),
            Due::Voters { kind, life, node, until } => self.vote(Ballot::of(kind, life, node, until), observer),
        }
    }

    fn start_leg(&mut self, node: u32, version: u32, observer: &mut dyn Observer) {
        if let Medium::Air { reach, .. } = &mut self.medium
            && reach.next_leg(node, version, &self.links, self.now, &mut self.agenda)
            && self.presence[node as usize] != Presence::Down
        {
            observer.moved(self.now, NodeId(node), reach.leg(node));
        }
    }
}
