//! Only one session is in use at a time.
//!
//! Source: group mutual exclusion (Joung 1998; Swaroop and Singh, sections I and V.A): processes may be inside together only
//! if they asked for the same session.
//!
//! Checked on what applications see, as exclusion is. A grant without a session conflicts with none: only its units
//! count. Nothing is excused.

use meshlock_core::GrantId;

use crate::history::InUse;
use crate::rule::{Rule, Violation};

/// `new` is the grant that was given last; all others agreed before.
pub(crate) fn check(in_use: &[InUse], new: GrantId) -> Result<(), Violation> {
    let Some(session) = in_use.iter().find(|used| used.id == new).and_then(|used| used.session) else {
        return Ok(());
    };
    let other = in_use.iter().find_map(|used| used.session.filter(|s| *s != session).map(|s| (used.id, s)));
    other.map_or(Ok(()), |(id, theirs)| {
        let what = format!("request {new} entered session {session} while {id} is in session {theirs}");
        Err(Violation::new(Rule::OneSession, Some(new.node), what))
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn many_may_attend_one_session_and_then_another_one_opens() {
        let mut tale = Tale::of(Rule::OneSession);
        tale.entered(0, 1, 7).entered(1, 1, 7).released(0, 1).released(1, 1).entered(2, 1, 8);
        tale.holds();
    }

    #[test]
    fn a_grant_without_a_session_conflicts_with_none() {
        let mut tale = Tale::of(Rule::OneSession);
        tale.entered(0, 1, 7).granted(1, 1, 1).entered(2, 1, 7);
        tale.holds();
    }

    #[test]
    fn two_sessions_at_once_break_the_rule() {
        let mut tale = Tale::of(Rule::OneSession);
        tale.entered(0, 1, 7).granted(1, 1, 1).entered(2, 1, 8);
        tale.breaks("one-session broken at node 2: request 2.1 entered session 8 while 0.1 is in session 7");
    }
}
