//! Bugs that can be planted, and the [`Rules`] with these bugs in them; see [`meshlock_core::planted`].
//!
//! Each method here takes precedence over the rule of the same name.

use meshlock_core::recovery::{Census, Report, Resource, Row};
use meshlock_core::{Effect, Event, Misuse, NodeId, Units};

use super::{Effects, Link, Phase, Recovering, Rules};
use crate::node::Node;

meshlock_core::bugs! {
    /// A census that grew is told behind what the node says next.
    TellCensusLate,
    /// What the gone have sent is heard.
    HearTheGone,
    /// Who comes back is the same incarnation.
    KeepIncarnation,
    /// The census is forgotten in a crash.
    ForgetCensus,
    /// How the resource is defined is forgotten in a crash.
    ForgetDefinition,
    /// An invitation does not name those who were invited before.
    ForgetInvitation,
    /// A removal does not name those who were invited.
    ForgetInvited,
    /// Who is gone goes on.
    GoOnWhenGone,
    /// Who leaves does not say so.
    LeaveSilently,
    /// Who goes on after a clean stop pictures itself again and, as an heir, decides again: nothing was saved of that.
    PictureAgain,
    /// Who goes on after a clean stop pictures itself again; that it has decided was saved.
    SaveNoReport,
    /// Who goes on after a clean stop decides again, with the report that was saved.
    SaveNoDecision,
    /// What was saved is not deleted when it is used: after a crash it is used again.
    KeepSaved,
}

impl Recovering {
    pub fn plant(&mut self, bug: Bug) {
        self.planted = meshlock_core::planted::Planted::bug(bug as u8);
    }

    /// Plants a bug into its part in recoveries.
    pub fn plant_into_keeper(&mut self, bug: meshlock_core::recovery::Bug) {
        self.keeper.plant(bug);
    }

    /// Its nodes of all resources, to plant bugs into them.
    pub fn resources_mut(&mut self) -> &mut [Node] {
        &mut self.resources
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted.has(bug as u8)
    }

    pub(super) fn hears(&self, sender: NodeId) -> bool {
        self.has(Bug::HearTheGone) || Rules::hears(self, sender)
    }

    pub(super) fn publish(&mut self, rows: Vec<(Resource, Option<Row>)>, out: &mut Effects) {
        let told = out.len();
        Rules::publish(self, rows, out);
        if self.has(Bug::TellCensusLate) {
            self.untold = Some((false, out.split_off(told)));
        }
    }

    /// For [`Bug::TellCensusLate`]: tells with the next event, behind everything else.
    pub(super) fn tell_late(&mut self, out: &mut Effects) {
        match self.untold.take() {
            Some((true, told)) if self.is_running() => {
                for effect in told {
                    let Effect::Multicast { mut to, message } = effect else { continue };
                    to.retain(|neighbour| self.links.contains_key(neighbour));
                    out.push(Effect::Multicast { to, message });
                }
            }
            Some((true, _)) => {}
            Some((false, told)) => self.untold = Some((true, told)),
            None => {}
        }
    }

    /// For [`Bug::HearTheGone`]: the protocols believe a link to one who is gone.
    pub(super) fn link_with_gone(&mut self, neighbour: NodeId, peer: NodeId, out: &mut Effects) -> Result<(), Misuse> {
        let known = self.links.get(&neighbour).is_some_and(|link| link.peer == Some(peer) && !link.is_up);
        if self.has(Bug::HearTheGone) && known && self.keeper.census().is_gone(peer) {
            self.links.insert(neighbour, Link { peer: Some(peer), is_up: true });
            self.tell_all(&Event::LinkUp { neighbour: peer }, out)?;
        }
        Ok(())
    }

    pub(super) fn next_incarnation(&self) -> NodeId {
        if self.has(Bug::KeepIncarnation) { self.me() } else { Rules::next_incarnation(self) }
    }

    pub(super) fn kept_census(&self) -> Census {
        if self.has(Bug::ForgetCensus) { Census::living_fact(self.me()) } else { Rules::kept_census(self) }
    }

    pub(super) fn kept_definition(&self) -> Option<(u64, Units)> {
        if self.has(Bug::ForgetDefinition) { None } else { Rules::kept_definition(self) }
    }

    pub(super) fn known_at_start(&self) -> Census {
        let forgets = self.has(Bug::ForgetInvitation) && self.phase == Phase::Invited;
        if forgets { Census::default() } else { Rules::known_at_start(self) }
    }

    pub(super) fn told_by_others(&self, facts: Census) -> Census {
        if !self.has(Bug::ForgetInvited) {
            return Rules::told_by_others(self, facts);
        }
        let removed = facts.counts().map(|(member, _)| member).filter(|member| facts.is_removed(*member));
        removed.fold(Census::default(), |all, member| all.merged(&Census::removed_fact(member)))
    }

    pub(super) fn must_begin_anew(&self) -> bool {
        !self.has(Bug::GoOnWhenGone) && Rules::must_begin_anew(self)
    }

    pub(super) fn go_on(&mut self, out: &mut Effects) {
        if self.has(Bug::KeepSaved) {
            self.saved = Some(Box::new(self.clone()));
        }
        let (told, is_decided) = (self.keeper.own_report().cloned(), self.keeper.is_decided());
        Rules::go_on(self, out);
        let Some(told) = told else { return };
        if self.has(Bug::PictureAgain) || self.has(Bug::SaveNoReport) {
            let rows = self.pictures(&told.census);
            let census = told.census;
            self.keeper = self.keeper.anew(self.me(), census.clone());
            let picture = Report { census, node: self.me(), rows };
            self.keeper.go_on(picture, is_decided && self.has(Bug::SaveNoReport));
        } else if self.has(Bug::SaveNoDecision) {
            self.keeper.go_on(told, false);
        }
    }

    /// For [`Bug::KeepSaved`]: starts from what a clean stop saved long ago, under the census that is on disk.
    pub(super) fn use_saved_again(&mut self) -> bool {
        let Some(saved) = self.saved.take() else { return false };
        let census = self.keeper.census().merged(saved.keeper.census());
        let links = std::mem::take(&mut self.links);
        *self = Self { links, ..*saved };
        self.keeper = self.keeper.anew(self.me(), census);
        true
    }

    pub(super) fn say_goodbye(&mut self, out: &mut Effects) {
        if !self.has(Bug::LeaveSilently) {
            Rules::say_goodbye(self, out);
        }
    }
}
