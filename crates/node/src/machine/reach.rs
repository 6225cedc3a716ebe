//! Whether the tokens of resources that clients wait for are in reach.
//!
//! To wait for others and to wait for a token that is lost are two things, and a client must be able to tell. A
//! resource is *suspected* when requests of this node wait for it, its token is not here, and
//!
//! - with `reverse-link`, the protocol itself finds no way to the token ([`meshlock_core::reverse_link::Node::is_cut_off`]);
//! - with `flood` and `group`, which cannot know, a request has waited for [`LONG_MS`] and no token was seen meanwhile.
//!
//! Then every node in reach is asked where the token is. It is *out of reach* if all have answered, and none of them has
//! it or had it within the last three seconds (a token that moves leaves such traces). That is asked again and again while
//! a client waits, and the verdict is dropped as soon as the suspicion is, or the token comes. So it is told at most
//! some seconds late in either direction, and nothing is sent where a way to the token is known.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::OutOfReach;

use super::alarms::Alarm;
use super::answers::{JUST_NOW_MS, Sighting};
use super::instance::Instance;
use super::registry::REGISTRY;
use super::reports::summary;
use super::{Machine, Now, Request, Resource};
use crate::wire::{About, Fact, MOST_FACTS, Number};

/// How often suspicions are looked at, while a client waits.
const LOOK_MS: u64 = 1_000;
/// How often all nodes are asked, while something is suspected.
const ASK_MS: u64 = 5_000;
/// How long others may take to answer.
const PATIENCE_MS: u64 = 4_000;
/// After so long without a sign of the token, those who wait with `flood` or `group` become suspicious.
const LONG_MS: u64 = 2_000;

/// What is known about tokens that are waited for.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Resources that requests of this node wait for, and some for which they no longer do.
    waited: BTreeSet<Number>,
    lost: BTreeMap<Number, Lost>,
    asked: Option<Asked>,
    ask_again: Now,
    is_awake: bool,
}

/// A token that no node in reach has.
#[derive(Clone, Debug)]
struct Lost {
    since: Now,
    last_seen: Option<String>,
}

/// A question that is under way.
#[derive(Debug)]
struct Asked {
    query: u64,
    about: Vec<Number>,
    until: Now,
}

impl Machine {
    /// A client waits for a resource.
    pub(crate) fn watch_reach(&mut self, now: Now, resource: Number) {
        self.reach.waited.insert(resource);
        if !self.reach.is_awake {
            self.reach.is_awake = true;
            self.alarms.set(now.plus_ms(LOOK_MS), Alarm::Reach);
        }
    }

    /// Looks at everything that is waited for.
    pub(crate) fn look_at_reach(&mut self, now: Now) {
        let waited = std::mem::take(&mut self.reach.waited);
        self.reach.waited = waited.into_iter().filter(|number| self.is_waited_for(*number)).collect();
        self.hear_reach(now);
        let suspected: BTreeSet<Number> =
            self.reach.waited.iter().copied().filter(|number| self.is_suspected(now, *number)).collect();
        let found: Vec<Number> = self.reach.lost.keys().copied().filter(|number| !suspected.contains(number)).collect();
        for number in found {
            self.reach.lost.remove(&number);
        }
        let is_new = suspected.iter().any(|number| !self.reach.lost.contains_key(number));
        if !suspected.is_empty() && self.reach.asked.is_none() && (is_new || now >= self.reach.ask_again) {
            // Those that were not asked about yet come first.
            let mut about: Vec<Number> = suspected.into_iter().collect();
            about.sort_by_key(|number| self.reach.lost.contains_key(number));
            about.truncate(MOST_FACTS);
            let query = self.ask_everybody(About::Tokens(about.clone()));
            self.reach.asked = Some(Asked { query, about, until: now.plus_ms(PATIENCE_MS) });
            self.reach.ask_again = now.plus_ms(ASK_MS);
            self.hear_reach(now);
        }
        self.reach.is_awake = !self.reach.waited.is_empty();
        if self.reach.is_awake {
            self.alarms.set(now.plus_ms(LOOK_MS), Alarm::Reach);
        }
    }

