//! A node that was stopped in order can be saved and goes on as itself: whatever it knows survives being written down.

use crate::story::Story;
use meshlock_core::group::{self, Level};
use meshlock_core::recovery::Census;
use meshlock_core::relay::{self, Relayed};
use meshlock_core::{Delay, Demand, Event, NodeId, Protocol, flood, reverse_link};
use serde::Serialize;
use serde::de::DeserializeOwned;

const CAST: [&str; 3] = ["ann", "bob", "cy"];
const LINE: [(&str, &str); 2] = [("ann", "bob"), ("bob", "cy")];
const RETRY: Delay = Delay { least_ms: 1, most_ms: 2 };

fn written_and_read<P: Serialize + DeserializeOwned>(node: &P) -> P {
    let text = serde_json::to_string(node).expect("nodes can be written");
    serde_json::from_str(&text).expect("what was written can be read")
}

/// Saves all nodes and reads them back: they are unchanged.
fn all_restart<P: Protocol + Serialize + DeserializeOwned>(story: &mut Story<P>) {
    for who in CAST {
        let before = story.node(who).clone();
        story.becomes(who, written_and_read);
        assert_eq!(*story.node(who), before, "{who} came back as another");
    }
}

/// All nodes ask, messages arrive one by one, and after each of them all nodes are saved and read back.
fn restarts_do_not_show<P: Protocol + Serialize + DeserializeOwned>(mut story: Story<P>, demand: Demand) {
    for who in CAST {
        story.asks(who, demand);
    }
    for _ in 0..CAST.len() {
        while let Some((from, to)) = story.busy_pairs().first().copied() {
            story.delivers(from, to);
            all_restart(&mut story);
        }
        let inside: Vec<_> = CAST.into_iter().filter(|who| !story.view(who).holding.is_empty()).collect();
        for who in inside {
            story.releases(who);
            all_restart(&mut story);
        }
    }
    story.settles().expect_waiting([]).expect_holding([]);
}

#[test]
fn a_saved_node_of_reverse_link_goes_on_as_itself() {
    let node = |id| reverse_link::Node::new(reverse_link::Config::mutex(id, id == NodeId(1)));
    let mut story = Story::new(&CAST, node).linked(&LINE);
    story.settles();
    restarts_do_not_show(story, Demand::units(1, 0));
}

#[test]
fn a_saved_node_of_reverse_link_keeps_the_token_on_a_failed_link_in_doubt() {
    let node = |id| reverse_link::Node::new(reverse_link::Config::mutex(id, id == NodeId(1)));
    let mut story = Story::new(&CAST, node).linked(&LINE);
    story
        .settles()
        .asks("cy", Demand::units(1, 0))
        .delivers("cy", "bob")
        .delivers("bob", "ann")
        .link_down("ann", "bob");
    assert!(story.node("ann").in_doubt());
    all_restart(&mut story);
    story.link_up("ann", "bob").settles().expect_holding(["cy"]);
}

#[test]
fn a_saved_node_of_flood_goes_on_as_itself() {
    let config = |id| flood::Config { starts_with_token: id == NodeId(1), ..flood::Config::new(id) };
    restarts_do_not_show(Story::new(&CAST, |id| flood::Node::new(config(id))).linked(&LINE), Demand::units(1, 0));
}

fn group_node(id: NodeId) -> group::Node {
    group::Node::new(group::Config::among((1..=3).map(NodeId), id, Level(2), Some(RETRY)))
}

#[test]
fn a_saved_process_of_group_goes_on_as_itself() {
    restarts_do_not_show(Story::new(&CAST, group_node).any_to_any(), Demand::session(u64::MAX, 1));
}

#[test]
fn a_saved_relay_goes_on_as_itself() {
    let node = |id| Relayed::new(group_node(id), relay::Config::default());
    restarts_do_not_show(Story::new(&CAST, node).linked(&LINE), Demand::session(7, 1));
}

#[test]
fn configurations_can_be_saved_too() {
    let reverse_link = reverse_link::Config::mutex(NodeId(1), true);
    assert_eq!(written_and_read(&reverse_link), reverse_link);
    let flood = flood::Config::new(NodeId(1)).with_token();
    assert_eq!(written_and_read(&flood), flood);
    let group = group::Config::among((1..=3).map(NodeId), NodeId(1), Level(2), None);
    assert_eq!(written_and_read(&group), group);
    let open = group::Config::open(NodeId(1), Level(2), RETRY);
    assert_eq!(written_and_read(&open), open);
    let relay = relay::Config::default();
    assert_eq!(written_and_read(&relay), relay);
}

/// All nodes are told who is living, `bob` enters, and is saved: it reports as before, and is itself again when it is
/// told the census again.
fn reports_as_before<P: Protocol + Serialize + DeserializeOwned>(mut story: Story<P>, demand: Demand) {
    let census = Census::of_living(CAST.map(|who| story.id(who)));
    for who in CAST {
        story.event(story.id(who), Event::Census { census: census.clone() });
    }
    story.asks("bob", demand).settles().expect_holding(["bob"]);
    let bob = story.node("bob").clone();
    let mut resumed = written_and_read(&bob);
    let row = resumed.row(&census).expect("it recovers");
    assert_eq!((row.accepted, Some(row)), (1, bob.row(&census)));
    resumed.handle(Event::Census { census }).expect("it recovers");
    assert_eq!(resumed, bob);
}

#[test]
fn what_arrived_at_a_node_survives_its_stop() {
    let flood = |id| flood::Node::new(flood::Config { starts_with_token: id == NodeId(1), ..flood::Config::new(id) });
    reports_as_before(Story::new(&CAST, flood).linked(&LINE), Demand::units(1, 0));
    reports_as_before(Story::new(&CAST, group_node).any_to_any(), Demand::session(7, 1));
    let relayed = |id| Relayed::new(group_node(id), relay::Config::default());
    reports_as_before(Story::new(&CAST, relayed).linked(&LINE), Demand::session(7, 1));
}

#[test]
fn what_is_saved_without_recovery_is_what_it_was() {
    let flood = flood::Node::new(flood::Config::new(NodeId(1)).with_token());
    let relayed = Relayed::new(group_node(NodeId(1)), relay::Config::default());
    for text in [serde_json::to_string(&flood), serde_json::to_string(&relayed)] {
        let text = text.expect("nodes can be written");
        for added in ["accepted\":0", "census", "tells_all"] {
            assert!(!text.contains(added), "{added} in {text}");
        }
    }
}

#[cfg(feature = "mutants")]
#[test]
fn a_planted_bug_is_not_saved() {
    let sound = reverse_link::Node::new(reverse_link::Config::mutex(NodeId(1), true));
    let mut node = sound.clone();
    node.plant(reverse_link::Bug::NoCopy);
    assert_ne!(node, sound);
    assert_eq!(written_and_read(&node), sound);
}
