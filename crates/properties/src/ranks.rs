//! Every decision of an heir begins above everything that was ever given.
//!
//! Source: ours (`docs/recovery.md`). A token that is made anew begins with numbers that are computed from the census
//! alone: its rank, times 2^32. So the reports need not know what the lost one gave last. That works only if
//! - decisions have growing ranks: of two decisions, the later knows more. Two of one rank are two parts of a mesh that
//!   hold each other for gone, or an heir that decides twice;
//! - the rank is above every fence that was given, whoever gave it;
//! - passes of the new token begin there too: otherwise they are refused as old by those who saw greater ones.
//!
//! `fences` and `one-token` see what comes of it, a grant or an arrival later, and only if there is one. Decisions that find
//! nothing lost are looked at as well: the next one must be above them. Those of a member that was declared gone and has
//! not heard of it are not: what it makes is of no use.

use meshlock_core::NodeId;

use crate::fences::Greatest;
use crate::rule::{Rule, Violation};

/// What an heir decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Where the numbers of its census begin.
    pub(crate) first: u64,
    /// The pass of the token that it made, if it made one that counts passes.
    pub(crate) pass: Option<u64>,
}

/// Compares with the last decision and the greatest fence so far, and takes the new one in.
pub(crate) fn check(
    last: &mut Option<u64>,
    fence: Option<Greatest>,
    node: NodeId,
    decision: Decision,
) -> Result<(), Violation> {
    let Decision { first, pass } = decision;
    let broken = |what: String| Err(Violation::new(Rule::Ranks, Some(node), what));
    let before = last.replace(first);
    if let Some(before) = before.filter(|before| *before >= first) {
        *last = Some(before);
        return broken(format!("a decision begins at {first}, and an earlier one at {before}"));
    }
    if let Some((fence, _)) = fence.filter(|(fence, _)| fence.0 >= first) {
        return broken(format!("a decision begins at {first}, after fence {fence} was given"));
    }
    match pass.filter(|pass| *pass < first) {
        Some(pass) => broken(format!("a decision begins at {first}, and its token with pass {pass}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Rule;
    use crate::scene::Tale;

    #[test]
    fn growing_decisions_above_all_fences_are_fine() {
        let mut tale = Tale::of(Rule::Ranks);
        tale.decided(0, 100, None).fenced(1, 1, 101).decided(1, 200, Some(200)).decided(0, 300, Some(777));
        tale.holds();
    }

    #[test]
    fn two_decisions_of_one_rank_break_the_rule() {
        let mut tale = Tale::of(Rule::Ranks);
        tale.decided(0, 100, None).decided(1, 100, None);
        tale.breaks("ranks broken at node 1: a decision begins at 100, and an earlier one at 100");
    }

    #[test]
    fn a_decision_below_a_fence_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Ranks);
        tale.fenced(0, 1, 100).decided(1, 100, None);
        tale.breaks("ranks broken at node 1: a decision begins at 100, after fence 100 was given");
    }

    #[test]
    fn a_new_token_with_an_old_pass_breaks_the_rule() {
        let mut tale = Tale::of(Rule::Ranks);
        tale.decided(1, 100, Some(99));
        tale.breaks("ranks broken at node 1: a decision begins at 100, and its token with pass 99");
    }
}
