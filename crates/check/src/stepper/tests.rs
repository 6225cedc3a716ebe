//! The order of choices is fixed, every choice is possible, wrong paths are refused, and broken rules are marked.

use std::collections::BTreeMap;

use meshlock_core::{Effect, Event, NodeId};
use meshlock_trace::{Record, What};

use super::known::MOST_VISITED;
use super::*;
use crate::suite;
use crate::{Limits, Silent};

fn trial(name: &str) -> Trial {
    suite::named(name).unwrap().trial
}

fn stepper(name: &str) -> Stepper {
    Stepper::new(&trial(name), true, &format!("meshlock check {name}")).unwrap()
}

/// The path of the run that breaks a rule in a model.
fn broken_path(name: &str, stepper: &mut Stepper) -> Vec<u32> {
    let report = trial(name).run(&Limits::default(), "", &mut Silent).unwrap();
    stepper.path(&report.broken.unwrap().run).unwrap()
}

/// A path of so many steps that takes another choice each time.
fn wander(stepper: &mut Stepper, steps: usize, spread: usize) -> Vec<u32> {
    let mut path = Vec::new();
    for step in 0..steps {
        let choices = stepper.at(&path).unwrap().next.len();
        if choices == 0 {
            break;
        }
        path.push(u32::try_from((step * spread) % choices).unwrap());
    }
    path
}

#[test]
fn a_path_means_the_same_in_every_order_of_looking() {
    for name in ["reverse-link/line-3-units", "flood/f9", "group/g4", "raymond/unordered"] {
        let mut first = stepper(name);
        let path = wander(&mut first, 30, 7);
        wander(&mut first, 30, 3);
        let mut second = stepper(name);
        assert_eq!(first.at(&path), second.at(&path), "{name}");
        for end in (0..path.len()).rev() {
            assert_eq!(first.at(&path[..end]), second.at(&path[..end]), "{name}");
        }
    }
}

#[test]
fn every_choice_is_possible_and_does_what_it_says() {
    for name in ["reverse-link/p4", "flood/f9", "group/g4", "reverse-link/p13"] {
        let mut stepper = stepper(name);
        let mut paths = vec![Vec::new()];
        for _ in 0..3 {
            let mut longer = Vec::new();
            for path in paths {
                let place = stepper.at(&path).unwrap();
                let labels: Vec<&str> = place.next.iter().map(|choice| choice.label.as_str()).collect();
                assert!(labels.iter().all(|label| !label.is_empty()), "{name}: {labels:?}");
                for (number, choice) in (0..).zip(&place.next) {
                    let mut further = path.clone();
                    further.push(number);
                    let there = stepper.at(&further).unwrap();
                    assert!(there.records.len() > place.records.len(), "{name}: {further:?}");
                    if let Some(rule) = choice.breaks {
                        assert_eq!(there.broken.unwrap().rule, rule, "{name}: {further:?}");
                    }
                    longer.push(further);
                }
            }
            paths = longer;
        }
        assert!(paths.len() > 10, "{name}");
    }
}

#[test]
fn a_wrong_path_is_refused_with_the_step_that_is_not_possible() {
    let mut stepper = stepper("reverse-link/p4");
    let choices = stepper.at(&[]).unwrap().next.len();
    let first = stepper.at(&[0]).unwrap().next.len();
    assert_eq!(stepper.at(&[u32::MAX]).unwrap_err(), StepError::NoSuchStep { step: 1, number: u32::MAX, choices });
    let error = stepper.at(&[0, 99, 0]).unwrap_err();
    assert_eq!(error, StepError::NoSuchStep { step: 2, number: 99, choices: first });
    let words =
        format!("step 2 of this path is not possible: it is number 99, but the numbers there are 0 to {}", first - 1);
    assert_eq!(error.to_string(), format!("{words}; go back to step 1"));
    assert_eq!(stepper.at(&vec![0; MOST_STEPS + 1]).unwrap_err(), StepError::TooLong(MOST_STEPS + 1));
    let impossible = [Action::Release { node: 0, place: 0 }];
    assert!(matches!(stepper.path(&impossible), Err(StepError::NoSuchAction { step: 1, .. })));
}

