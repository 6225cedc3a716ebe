//! Every planted bug is caught by a standard model. One that survives is a hole in the rules or in the models.

use std::collections::BTreeSet;
use std::fmt::Debug;

use meshlock_check::{Careless, Explorer, Limits, Model, Options, Report, Silent, Verdict, Way, suite};
use meshlock_core::{flood, group, recovery, reverse_link};
use meshlock_protocols::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use meshlock_protocols::{Node, recovering};

/// What catches a bug: a standard model, and the rule that it breaks.
struct Caught<B>(B, &'static str, &'static str);

/// Plants each bug into every node of its model and expects the rule to be broken.
fn all_are_caught<B: Copy + Ord + Debug>(all: &[B], caught: &[Caught<B>], plant: impl Fn(&mut Node, B)) {
    let planted: BTreeSet<B> = caught.iter().map(|Caught(bug, ..)| *bug).collect();
    assert_eq!(planted, all.iter().copied().collect(), "every bug of the list has its model");
    let mut survivors = Vec::new();
    for Caught(bug, model, rule) in caught {
        let trial = suite::named(model).unwrap_or_else(|| panic!("there is no model {model}")).trial;
        let mut planted = trial.spec.model().expect("a standard model");
        planted.nodes.iter_mut().for_each(|node| plant(node, *bug));
        let limits = Limits { states: Some(4_000_000), ..Limits::default() };
        let report =
            trial.run_model(planted.clone(), &limits, "", &mut Silent).expect("a planted bug changes no model");
        a_sweep_finds_the_same(&format!("{bug:?} in {model}"), planted, &report);
        let found = report.broken.as_ref().map(|shown| shown.rule.map_or("protocol", |rule| rule.name()));
        if found != Some(rule) {
            survivors.push(format!("{bug:?} in {model}: expected {rule}, found {found:?} ({})", report.verdict));
        }
    }
    assert!(survivors.is_empty(), "not caught as expected:\n{}", survivors.join("\n"));
}

/// Several threads show the same run, if it is one that ends.
fn a_sweep_finds_the_same(name: &str, planted: Model, report: &Report) {
    let Some(shown) = report.broken.as_ref().filter(|shown| shown.cycle.is_none() && shown.seed.is_none()) else {
        return;
    };
    if report.progress.unique > 30_000 || planted.workload.endless {
        return;
    }
    let depth = u32::try_from(shown.steps).ok();
    let options = Options { threads: 2, small: 1, max_depth: depth, ..Options::default() };
    let found = Explorer::new(planted).options(options).run(&mut Silent).expect("the same model");
    let broken = found.violation.unwrap_or_else(|| panic!("{name}: a sweep finds nothing"));
    let run: Vec<_> = broken.counterexample.steps.iter().map(|step| step.action).collect();
    assert_eq!((broken.finding.to_string(), run), (shown.what.clone(), shown.run.clone()), "{name}");
}

/// Plants into nodes of one protocol; a model of another one is a mistake of the table.
macro_rules! into {
    ($protocol:ident) => {
        |node, bug| match node {
            Node::$protocol(node) => node.plant(bug),
            other => panic!("no such bug in {other:?}"),
        }
    };
}

