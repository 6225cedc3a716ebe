//! What was written is what is read.

use crate::support::{Message, traces, written};
use meshlock_core::{Event, Misuse, NodeId, RequestId, Units};
use meshlock_trace::{At, Happening, Header, NodeInfo, Reader, Record, Source, TraceError, What, Writer};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_trace_comes_back_as_it_was(trace in traces()) {
        let bytes = written(&trace).unwrap();
        let mut reader = Reader::<_, Message>::typed(bytes.as_slice()).unwrap();
        prop_assert_eq!(reader.header(), &trace.header);
        let records = reader.by_ref().collect::<Result<Vec<_>, _>>().unwrap();
        let ended = matches!(trace.records.last(), Some(Record { what: What::End(_), .. }));
        prop_assert_eq!(&records, &trace.records);
        prop_assert_eq!(reader.has_ended(), ended);
        prop_assert_eq!(reader.line(), 1 + records.len() as u64);
    }

    #[test]
    fn a_reader_that_does_not_know_the_messages_loses_nothing(trace in traces()) {
        let bytes = written(&trace).unwrap();
        let reader = Reader::new(bytes.as_slice()).unwrap();
        let mut writer = Writer::new(Vec::new(), reader.header()).unwrap();
        for record in reader {
            writer.write(&record.unwrap()).unwrap();
        }
        prop_assert!(same_json(&bytes, &writer.finish().unwrap()));
    }
}

/// Objects of a reader without types may have their fields in another order.
fn same_json(one: &[u8], other: &[u8]) -> bool {
    let values = |bytes: &[u8]| -> Vec<Value> {
        serde_json::Deserializer::from_slice(bytes).into_iter().map(|value| value.expect("written as JSON")).collect()
    };
    values(one) == values(other)
}

fn header() -> Header {
    Header::new(Source::Sim, "flood", "repaired", vec![NodeInfo::new(0, "ann")], vec![])
}

#[test]
fn the_writer_tells_the_line_so_that_later_records_can_name_it() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let event = |cause| Happening { cause, ..Happening::new(NodeId(0), Event::<()>::LinkUp { neighbour: NodeId(1) }) };
    let record = |cause| Record { at: At::Step(1), what: What::Event(event(cause)) };
    let line = writer.write(&record(None)).unwrap();
    assert_eq!(line, 2);
    assert_eq!(writer.write(&record(Some(line))).unwrap(), 3);
}

#[test]
fn what_makes_no_sense_is_refused_and_the_trace_goes_on() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let at_node = |node| Happening::new(NodeId(node), Event::<()>::Release { request: RequestId(1), units: Units(1) });
    let refused = writer.write(&Record { at: At::Step(5), what: What::Event(at_node(7)) }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "line 2: node 7 is not known; nodes stand in the header or `join` before they take part"
    );
    assert_eq!(writer.write(&Record { at: At::Step(1), what: What::Event(at_node(0)) }).unwrap(), 2);
    let bytes = writer.finish().unwrap();
    assert_eq!(Reader::new(bytes.as_slice()).unwrap().count(), 1);
}

#[test]
fn a_position_that_is_no_number_is_refused() {
    let mut lost = NodeInfo::new(1, "bob");
    lost.position = Some([0.0, f64::NAN]);
    let header = Header { nodes: vec![lost], ..header() };
    let refused = Writer::new(Vec::new(), &header).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "line 1: the position or velocity of node 1 is not finite");
}

#[test]
fn an_unsupported_request_can_be_read_although_its_reason_is_not_kept() {
    let happening = Happening {
        misuse: Some(Misuse::Unsupported("cancel")),
        ..Happening::new(NodeId(0), Event::<Value>::Cancel { request: RequestId(1) })
    };
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    writer.write(&Record { at: At::Step(1), what: What::Event(happening) }).unwrap();
    let bytes = writer.finish().unwrap();
    let record = Reader::new(bytes.as_slice()).unwrap().next().unwrap().unwrap();
    let What::Event(Happening { misuse, .. }) = record.what else { panic!("an event was written") };
    assert!(matches!(misuse, Some(Misuse::Unsupported(_))));
}

#[test]
fn unknown_fields_and_blank_lines_are_passed_over() {
    let text = concat!(
        r#"{"meshlock-trace":1,"source":"sim","protocol":"flood","variant":"repaired","nodes":[{"id":0,"name":"ann","colour":"red"}],"mood":{"a":[1]}}"#,
        "\r\n\n",
        r#"{"time_ns":5,"node":0,"event":{"receive":{"from":0,"message":{"new":1},"strength":-70}},"view":{"role":"N","hat":1},"weather":"fine"}"#,
    );
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    let record = reader.next().unwrap().unwrap();
    let event = Event::Receive { from: NodeId(0), message: json!({"new": 1}) };
    let What::Event(happening) = record.what else { panic!("an event was written") };
    assert_eq!((record.at, happening.event, reader.line()), (At::TimeNs(5), event, 3));
    assert_eq!(happening.view.map(|view| view.role), Some("N".to_owned()));
}

#[test]
fn an_output_that_fails_is_reported() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let failed = Writer::new(Full, &header()).map(drop).unwrap_err();
    assert!(matches!(failed, TraceError::Io { line: 1, .. }));
    assert_eq!(failed.to_string(), "line 1: disk full");
}
