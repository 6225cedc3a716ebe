//! The models of voters: all standard ones are explored completely, and every planted bug is caught by one of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshlock_check::plain::{Bounds, STUCK, explore};
use meshlock_check::voters::{self, Standard};
use meshlock_core::recovery::voters::Bug;

/// What is not as expected.
fn surprise(standard: &Standard) -> Option<String> {
    let found = explore(&standard.model, Bounds { states: 3_000_000, progress: standard.progress });
    if let Some(trace) = &found.broken {
        return Some(format!("{}: {} after\n{}", standard.name, trace.rule, trace.steps.join("\n")));
    }
    let is_pinned = standard.states > 0;
    let is_as_pinned = found.is_complete && found.reached > 0 && found.states == standard.states;
    (is_pinned && !is_as_pinned).then(|| format!("{}: {found:?}", standard.name))
}

#[test]
fn voters_keep_their_rules() {
    assert!(voters::all().iter().all(|standard| standard.states > 0), "explored to its end");
    let wrong: Vec<String> = voters::all().iter().filter_map(surprise).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Those that take minutes, one at a time.
mod large {
    use super::{surprise, voters};

    macro_rules! explored {
        ($($test:ident: $name:literal,)*) => {$(
            #[test]
            #[ignore = "minutes"]
            fn $test() {
                let standard = voters::named($name).expect("a model");
                assert_eq!(surprise(&standard), None);
            }
        )*};
    }

    explored! {
        standing_three_one: "standing/three-one",
        records_one_three_restart: "records/one-three-restart",
        records_three_one: "records/three-one",
        records_exchange: "records/exchange",
        records_one_three_three: "records/one-three-three",
        records_rivals_open: "records/rivals-open",
        records_three_one_restart: "records/three-one-restart",
        records_five: "records/five",
        token_three_restart: "token/three-restart",
        token_three_one_behind: "token/three-one-behind",
        token_one_three_restart: "token/one-three-restart",
        token_three_one: "token/three-one",
        token_forced: "token/forced",
    }
}

const GONE: &str = "gone while it acts";
const LEFT_OUT: &str = "left out and renewed";
const UNAWARE: &str = "newcomer and decision unaware of each other";

/// What catches a bug: a standard model, the rule that is broken, and the steps of the shortest way there.
const CAUGHT: &[(Bug, &str, &str, usize)] = &[
    (Bug::ShortSilence, "standing/one", GONE, 4),
    (Bug::CountFromAnswer, "standing/one", GONE, 8),
    (Bug::CountFromCall, "standing/one-called", GONE, 9),
    (Bug::StandingByOne, "standing/three-restart", GONE, 8),
    (Bug::GoneByOne, "standing/exchanged", GONE, 5),
    (Bug::ForgetStart, "standing/one", GONE, 9),
    (Bug::RefuseInMemory, "standing/three-restart", GONE, 11),
    (Bug::RenewRefused, "standing/one-removed", GONE, 9),
    (Bug::RefuseByHearsay, "standing/three", GONE, 13),
    (Bug::RefuseAtOnce, "standing/one", GONE, 3),
    (Bug::ResumeUnanswered, "standing/one-resumes", GONE, 6),
    (Bug::AddUpAnswers, "standing/three-one-deaf", GONE, 8),
    (Bug::AddUpRefusals, "standing/exchanged", GONE, 5),
    (Bug::RenewAfterClosing, "standing/one-one", GONE, 10),
    (Bug::RefuseAfterClosing, "standing/one-one", GONE, 10),
    (Bug::ForgetBans, "standing/gone-then-changed", GONE, 7),
    (Bug::BansCountAtOnce, "standing/refused-then-changed", GONE, 9),
    (Bug::KeepTimers, "standing/three-one-deaf", GONE, 13),
    (Bug::NewVoterTimers, "standing/one-one", GONE, 10),
    (Bug::BelieveRemoval, "standing/one-removed", GONE, 3),
    (Bug::RemoveAtOnce, "standing/one-removed", GONE, 4),
    (Bug::SkipRegistration, "records/three", UNAWARE, 2),
    (Bug::RegisterWithOne, "records/three", UNAWARE, 3),
    (Bug::TakeOverNothing, "records/three", UNAWARE, 4),
    (Bug::RegisterWithoutRecord, "records/three", UNAWARE, 4),
    (Bug::SkipRatification, "records/three", UNAWARE, 2),
    (Bug::RatifyWithOne, "records/three", UNAWARE, 3),
    (Bug::RatifyWithoutComparing, "records/three", UNAWARE, 4),
    (Bug::RatifyWithoutRecord, "records/three", UNAWARE, 4),
    (Bug::AddUpRecords, "records/one-three", UNAWARE, 4),
    (Bug::OpenEmpty, "records/one-three", UNAWARE, 6),
    (Bug::OpenByOne, "records/three-one-behind", UNAWARE, 4),
    (Bug::TellBeforeClosing, "records/one-one", UNAWARE, 4),
    (Bug::RecordAfterClosing, "records/one-one", UNAWARE, 4),
    (Bug::CloseInMemory, "records/one-one", UNAWARE, 5),
    (Bug::CloseTwice, "records/rivals", UNAWARE, 8),
    (Bug::CloseUnopened, "records/one-one-one", UNAWARE, 4),
    (Bug::ReplaceDisk, "records/three-disk", UNAWARE, 5),
    (Bug::ReplaceDiskByAsking, "records/three-disk", UNAWARE, 5),
    (Bug::DropClosings, "records/one-three-death", STUCK, 1),
    (Bug::ForceByVoters, "records/forced", UNAWARE, 9),
    (Bug::CountGivenUp, "records/forced", UNAWARE, 12),
    (Bug::YieldWithoutCensus, "records/forced", UNAWARE, 12),
    (Bug::ServeGivenUp, "standing/forced", GONE, 12),
    (Bug::GiveUpInMemory, "standing/forced", GONE, 13),
    (Bug::ForgetLeftOut, "standing/forced", LEFT_OUT, 6),
];

const TWO: &str = "two tokens";

/// What comes of some of them where the heir makes a token: not only that a newcomer is overlooked.
const TWO_TOKENS: &[(Bug, &str, &str, usize)] = &[
    (Bug::RefuseAtOnce, "token/one-one", TWO, 6),
    (Bug::SkipRegistration, "token/one-one", TWO, 3),
    (Bug::RegisterWithoutRecord, "token/one-one", TWO, 4),
    (Bug::SkipRatification, "token/one-one", TWO, 3),
    (Bug::RatifyWithoutComparing, "token/one-one", TWO, 4),
    (Bug::OpenEmpty, "token/one-one", TWO, 6),
    (Bug::TellBeforeClosing, "token/one-one", TWO, 6),
    (Bug::RecordAfterClosing, "token/one-one", TWO, 6),
    (Bug::CloseInMemory, "token/one-one", TWO, 7),
    (Bug::RegisterWithOne, "token/one-three", TWO, 8),
];

#[test]
fn bugs_in_voters_are_caught() {
    let planted: BTreeSet<Bug> = CAUGHT.iter().map(|(bug, ..)| *bug).collect();
    assert_eq!(planted, Bug::ALL.iter().copied().collect(), "every bug of the list has its model");
    let mut survivors = Vec::new();
    for (bug, name, rule, steps) in CAUGHT.iter().chain(TWO_TOKENS) {
        let mut standard = voters::named(name).unwrap_or_else(|| panic!("there is no model {name}"));
        standard.model.plant = Some(Arc::new(|voting| voting.plant(*bug)));
        standard.model.asks_others = *bug == Bug::ReplaceDiskByAsking;
        let found = explore(&standard.model, Bounds { states: 300_000, progress: standard.progress });
        let caught = found.broken.as_ref().map(|trace| (trace.rule.as_str(), trace.steps.len()));
        if caught != Some((*rule, *steps)) {
            survivors.push(format!("{bug:?} in {name}: expected {rule} in {steps} steps, found {caught:?}"));
        }
    }
    assert!(survivors.is_empty(), "not caught as expected:\n{}", survivors.join("\n"));
}
