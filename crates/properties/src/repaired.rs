//! Members crash and are replaced: everything in use stays in the ledger, and every repair comes to an end.
//!
//! Source: ours (`docs/recovery.md`). Two rules about tokens with a ledger, over what applications see and what the
//! nodes show:
//! - **ledger**, in every state with one visible token: it has all that is in use. Clients of a node that crashed use
//!   what they were granted until their time is over, so `conservation`, which asks the nodes, cannot say this. The other
//!   half of `conservation` does not hold here: what the gone used stays in the ledger until the holder has heard of it.
//!   A token without a ledger grants to one, or to a session: then all who are inside have one fence, because a guard
//!   that has seen a greater one refuses the others;
//! - **repaired**, when nothing is under way, no member is missing and the network has one part: there is one token,
//!   and its ledger is exactly what is in use. This is where a token that was never made anew shows, and units that
//!   leaked. That all members know the same census is compared by the checker.
//!
//! With no token or two there is nothing to compare a ledger with; `one-token` and `repaired` speak up.

use meshlock_core::view::LedgerView;

use crate::history::InUse;
use crate::rule::{Rule, Violation};
use crate::snapshot::Snapshot;

/// Everything in use is in the ledger of the one token.
pub(crate) fn check_ledger(in_use: &[InUse], snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let mut tokens = snapshot.tokens();
    let (Some(token), None) = (tokens.next(), tokens.next()) else { return Ok(()) };
    let Some(ledger) = &token.ledger else { return check_one_fence(snapshot) };
    match in_use.iter().find(|used| !ledger.iter().any(|entry| is_entry(entry, used))) {
        Some(used) => {
            let what = format!("grant {} of {} units is in use, but the ledger does not say so", used.id, used.units);
            Err(Violation::new(Rule::Ledger, Some(used.id.node), what))
        }
        None => Ok(()),
    }
}

/// All who are inside have the same fence.
fn check_one_fence(snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    let mut fences =
        snapshot.places().flat_map(|place| place.view.holding.iter().map(move |grant| (place.id, grant.fence)));
    let Some((first, fence)) = fences.next() else { return Ok(()) };
    let other = fences.find_map(|(node, other)| Some((node, other.filter(|_| other != fence)?)));
    other.map_or(Ok(()), |(node, other)| {
        let what = format!("it is inside with fence {other}, and node {first} with another one");
        Err(Violation::new(Rule::Ledger, Some(node), what))
    })
}

/// In the quiet there is one token, and its ledger has nothing that is not in use.
pub(crate) fn check_repaired(in_use: &[InUse], snapshot: &Snapshot<'_>) -> Result<(), Violation> {
    if !snapshot.quiet || snapshot.is_split() || snapshot.nodes.is_empty() {
        return Ok(());
    }
    let broken = |what: String| Err(Violation::new(Rule::Repaired, None, what));
    let Some(token) = snapshot.tokens().next() else {
        return broken("no member is missing, and there is no token".to_owned());
    };
    let leaked = token.ledger.iter().flatten().find(|entry| !in_use.iter().any(|used| is_entry(entry, used)));
    leaked.map_or(Ok(()), |entry| broken(format!("the ledger has grant {}, which is not in use", entry.grant)))
}

fn is_entry(entry: &LedgerView, used: &InUse) -> bool {
    entry.grant == used.id && entry.units == used.units
}

#[cfg(test)]
mod tests {
    use meshlock_core::view::{TokenView, View};
    use meshlock_core::{Fence, Grant, GrantId, NodeId, Session};

    use crate::history::{History, Occurrence};
    use crate::rule::{Rule, RuleSet};
    use crate::scene::{SETTING, entry, grant};
    use crate::snapshot::Snapshot;

    const RULES: RuleSet = RuleSet::NONE.with(Rule::Ledger).with(Rule::Repaired);

    /// Node 1 was granted request 1, then this happened.
    fn after(occurrences: &[Occurrence]) -> History {
        let mut history = History::new(RULES, SETTING);
        history.observe(&Occurrence::Granted { node: NodeId(1), grant: grant(1, 1) }).unwrap();
        occurrences.iter().for_each(|occurrence| history.observe(occurrence).unwrap());
        history
    }

    /// What is broken in a quiet network of two nodes, the first of which has this token.
    fn broken(history: &History, ledger: Option<&[GrantId]>) -> Option<Rule> {
        let entries = |ledger: &[GrantId]| ledger.iter().map(|id| entry(id.node.0, id.request.0, 1)).collect();
        let token = ledger.map(|ledger| TokenView { ledger: Some(entries(ledger)), ..TokenView::default() });
        let (holder, other) = (View { token, ..View::default() }, View::default());
        let nodes = [(NodeId(0), &holder), (NodeId(1), &other)];
        let snapshot = Snapshot { nodes: &nodes, flights: &[], quiet: true, parts: &[0, 0] };
        history.check_in_use(&snapshot).err().map(|violation| violation.rule)
    }

    const CRASHED: Occurrence = Occurrence::Crashed { node: NodeId(1) };
    const ENDED: Occurrence = Occurrence::Ended { node: NodeId(1) };

    #[test]
    fn clients_of_a_crashed_node_use_what_they_have_until_their_time_is_over() {
        let id = crate::scene::grant_id(1, 1);
        assert_eq!(broken(&after(&[CRASHED]), Some(&[id])), None);
        assert_eq!(broken(&after(&[CRASHED]), Some(&[])), Some(Rule::Ledger));
        assert_eq!(broken(&after(&[CRASHED, ENDED]), Some(&[])), None);
    }

    #[test]
    fn what_nobody_uses_has_leaked() {
        let id = crate::scene::grant_id(1, 1);
        assert_eq!(broken(&after(&[CRASHED, ENDED]), Some(&[id])), Some(Rule::Repaired));
    }

    #[test]
    fn a_token_that_was_never_made_anew_breaks_the_rule() {
        assert_eq!(broken(&after(&[ENDED]), None), Some(Rule::Repaired));
    }

    #[test]
    fn those_inside_share_a_fence_where_the_token_has_no_ledger() {
        let fenced = |fence| Grant { fence: Some(Fence(fence)), session: Some(Session(7)), ..grant(1, 1) };
        let inside = |fence| View { holding: vec![fenced(fence)], ..View::default() };
        let captain = View { token: Some(TokenView::default()), ..inside(4) };
        let broken = |fence| {
            let follower = inside(fence);
            let nodes = [(NodeId(0), &captain), (NodeId(1), &follower)];
            let snapshot = Snapshot { nodes: &nodes, flights: &[], quiet: false, parts: &[0, 0] };
            History::new(RULES, SETTING).check_in_use(&snapshot).err().map(|violation| violation.to_string())
        };
        assert_eq!(broken(4), None);
        let other = "ledger broken at node 1: it is inside with fence 5, and node 0 with another one";
        assert_eq!(broken(5).as_deref(), Some(other));
    }
}
