//! A whole network in its initial state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::vec::Vec;

use super::{Config, Node};
use meshlock_core::reverse_link::Height;
use meshlock_core::vocabulary::NodeId;

/// Nodes `0..n` with these links and the token at `holder`, in order of their ids.
///
/// Heights are `(0, hops to the holder, id)`, so every link points to the holder's side. Nodes without a path to it
/// stand higher than all others. Links to oneself or to a node that does not exist are left out.
pub fn network(n: u32, edges: &[(u32, u32)], holder: NodeId, config: Config) -> Vec<Node> {
    let mut links: BTreeMap<NodeId, BTreeSet<NodeId>> = (0..n).map(|id| (NodeId(id), BTreeSet::new())).collect();
    for &(a, b) in edges.iter().filter(|(a, b)| a != b && *a < n && *b < n) {
        links.entry(NodeId(a)).or_default().insert(NodeId(b));
        links.entry(NodeId(b)).or_default().insert(NodeId(a));
    }
    let hops = hops_to(holder, &links);
    let height = |id: NodeId| Height { level: 0, depth: hops.get(&id).copied().unwrap_or(n.into()), id };
    let node = |(&id, neighbours): (&NodeId, &BTreeSet<NodeId>)| {
        let neighbours: Vec<_> = neighbours.iter().map(|v| (*v, height(*v))).collect();
        Node::new(height(id), config, &neighbours, holder)
    };
    links.iter().map(node).collect()
}

/// The distance of every node from which there is a path to `holder`.
fn hops_to(holder: NodeId, links: &BTreeMap<NodeId, BTreeSet<NodeId>>) -> BTreeMap<NodeId, i64> {
    let mut hops = BTreeMap::from([(holder, 0)]);
    let mut border = VecDeque::from([holder]);
    while let Some(here) = border.pop_front() {
        let next = hops.get(&here).map_or(0, |h| h + 1);
        for &v in links.get(&here).into_iter().flatten() {
            hops.entry(v).or_insert_with(|| {
                border.push_back(v);
                next
            });
        }
    }
    hops
}
