//! A mesh that recovers: who is gone, what is lost with them, and how it is made anew. See `docs/recovery.md`.
//!
//! The rules are [`Keeper`]'s. This is what drives it in a real node: facts come from links, operators and voters; a
//! census that grew is on disk before anything comes of it, goes to all neighbours ahead of everything else, and all
//! resources are pictured before the next frame is handled.

mod calls;
mod relief;
mod standing;
mod told;
mod voting;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use meshlock_api::What;
use meshlock_core::recovery::voters::{List, StartId, VoterRecord, Voting};
use meshlock_core::recovery::{Census, Keeper, Remake, Report};
use meshlock_core::{Event, NodeId};

pub use standing::Promise;
pub(crate) use standing::Promises;

use super::alarms::Alarm;
use super::instance::Instance;
use super::observe::Observer;
use super::registry::REGISTRY;
use super::saved::{SavedError, saved_report};
use super::{Machine, Now};
use crate::mesh::Member;
use crate::wire::{Entry, Frame, Number, encode};

/// What a node keeps for a recovery. It is durable when a method returns.
pub trait Disk: Send + fmt::Debug {
    /// Who came and who is gone.
    fn keep_census(&mut self, census: &Census) -> Result<(), String>;
    /// What this node has promised as a voter.
    fn keep_voter(&mut self, record: &VoterRecord) -> Result<(), String>;
    /// Whether the mesh's authority permits these voters.
    fn permits(&self, list: &List) -> bool;
}

/// What a node that recovers is started with.
#[derive(Debug)]
pub struct RecoverySetup {
    /// What was on disk; without voters, with this node itself.
    pub census: Census,
    /// Where there are voters: this node among them.
    pub voting: Option<Voting>,
    /// The resources that were known.
    pub catalogue: Vec<Entry>,
    /// Where a census is kept.
    pub disk: Box<dyn Disk>,
    /// How long clients of a former run may still hold on: until then this node says nothing.
    pub wait: Duration,
    /// Looks on from the first event on.
    pub observer: Option<Box<dyn Observer + Send>>,
}

/// This node's part in recoveries.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) keeper: Keeper,
    voting: Option<Box<Voting>>,
    voting_alarm: Option<Now>,
    /// Which neighbour told the latest round of each member first: answers to it go there.
    ways: BTreeMap<u16, NodeId>,
    /// The calls of voters, and what comes back.
    calls: calls::Calls,
    /// Voters that told this one the rounds of all, as the incarnations that did.
    tellers: BTreeMap<u16, NodeId>,
    disk: Box<dyn Disk>,
    /// Others hold this incarnation for gone. It does nothing until it has begun anew.
    expelled: bool,
    /// Why nothing is granted now.
    pub(crate) suspended: Option<String>,
    /// Until then clients of the former run may hold on.
    silent_until: Option<Now>,
    /// Nothing new is granted before a link is up.
    waits_for_link: bool,
    /// What clients hold could not be noted. Nothing is granted until that works again.
    cannot_note: bool,
    /// When the census grew last.
    pub(crate) grew: Now,
    /// Resources whose tokens this node made anew.
    pub(crate) remade: u64,
    /// How often the census grew.
    pub(crate) facts: u64,
    /// The catalogue is to be written at this time.
    catalogue_due: Option<Now>,
    /// The catalogue waits to be written.
    catalogue_waits: bool,
    /// Which resources have changed since it was taken to be written; `None` if it is to be written as a whole.
    catalogue_changed: Option<BTreeSet<Number>>,
    /// How often the catalogue has changed, and how many of the changes are on disk.
    catalogue_changes: u64,
    catalogue_kept: u64,
}

/// What is to be written of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToKeep {
    /// All resources.
    Whole(Vec<Entry>),
    /// Those that have changed since; `None` if one is gone.
    Changes(Vec<(Number, Option<Entry>)>),
}

/// New resources are written to disk together, so much later.
const CATALOGUE_MS: u64 = 200;

/// More facts than this at once are one line of the log.
const MOST_TOLD_BY_NAME: usize = 5;

impl Machine {
    /// A node of a mesh that recovers from crashes.
    pub fn recovering(settings: super::Settings, setup: RecoverySetup) -> Self {
        Self::recovering_at(Now::default(), settings, setup)
    }

