//! Nodes that crash.

use super::{Case, told};
use crate::build::recovering_protocols;

pub(super) const CASES: &[Case] = &[
    (
        "crashes that never come",
        "[radio]
[crashes]
lease = \"1s\"
",
        &[],
        "nothing says when a node crashes
 --> demo.toml:2:2
  |
2 | [crashes]
  |  ^^^^^^^
  = help: write per_hour = 10, or a [[crashes.script]] with `at`, `node` and `for`",
    ),
    (
        "an operator beside voters",
        "[radio]
[crashes]
per_hour = 1
removal = \"1s\"
",
        &[],
        "`removal` has no effect here
 --> demo.toml:4:1
  |
4 | removal = \"1s\"
  | ^^^^^^^
  = help: `removal` is only for recovery = \"restart\"",
    ),
    (
        "an even number of voters",
        "[radio]
[crashes]
per_hour = 1
voters = 2
",
        &[],
        "2 of 100 nodes cannot vote
 --> demo.toml:4:10
  |
4 | voters = 2
  |          ^
  = help: write 1, 3 or 5, and not more than `nodes`",
    ),
    (
        "the crash of a node that does not exist",
        "nodes = 3
[radio]
[[crashes.script]]
at = \"1s\"
node = 3
",
        &[],
        "there is no node 3: nodes = 3, so they are numbered 0 to 2
 --> demo.toml:5:8
  |
5 | node = 3
  |        ^",
    ),
    (
        "wires that lose messages",
        "[topology]
loss = 0.1
[crashes]
per_hour = 1
",
        &[],
        "a mesh that recovers needs links that keep all messages and their order while they are up
 --> demo.toml:3:2
  |
3 | [crashes]
  |  ^^^^^^^
  = help: take `loss` and `fifo` out of [topology]",
    ),
];

/// The help names those that can, whichever these are.
#[test]
fn printed_texts_and_baselines_do_not_recover() {
    let help = format!("use one that can: {} (text = \"repaired\")", recovering_protocols().join(", "));
    for (set, called) in [
        (("protocol.name", "raymond"), "raymond"),
        (("protocol.name", "central"), "central"),
        (("protocol.text", "published"), "reverse-link (published)"),
    ] {
        let words = told("[radio]\n[crashes]\nper_hour = 1\n", &[set]);
        assert!(words.starts_with(&format!("{called} cannot recover from crashes\n")), "{words}");
        assert!(words.contains(&help) && help.contains("reverse-link"), "{words}");
    }
}
