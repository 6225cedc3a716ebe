//! The waiting requests and those inside at a moment, indexed so that the most urgent one that fits is found quickly.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use meshlock_core::Session;

use crate::outcome::Request;
use crate::time::Time;

/// A waiting request: the most urgent is the greatest, of equals the one asked first, and then the one made first.
pub(super) type Claim = (i64, Reverse<Time>, Reverse<usize>);

pub(super) fn claim(request: &Request, index: usize) -> Claim {
    (request.urgency_rank(), Reverse(request.asked), Reverse(index))
}

/// Waiting requests. There are few different numbers of units, so looking at the best of each is cheap.
#[derive(Default)]
pub(super) struct Waiting {
    by_units: BTreeMap<u32, BTreeSet<Claim>>,
    by_session: BTreeMap<(Option<Session>, u32), BTreeSet<Claim>>,
}

impl Waiting {
    pub(super) fn insert(&mut self, request: &Request, index: usize) {
        let claim = claim(request, index);
        self.by_units.entry(request.units.0).or_default().insert(claim);
        self.by_session.entry((request.session, request.units.0)).or_default().insert(claim);
    }

    pub(super) fn remove(&mut self, request: &Request, index: usize) {
        let claim = claim(request, index);
        strike(&mut self.by_units, &request.units.0, &claim);
        strike(&mut self.by_session, &(request.session, request.units.0), &claim);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_units.is_empty()
    }

    pub(super) fn most_urgent(&self) -> Option<Claim> {
        self.by_units.values().filter_map(BTreeSet::last).max().copied()
    }

    pub(super) fn most_urgent_fitting(&self, room: Room) -> Option<Claim> {
        let free = ..=room.free;
        let of_session = |session| {
            let fitting = self.by_session.range((session, 0)..=(session, room.free));
            fitting.filter_map(|(_, claims)| claims.last()).max()
        };
        let best = match room.open {
            Open::None => self.by_units.range(free).filter_map(|(_, claims)| claims.last()).max(),
            Open::One(session) => of_session(None).max(of_session(Some(session))),
            Open::Several => of_session(None),
        };
        best.copied()
    }

    pub(super) fn any_fits(&self, room: Room) -> bool {
        let of_session = |session| self.by_session.range((session, 0)..=(session, room.free)).next().is_some();
        match room.open {
            Open::None => self.by_units.range(..=room.free).next().is_some(),
            Open::One(session) => of_session(None) || of_session(Some(session)),
            Open::Several => of_session(None),
        }
    }
}

fn strike<K: Ord>(shelves: &mut BTreeMap<K, BTreeSet<Claim>>, key: &K, claim: &Claim) {
    if let Some(claims) = shelves.get_mut(key) {
        claims.remove(claim);
        if claims.is_empty() {
            shelves.remove(key);
        }
    }
}

#[derive(Default)]
pub(super) struct Inside {
    pub(super) grants: u64,
    pub(super) units: u64,
    sessions: BTreeMap<Session, u64>,
}

impl Inside {
    pub(super) fn enter(&mut self, request: &Request) {
        self.grants += 1;
        self.units += u64::from(request.units.0);
        if let Some(session) = request.session {
            *self.sessions.entry(session).or_default() += 1;
        }
    }

    pub(super) fn leave(&mut self, request: &Request) {
        self.grants -= 1;
        self.units -= u64::from(request.units.0);
        if let Some(session) = request.session
            && let Some(count) = self.sessions.get_mut(&session)
        {
            *count -= 1;
            if *count == 0 {
                self.sessions.remove(&session);
            }
        }
    }

    pub(super) fn in_sessions(&self) -> u64 {
        self.sessions.values().sum()
    }

    pub(super) fn room(&self, capacity: u32) -> Room {
        let free = u64::from(capacity).saturating_sub(self.units);
        let mut sessions = self.sessions.keys();
        let open = match (sessions.next(), sessions.next()) {
            (None, _) => Open::None,
            (Some(session), None) => Open::One(*session),
            (Some(_), Some(_)) => Open::Several,
        };
        Room { free: u32::try_from(free).unwrap_or(u32::MAX), open }
    }
}

/// What a request must fit into.
#[derive(Clone, Copy)]
pub(super) struct Room {
    free: u32,
    open: Open,
}

/// The sessions in use. A request without a session excludes none.
#[derive(Clone, Copy)]
enum Open {
    None,
    One(Session),
    /// A rule is broken, and none may be joined.
    Several,
}

impl Room {
    pub(super) fn fits(self, request: &Request) -> bool {
        let admissible = match (self.open, request.session) {
            (Open::None, _) | (_, None) => true,
            (Open::One(open), Some(session)) => open == session,
            (Open::Several, Some(_)) => false,
        };
        admissible && request.units.0 <= self.free
    }
}