    /// Whether all nodes have answered, and what follows from it.
    fn hear_reach(&mut self, now: Now) {
        let Some(asked) = &self.reach.asked else { return };
        let is_complete = self.is_answered(asked.query);
        if !is_complete && now < asked.until {
            return;
        }
        let Some(Asked { query, about, .. }) = self.reach.asked.take() else { return };
        let mut seen = self.take_answers(query).sightings();
        if !is_complete {
            return; // a node in reach did not answer, and may have it
        }
        for number in about {
            let sighting = seen.remove(&number).unwrap_or_default();
            self.judge(now, number, sighting);
        }
    }

    fn judge(&mut self, now: Now, number: Number, mut sighting: Sighting) {
        let Some(known) = self.resources.get(&number) else { return };
        if let Some(Fact::Resource { token, .. }) = summary(now, known) {
            sighting.add(&self.settings.name, &token);
        }
        if sighting.in_reach() || !self.is_suspected(now, number) {
            self.reach.lost.remove(&number);
            return;
        }
        let home = self.name_of(known.entry.home);
        let name = known.entry.name.clone();
        let (since, last_seen) = match sighting.last {
            Some(last) => (Now(now.0.saturating_sub(last.ms_ago.saturating_mul(1_000_000))), Some(last.at)),
            None => (self.reach.lost.get(&number).map_or(now, |lost| lost.since), home),
        };
        let lost = Lost { since, last_seen };
        if self.reach.lost.insert(number, lost.clone()).is_none() {
            let line = format!("the token of {name:?}, for which clients wait, is {}", lost.told(now));
            self.note(line);
        }
    }

    fn is_waited_for(&self, number: Number) -> bool {
        let Some(known) = self.resources.get(&number) else { return false };
        if number == REGISTRY { self.waits_for_registry() } else { !known.usage.waiters.is_empty() }
    }

    fn is_suspected(&self, now: Now, number: Number) -> bool {
        let Some(known) = self.resources.get(&number).filter(|known| !known.instance.holds_token()) else {
            return false;
        };
        match &known.instance {
            Instance::ReverseLink(node) => node.is_cut_off(),
            Instance::Flood(_) | Instance::Group(_) => {
                let seen = known.token_left.as_ref().is_some_and(|left| now.ms_since(left.at) < JUST_NOW_MS);
                !seen && self.longest_wait_ns(now, known) >= LONG_MS * 1_000_000
            }
        }
    }

    /// Why a request that waits cannot be served, if that is so: the token of its resource is out of reach, or that of
    /// the registry, which has to make the resource first.
    pub(crate) fn out_of_reach(&self, now: Now, request: &Request) -> Option<OutOfReach> {
        let number = request.resource.unwrap_or(REGISTRY);
        let lost = self.reach.lost.get(&number)?;
        self.is_suspected(now, number).then(|| lost.told(now))
    }

    /// Whether clients wait for a resource and its token is out of reach.
    pub(crate) fn is_lost(&self, now: Now, number: Number) -> bool {
        self.reach.lost.contains_key(&number) && self.is_suspected(now, number)
    }

    /// The resources that clients of this node wait for and whose tokens are out of reach, so many at most.
    pub fn lost_resources(&self, now: Now, most: usize) -> Vec<(String, OutOfReach)> {
        let name = |known: &Resource| known.entry.name.clone();
        let lost = self.reach.lost.iter().filter(|(number, _)| self.is_suspected(now, **number));
        let told = lost.filter_map(|(number, lost)| Some((name(self.resources.get(number)?), lost.told(now))));
        told.take(most).collect()
    }
}

impl Lost {
    fn told(&self, now: Now) -> OutOfReach {
        OutOfReach { for_ms: Some(now.ms_since(self.since)), last_seen: self.last_seen.clone() }
    }
}
