//! Crashes, told step by step; then by chance.

use alloc::string::String;

use crate::group::{Config, Level, Node};
use crate::protocol::Delay;
use crate::recovery::stage::{Chances, Network, Stage};
use crate::vocabulary::{Demand, NodeId};

const RETRY: Delay = Delay { least_ms: 1, most_ms: 2 };

fn make(id: NodeId, starts_with_token: bool) -> Node {
    let config = Config::open(id, Level(2), RETRY);
    Node::new(if starts_with_token { config.with_token() } else { config })
}

const CHANCES: Chances = Chances { steps: 150, crashes: 3, losses: 3, early_timers: 3, cancels: 2 };

fn walks(runs: u64, make: &dyn Fn(NodeId, bool) -> Node) -> (usize, Option<(u64, String)>) {
    let mut remade = 0;
    for seed in 0..runs {
        let demand = |_, number: u64| Demand::session(number % 5 / 2, 1);
        let mut stage = Stage::new(3, Network::Anyone, make, demand);
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
    let (remade, wrong) = walks(20_000, &make);
    assert_eq!(wrong, None);
    assert!(remade > 500, "{remade} tokens were lost and made anew");
}
