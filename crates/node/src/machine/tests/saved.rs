//! The bytes of what a clean stop saves: whoever changes them learns it here, before a node loses its tokens over an
//! upgrade.

use meshlock_api::{Kind, NewRequest, NewResource, Protocol, State};

use super::super::{Machine, SavedError};
use super::{Net, settings, wants};

/// A node that was stopped with three tokens, one of each protocol, after somebody held each.
fn stopped() -> Net {
    let mut net = Net::line(1);
    for (name, protocol, kind) in [
        ("dock", Protocol::ReverseLink, Kind::Mutex),
        ("gate", Protocol::Flood, Kind::Mutex),
        ("hall", Protocol::Group, Kind::Sessions),
    ] {
        let wanted = NewResource { protocol: Some(protocol), kind: Some(kind), ..NewResource::default() };
        net.machines[0].define(net.now, name, &wanted).unwrap();
        net.settle();
        let held = net.ask(0, asks(name));
        assert_eq!(net.state(0, held), State::Granted);
        net.release(0, held);
    }
    net.settle();
    net.machines[0].stop(net.now);
    net
}

fn asks(name: &str) -> NewRequest {
    NewRequest { session: (name == "hall").then(|| "film".into()), ..wants(name) }
}

fn goes_on(saved: &[u8]) {
    let mut net = Net::line(1);
    net.machines[0] = Machine::resume(settings(0), saved).unwrap();
    for name in ["dock", "gate", "hall"] {
        let held = net.ask(0, asks(name));
        assert_eq!((net.state(0, held), net.look(0, held).fence), (State::Granted, Some(2)), "{name}");
    }
}

#[test]
fn format_2_is_what_it_was() {
    let saved = stopped().machines[0].save();
    let saved = String::from_utf8(saved).unwrap();
    if std::env::var_os("MESHLOCK_WRITE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/machine/tests/saved_2.json"), &saved).unwrap();
    }
    assert_eq!(saved, FORMAT_2.trim_end());
    goes_on(FORMAT_2.as_bytes());
    // The first nodes that wrote it knew no grants that are kept.
    goes_on(FORMAT_2.replace(",\"grants\":[],\"companies\":[]", "").as_bytes());
}

#[test]
fn what_former_versions_saved_is_understood_or_left_alone() {
    goes_on(FORMAT_2_FIRST.as_bytes());
    goes_on(FORMAT_2_UNNUMBERED.as_bytes());
    goes_on(FORMAT_2_STRICT.as_bytes());
    let format_1 = [1, 4, b't', b'e', b's', b't'];
    assert_eq!(Machine::resume(settings(0), &format_1).err(), Some(SavedError::Older));
}

#[test]
fn a_newer_format_is_told_from_rubbish() {
    let newer = FORMAT_2.replace("\"format\":2", "\"format\":3");
    assert_eq!(Machine::resume(settings(0), newer.as_bytes()).err(), Some(SavedError::Newer(3)));
    let more = FORMAT_2.replace("\"format\":2", "\"format\":2,\"a field of a later version\":7");
    goes_on(more.as_bytes());
    for rubbish in [&b""[..], b"{", b"rubbish", &FORMAT_2.as_bytes()[..FORMAT_2.len() / 2]] {
        assert!(matches!(Machine::resume(settings(0), rubbish), Err(SavedError::Unreadable(_))));
    }
}

const FORMAT_2: &str = include_str!("saved_2.json");
/// Before there was recovery.
const FORMAT_2_FIRST: &str = include_str!("saved_2_first.json");
/// Before units were numbered.
const FORMAT_2_UNNUMBERED: &str = include_str!("saved_2_unnumbered.json");
/// Before a token knew whom others have passed.
const FORMAT_2_STRICT: &str = include_str!("saved_2_strict.json");
