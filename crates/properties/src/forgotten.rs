//! A request that waits is known to its own node.
//!
//! Source: ours. `nobody-waits` asks the nodes which requests wait; a node that loses its own request, as a preempted
//! holder easily does, would answer that none does. So what applications asked for is remembered here, from the request
//! to its grant or cancellation, and compared with what the node says in every state. There is no excuse.

use meshlock_core::GrantId;
use meshlock_core::view::View;

use crate::rule::{Rule, Violation};

/// Compares a waiting request with what its node shows.
pub(crate) fn check(waiting: GrantId, view: &View) -> Result<(), Violation> {
    if view.waiting.iter().any(|known| known.request == waiting.request) {
        return Ok(());
    }
    let what = format!("request {waiting} was neither granted nor cancelled, but the node no longer knows it");
    Err(Violation::new(Rule::Forgotten, Some(waiting.node), what))
}

#[cfg(test)]
mod tests {
    use meshlock_core::view::View;
    use meshlock_core::{Grant, NodeId, Rank, RequestId, Units};

    use crate::history::{History, Occurrence};
    use crate::rule::{Rule, RuleSet};
    use crate::scene::{SETTING, grant, wait};

    const ANN: NodeId = NodeId(0);

    fn after(occurrences: &[Occurrence]) -> History {
        let mut history = History::new(RuleSet::NONE.with(Rule::Forgotten), SETTING);
        for occurrence in occurrences {
            history.observe(occurrence).unwrap();
        }
        history
    }

    fn asked() -> Occurrence {
        Occurrence::Requested { node: ANN, request: RequestId(1), rank: Rank(0), units: Units(1), session: None }
    }

    #[test]
    fn a_node_that_knows_what_waits_is_fine() {
        let view = View { waiting: vec![wait(1, 0)], ..View::default() };
        assert_eq!(after(&[asked()]).check_known(|_| Some(&view)), Ok(()));
    }

    #[test]
    fn what_was_granted_or_cancelled_need_not_be_known() {
        let granted = Occurrence::Granted { node: ANN, grant: Grant { fence: None, ..grant(1, 1) } };
        let cancelled = Occurrence::Cancelled { node: ANN, request: RequestId(1) };
        let empty = View::default();
        for end in [granted, cancelled] {
            assert_eq!(after(&[asked(), end]).check_known(|_| Some(&empty)), Ok(()));
        }
    }

    #[test]
    fn a_request_that_its_node_has_lost_breaks_the_rule() {
        let empty = View::default();
        let violation = after(&[asked()]).check_known(|_| Some(&empty)).unwrap_err();
        assert_eq!(
            violation.to_string(),
            "forgotten broken at node 0: request 0.1 was neither granted nor cancelled, but the node no longer knows it"
        );
    }
}
