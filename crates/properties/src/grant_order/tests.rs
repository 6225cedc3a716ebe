use meshlock_core::view::{TokenView, View};
use meshlock_core::{Aging, Demand, Event, Grant, NodeId, Order, Priority, RequestId, Session, Units, Urgency};

use crate::rule::{Rule, RuleSet, Setting};
use crate::scene::{SETTING, attending, claim_of, grant, height, own_claim, wait};
use crate::step::check_step;

/// Ann is node 0; these are her views around one step, and what it granted.
struct Around {
    setting: Setting,
    before: View,
    after: View,
    granted: Vec<Grant>,
}

/// Ann waits with request 1 of rank 3; the token is here with two free units after it is granted one.
fn granted_one() -> Around {
    let token = |free| Some(TokenView { free: Units(free), ledger: Some(vec![]), ..TokenView::default() });
    let before = View { waiting: vec![wait(1, 3)], queue: vec![own_claim(1, 3)], token: token(0), ..View::default() };
    let after = View { token: token(2), ..View::default() };
    Around { setting: SETTING, before, after, granted: vec![grant(1, 1)] }
}

const PASSED: &str =
    "grant-order broken at node 0: request 0.1 of rank 3 is granted past the claim of node 1 of rank 5";

impl Around {
    fn left_behind(mut self, rank: i64) -> Self {
        self.after.queue.push(claim_of(1, rank, 2));
        self
    }

    /// After an event that made or changed no request.
    fn verdict(&self) -> Option<String> {
        self.verdict_after(&Event::Release { request: RequestId(9), units: Units(1) })
    }

    fn verdict_after(&self, event: &Event<()>) -> Option<String> {
        let rules = RuleSet::NONE.with(Rule::GrantOrder);
        let views = (&self.before, &self.after);
        let verdict = check_step(rules, &self.setting, NodeId(0), event, views, &self.granted);
        verdict.err().map(|violation| violation.to_string())
    }
}

#[test]
fn a_grant_past_less_or_equally_urgent_claims_is_fine() {
    assert_eq!(granted_one().verdict(), None);
    assert_eq!(granted_one().left_behind(2).left_behind(3).verdict(), None);
}

#[test]
fn a_grant_past_a_more_urgent_claim_breaks_the_rule() {
    assert_eq!(granted_one().left_behind(5).verdict().as_deref(), Some(PASSED));
}

#[test]
fn a_blocked_front_may_not_be_passed_when_units_come_back_or_news_arrive() {
    let mut came_back = granted_one().left_behind(5);
    came_back.before.queue.insert(0, claim_of(1, 5, 2));
    assert_eq!(came_back.verdict().as_deref(), Some(PASSED));
    let mut news = granted_one().left_behind(5);
    news.before.token.as_mut().unwrap().free = Units(3);
    assert_eq!(news.verdict().as_deref(), Some(PASSED));
}

#[test]
fn of_several_grants_each_is_compared() {
    let mut around = granted_one().left_behind(5);
    around.before.queue.splice(0..0, [claim_of(1, 5, 2), own_claim(2, 6)]);
    around.before.waiting.push(wait(2, 6));
    around.granted.insert(0, grant(2, 1));
    assert_eq!(around.verdict().as_deref(), Some(PASSED));
}

#[test]
fn a_more_urgent_request_of_the_same_node_counts_too() {
    let mut around = granted_one();
    around.after.queue.push(own_claim(2, 4));
    let expected = "grant-order broken at node 0: request 0.1 of rank 3 is granted past request 0.2 of rank 4";
    assert_eq!(around.verdict().as_deref(), Some(expected));
}

#[test]
fn a_node_that_cannot_grant_is_not_asked() {
    let mut around = granted_one().left_behind(5);
    around.before.token = None;
    around.after.token = None;
    assert_eq!(around.verdict(), None);
    around.after.height = Some(height(0));
    assert_eq!(around.verdict().as_deref(), Some(PASSED));
}

#[test]
fn a_request_that_jumps_the_queue_when_it_is_made_is_seen_with_its_event() {
    let mut around = granted_one().left_behind(5);
    around.before.waiting.clear();
    assert_eq!(around.verdict(), None);
    let made = |priority| Event::Request { request: RequestId(1), demand: Demand::units(1, priority) };
    assert_eq!(around.verdict_after(&made(3)).as_deref(), Some(PASSED));
    assert_eq!(around.verdict_after(&made(6)), None);
    around.setting.order = Order::Priority { aging: Aging(4) };
    assert_eq!(around.verdict_after(&made(3)), None);
}

#[test]
fn a_request_raised_past_a_blocked_front_is_granted_rightly() {
    let mut around = granted_one().left_behind(5);
    around.before.queue.insert(0, claim_of(1, 5, 2));
    around.before.token.as_mut().unwrap().free = Units(3);
    let raised = |p| Event::Reprioritize { request: RequestId(1), urgency: Urgency::Priority(Priority(p)) };
    assert_eq!(around.verdict_after(&raised(6)), None);
    let expected = PASSED.replace("rank 3", "rank 4");
    assert_eq!(around.verdict_after(&raised(4)), Some(expected));
}

/// Ann's request is of session 7, and passes a claim of session 8; `open` says who is inside before.
fn joined(open: Option<u64>) -> Around {
    let mut around = granted_one().left_behind(5);
    around.setting.joins = 1;
    around.granted[0].session = Some(Session(7));
    around.after.queue[0].session = Some(Session(8));
    let ledger = open.map(|session| attending(2, 1, session)).into_iter().collect();
    around.before.token.as_mut().unwrap().ledger = Some(ledger);
    around
}

#[test]
fn the_open_session_may_be_joined_past_another_session() {
    assert_eq!(joined(Some(7)).verdict(), None);
    assert_eq!(joined(None).verdict().as_deref(), Some(PASSED));
}

#[test]
fn a_session_opened_by_an_earlier_grant_of_the_step_may_be_joined() {
    let mut around = joined(None);
    around.granted.insert(0, Grant { session: Some(Session(7)), ..grant(2, 1) });
    assert_eq!(around.verdict(), None);
    around.granted[0].session = Some(Session(8));
    assert_eq!(around.verdict().as_deref(), Some(PASSED));
}

#[test]
fn joining_needs_the_settings_leave_and_a_claim_of_another_session() {
    let mut forbidden = joined(Some(7));
    forbidden.setting.joins = 0;
    assert_eq!(forbidden.verdict().as_deref(), Some(PASSED));
    let mut same = joined(Some(7));
    same.after.queue[0].session = Some(Session(7));
    assert_eq!(same.verdict().as_deref(), Some(PASSED));
}

#[test]
fn a_token_that_arrives_tells_which_session_was_open() {
    let arrives = |ledger| {
        let mut around = joined(None);
        around.before.token = None;
        around.after.token.as_mut().unwrap().ledger = Some(ledger);
        around.verdict()
    };
    assert_eq!(arrives(vec![attending(2, 1, 7), attending(0, 1, 7)]), None);
    assert_eq!(arrives(vec![attending(0, 1, 7)]).as_deref(), Some(PASSED));
}

#[test]
fn a_token_that_came_and_went_leaves_the_benefit_of_the_doubt() {
    let mut around = joined(None);
    around.before.token = None;
    around.after.token = None;
    around.after.height = Some(height(0));
    assert_eq!(around.verdict(), None);
    around.setting.joins = 0;
    assert_eq!(around.verdict().as_deref(), Some(PASSED));
}
