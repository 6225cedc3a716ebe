//! The document says what the code does: its examples are traces, and it has every field.

use std::collections::BTreeSet;

use crate::support::{traces, written};
use meshlock_core::{Effect, Event};
use meshlock_trace::{Happening, Lost, Reader, Record, What};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../../docs/trace-format.md");

fn examples() -> Vec<&'static str> {
    DOCUMENT.split("```jsonl\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(example, _)| example).collect()
}

#[test]
fn the_examples_are_whole_traces() {
    let lengths: Vec<usize> = examples()
        .into_iter()
        .map(|example| {
            let mut reader = Reader::new(example.as_bytes()).unwrap();
            let records = reader.by_ref().collect::<Result<Vec<Record>, _>>().unwrap();
            assert!(reader.has_ended());
            records.len()
        })
        .collect();
    assert_eq!(lengths, [7, 9]);
}

#[test]
fn what_names_a_cause_answers_an_effect_of_that_line() {
    let mut answers = 0;
    for example in examples() {
        let records: Vec<Record> = Reader::new(example.as_bytes()).unwrap().map(Result::unwrap).collect();
        for record in &records {
            let (cause, message) = match &record.what {
                What::Event(Happening { cause: Some(cause), event: Event::Receive { message, .. }, .. }) => {
                    (cause, message)
                }
                What::Lost(Lost { cause: Some(cause), message, .. }) => (cause, message),
                What::Event(_) | What::Lost(_) | What::Link(_) | What::Move(_) | What::Join(_) | What::End(_) => {
                    continue;
                }
            };
            let What::Event(sender) = &records[*cause as usize - 2].what else { panic!("line {cause} sends nothing") };
            assert!(sender.effects.iter().any(|effect| sends(effect, message)), "line {cause} does not send {message}");
            answers += 1;
        }
    }
    assert_eq!(answers, 3);
}

fn sends(effect: &Effect<Value>, expected: &Value) -> bool {
    match effect {
        Effect::Send { message, .. } | Effect::Multicast { message, .. } | Effect::Broadcast { message } => {
            message == expected
        }
        Effect::Granted { .. } | Effect::Arm { .. } | Effect::Reject { .. } => false,
    }
}

#[test]
fn every_field_is_in_the_document() {
    let mut runner = TestRunner::deterministic();
    let mut fields = BTreeSet::new();
    for _ in 0..200 {
        let trace = traces().new_tree(&mut runner).unwrap().current();
        for line in String::from_utf8(written(&trace).unwrap()).unwrap().lines() {
            collect(&serde_json::from_str(line).unwrap(), &mut fields);
        }
    }
    assert!(fields.contains("repeats_from") && fields.contains("link-down"), "too little was drawn: {fields:?}");
    let missing: Vec<&String> = fields
        .iter()
        .filter(|field| !DOCUMENT.contains(&format!("`{field}`")) && !DOCUMENT.contains(&format!("`{{\"{field}\": ")))
        .collect();
    assert!(missing.is_empty(), "not in docs/trace-format.md: {missing:?}");
}

/// The names of all fields, except where anything may stand.
fn collect(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                fields.insert(name.clone());
                if !["message", "parameters", "totals", "misuse"].contains(&name.as_str()) {
                    collect(inner, fields);
                }
            }
        }
        Value::Array(array) => array.iter().for_each(|inner| collect(inner, fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
