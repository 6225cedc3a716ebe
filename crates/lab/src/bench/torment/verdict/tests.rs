//! Right histories pass; each kind of wrong one is told.

use std::time::Duration;

use super::super::history::Grant;
use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Asked, knows of its grant, leaves; a lease that is long enough.
fn claim(id: &str, fence: u64, [asked, known, left]: [u64; 3]) -> Claim {
    Claim {
        id: id.to_owned(),
        node: 0,
        resource: "gate".to_owned(),
        units: 1,
        company: Company::Nobody,
        asked: ms(asked),
        grant: Some(Grant { known: ms(known), fence, safe_until: ms(left + 1_000) }),
        left: Some(ms(left)),
        end: Some(End { at: ms(left + 1), how: How::Told("RELEASED".to_owned()) }),
        changed: ms(left + 1),
    }
}

fn with(company: Company, units: u32, claim: Claim) -> Claim {
    Claim { company, units, ..claim }
}

fn session(name: &str, claim: Claim) -> Claim {
    with(Company::Session(name.to_owned()), 1, claim)
}

fn rules_broken(claims: &[Claim], capacity: u32, fences: Fences) -> Vec<&'static str> {
    let rules = BTreeMap::from([("gate".to_owned(), Rules { capacity, fences })]);
    check(claims, &rules, &Sizes::default(), &Floors::new()).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn one_after_the_other_is_right() {
    let claims = [claim("a", 1, [0, 1, 5]), claim("b", 2, [0, 6, 9]), claim("c", 3, [2, 9, 12])];
    assert_eq!(rules_broken(&claims, 1, Fences::OfGrants), [""; 0]);
}

#[test]
fn two_at_once_are_told() {
    let claims = [claim("a", 1, [0, 1, 5]), claim("b", 2, [0, 4, 9])];
    assert_eq!(rules_broken(&claims, 1, Fences::OfGrants), ["exclusion", "capacity"]);
}

#[test]
fn a_lease_that_was_over_excuses_the_next() {
    let mut slow = claim("a", 1, [0, 1, 50]);
    slow.grant = Some(Grant { known: ms(1), fence: 1, safe_until: ms(20) });
    assert_eq!(rules_broken(&[slow.clone(), claim("b", 2, [0, 20, 60])], 1, Fences::OfGrants), [""; 0]);
    assert_eq!(rules_broken(&[slow, claim("b", 2, [0, 19, 60])], 1, Fences::OfGrants), ["exclusion", "capacity"]);
}

#[test]
fn units_are_counted() {
    let some = |units, id: &str, fence, times| with(Company::Anybody, units, claim(id, fence, times));
    let claims = |units| [some(2, "a", 1, [0, 1, 9]), some(1, "b", 2, [0, 2, 3]), some(units, "c", 3, [0, 4, 8])];
    assert_eq!(rules_broken(&claims(1), 3, Fences::OfGrants), [""; 0]);
    assert_eq!(rules_broken(&claims(2), 3, Fences::OfGrants), ["capacity"]);
}

#[test]
fn a_new_capacity_counts_for_those_who_ask_since() {
    let tank = |id: &str, fence, times| Claim {
        resource: cast::RESIZED.to_owned(),
        ..with(Company::Anybody, 1, claim(id, fence, times))
    };
    let mut sizes = Sizes::default();
    sizes.note(2, ms(0), Some(ms(0)));
    sizes.note(1, ms(10), Some(ms(20)));
    let rules = BTreeMap::from([(cast::RESIZED.to_owned(), Rules { capacity: 2, fences: Fences::OfGrants })]);
    let found = |claims: &[Claim]| check(claims, &rules, &sizes, &Floors::new()).len();
    assert_eq!(found(&[tank("a", 1, [1, 2, 50]), tank("b", 2, [1, 30, 50])]), 0, "both asked before");
    assert_eq!(found(&[tank("a", 1, [21, 22, 50]), tank("b", 2, [23, 30, 50])]), 1);
}

#[test]
fn sessions_do_not_meet() {
    let same = [session("red", claim("a", 1, [0, 1, 9])), session("red", claim("b", 2, [0, 2, 9]))];
    assert_eq!(rules_broken(&same, 9, Fences::OfGrants), [""; 0]);
    let two = [session("red", claim("a", 1, [0, 1, 9])), session("blue", claim("b", 2, [0, 2, 9]))];
    assert_eq!(rules_broken(&two, 9, Fences::OfGrants), ["exclusion"]);
    let writer = [session("read", claim("a", 1, [0, 1, 9])), claim("b", 2, [0, 2, 9])];
    assert_eq!(rules_broken(&writer, 9, Fences::OfGrants), ["exclusion"]);
}

#[test]
fn fences_grow_where_the_order_is_definite() {
    let overlapping = [claim("a", 2, [0, 2, 3]), claim("b", 1, [1, 4, 5])];
    assert_eq!(rules_broken(&overlapping, 1, Fences::OfGrants), [""; 0], "b was asked before a knew");
    let in_order = [claim("a", 2, [0, 2, 3]), claim("b", 1, [3, 4, 5])];
    assert_eq!(rules_broken(&in_order, 1, Fences::OfGrants), ["fences"]);
    let twice = [claim("a", 2, [0, 2, 3]), claim("b", 2, [1, 4, 5])];
    assert_eq!(rules_broken(&twice, 1, Fences::OfGrants), ["fences"]);
}

#[test]
fn who_attends_a_session_together_may_have_one_fence() {
    let together = [session("red", claim("a", 1, [0, 1, 9])), session("red", claim("b", 1, [2, 3, 9]))];
    assert_eq!(rules_broken(&together, 9, Fences::OfSessions), [""; 0]);
    assert_eq!(rules_broken(&together, 9, Fences::OfGrants), ["fences", "fences"]);
    let apart = [session("red", claim("a", 1, [0, 1, 2])), session("blue", claim("b", 1, [1, 3, 9]))];
    assert_eq!(rules_broken(&apart, 9, Fences::OfSessions), ["fences"]);
}

#[test]
fn fences_of_earlier_rounds_are_remembered() {
    let mut floors = Floors::new();
    raise(&mut floors, &[claim("a", 7, [0, 1, 2])]);
    let found = |fence| check(&[claim("b", fence, [0, 1, 2])], &BTreeMap::new(), &Sizes::default(), &floors).len();
    assert_eq!((found(8), found(7)), (0, 1));
}

#[test]
fn a_lease_is_not_over_before_its_time() {
    let mut told = claim("a", 1, [0, 1, 99]);
    told.grant = Some(Grant { known: ms(1), fence: 1, safe_until: ms(100) });
    told.end = Some(End { at: ms(99), how: How::Told("EXPIRED".to_owned()) });
    assert_eq!(rules_broken(&[told.clone()], 1, Fences::OfGrants), ["lease"]);
    told.end = Some(End { at: ms(100), how: How::Told("EXPIRED".to_owned()) });
    assert_eq!(rules_broken(&[told], 1, Fences::OfGrants), [""; 0]);
}

#[test]
fn legal_use_is_not_refused() {
    let refused = |status| {
        let end = End { at: ms(5), how: How::Refused(status, "no".to_owned()) };
        rules_broken(&[Claim { grant: None, end: Some(end), ..claim("a", 1, [0, 1, 5]) }], 1, Fences::OfGrants)
    };
    assert_eq!((refused(400), refused(503)), (vec!["refusal"], vec![]), "a node that stops may refuse");
}