#[test]
fn bugs_in_reverse_link_are_caught() {
    use reverse_link::Bug;
    let caught = [
        Caught(Bug::ForgetPreempted, "reverse-link/line-3-second-thoughts", "forgotten"),
        Caught(Bug::PassWithoutLowering, "reverse-link/line-3", "most-urgent-known"),
        Caught(Bug::DropAskBehindToken, "reverse-link/line-3", "most-urgent-known"),
        Caught(Bug::CountReleaseTwice, "reverse-link/line-3-sessions", "conservation"),
        Caught(Bug::NeverUpdateAsk, "reverse-link/line-3-second-thoughts", "most-urgent-known"),
        Caught(Bug::AgeWithoutCarrying, "reverse-link/line-3-aging-endless", "most-urgent-known"),
        Caught(Bug::AcceptOldToken, "reverse-link/square-harsh", "one-token"),
        Caught(Bug::KeepCancelled, "reverse-link/line-3-second-thoughts", "cancelled"),
        Caught(Bug::KeepAskAfterReversal, "reverse-link/square-harsh", "nobody-waits"),
        Caught(Bug::RaiseBeforeTakingBack, "reverse-link/kite-harsh", "queues"),
        Caught(Bug::NeverWithdraw, "reverse-link/line-3-harsh", "queues"),
        Caught(Bug::BelieveStaleAsk, "reverse-link/triangle-rounds", "messages-end"),
        Caught(Bug::GuessLost, "reverse-link/line-3-harsh", "one-token"),
        Caught(Bug::GuessArrived, "reverse-link/line-3-harsh", "nobody-waits"),
        Caught(Bug::NoPromise, "reverse-link/square-harsh", "one-token"),
        Caught(Bug::MergeReleases, "reverse-link/walk-grid-6", "conservation"),
        Caught(Bug::ForgetCustody, "reverse-link/line-3-sessions", "protocol"),
        Caught(Bug::RaiseWithoutLooking, "reverse-link/line-3-harsh", "messages-end"),
        Caught(Bug::IgnoreSessions, "reverse-link/line-3-sessions", "one-session"),
        Caught(Bug::JoinWithoutCap, "reverse-link/line-2-joins-endless", "starvation"),
        Caught(Bug::IgnoreUnits, "reverse-link/line-3", "exclusion"),
        Caught(Bug::LocalFences, "reverse-link/line-3", "fences"),
        Caught(Bug::IgnoreRanks, "reverse-link/line-3-second-thoughts", "grant-order"),
        Caught(Bug::NoCopy, "reverse-link/line-3-harsh", "nobody-waits"),
        Caught(Bug::ForgetQuestions, "reverse-link/line-3-harsh", "nobody-waits"),
        Caught(Bug::ForgetPassedBy, "reverse-link/triangle-harsh", "nobody-waits"),
        Caught(Bug::TellOnlyGiver, "reverse-link/triangle-rounds", "queues"),
        Caught(Bug::AdoptOlderCapacity, "reverse-link/triangle-lowered", "exclusion"),
        Caught(Bug::LeaveWithToken, "reverse-link/line-3-leave", "leaving"),
        Caught(Bug::ForgetCopyOnResume, "reverse-link/line-3-stop", "nobody-waits"),
        Caught(Bug::ForgetCustodyOnResume, "reverse-link/line-2-leave-stop", "conservation"),
        Caught(Bug::KeepCopyForGone, "recovery/triangle-cut", "one-token"),
        Caught(Bug::SendReleasesOnce, "recovery/line-3-units", "repaired"),
        Caught(Bug::KeepLoansOfGone, "recovery/pair-units", "repaired"),
        Caught(Bug::KeepOwnLoans, "recovery/walk-kite", "repaired"),
        Caught(Bug::ReportPromises, "recovery/line-3-promise", "one-token"),
        Caught(Bug::FencesFromReports, "recovery/pair", "fences"),
        Caught(Bug::PassesFromZero, "recovery/pair", "ranks"),
        Caught(Bug::ForgetLoansInUse, "recovery/pair-units", "ledger"),
        Caught(Bug::PassWithoutCap, "backfill/line-2-endless", "overtaking"),
        Caught(Bug::ForgetPasses, "backfill/line-2-endless", "overtaking"),
        Caught(Bug::CountOwnPassesOnly, "backfill/line-3-urgent", "backfill"),
        Caught(Bug::TakePassesAlong, "backfill/line-2-three", "backfill"),
        Caught(Bug::NumberEachFromZero, "numbered/line-3", "numbered"),
        Caught(Bug::NumberByCount, "numbered/line-2", "numbered"),
        Caught(Bug::NumberFromTop, "numbered/line-2-lowered", "numbered"),
        Caught(Bug::PassWithoutNumbers, "numbered/line-3", "numbered"),
        Caught(Bug::ForgetSlotsInUse, "numbered/pair-crash", "numbered"),
    ];
    all_are_caught(Bug::ALL, &caught, |node, bug| {
        let plant: fn(&mut Node, Bug) = into!(ReverseLink);
        if let Node::Recovering(member) = node {
            member.resources_mut().iter_mut().for_each(|resource| plant(resource, bug));
        } else {
            plant(node, bug);
        }
    });
}

#[test]
fn bugs_in_the_decisions_of_a_recovery_are_caught() {
    use recovery::Bug;
    let caught = [
        Caught(Bug::DecideAlone, "recovery/pair", "one-token"),
        Caught(Bug::BelieveOldReports, "recovery/pair-twice", "repaired"),
        Caught(Bug::DecideForThePast, "recovery/star-3-removed", "one-token"),
        Caught(Bug::EveryoneInherits, "recovery/pair", "ranks"),
        Caught(Bug::IgnoreCopies, "recovery/line-3", "one-token"),
        Caught(Bug::BelieveCopies, "recovery/line-3-declared", "repaired"),
        Caught(Bug::RankWithoutRemovals, "recovery/pair-removed-later", "ranks"),
        Caught(Bug::RankOfTheLiving, "recovery/pair-removed-later", "ranks"),
        Caught(Bug::BelieveOldGoodbyes, "recovery/star-3-goodbye", "one-token"),
    ];
    all_are_caught(Bug::ALL, &caught, |node, bug| {
        let Node::Recovering(member) = node else { panic!("no such bug in {node:?}") };
        member.plant_into_keeper(bug);
    });
}

