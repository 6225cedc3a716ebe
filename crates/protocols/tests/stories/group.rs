//! Stories of group mutual exclusion: each defect of the printed text, and the same schedule on the repaired protocol;
//! then losses, repetitions and changes of mind, which the paper does not have.

use meshlock_core::group::{Config, Level, Node, State};
use meshlock_core::view::Origin;
use meshlock_core::{Delay, Demand, NodeId, Priority, Protocol, Session, Urgency};
use meshlock_protocols::printed::group::{self as published, Defect};

use crate::story::Story;

const CAST: [&str; 3] = ["P1", "P2", "P3"];
const X: Demand = Demand::session(1, 1);
const Y: Demand = Demand::session(2, 1);
const Z: Demand = Demand::session(3, 1);

fn members() -> Vec<NodeId> {
    (1..=3).map(NodeId).collect()
}

/// The printed text with one defect: G6's repair stands on G7's, and with G8's the faulty line of G10 is never reached.
fn printed_with(defect: Defect) -> Story<published::Node> {
    let also = [(Defect::G7, Defect::G6), (Defect::G10, Defect::G8)].into_iter().filter(|(left, _)| *left == defect);
    printed(published::Repairs::all_but(also.map(|(_, other)| other).chain([defect])))
}

fn printed(repairs: published::Repairs) -> Story<published::Node> {
    let make = |id| published::Node::new(published::Config { id, members: members(), levels: Level(3), repairs });
    Story::new(&CAST, make).any_to_any()
}

fn config(id: NodeId, retry: Option<Delay>) -> Config {
    Config::among(members(), id, Level(3), retry)
}

fn repaired() -> Story<Node> {
    Story::new(&CAST, |id| Node::new(config(id, None))).any_to_any()
}

/// The repaired protocol where messages can be lost.
fn on_radio() -> Story<Node> {
    let retry = Some(Delay { least_ms: 500, most_ms: 1000 });
    Story::new(&CAST, |id| Node::new(config(id, retry))).any_to_any()
}

/// The state of each process, in the paper's words.
fn roles<P: Protocol>(story: &Story<P>) -> String {
    CAST.map(|name| story.view(name).role).join(" ")
}

fn sessions<P: Protocol>(story: &Story<P>) -> Vec<(&'static str, u64)> {
    let attends = |name| story.view(name).holding.iter().filter_map(|grant| grant.session).next();
    CAST.into_iter().filter_map(|name| attends(name).map(|Session(session)| (name, session))).collect()
}

/// The token's queue at its holder: who, and at which level.
fn queue<P: Protocol>(story: &Story<P>, holder: &str) -> Vec<(u32, i64)> {
    let token = story.view(holder).token.expect("the token is there");
    let node = |origin| match origin {
        Origin::Node(id) => id.0,
        Origin::Local(request) => panic!("a local request {request} in a token"),
    };
    token.queue.iter().map(|claim| (node(claim.origin), claim.rank.0)).collect()
}

mod defects {
    use super::*;

    /// One schedule on the printed text with one defect, and on ours.
    macro_rules! both {
        ($defect:ident, $schedule:ident) => {{
            let (mut printed, mut repaired) = (printed_with(Defect::$defect), repaired());
            $schedule(&mut printed);
            $schedule(&mut repaired);
            (printed, repaired)
        }};
    }

