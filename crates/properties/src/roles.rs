//! The state that a node of the group protocol names is the one it is in.
//!
//! Source: Swaroop and Singh, section III: R is requesting, EC and EF are inside, N, HI and HS are neither. The printed
//! text exchanges N and R where the token is passed on (defect G9), after which a process that wants nothing answers
//! as if it did. Other protocols use other words and are not looked at.
//!
//! A holder whose own request is queued with its followers still inside is in HS and waits: that is no mistake.

use crate::rule::{Rule, Violation};
use crate::snapshot::Snapshot;

pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    for place in snapshot.places() {
        let view = place.view;
        let (waits, inside) = (!view.waiting.is_empty(), !view.holding.is_empty());
        let right = match view.role.as_str() {
            "R" => waits && !inside,
            "EC" | "EF" => inside,
            "N" | "HI" => !waits && !inside,
            "HS" => !inside,
            _ => true,
        };
        if !right {
            let wish = if waits { "waits" } else { "wants nothing" };
            let what =
                format!("it says that it is in state {}, but {}", view.role, if inside { "is inside" } else { wish });
            return Err(Violation::new(Rule::Roles, Some(place.id), what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Scene;

    fn scene(role: &str) -> Scene {
        Scene::of(Rule::Roles, 1).at(0, |view| view.role = role.to_string())
    }

    #[test]
    fn states_that_say_what_is_are_fine() {
        scene("R").waits(0, 1, 1, 1).holds();
        scene("EC").uses(0, 1, 1).holds();
        scene("HS").waits(0, 1, 1, 1).holds();
        scene("N").holds();
        scene("holder").uses(0, 1, 1).holds();
    }

    #[test]
    fn a_process_that_wants_nothing_is_not_requesting() {
        scene("R").breaks("roles broken at node 0: it says that it is in state R, but wants nothing");
    }

    #[test]
    fn a_process_that_waits_is_not_idle() {
        scene("N").waits(0, 1, 1, 1).breaks("roles broken at node 0: it says that it is in state N, but waits");
        scene("HI").waits(0, 1, 1, 1).breaks("roles broken at node 0: it says that it is in state HI, but waits");
    }

    #[test]
    fn a_process_in_its_critical_section_says_so() {
        scene("HI").uses(0, 1, 1).breaks("roles broken at node 0: it says that it is in state HI, but is inside");
        scene("EF").breaks("roles broken at node 0: it says that it is in state EF, but wants nothing");
    }
}