    /// The same, at this moment.
    pub(crate) fn recovering_at(now: Now, settings: super::Settings, setup: RecoverySetup) -> Self {
        let RecoverySetup { census, voting, catalogue, disk, wait, observer } = setup;
        let declared = settings.declared.clone();
        let mut machine = Self::new(super::Settings { declared: Default::default(), ..settings });
        machine.settings.declared = declared;
        if let Some(observer) = observer {
            machine.set_recorder(observer);
        }
        machine.recover_with(census, voting, disk);
        for entry in catalogue {
            if let Err(reason) = machine.learn(now, machine.settings.id, entry) {
                machine.note(format!("a resource on disk cannot be used: {reason}"));
            }
        }
        machine.take_part_after(now, wait);
        machine.declare(now);
        machine
    }

    /// Goes on where a clean stop ended. Others may have been told meanwhile that this node is gone, so it needs standing
    /// first; without voters a link, unless it is the only member.
    pub fn resume_recovering(
        settings: super::Settings,
        saved: &[u8],
        setup: RecoverySetup,
    ) -> Result<Self, SavedError> {
        let RecoverySetup { census, voting, catalogue: _, disk, wait: _, observer } = setup;
        // Nothing may be done under the registry's lock before it is known that this node is not gone.
        let declared = settings.declared.clone();
        let mut machine = Self::resume(super::Settings { declared: Default::default(), ..settings }, saved)?;
        if let Some(observer) = observer {
            machine.set_recorder(observer);
        }
        let waits_for_link = voting.is_none() && census.living().count() > 1;
        machine.recover_with(census, voting, disk);
        let told = saved_report(saved);
        let now = Now::default();
        if waits_for_link {
            machine.suspend_for_link();
        }
        machine.settings.declared = declared;
        for known in machine.resources.values_mut() {
            known.compare(machine.settings.declared.get(&known.entry.name));
        }
        machine.go_on_reporting(told);
        machine.vote(now, Voting::wake);
        machine.repair(now);
        machine.declare(now);
        Ok(machine)
    }

    /// Takes part once clients of the former run hold nothing any more.
    fn take_part_after(&mut self, now: Now, wait: Duration) {
        if wait.is_zero() {
            return self.take_part(now);
        }
        let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        if let Some(recovery) = &mut self.recovery {
            recovery.silent_until = Some(now.plus_ms(ms));
            let reason = "clients of this node's former run may still rely on what they hold";
            recovery.suspended = Some(reason.to_owned());
            self.alarms.set(now.plus_ms(ms), Alarm::Voting);
        }
    }