    #[test]
    fn g1_who_gives_an_idle_token_away_still_acts_as_holder() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P2", X).delivers("P2", "P1").delivers("P1", "P2");
            story.asks("P1", Y);
        }
        let (mut story, mut repaired) = both!(G1, schedule);
        story.expect_trace(
            "
            P2  ask             -> request to P1, request to P3
            P1  request from P2 -> token to P2
            P2  token from P1   -> granted
            P1  ask             -> granted",
        );
        story.expect_token_at(["P1", "P2"]);
        assert_eq!(sessions(&story), [("P1", 2), ("P2", 1)]);

        // Repaired: the giver has to ask.
        repaired.settles().expect_token_at(["P2"]).expect_waiting(["P1"]);
        repaired.releases("P2").settles().expect_holding(["P1"]);
    }

    #[test]
    fn g2_an_idle_captain_waits_for_followers_it_does_not_have() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).releases("P1").asks("P2", X).settles();
        }
        let (mut story, mut repaired) = both!(G2, schedule);
        story.expect_waiting(["P2"]).expect_holding([]);
        assert_eq!((roles(&story).as_str(), story.view("P1").followers), ("HS R N", Some(0)));

        // Repaired: an idle captain gives the token away.
        repaired.expect_holding(["P2"]);
        assert_eq!(roles(&repaired), "N EC N");
    }

    /// P1 is left with an idle token; before, it was captain of X. P2 asks for Y, and P1 for X again.
    #[test]
    fn g3_an_idle_token_brings_its_old_session_along() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).asks("P2", X).settles();
            story.releases("P1").releases("P2").settles();
            story.asks("P2", Y).settles().asks("P1", X).settles();
        }
        let (story, mut repaired) = both!(G3, schedule);
        assert_eq!(sessions(&story), [("P1", 1), ("P2", 2)]);

        // Repaired: the token has the session it is sent for.
        repaired.expect_waiting(["P1"]);
        assert_eq!(sessions(&repaired), [("P2", 2)]);
        repaired.releases("P2").settles().expect_holding(["P1"]);
    }

    #[test]
    fn g4_who_joins_an_entry_is_queued_and_served_a_second_time() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).asks("P2", Y).settles().asks("P3", Y).settles();
        }
        let (mut story, mut repaired) = both!(G4, schedule);
        assert_eq!(queue(&story, "P1"), [(2, 1), (3, 1), (3, 1)]);
        story.releases("P1").settles().expect_holding(["P2", "P3"]);
        story.releases("P2").releases("P3").expect_waiting([]);
        story.settles().expect_holding(["P3"]);

        // Repaired: one request is served once.
        assert_eq!(queue(&repaired, "P1"), [(2, 1), (3, 1)]);
        repaired.releases("P1").settles().expect_holding(["P2", "P3"]);
        repaired.releases("P2").releases("P3").settles().expect_holding([]);
        assert_eq!(roles(&repaired), "N HI N");
    }

    /// P2 becomes captain and P3 its follower, but P3 is in and out before the token reaches P2.
    #[test]
    fn g5_a_complete_that_overtakes_the_token_is_lost() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).asks("P2", Y).settles().asks("P3", Y).settles();
            story.releases("P1").delivers("P1", "P3").releases("P3").delivers("P3", "P2");
            story.delivers("P1", "P2").releases("P2");
            story.asks("P1", X).settles();
        }
        let (mut story, mut repaired) = both!(G5, schedule);
        story.expect_holding([]).expect_waiting(["P1"]);
        assert_eq!((roles(&story).as_str(), story.view("P2").followers), ("R HS N", Some(1)));

        // Repaired: a complete that overtakes the token counts.
        repaired.expect_holding(["P1"]);
    }

    /// The request of P3 reaches P1 after the token left it, and P2 before the token comes.
    #[test]
    fn g6_a_request_that_overtakes_the_token_is_lost() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P2", X).delivers("P2", "P1");
            story.asks("P3", Y).delivers("P3", "P1").delivers("P3", "P2");
            story.delivers("P1", "P2").releases("P2").settles();
        }
        let (mut story, mut repaired) = both!(G6, schedule);
        story.expect_waiting(["P3"]);
        assert_eq!(roles(&story), "N HI R");

        // Repaired: what was heard is taken up when the token comes.
        repaired.expect_holding(["P3"]);
    }

    /// P2 is captain, P3 its follower, and only now the request of P3 reaches P2; then P3 leaves and wants X.
    #[test]
    fn g7_a_request_served_by_one_holder_is_served_again_by_the_next() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).asks("P2", Y).settles();
            story.asks("P3", Y).delivers("P3", "P1").releases("P1");
            story.delivers("P1", "P2").delivers("P1", "P3").expect_holding(["P2", "P3"]);
            story.delivers("P3", "P2").releases("P3").asks("P3", X);
        }
        let (mut story, mut repaired) = both!(G7, schedule);
        story.delivers("P2", "P3");
        assert_eq!(sessions(&story), [("P2", 2), ("P3", 1)]);

        // Repaired: the token tells what was taken up.
        assert!(repaired.under_way("P2", "P3").is_empty());
        repaired.settles().expect_waiting(["P3"]).releases("P2").settles();
        assert_eq!(sessions(&repaired), [("P3", 1)]);
    }

    /// The first request of P3 to P1 is slow: it arrives when the token has gone round and is at P1.
    #[test]
    fn g8_two_processes_drop_out_of_each_others_request_sets() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P2", X).delivers("P2", "P1").delivers("P2", "P3").delivers("P1", "P2");
            story.asks("P3", Y).delivers("P3", "P2").releases("P2").delivers("P2", "P3").releases("P3");
            story.asks("P2", X).delivers("P2", "P3").delivers("P3", "P2").releases("P2");
            story.asks("P1", X).delivers("P1", "P2").delivers("P2", "P1");
            if story.view("P1").token.is_none() {
                story.delivers("P2", "P1"); // with requests to all, one of P2 was before the token
            }
            story.delivers("P3", "P1").releases("P1");
            story.asks("P3", Y).settles();
        }
        let (mut story, mut repaired) = both!(G8, schedule);
        story.expect_waiting(["P3"]).expect_token_at(["P1"]);
        assert_eq!(roles(&story), "HI N R");

        // Repaired: requests go to everybody.
        repaired.expect_holding(["P3"]);
    }

    #[test]
    fn g9_a_process_that_wants_nothing_is_requesting() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P1", X).asks("P2", Y).settles().releases("P1");
        }
        let (mut story, repaired) = both!(G9, schedule);
        story.expect_waiting(["P2"]);
        assert_eq!((roles(&story), roles(&repaired)), ("R R N".to_owned(), "N R N".to_owned()));
    }

    /// P1 asks with the highest priority; the new holder P3 hears of it as it can.
    #[test]
    fn g10_a_request_sent_back_has_lost_its_priority() {
        fn schedule<P: Protocol>(story: &mut Story<P>) {
            story.asks("P2", X).delivers("P2", "P1").delivers("P1", "P2");
            story.asks("P3", Z).delivers("P3", "P2");
            story.asks("P1", Demand::session(2, 3)).delivers("P3", "P1");
            story.releases("P2").delivers("P2", "P3").delivers("P2", "P3").expect_holding(["P3"]);
            story.delivers("P1", "P3");
        }
        let (mut story, mut repaired) = both!(G10, schedule);
        assert_eq!(queue(&story, "P3"), [(1, 1)]);
        story.asks("P2", Demand::session(1, 2)).settles();
        assert_eq!(queue(&story, "P3"), [(2, 2), (1, 1)]);

        // Repaired: every request has its priority.
        repaired.asks("P2", Demand::session(1, 2)).settles();
        assert_eq!(queue(&repaired, "P3"), [(1, 3), (2, 2)]);
    }

    /// The paper claims that at most max(min(n, m), K - 1) = 2 sessions are opened while a request waits (n = 3, m = 2,
    /// K = 3). Reaching the top level and waiting for those ahead follow one another, so it can be
    /// min(n - 1, m) + max(K - 2, 0) = 3, in this protocol as in the printed text with all its repairs.
    fn g11<P: Protocol>(story: &mut Story<P>) -> Vec<Vec<(&'static str, u64)>> {
        story.asks("P2", X).settles().expect_holding(["P2"]);
        story.asks("P3", Y).settles().asks("P1", X).settles();
        assert_eq!(queue(story, "P2"), [(3, 1), (1, 1)]);
        let mut opened = Vec::new();
        story.releases("P2").settles();
        opened.push(sessions(story));
        assert_eq!(queue(story, "P3"), [(1, 2)]);
        story.asks("P2", Demand::session(2, 3)).settles();
        assert_eq!(queue(story, "P3"), [(2, 3), (1, 2)]);
        story.releases("P3").settles();
        opened.push(sessions(story));
        assert_eq!(queue(story, "P2"), [(1, 3)]);
        story.releases("P2").settles();
        opened.push(sessions(story));
        opened
    }

    #[test]
    fn g11_three_sessions_are_opened_for_a_request_where_the_paper_claims_two() {
        let openings = [[("P3", 2)], [("P2", 2)], [("P1", 1)]];
        assert_eq!(g11(&mut repaired()), openings);
        assert_eq!(g11(&mut printed(published::Repairs::all())), openings);
    }
}

