//! What the claims of clients say about the mesh. Only what is definite counts: a client holds from when it knows of its
//! grant until it stops using it or its lease is over by its own clock, and one grant is before another if its client
//! knew of it before the other was asked for.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::cast;
use super::history::{Claim, Company, End, Fences, How, Rules};
use super::sizes::Sizes;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) rule: &'static str,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn new(rule: &'static str, text: impl Into<String>) -> Self {
        Self { rule, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.text)
    }
}

/// The greatest fence of each resource before these claims were made.
pub(super) type Floors = BTreeMap<String, u64>;

/// Everything that is wrong with these claims. Resources that are not listed were made on first use.
pub(super) fn check(claims: &[Claim], rules: &BTreeMap<String, Rules>, sizes: &Sizes, floors: &Floors) -> Vec<Finding> {
    let mut of: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        of.entry(&claim.resource).or_default().push(claim);
    }
    let made_on_first_use = Rules { capacity: 1, fences: Fences::OfGrants };
    let mut found = Vec::new();
    for (name, claims) in of {
        let rules = rules.get(name).copied().unwrap_or(made_on_first_use);
        let sizes = Some(sizes).filter(|_| name == cast::RESIZED);
        exclusion(&claims, rules, sizes, &mut found);
        fences(&claims, rules, floors.get(name).copied().unwrap_or_default(), &mut found);
        leases(&claims, &mut found);
    }
    refusals(claims, &mut found);
    found
}

/// The floors for what comes after these claims.
pub(super) fn raise(floors: &mut Floors, claims: &[Claim]) {
    for claim in claims {
        if let Some(grant) = claim.grant {
            let floor = floors.entry(claim.resource.clone()).or_default();
            *floor = grant.fence.max(*floor);
        }
    }
}

fn exclusion(claims: &[&Claim], rules: Rules, sizes: Option<&Sizes>, found: &mut Vec<Finding>) {
    let mut holds: Vec<_> = claims.iter().filter_map(|claim| Some((claim.held()?, *claim))).collect();
    holds.sort_by_key(|((from, _), _)| *from);
    let mut inside: Vec<(_, &Claim)> = Vec::new();
    for ((from, until), claim) in holds {
        inside.retain(|(end, _)| *end > from);
        if let Some((_, other)) = inside.iter().find(|(_, other)| !compatible(claim, other)) {
            let text = format!("{} and {} at once: {}", who(claim), who(other), moment(claim));
            found.push(Finding::new("exclusion", text));
        }
        inside.push((until, claim));
        let units: u32 = inside.iter().map(|(_, claim)| claim.units).sum();
        // Whoever is inside stays when there are less units; so what counts is what there was since the first asked.
        let first = inside.iter().map(|(_, claim)| claim.asked).min().unwrap_or(from);
        let capacity = sizes.and_then(|sizes| sizes.largest(first, from)).unwrap_or(rules.capacity);
        if units > capacity {
            let all: Vec<String> = inside.iter().map(|(_, claim)| who(claim)).collect();
            let text = format!("{units} units of {capacity} are held by {}: {}", all.join(", "), moment(claim));
            found.push(Finding::new("capacity", text));
        }
    }
}

fn compatible(one: &Claim, other: &Claim) -> bool {
    match (&one.company, &other.company) {
        (Company::Anybody, Company::Anybody) => true,
        (Company::Session(one), Company::Session(other)) => one == other,
        (Company::Anybody | Company::Session(_) | Company::Nobody, _) => false,
    }
}

fn fences(claims: &[&Claim], rules: Rules, floor: u64, found: &mut Vec<Finding>) {
    let mut granted: Vec<_> = claims.iter().filter_map(|claim| Some((*claim, claim.grant?))).collect();
    let mut complain = |later: &Claim, earlier: &str| {
        let fence = later.grant.map(|grant| grant.fence).unwrap_or_default();
        let text = format!("{} has fence {fence}, after {earlier}: {}", who(later), moment(later));
        found.push(Finding::new("fences", text));
    };
    let is_behind = |later: u64, earlier: u64| match rules.fences {
        Fences::OfGrants => later <= earlier,
        Fences::OfSessions => later < earlier,
    };
    let mut known = granted.clone();
    known.sort_by_key(|(_, grant)| grant.known);
    granted.sort_by_key(|(claim, _)| claim.asked);
    let mut known = known.into_iter().peekable();
    let mut greatest: Option<(&Claim, u64)> = None;
    for (claim, grant) in &granted {
        while let Some((earlier, before)) = known.next_if(|(_, before)| before.known < claim.asked) {
            if greatest.is_none_or(|(_, fence)| before.fence > fence) {
                greatest = Some((earlier, before.fence));
            }
        }
        if let Some((earlier, fence)) = greatest.filter(|(_, fence)| is_behind(grant.fence, *fence)) {
            complain(claim, &format!("{} had {fence}", who(earlier)));
        } else if is_behind(grant.fence, floor) && floor > 0 {
            complain(claim, &format!("somebody had {floor} in an earlier round"));
        }
    }
    let mut owners: BTreeMap<u64, &Claim> = BTreeMap::new();
    for (claim, grant) in granted {
        if let Some(other) = owners.insert(grant.fence, claim) {
            let together = rules.fences == Fences::OfSessions && compatible(claim, other);
            if !together {
                complain(claim, &format!("{} had the same", who(other)));
            }
        }
    }
}

/// Nobody is told that its lease is over before it is over by the client's own clock.
fn leases(claims: &[&Claim], found: &mut Vec<Finding>) {
    for claim in claims {
        let (Some(grant), Some(end)) = (claim.grant, &claim.end) else { continue };
        let expired = matches!(&end.how, How::Told(state) if state == "EXPIRED");
        if expired && end.at < grant.safe_until {
            let early = grant.safe_until.saturating_sub(end.at);
            let text = format!("{} was told {} ms too early that its lease is over", who(claim), early.as_millis());
            found.push(Finding::new("lease", text));
        }
    }
}

/// All that is asked for is legal.
fn refusals(claims: &[Claim], found: &mut Vec<Finding>) {
    for claim in claims {
        if let Some(End { how: How::Refused(status @ (400 | 409), why), .. }) = &claim.end {
            found.push(Finding::new("refusal", format!("{} was refused with {status}: {why}", who(claim))));
        }
    }
}

fn who(claim: &Claim) -> String {
    let session = match &claim.company {
        Company::Session(name) => format!(" in session {name}"),
        Company::Anybody => format!(" with {} units", claim.units),
        Company::Nobody => String::new(),
    };
    let fence = claim.grant.map(|grant| format!(" (fence {})", grant.fence)).unwrap_or_default();
    format!("{} at n{}{session}{fence}", claim.id, claim.node)
}

fn moment(claim: &Claim) -> String {
    let at = claim.grant.map_or(claim.asked, |grant| grant.known).as_secs_f64();
    let name: String = claim.resource.chars().take(20).collect();
    format!("{name}, {at:.3} s")
}

#[cfg(test)]
mod tests;