#[test]
fn bugs_in_members_that_recover_are_caught() {
    use recovering::Bug;
    let caught = [
        Caught(Bug::TellCensusLate, "recovery/line-3", "one-token"),
        Caught(Bug::HearTheGone, "recovery/triangle-removed", "one-token"),
        Caught(Bug::KeepIncarnation, "recovery/pair", "fences"),
        Caught(Bug::ForgetCensus, "recovery/pair", "one-token"),
        Caught(Bug::ForgetDefinition, "recovery/pair-resized", "exclusion"),
        Caught(Bug::ForgetDefinition, "numbered/pair-crash-resized", "numbered"),
        Caught(Bug::ForgetInvitation, "recovery/pair-join", "one-token"),
        Caught(Bug::ForgetInvited, "recovery/star-3-join-removed", "one-token"),
        Caught(Bug::GoOnWhenGone, "recovery/pair-fenced", "repaired"),
        Caught(Bug::LeaveSilently, "recovery/pair-leave", "repaired"),
        Caught(Bug::PictureAgain, "recovery/pair-stop", "ranks"),
        Caught(Bug::PictureAgain, "recovery/pair-stop-declared", "ranks"),
        // Without voters an heir with all reports decides at once, so that a second picture comes too late to matter.
        Caught(Bug::SaveNoReport, "recovery/pair-stop-declared", "one-token"),
        Caught(Bug::SaveNoReport, "recovery/pair-stops-declared", "one-token"),
        Caught(Bug::SaveNoDecision, "recovery/pair-stop-declared", "ranks"),
        Caught(Bug::KeepSaved, "recovery/pair-stop", "fences"),
        Caught(Bug::KeepSaved, "recovery/pair-stop-declared", "repaired"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(Recovering));
}

#[test]
fn who_says_too_early_that_a_member_is_gone_is_caught() {
    for (careless, model, rule) in [
        (Careless::Starts, "recovery/pair", "ledger"),
        (Careless::Declares, "recovery/pair-fenced", "one-token"),
        (Careless::Resumes, "recovery/pair-stop-declared", "one-token"),
        (Careless::Resumes, "recovery/line-3-stop-declared", "one-token"),
    ] {
        let trial = suite::named(model).expect("a standard model").trial;
        let mut told = trial.spec.model().expect("a standard model");
        told.careless = Some(careless);
        let report = trial.run_model(told, &Limits::default(), "", &mut Silent).expect("the same model");
        let found = report.broken.as_ref().and_then(|shown| shown.rule).map(|rule| rule.name());
        assert_eq!(found, Some(rule), "{careless:?} in {model}");
    }
}

#[test]
fn bugs_in_flood_are_caught() {
    use flood::Bug;
    let caught = [
        Caught(Bug::SkipDuplicateCheck, "flood/triangle", "protocol"),
        Caught(Bug::AcceptTokenTwice, "flood/triangle-unordered", "one-token"),
        Caught(Bug::ForgetCopy, "flood/line-3-cancel", "nobody-waits"),
        Caught(Bug::NoQueueMerge, "flood/triangle-unordered", "nobody-waits"),
        Caught(Bug::ForgetServed, "flood/triangle-unordered", "protocol"),
        Caught(Bug::RepeatWithoutAttempt, "flood/line-3-cancel", "nobody-waits"),
        Caught(Bug::ResetTransfer, "flood/triangle-unordered", "nobody-waits"),
        Caught(Bug::ForgetTimerOnResume, "flood/line-3-stop", "nobody-waits"),
        Caught(Bug::ForgetAskingOnResume, "flood/line-3-stop", "protocol"),
        Caught(Bug::ForgetCopyOnResume, "flood/line-3-stop", "nobody-waits"),
        Caught(Bug::HearRequestOfGone, "recovery-flood/line-3-fenced", "repaired"),
        Caught(Bug::TakeTokenOfGone, "recovery-flood/triangle-removed", "one-token"),
        Caught(Bug::TakeTokenOfFormerSelf, "recovery-flood/line-3", "protocol"),
        Caught(Bug::KeepRequestsOfGone, "recovery-flood/pair", "repaired"),
        Caught(Bug::KeepGoneInQueue, "recovery-flood/line-3-queue", "repaired"),
        Caught(Bug::KeepCopyForGone, "recovery-flood/pair", "repaired"),
        Caught(Bug::ReportNoCopy, "recovery-flood/triangle", "one-token"),
        Caught(Bug::ReportNoArrival, "recovery-flood/line-3-lossy", "repaired"),
        Caught(Bug::ReportSeenAsArrived, "recovery-flood/triangle", "one-token"),
        Caught(Bug::RemakeTransferFromOne, "recovery-flood/pair", "ranks"),
        Caught(Bug::RemakeFenceFromOne, "recovery-flood/pair", "fences"),
        Caught(Bug::RemakeWithoutServed, "recovery-flood/pair", "protocol"),
    ];
    all_are_caught(Bug::ALL, &caught, plant_into_flood);
}

#[test]
fn bugs_in_group_are_caught() {
    use group::Bug;
    let caught = [
        Caught(Bug::LoseComplete, "group/readers-writer-3", "followers"),
        Caught(Bug::DropEarlyComplete, "group/readers-writer-3", "followers"),
        Caught(Bug::ForgetAccepted, "group/readers-writer-3", "unwanted-grant"),
        Caught(Bug::JoinWhileOthersWait, "group/three-endless", "starvation"),
        Caught(Bug::OpenOverFollowers, "group/readers-writer-3", "one-session"),
        Caught(Bug::SessionNotSet, "group/readers-writer-3", "occupancy"),
        Caught(Bug::HeardOnlyByHolder, "group/readers-writer-3", "occupancy"),
        Caught(Bug::AgeNothing, "group/urgent-endless", "starvation"),
        Caught(Bug::AcceptTokenTwice, "group/two-lossy", "one-token"),
        Caught(Bug::GrantCancelled, "group/second-thoughts", "cancelled"),
        Caught(Bug::ForgetCopyOnResume, "group/two-stops", "nobody-waits"),
        Caught(Bug::HearTheGone, "recovery-group/line-3-fenced", "one-token"),
        Caught(Bug::FollowGoneCaptain, "recovery-group/star-captain", "one-session"),
        Caught(Bug::TakeTokenOfFormerSelf, "recovery-group/line-3", "protocol"),
        Caught(Bug::KeepRecordsOfGone, "recovery-group/pair", "repaired"),
        Caught(Bug::KeepGoneFollowers, "recovery-group/pair-removed", "nobody-waits"),
        Caught(Bug::KeepGoneInQueue, "recovery-group/pair-removed", "repaired"),
        Caught(Bug::KeepCopyForGone, "recovery-group/pair", "repaired"),
        Caught(Bug::ReportNoCopy, "recovery-group/triangle", "one-token"),
        Caught(Bug::ReportNoArrival, "recovery-group/line-3-given", "repaired"),
        Caught(Bug::ReportSeenAsArrived, "recovery-group/triangle", "one-token"),
        Caught(Bug::RemakeTransferFromOne, "recovery-group/pair", "ranks"),
        Caught(Bug::RemakeFenceFromOne, "recovery-group/pair", "fences"),
        Caught(Bug::RemakeWithoutAttendants, "recovery-group/star-captain", "one-session"),
        Caught(Bug::RemakeWithoutStamps, "recovery-group/pair", "unwanted-grant"),
        Caught(Bug::RemakeWithOtherFence, "recovery-group/pair-sessions", "ledger"),
    ];
    // The relay looks at who is gone as well, so what the protocol does about that shows only without its help.
    let careless = [Bug::HearTheGone, Bug::TakeTokenOfFormerSelf];
    all_are_caught(Bug::ALL, &caught, |node, bug| plant_into_group(node, Some(bug), careless.contains(&bug)));
}

#[test]
fn group_recovers_over_a_relay_that_does_not_look_at_who_is_gone() {
    for model in ["recovery-group/line-3", "recovery-group/line-3-fenced"] {
        let trial = suite::named(model).expect("a standard model").trial;
        let mut careless = trial.spec.model().expect("a standard model");
        careless.nodes.iter_mut().for_each(|node| plant_into_group(node, None, true));
        let report = trial.run_model(careless, &Limits::default(), "", &mut Silent).expect("the same model");
        assert_eq!(report.verdict, Verdict::Holds, "{model}: {:?}", report.broken);
    }
}

fn plant_into_flood(node: &mut Node, bug: flood::Bug) {
    if let Node::Flood(node) = node {
        node.plant(bug);
    } else if let Node::Recovering(member) = node {
        member.resources_mut().iter_mut().for_each(|node| plant_into_flood(node, bug));
    } else {
        panic!("no such bug in {node:?}");
    }
}

fn plant_into_group(node: &mut Node, bug: Option<group::Bug>, careless: bool) {
    if let Node::Group(node) = node {
        bug.into_iter().for_each(|bug| node.plant(bug));
    } else if let Node::Relayed(relay) = node {
        if careless {
            relay.be_careless();
        }
        plant_into_group(relay.inner_mut(), bug, careless);
    } else if let Node::Recovering(member) = node {
        member.resources_mut().iter_mut().for_each(|node| plant_into_group(node, bug, careless));
    } else {
        panic!("no such bug in {node:?}");
    }
}

#[test]
fn bugs_in_central_are_caught() {
    use central::Bug;
    let caught = [
        Caught(Bug::IgnoreUnits, "central/three", "exclusion"),
        Caught(Bug::IgnoreSessions, "central/sessions", "one-session"),
        Caught(Bug::IgnoreRanks, "central/units", "most-urgent-known"),
        Caught(Bug::ServeOne, "central/units", "no-idle-units"),
        Caught(Bug::JoinWithoutCap, "central/joins-endless", "starvation"),
        Caught(Bug::IgnoreCrossedCancel, "central/second-thoughts", "nobody-waits"),
        Caught(Bug::BelieveCrossedGrant, "central/second-thoughts", "cancelled"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(Central));
}

#[test]
fn bugs_in_raymond_are_caught() {
    use raymond::Bug;
    let caught = [
        Caught(Bug::NoRequestBehindToken, "raymond/three", "nobody-waits"),
        Caught(Bug::GiveWhileInside, "raymond/three", "exclusion"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(Raymond));
}

#[test]
fn bugs_in_suzuki_kasami_are_caught() {
    use suzuki_kasami::Bug;
    let caught = [
        Caught(Bug::NoQueueMerge, "suzuki-kasami/three", "nobody-waits"),
        Caught(Bug::ForgetServed, "suzuki-kasami/three", "protocol"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(SuzukiKasami));
}

#[test]
fn bugs_in_ricart_agrawala_are_caught() {
    use ricart_agrawala::Bug;
    let caught = [
        Caught(Bug::ReplyWhileWaiting, "ricart-agrawala/three", "exclusion"),
        Caught(Bug::DeferWhileWaiting, "ricart-agrawala/three", "nobody-waits"),
        Caught(Bug::DeafClock, "ricart-agrawala/three", "exclusion"),
        Caught(Bug::ForgetDeferred, "ricart-agrawala/three", "nobody-waits"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(RicartAgrawala));
}

#[test]
fn bugs_in_lamport_are_caught() {
    use lamport::Bug;
    let caught = [
        Caught(Bug::EnterUnheard, "lamport/three", "exclusion"),
        Caught(Bug::SilentRelease, "lamport/three", "nobody-waits"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(Lamport));
}

#[test]
fn bugs_in_naimi_trehel_are_caught() {
    use naimi_trehel::Bug;
    let caught = [
        Caught(Bug::ForgetNext, "naimi-trehel/three", "nobody-waits"),
        Caught(Bug::ForgetFather, "naimi-trehel/three", "protocol"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(NaimiTrehel));
}

#[test]
fn bugs_in_raynal_are_caught() {
    use raynal::Bug;
    let caught = [
        Caught(Bug::ForgetOutstanding, "raynal/three-twice", "protocol"),
        Caught(Bug::PermitAllWhileWaiting, "raynal/three", "exclusion"),
        Caught(Bug::KeepRest, "raynal/two", "nobody-waits"),
    ];
    all_are_caught(Bug::ALL, &caught, into!(Raynal));
}

#[test]
fn a_model_without_a_planted_bug_holds_where_the_planted_ones_break() {
    // Otherwise the tests above could be met by models that break anyway.
    for model in ["reverse-link/line-3-harsh", "flood/line-3-cancel", "group/readers-writer-3"] {
        let entry = suite::named(model).unwrap();
        assert!(matches!(entry.trial.way, Way::Explore { .. }));
        let report = entry.run(&Limits::default(), &mut Silent).unwrap();
        assert!(entry.is_met_by(&report), "{model}: {report:?}");
    }
}