mod sharing {
    use super::*;

    #[test]
    fn same_session_enters_together_and_another_waits_until_all_are_out() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", X).settles().asks("P3", Y).settles();
        story.releases("P1").settles();
        assert_eq!(roles(&story), "HS EF R");
        story.releases("P2").settles();
        story.expect_trace(
            "
            P1  ask              -> granted
            P2  ask              -> request to all
            P1  request from P2  -> start to P2
            P3  request from P2  -> -
            P2  start from P1    -> granted
            P3  ask              -> request to all
            P1  request from P3  -> -
            P2  request from P3  -> -
            P1  release          -> -
            P2  release          -> complete to P1
            P1  complete from P2 -> token to P3
            P3  token from P1    -> granted",
        );
        assert_eq!(roles(&story), "N N EC");
    }

    #[test]
    fn nobody_joins_the_open_session_while_another_is_wanted() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", Y).settles().asks("P3", X).settles();
        story.expect_holding(["P1"]).expect_waiting(["P2", "P3"]);
        story.releases("P1").settles().expect_holding(["P2"]);
        story.releases("P2").settles().expect_holding(["P3"]);
    }

    #[test]
    fn a_captain_that_has_left_may_join_its_own_session_again() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", X).settles().releases("P1").asks("P1", X);
        story.expect_holding(["P1", "P2"]);
        assert_eq!(roles(&story), "EC EF N");
    }

    #[test]
    fn the_holder_is_captain_if_it_is_one_of_those_that_enter() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", X).settles().releases("P1");
        story.asks("P3", Y).settles().asks("P1", Y).releases("P2").settles();
        story.expect_holding(["P1", "P3"]);
        assert_eq!(roles(&story), "EC N EF");
    }

    #[test]
    fn an_entry_is_as_urgent_as_its_most_urgent_member() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", Demand::session(2, 2)).settles().asks("P3", Demand::session(3, 1)).settles();
        assert_eq!(queue(&story, "P1"), [(2, 2), (3, 1)]);
        story.reprioritizes("P3", Urgency::Priority(Priority(3))).settles();
        assert_eq!(queue(&story, "P1"), [(3, 3), (2, 2)]);
        story.reprioritizes("P3", Urgency::Priority(Priority(1))).settles();
        assert_eq!(queue(&story, "P1"), [(2, 2), (3, 1)]);
    }

    #[test]
    fn waiting_makes_more_urgent() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", Y).settles().asks("P3", Z).settles();
        story.releases("P1").settles().asks("P1", Demand::session(1, 2)).settles();
        assert_eq!(queue(&story, "P2"), [(3, 2), (1, 2)]);
    }
}