#[test]
fn what_breaks_a_rule_is_marked_before_and_after() {
    let mut stepper = stepper("reverse-link/p3");
    let path = broken_path("reverse-link/p3", &mut stepper);
    let (last, before) = path.split_last().unwrap();
    let place = stepper.at(before).unwrap();
    assert_eq!(place.broken, None);
    assert_eq!(place.next[*last as usize].breaks, Some("no-idle-units"));
    let place = stepper.at(&path).unwrap();
    let broken = place.broken.unwrap();
    assert_eq!((broken.rule, broken.words), ("no-idle-units", meshlock_properties::Rule::NoIdleUnits.words()));
    assert!(place.quiet, "this rule is about quiet states");
}

#[test]
fn the_numbers_of_an_endless_model_go_on_growing() {
    let mut stepper = stepper("reverse-link/line-3-strict-endless");
    let path = wander(&mut stepper, 500, 1);
    assert_eq!(path.len(), 500);
    let place = stepper.at(&path).unwrap();
    let requests = place.records.iter().filter_map(|record| {
        let What::Event(happening) = &record.what else { return None };
        let Event::Request { request, .. } = happening.event else { return None };
        Some(request.0)
    });
    assert!(requests.max() > Some(3), "requests are numbered as they are made");
}

#[test]
fn much_that_was_seen_is_forgotten_and_found_again() {
    let mut stepper = stepper("reverse-link/line-3-strict-endless");
    let start = stepper.at(&[]).unwrap();
    let short = wander(&mut stepper, 200, 5);
    let place = stepper.at(&short).unwrap();
    let mut seen = 0;
    for spread in 1..6 {
        seen += wander(&mut stepper, 300, spread).len();
    }
    assert!(seen > MOST_VISITED, "so few fit in memory");
    assert_eq!(stepper.at(&short).unwrap(), place);
    assert_eq!(stepper.at(&[]).unwrap(), start);
}

/// Every message that arrives or is lost names the line that sent it, and every line is named once for each receiver.
#[test]
fn every_arrival_and_every_loss_names_its_sending() {
    for name in ["reverse-link/p1", "reverse-link/p13", "flood/f9", "flood/f4", "group/g8"] {
        let mut stepper = stepper(name);
        let mut paths = vec![broken_path(name, &mut stepper)];
        paths.extend((1..9).map(|spread| wander(&mut stepper, 60, spread)));
        for path in paths {
            causes_are_right(name, &stepper.at(&path).unwrap().records);
        }
    }
}

fn causes_are_right(name: &str, records: &[Record]) {
    let line = |number: u64| &records[usize::try_from(number).unwrap() - 2];
    let mut named: BTreeMap<(u64, NodeId, String), usize> = BTreeMap::new();
    for record in records {
        let (from, to, message, cause) = if let What::Event(happening) = &record.what {
            let Event::Receive { from, message } = &happening.event else { continue };
            (*from, happening.node, message, happening.cause)
        } else if let What::Lost(lost) = &record.what {
            (lost.from, lost.to, &lost.message, lost.cause)
        } else {
            continue;
        };
        let cause = cause.unwrap_or_else(|| panic!("{name}: no cause in {record:?}"));
        let What::Event(sender) = &line(cause).what else { panic!("{name}: line {cause} is no event") };
        assert_eq!(sender.node, from, "{name}");
        let sends = sender.effects.iter().filter(|effect| match effect {
            Effect::Send { to: receiver, message: sent } => *receiver == to && sent == message,
            Effect::Multicast { to: receivers, message: sent } => receivers.contains(&to) && sent == message,
            Effect::Broadcast { message: sent } => sent == message,
            Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => false,
        });
        let count = named.entry((cause, to, message.to_string())).or_default();
        *count += 1;
        assert!(*count <= sends.count(), "{name}: line {cause} did not send that often {record:?}");
    }
}
