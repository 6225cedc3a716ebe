//! Nodes that stop and start again.

use std::collections::BTreeSet;

use meshlock_core::group::{self, Level};
use meshlock_core::relay::Relayed;
use meshlock_core::{Delay, Demand, Event, NodeId, Protocol, flood, reverse_link};
use meshlock_properties::RuleSet;
use meshlock_protocols::Node;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{Model, Workload};
use crate::space::{Applied, Space};
use crate::testing::{explore, hello};
use crate::topology::Topology;

#[test]
fn a_protocol_that_cannot_go_on_after_a_stop_is_a_finding() {
    let mut model = hello(Topology::line(2));
    model.budgets.stops = 1;
    let finding = explore(model).finding().map(ToString::to_string);
    assert!(finding.as_deref().is_some_and(|what| what.contains("going on after a stop")), "{finding:?}");
}

/// Every state of a node in a model.
fn nodes_of(model: Model) -> Vec<Node> {
    let mut space = Space::new(model, true, false).unwrap();
    let start = space.start();
    let mut seen = BTreeSet::from([start.clone()]);
    let mut left = vec![start];
    while let Some(row) = left.pop() {
        let mut actions = Vec::new();
        space.enabled(&row, &mut actions);
        for action in actions {
            let mut next = row.clone();
            let applied = space.apply(&row, action, &mut next).expect("nothing is wrong here");
            if matches!(applied, Applied::Made { .. }) && seen.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    (0..space.local.sizes()[0]).map(|id| space.local.node(crate::intern::next_id(id)).clone()).collect()
}

/// The checker keeps a stopped node as it is. A real node is saved and loaded: the result must be the same.
fn goes_on_the_same_from_every_state(mut model: Model, demand: Demand, saved_and_read: fn(&Node) -> Node) {
    model.workload = Workload::same(model.nodes.len(), 1, vec![demand]);
    model.budgets.stops = 1;
    model.budgets.leaves = 1;
    model.rules = RuleSet::NONE;
    let nodes = nodes_of(model);
    assert!(nodes.len() > 50, "only {} states were seen", nodes.len());
    for mut kept in nodes {
        let mut read = saved_and_read(&kept);
        assert_eq!(kept.handle(Event::Resume), read.handle(Event::Resume), "{kept:?}");
        assert_eq!(kept, read);
    }
}

fn by_way_of_text<N: Serialize + DeserializeOwned>(node: &N) -> N {
    serde_json::from_str(&serde_json::to_string(node).unwrap()).unwrap()
}

const RETRY: Delay = Delay { least_ms: 1, most_ms: 2 };

#[test]
fn what_is_saved_of_reverse_link_is_all_that_it_needs() {
    let node = |id| reverse_link::Node::new(reverse_link::Config::mutex(NodeId(id), id == 0));
    let model = Model::settled((0..2).map(node), Topology::line(2), Vec::new()).unwrap();
    goes_on_the_same_from_every_state(model, Demand::units(1, 0), |node| {
        let Node::ReverseLink(node) = node else { panic!("another protocol") };
        by_way_of_text(node).into()
    });
}

#[test]
fn what_is_saved_of_flood_is_all_that_it_needs() {
    let config = |id| flood::Config { starts_with_token: id == 0, ..flood::Config::new(NodeId(id)) };
    let nodes = (0..2).map(|id| flood::Node::new(config(id)));
    let model = Model::settled(nodes, Topology::line(2), Vec::new()).unwrap();
    goes_on_the_same_from_every_state(model, Demand::units(1, 0), |node| {
        let Node::Flood(node) = node else { panic!("another protocol") };
        by_way_of_text(node).into()
    });
}

#[test]
fn what_is_saved_of_group_over_the_relay_is_all_that_it_needs() {
    let config = |id| group::Config::among((0..2).map(NodeId), NodeId(id), Level(2), Some(RETRY));
    let node = |id| Node::from(group::Node::new(config(id))).over_relay();
    let model = Model::settled((0..2).map(node), Topology::line(2), Vec::new()).unwrap();
    goes_on_the_same_from_every_state(model, Demand::session(1, 1), |node| {
        let Node::Relayed(relayed) = node else { panic!("no relay") };
        let group = |inner| if let Node::Group(node) = inner { node } else { panic!("another protocol") };
        let as_in_a_product: Relayed<group::Node> = relayed.as_ref().clone().map(group);
        Node::Relayed(Box::new(by_way_of_text(&as_in_a_product).map(Node::Group)))
    });
}