mod losses {
    use super::*;

    #[test]
    fn a_lost_request_is_asked_again() {
        let mut story = on_radio();
        story.loses_next("P2", "P1").asks("P2", X).settles().expect_waiting(["P2"]);
        story.timers_fire().settles();
        story.expect_trace(
            "
            P2  ask             -> request to all (lost to P1), timer
            P3  request from P2 -> -
            P2  timer           -> request-again to all, timer
            P1  request-again from P2 -> token to P2
            P3  request-again from P2 -> -
            P2  token from P1   -> granted",
        );
    }

    #[test]
    fn a_lost_token_is_sent_again_by_its_last_holder() {
        let mut story = on_radio();
        story.loses_next("P1", "P2").asks("P2", X).settles().expect_token_at([]);
        assert!(story.view("P1").keeps_copy);
        story.begins().timers_fire().settles();
        story.expect_trace(
            "
            P2  timer           -> request-again to all, timer
            P1  request-again from P2 -> token to P2
            P3  request-again from P2 -> -
            P2  token from P1   -> granted",
        );
    }

    #[test]
    fn a_lost_start_is_said_again() {
        let mut story = on_radio();
        story.asks("P1", X).loses_next("P1", "P2").asks("P2", X).settles();
        story.begins().timers_fire().settles();
        story.expect_trace(
            "
            P2  timer               -> request-again to all, timer
            P1  request-again from P2     -> start to P2
            P3  request-again from P2     -> -
            P2  start from P1 -> granted",
        );
        story.releases("P2").releases("P1").settles();
        assert_eq!(roles(&story), "HI N N");
    }