    /// Whether this node says nothing, because clients of its former run may still hold on.
    pub(crate) fn is_silent(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.silent_until.is_some())
    }

    /// The silence is over.
    pub(crate) fn end_silence(&mut self, now: Now) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.silent_until.is_none_or(|until| now < until) {
            return;
        }
        recovery.silent_until = None;
        if recovery.voting.is_none() {
            self.resume_granting(now);
        }
        self.take_part(now);
    }

    /// Reports what there is; where there are voters, they must have this node on record first.
    fn take_part(&mut self, now: Now) {
        self.report();
        match self.census().cloned().filter(|_| self.voting().is_some()) {
            Some(census) => self.vote(now, |voting, time| voting.register(time, &census)),
            None => self.repair(now),
        }
    }

    /// Recovers from now on. Resources that are known are told.
    fn recover_with(&mut self, census: Census, voting: Option<Voting>, disk: Box<dyn Disk>) {
        let keeper = Keeper::new(self.settings.id, census.clone(), voting.is_some());
        let suspended = voting.is_some().then(|| "this node has just started".to_owned());
        self.recovery = Some(Recovery {
            keeper,
            voting: voting.map(Box::new),
            voting_alarm: None,
            ways: BTreeMap::new(),
            calls: calls::Calls::default(),
            tellers: BTreeMap::new(),
            disk,
            expelled: false,
            suspended,
            silent_until: None,
            waits_for_link: false,
            cannot_note: false,
            grew: Now::default(),
            remade: 0,
            facts: 0,
            catalogue_due: None,
            catalogue_waits: false,
            catalogue_changed: None,
            catalogue_changes: 0,
            catalogue_kept: 0,
        });
        for number in self.numbers() {
            self.link_step(Now::default(), number, Event::Census { census: census.clone() });
        }
    }

    /// What is known of who is gone, where nodes recover.
    pub fn census(&self) -> Option<&Census> {
        self.recovery.as_ref().map(|recovery| recovery.keeper.census())
    }

    /// Fences of a resource made now begin above this: another one of the same name may have been lost with all who knew
    /// it, and its fences were below the rank of any census since.
    pub(crate) fn first_fence(&self) -> u64 {
        match self.census() {
            Some(census) if census.is_pristine() => 0,
            Some(census) => Remake::first_number(census.rank()),
            None => self.settings.first_fence,
        }
    }

    /// Whether others hold this incarnation for gone, so that it has to [begin anew](Self::begin_anew).
    pub fn is_expelled(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.expelled)
    }

    /// Whether this node and that one take part together: both are living, as far as is known here.
    pub(crate) fn is_partner(&self, node: NodeId) -> bool {
        self.recovery.as_ref().is_none_or(|recovery| {
            let census = recovery.keeper.census();
            !recovery.expelled && census.is_living(node) && census.is_living(self.settings.id)
        })
    }

    /// Learns who came and who is gone. An error says that it could not be made durable: nothing was learned then.
    pub fn learn_facts(&mut self, now: Now, facts: &Census) -> Result<(), String> {
        let Some(recovery) = self.recovery.as_mut().filter(|recovery| !recovery.expelled) else { return Ok(()) };
        let Some(grown) = recovery.keeper.grown(facts) else { return Ok(()) };
        recovery.disk.keep_census(&grown).map_err(|error| format!("it cannot store who is gone: {error}"))?;
        let before = recovery.keeper.census().clone();
        recovery.keeper.learn(grown.clone());
        recovery.calls.retain(|caller| !grown.is_gone(caller));
        recovery.grew = now;
        recovery.facts += 1;
        self.tell_facts(&before, &grown);
        if self.census().is_some_and(|census| census.is_gone(self.settings.id)) {
            self.expel(now, "others declared it gone while it was out of reach");
            return Ok(());
        }
        self.post_to_all(&encode(&Frame::Census(grown.clone())), None);
        self.report();
        let gone: Vec<NodeId> = self.neighbours.keys().copied().filter(|id| grown.is_gone(*id)).collect();
        for neighbour in gone {
            self.unlink(now, neighbour);
        }
        for number in self.numbers() {
            self.link_step(now, number, Event::Census { census: grown.clone() });
        }
        self.link_partners(now);
        self.repair(now);
        self.vote(now, |voting, time| voting.learn(time, &grown));
        Ok(())
    }

    /// Takes a picture of all resources as they are now and tells it to everybody.
    fn report(&mut self) {
        let Some(recovery) = &mut self.recovery else { return };
        let census = recovery.keeper.census();
        let row = |(number, known): (&Number, &super::Resource)| (*number, known.instance.row(census));
        let rows = self.resources.iter().map(row).collect();
        let report = recovery.keeper.report(rows);
        self.post_to_all(&report_frame(&report), None);
    }

    /// What was told of this node when its census grew last, for the next start.
    pub(super) fn told_report(&self) -> Option<(Report, bool)> {
        let keeper = &self.recovery.as_ref()?.keeper;
        keeper.own_report().map(|report| (report.clone(), keeper.is_decided()))
    }

    /// Reports as before a clean stop; anew only if the census has grown since, which nobody has heard of then.
    fn go_on_reporting(&mut self, told: Option<(Report, bool)>) {
        let goes_on = |(report, is_decided)| {
            self.recovery.as_mut().is_some_and(|recovery| recovery.keeper.go_on(report, is_decided))
        };
        if !told.is_some_and(goes_on) {
            self.report();
        }
    }

    /// A neighbour tells what a node had when its census grew.
    pub(crate) fn on_repair(&mut self, now: Now, from: NodeId, report: Report) {
        let Some(recovery) = &mut self.recovery else { return };
        let report = Arc::new(report);
        if recovery.keeper.hear(Arc::clone(&report)) {
            self.post_to_all(&report_frame(&report), Some(from));
            self.repair(now);
        }
    }

    /// The frames that a new neighbour has to hear first.
    pub(crate) fn census_frame(&self) -> Option<Frame> {
        self.census().map(|census| Frame::Census(census.clone()))
    }

    /// And those it has to hear after the catalogue.
    pub(crate) fn report_frames(&self) -> Vec<crate::links::Outgoing> {
        let reports = self.recovery.iter().flat_map(|recovery| recovery.keeper.reports());
        reports.map(|report| report_frame(report)).collect()
    }

    /// Makes lost tokens anew, if this node is to do that and nothing is missing.
    fn repair(&mut self, now: Now) {
        let Some(recovery) = self.recovery.as_mut().filter(|recovery| recovery.silent_until.is_none()) else { return };
        if recovery.keeper.wants_ratification() {
            let census = recovery.keeper.census().clone();
            self.vote(now, |voting, time| voting.ratify(time, &census)); // and then this again
        }
        let Some(recovery) = &mut self.recovery else { return };
        let Some(lost) = recovery.keeper.decide() else { return };
        for (number, remake) in lost {
            if self.is_gone(number) {
                continue; // it was removed, and a node that reported it had not heard yet
            }
            let Some(name) = self.resources.get(&number).map(|known| known.entry.name.clone()) else {
                self.note(format!("the token of resource {number} is lost, which is not known here"));
                continue;
            };
            let grants = remake.rows.len();
            self.link_step(now, number, Event::Remake { remake });
            if let Some(recovery) = &mut self.recovery {
                recovery.remade += 1;
            }
            if number != REGISTRY {
                self.note(format!(
                    "the token of {name:?} was lost and is made anew here, by the reports of {grants} nodes"
                ));
                self.events.tell(now, || What::TokenHere { resource: name });
            }
        }
    }

    /// Who came and who is gone, for the log. Who was away for long, or comes for the first time, hears of many at once.
    pub(in crate::machine) fn tell_facts(&mut self, before: &Census, after: &Census) {
        let own = Member::of(self.settings.id).0;
        let news = after.counts().filter(|(member, count)| {
            let was = before.count(*member);
            was != *count && *member != own && (count % 2 == 0 || was > 0)
        });
        let news: Vec<(u16, u32)> = news.collect();
        if news.len() > MOST_TOLD_BY_NAME {
            let many = news.len();
            return self.note(format!(
                "{many} members are gone or came back after a crash, as is heard now: what they held is free, and what they \
                 had is made anew"
            ));
        }
        for (member, count) in news {
            let name =
                self.known.get(&Member(member)).map_or_else(|| format!("member {member}"), |known| known.name.clone());
            let what = if count % 2 == 0 { "is gone" } else { "came back after a crash" };
            self.note(format!("{name} {what}: what it held is free, and what it had is made anew"));
        }
    }

    /// Links up with neighbours that take part now.
    fn link_partners(&mut self, now: Now) {
        let new = |(id, neighbour): (&NodeId, &super::Neighbour)| (!neighbour.is_partner).then_some(*id);
        let waiting: Vec<NodeId> = self.neighbours.iter().filter_map(new).collect();
        for node in waiting.into_iter().filter(|node| self.is_partner(*node)).collect::<Vec<_>>() {
            self.link(now, node);
        }
    }

    /// This incarnation is gone, say others. Its clients hold nothing any more, and those that wait go on waiting.
    fn expel(&mut self, now: Now, why: &str) {
        if let Some(recovery) = &mut self.recovery {
            recovery.expelled = true;
        }
        self.note(format!("this node begins anew, and its clients lose what they hold: {why}"));
        self.end_grants(now, &format!("its node begins anew: {why}"));
        let all: Vec<NodeId> = self.neighbours.keys().copied().collect();
        for node in all {
            self.link_down(now, node, "this node begins anew");
        }
    }

    /// Goes on as the next incarnation, which is durable: without tokens, with all that waits.
    ///
    /// `start` is a number that no other start of a node has; voters tell processes apart by it.
    pub fn begin_anew(&mut self, now: Now, id: NodeId, start: StartId) -> Result<(), String> {
        let Some(recovery) = &mut self.recovery else { return Ok(()) };
        let mut census = recovery.keeper.census().clone();
        if let Some(voting) = &mut recovery.voting {
            census = census.merged(voting.census());
            **voting = voting.anew(id, start, census.count(id.member()));
        } else {
            census = census.merged(&Census::living_fact(id));
        }
        recovery.disk.keep_census(&census)?;
        recovery.keeper = Keeper::new(id, census.clone(), recovery.voting.is_some());
        (recovery.expelled, recovery.grew) = (false, now);
        recovery.calls = calls::Calls::default();
        recovery.tellers.clear();
        self.settings.id = id;
        self.forget_registry_request();
        self.forget_removals();
        self.forget_revoked(now);
        for known in self.resources.values_mut() {
            known.instance = Instance::new(&known.entry.definition, id, false);
            known.tickets.clear();
            known.company = None;
            known.desk = Default::default();
        }
        // The former incarnation has nothing to do with what comes now.
        if let Some(next) = self.observer.take().and_then(|former| former.of_next(&self.settings)) {
            self.set_recorder(next);
        }
        for number in self.numbers() {
            self.link_step(now, number, Event::Census { census: census.clone() });
        }
        for ticket in self.requests.alive_ones() {
            if let Some(request) = self.requests.get_mut(ticket) {
                request.number = None;
            }
        }
        self.submit_all(now);
        self.take_part(now);
        self.seek_registry(now);
        Ok(())
    }

    /// What this node says when it leaves in order and has nothing that others need.
    /// False if it has, or if nobody hears it: then its state is to be saved.
    pub fn say_goodbye(&mut self) -> bool {
        let leaves = self.still_needed_for().is_empty() && self.lingering.is_empty() && !self.neighbours.is_empty();
        let Some(census) = self.census().filter(|census| leaves && census.is_living(self.settings.id)) else {
            return false;
        };
        let goodbye = census.goodbye(self.settings.id);
        self.post_to_all(&encode(&Frame::Census(goodbye)), None);
        true
    }

    /// Whether the state of this node may be used by the next start: voters have it on record, and nobody holds it for
    /// gone. Otherwise there is nothing in it that others need.
    pub fn may_go_on(&self) -> bool {
        !self.is_expelled() && !self.is_silent() && self.voting().is_none_or(Voting::is_registered)
    }

    /// A resource has changed in the catalogue, or is gone from it: that is to be kept, soon.
    pub(crate) fn catalogue_changed(&mut self, now: Now, number: Number) {
        let Some(recovery) = &mut self.recovery else { return };
        recovery.catalogue_changes += 1;
        if let Some(changed) = &mut recovery.catalogue_changed {
            changed.insert(number);
        }
        self.keep_catalogue_soon(now);
    }

    fn keep_catalogue_soon(&mut self, now: Now) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.catalogue_due.is_none() {
            let due = now.plus_ms(CATALOGUE_MS);
            recovery.catalogue_due = Some(due);
            self.alarms.set(due, Alarm::Catalogue);
        }
    }

    pub(crate) fn catalogue_due(&mut self) {
        if let Some(recovery) = &mut self.recovery {
            recovery.catalogue_due = None;
            recovery.catalogue_waits = true;
        }
    }

    /// The catalogue could not be written: it is tried again, as a whole.
    pub fn keep_catalogue_again(&mut self, now: Now) {
        if let Some(recovery) = &mut self.recovery {
            recovery.catalogue_changed = None;
        }
        self.keep_catalogue_soon(now);
    }

    /// The greatest count of a member that is known: its next incarnation must be above it.
    pub fn greatest_count(&self, member: u16) -> u32 {
        let census = self.census().map_or(0, |census| census.count(member));
        census.max(self.voting().map_or(0, |voting| voting.census().count(member)))
    }

    /// Whether the catalogue has to be written to disk.
    pub(crate) fn has_catalogue(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.catalogue_waits)
    }

    /// What has to be written of the catalogue, and how many changes are on disk then. It need not be durable before anything
    /// comes of it, but before somebody is told that it has changed.
    pub fn take_catalogue(&mut self) -> Option<(ToKeep, u64)> {
        let recovery = self.recovery.as_mut().filter(|recovery| recovery.catalogue_waits)?;
        recovery.catalogue_waits = false;
        let changes = recovery.catalogue_changes;
        let Some(changed) = recovery.catalogue_changed.replace(BTreeSet::new()) else {
            return Some((ToKeep::Whole(self.entries()), changes));
        };
        let entry = |number| (number, self.resources.get(&number).map(|known| known.entry.clone()));
        Some((ToKeep::Changes(changed.into_iter().map(entry).collect()), changes))
    }

    /// So many changes of the catalogue are on disk.
    pub fn catalogue_kept(&mut self, changes: u64) {
        if let Some(recovery) = &mut self.recovery {
            recovery.catalogue_kept = recovery.catalogue_kept.max(changes);
        }
    }

    /// How many changes of the catalogue there were, if they are not all on disk; they are to be written now.
    pub(crate) fn keep_catalogue_now(&mut self) -> Option<u64> {
        let recovery = self.recovery.as_ref()?;
        let changes = recovery.catalogue_changes;
        let is_kept = recovery.catalogue_kept >= changes;
        (!is_kept).then(|| {
            self.catalogue_due();
            changes
        })
    }

    /// Whether so many changes of the catalogue are on disk.
    pub(crate) fn is_catalogue_kept(&self, changes: u64) -> bool {
        self.recovery.as_ref().is_none_or(|recovery| recovery.catalogue_kept >= changes)
    }
}

fn report_frame(report: &Report) -> crate::links::Outgoing {
    encode(&Frame::Repair(Box::new(report.clone())))
}
