//! No unit is granted twice at a time, and a grant has as many as it says.
//!
//! Source: ours. Where units are numbered, clients use what the number names: a device, a charger. So it is not enough
//! that at most k units are in use; no two grants in use may have the same number.
//!
//! Checked on what applications see, as exclusion is. Nothing is excused: not a resize, not a crash. A number that was
//! removed by a resize stays with the client that has it, and is given out no more; which capacity counts for that is
//! what exclusion says.

use meshlock_core::{Grant, GrantId, Units};

use crate::history::InUse;
use crate::rule::{Rule, Violation};

/// `others` are in use, and `new` has just been granted this. With `always`, a grant without numbers is wrong, too.
pub(crate) fn check(
    others: &[InUse],
    new: GrantId,
    grant: &Grant,
    capacity: Units,
    always: bool,
) -> Result<(), Violation> {
    let broken = |what: String| Err(Violation::new(Rule::Numbered, Some(new.node), what));
    let (units, slots) = (grant.units, &grant.slots);
    if slots.is_empty() && !always {
        return Ok(());
    }
    if slots.count() != u64::from(units.0) {
        return broken(format!("request {new} has {units} units and {} numbers: [{slots}]", slots.count()));
    }
    if let Some(last) = slots.last().filter(|last| *last >= capacity.0) {
        return broken(format!("request {new} has unit {last}, and there are only {capacity}"));
    }
    let shared = others.iter().find_map(|used| used.slots.shared_with(slots).map(|slot| (used.id, slot)));
    shared.map_or(Ok(()), |(id, slot)| broken(format!("requests {id} and {new} both have unit {slot}")))
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    fn tale() -> Tale {
        Tale::of(Rule::Numbered).capacity(3)
    }

    #[test]
    fn a_unit_may_be_used_again_when_it_was_given_back() {
        tale().numbered(0, 1, 2, &[0, 1]).numbered(1, 1, 1, &[2]).released(0, 1).numbered(2, 1, 1, &[0]).holds();
    }

    #[test]
    fn a_unit_that_two_have_breaks_the_rule() {
        let mut tale = tale();
        tale.numbered(0, 1, 2, &[0, 1]).numbered(1, 1, 1, &[1]);
        tale.breaks("numbered broken at node 1: requests 0.1 and 1.1 both have unit 1");
    }

    #[test]
    fn one_number_for_two_units_breaks_the_rule() {
        let mut tale = tale();
        tale.numbered(0, 1, 2, &[0]);
        tale.breaks("numbered broken at node 0: request 0.1 has 2 units and 1 numbers: [0]");
    }

    #[test]
    fn a_removed_unit_stays_with_its_client_and_is_given_out_no_more() {
        let mut tale = tale();
        tale.numbered(0, 1, 1, &[0]).numbered(1, 1, 1, &[2]).resized(2).released(0, 1).numbered(0, 2, 1, &[0]);
        tale.holds();
        tale.released(1, 1).numbered(2, 1, 1, &[2]);
        tale.breaks("numbered broken at node 2: request 2.1 has unit 2, and there are only 2");
    }

    #[test]
    fn a_grant_without_numbers_is_fine_unless_all_must_have_them() {
        tale().granted(0, 1, 1).holds();
        let mut tale = tale().all_numbered();
        tale.granted(0, 1, 1);
        tale.breaks("numbered broken at node 0: request 0.1 has 1 units and 0 numbers: []");
    }
}
