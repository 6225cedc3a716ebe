//! At most k units are in use.
//!
//! Source: the first of the three properties in Jiang, section 2 (theorem 1); with k = 1 it is mutual exclusion.
//!
//! Checked on what applications see, not on what nodes believe: a grant counts from the moment the application is
//! told until it gives the grant back. A protocol whose books are in order but that tells two applications is caught.
//! Nothing is excused; a lost network is no reason to use a unit twice.
//!
//! Where k changes, grants made before stay, so more than k may be in use after it was lowered. But no grant may bring
//! the units in use above the k of that time.

use meshlock_core::Units;

use crate::history::InUse;
use crate::rule::{Rule, Violation};

pub(crate) fn check(in_use: &[InUse], capacity: Units) -> Result<(), Violation> {
    let sum: u64 = in_use.iter().map(|used| u64::from(used.units.0)).sum();
    if sum <= u64::from(capacity.0) {
        return Ok(());
    }
    let users: Vec<String> = in_use.iter().map(|used| format!("{} by {}", used.units, used.id)).collect();
    Err(Violation::new(Rule::Exclusion, None, format!("{sum} units in use of {capacity}: {}", users.join(", "))))
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn units_may_be_used_up_and_used_again() {
        let mut tale = Tale::of(Rule::Exclusion).capacity(3);
        tale.granted(0, 1, 2).granted(1, 1, 1).released(0, 1).granted(2, 1, 2);
        tale.holds();
    }

    #[test]
    fn one_unit_more_than_there_is_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Exclusion).capacity(3);
        tale.granted(0, 1, 2).granted(1, 1, 2);
        tale.breaks("exclusion broken: 4 units in use of 3: 2 by 0.1, 2 by 1.1");
    }

    #[test]
    fn after_lowering_old_grants_stay_and_new_ones_must_fit() {
        let mut tale = Tale::of(Rule::Exclusion).capacity(2);
        tale.granted(0, 1, 2).resized(1).released(0, 1).granted(1, 1, 1);
        tale.holds();
        tale.granted(2, 1, 1);
        tale.breaks("exclusion broken: 2 units in use of 1: 1 by 1.1, 1 by 2.1");
    }

    #[test]
    fn after_raising_there_is_more_to_grant() {
        let mut tale = Tale::of(Rule::Exclusion).capacity(1);
        tale.granted(0, 1, 1).resized(2).granted(1, 1, 1);
        tale.holds();
    }

    #[test]
    fn huge_numbers_are_added_without_overflow() {
        let mut tale = Tale::of(Rule::Exclusion).capacity(u32::MAX);
        tale.granted(0, 1, u32::MAX).granted(1, 1, 1);
        tale.breaks("exclusion broken: 4294967296 units in use of 4294967295: 4294967295 by 0.1, 1 by 1.1");
    }
}
