//! Crashes, told step by step; then by chance.

use alloc::string::String;

use super::super::{Config, Node};
use crate::recovery::stage::{Chances, Network, Stage};
use crate::vocabulary::{Demand, NodeId};

fn make(id: NodeId, starts_with_token: bool) -> Node {
    Node::new(Config { starts_with_token, ..Config::new(id) })
}

fn stage(size: u16, network: Network) -> Stage<'static, Node> {
    Stage::new(size, network, &make, |_, _| Demand::units(1, 0))
}

const CHANCES: Chances = Chances { steps: 150, crashes: 3, losses: 3, early_timers: 3, cancels: 2 };

/// Runs by chance until one fails.
fn walks(runs: u64, network: Network, make: &dyn Fn(NodeId, bool) -> Node) -> (usize, Option<(u64, String)>) {
    let mut remade = 0;
    for seed in 0..runs {
        let mut stage = Stage::new(3, network, make, |_, _| Demand::units(1, 0));
        let outcome = stage.walk(seed, CHANCES);
        remade += stage.remade;
        if let Err(wrong) = outcome {
            return (remade, Some((seed, wrong)));
        }
    }
    (remade, None)
}

#[test]
fn whatever_crashes_one_token_is_left_and_everybody_is_served() {
    for network in [Network::Line, Network::Full] {
        let (remade, wrong) = walks(20_000, network, &make);
        assert_eq!(wrong, None, "{network:?}");
        assert!(remade > 500, "{network:?}: {remade} tokens were lost and made anew");
    }
}