    #[test]
    fn a_lost_complete_is_found_out_when_somebody_waits() {
        let mut story = on_radio();
        story.asks("P1", X).asks("P2", X).settles().releases("P1");
        story.loses_next("P2", "P1").releases("P2").settles();
        assert_eq!(roles(&story), "HS N N");
        story.asks("P3", Y).settles().expect_waiting(["P3"]);
        story.begins().timers_fire().settles();
        story.expect_trace(
            "
            P3  timer               -> request-again to all, timer
            P1  request-again from P3     -> ask to P2
            P2  request-again from P3     -> -
            P2  ask from P1 -> over to P1
            P1  over from P2        -> token to P3
            P3  token from P1       -> granted",
        );
    }

    #[test]
    fn a_holder_that_waits_finds_a_lost_complete_out_by_itself() {
        let mut story = on_radio();
        story.asks("P1", X).asks("P2", X).settles().releases("P1");
        story.loses_next("P2", "P1").releases("P2").settles().asks("P1", Y).expect_waiting(["P1"]);
        story.begins().timers_fire().settles();
        story.expect_trace(
            "
            P1  timer               -> ask to P2, timer
            P2  ask from P1 -> over to P1
            P1  over from P2        -> granted",
        );
    }

    #[test]
    fn a_new_request_tells_that_the_one_before_is_over() {
        let mut story = on_radio();
        story.asks("P1", X).asks("P2", X).settles().releases("P1");
        story.loses_next("P2", "P1").releases("P2").asks("P2", Y).settles();
        story.expect_holding(["P2"]);
        assert_eq!(sessions(&story), [("P2", 2)]);
    }

    #[test]
    fn a_lost_token_of_a_captain_that_withdrew_is_brought_back_by_whoever_waits() {
        let mut story = on_radio();
        story.loses_next("P1", "P2").asks("P2", X).settles().loses_next("P2", "P1").cancels("P2").settles();
        story.asks("P3", Y).settles().expect_token_at([]);
        story.begins().timer_fires("P3").settles();
        story.expect_trace(
            "
            P3  timer           -> request-again to all, timer
            P1  request-again from P3 -> token to P2
            P2  request-again from P3 -> -
            P2  token from P1   -> token to P3
            P3  token from P2   -> granted",
        );
    }

    #[test]
    fn a_lost_withdrawal_does_not_keep_others_from_joining() {
        let mut story = on_radio();
        story.asks("P1", X).asks("P2", Y).settles().asks("P3", X).settles();
        story.loses_next("P2", "P1").cancels("P2").settles().expect_waiting(["P3"]);
        story.begins().timer_fires("P3").settles();
        story.expect_trace(
            "
            P3  timer                 -> request-again to all, timer
            P1  request-again from P3 -> ask to P2
            P2  request-again from P3 -> -
            P2  ask from P1           -> over to P1
            P1  over from P2          -> start to P3
            P3  start from P1         -> granted",
        );
    }

