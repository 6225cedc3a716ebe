//! Fences strictly grow.
//!
//! Source: ours (the token's grant counter). A guarded system refuses a fence smaller than one it has seen, so a
//! number that is given twice, or out of order, lets a stale holder in.
//!
//! Checked over all grants of the resource in the order in which applications are told. Where the holder grants to
//! itself and takes fences from the token's own counter, that is the order of granting. The group protocol grants by
//! message and may tell the members of a session in any order, so it numbers sessions: members of one session share a
//! fence, and no other grant has it. Grants without a fence (published protocols have none) say nothing and are passed
//! over.

use meshlock_core::{Fence, Grant, GrantId, Session};

use crate::rule::{Rule, Violation};

/// The greatest fence so far, and the session that has it.
pub(crate) type Greatest = (Fence, Option<Session>);

/// Compares with the greatest fence so far and takes the new one in.
pub(crate) fn check(greatest: &mut Option<Greatest>, id: GrantId, grant: &Grant) -> Result<(), Violation> {
    let Some(fence) = grant.fence else {
        return Ok(());
    };
    match *greatest {
        Some((before, session)) if fence == before && session.is_some() && session == grant.session => Ok(()),
        Some((before, _)) if fence <= before => {
            let what = format!("request {id} got fence {fence} after {before} was given");
            Err(Violation::new(Rule::Fences, Some(id.node), what))
        }
        Some(_) | None => {
            *greatest = Some((fence, grant.session));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn growing_fences_with_gaps_are_fine() {
        let mut tale = Tale::of(Rule::Fences);
        tale.fenced(0, 1, 1).fenced(2, 1, 2).granted(1, 1, 1).fenced(0, 2, 9);
        tale.holds();
    }

    #[test]
    fn members_of_one_session_may_share_a_fence() {
        let mut tale = Tale::of(Rule::Fences);
        tale.entered_with_fence(0, 1, 7, 4).entered_with_fence(1, 1, 7, 4);
        tale.holds();
        tale.entered_with_fence(2, 1, 8, 4);
        tale.breaks("fences broken at node 2: request 2.1 got fence 4 after 4 was given");
    }

    #[test]
    fn a_fence_given_twice_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Fences);
        tale.fenced(0, 1, 4).fenced(1, 1, 4);
        tale.breaks("fences broken at node 1: request 1.1 got fence 4 after 4 was given");
    }

    #[test]
    fn a_falling_fence_breaks_the_rule_also_at_another_node() {
        let mut tale = Tale::of(Rule::Fences);
        tale.fenced(0, 1, 4).fenced(1, 1, 3);
        tale.breaks("fences broken at node 1: request 1.1 got fence 3 after 4 was given");
    }
}