    #[test]
    fn early_timers_do_no_harm_and_a_copy_is_sent_once_too_often_at_most() {
        let mut story = on_radio();
        story.asks("P2", X).settles().asks("P3", Y).settles().begins();
        story.timers_fire().settles().timers_fire().settles();
        story.expect_trace(
            "
            P3  timer           -> request-again to all, timer
            P1  request-again from P3 -> token to P2
            P2  request-again from P3 -> -
            P2  token from P1   -> have to P1
            P1  have from P2    -> -
            P3  timer           -> request-again to all, timer
            P1  request-again from P3 -> -
            P2  request-again from P3 -> -",
        );
        story.releases("P2").settles().expect_holding(["P3"]);
    }

    #[test]
    fn every_message_may_come_twice() {
        let mut story = on_radio();
        let twice = |story: &mut Story<Node>, a: &str, b: &str| {
            let message = story.under_way(a, b)[0].clone();
            story.delivers(a, b).forges(a, b, message);
        };
        story.asks("P2", X);
        twice(&mut story, "P2", "P1"); // request
        assert_eq!(story.under_way("P1", "P2").len(), 1);
        twice(&mut story, "P1", "P2"); // token
        story.settles().expect_holding(["P2"]).expect_token_at(["P2"]);
        story.asks("P3", X).delivers("P3", "P2");
        twice(&mut story, "P2", "P3"); // start
        story.settles().expect_holding(["P2", "P3"]).releases("P3");
        twice(&mut story, "P3", "P2"); // complete
        story.settles().releases("P2");
        assert_eq!((roles(&story).as_str(), story.view("P2").followers), ("N HI N", Some(0)));
    }

    #[test]
    fn a_start_that_comes_twice_lets_in_once() {
        let mut story = on_radio();
        story.asks("P1", X).asks("P2", X).delivers("P2", "P1");
        let start = story.under_way("P1", "P2")[0].clone();
        story.settles().releases("P2").asks("P2", Y).settles();
        story.forges("P1", "P2", start).expect_waiting(["P2"]).expect_holding(["P1"]);
    }
}

mod changes_of_mind {
    use super::*;

    #[test]
    fn a_withdrawn_request_leaves_the_queue() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", Y).settles().asks("P3", Z).settles();
        story.cancels("P2").settles();
        assert_eq!(queue(&story, "P1"), [(3, 1)]);
        story.releases("P1").settles().expect_holding(["P3"]).expect_waiting([]);
    }

    #[test]
    fn who_queued_behind_a_withdrawn_request_joins_the_open_session() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", Y).settles().asks("P3", X).settles().expect_waiting(["P2", "P3"]);
        story.cancels("P2").settles().expect_holding(["P1", "P3"]);
        assert_eq!(roles(&story), "EC N EF");
    }

    #[test]
    fn a_start_for_a_withdrawn_request_is_not_followed() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", X).delivers("P2", "P1").cancels("P2").settles();
        story.expect_holding(["P1"]).releases("P1").asks("P3", Y).settles().expect_holding(["P3"]);
    }

    #[test]
    fn a_token_for_a_withdrawn_request_is_kept_and_goes_on() {
        let mut story = repaired();
        story.asks("P2", X).delivers("P2", "P1").cancels("P2").settles();
        story.expect_holding([]).expect_token_at(["P2"]);
        assert_eq!(story.node("P2").state(), State::HI);
        story.asks("P3", Y).settles().expect_holding(["P3"]);
    }

    #[test]
    fn who_withdraws_may_ask_for_something_else_at_once() {
        let mut story = repaired();
        story.asks("P2", X).delivers("P2", "P1").cancels("P2").asks("P2", Y).settles();
        assert_eq!(sessions(&story), [("P2", 2)]);
        story.asks("P1", X).settles().cancels("P1").asks("P1", Y).settles();
        assert_eq!(sessions(&story), [("P1", 2), ("P2", 2)]);
    }

    #[test]
    fn a_holder_may_withdraw_its_own_queued_request() {
        let mut story = repaired();
        story.asks("P1", X).asks("P2", X).settles().releases("P1").asks("P1", Y).cancels("P1");
        story.releases("P2").settles().expect_holding([]);
        assert_eq!(roles(&story), "HI N N");
    }
}
