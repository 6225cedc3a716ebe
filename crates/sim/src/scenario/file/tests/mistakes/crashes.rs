//! Nodes that crash.

use super::mistake;
use crate::build::recovering_protocols;

pub(super) const CASES: &str = r#"
crashes that never come
[radio] / [^crashes^] / lease = "1s"
nothing says when a node crashes
help: write per_hour = 10, or a [[crashes.script]] with `at`, `node` and `for`

an operator beside voters
[radio] / [crashes] / per_hour = 1 / ^removal^ = "1s"
`removal` has no effect here
help: `removal` is only for recovery = "restart"

an even number of voters
[radio] / [crashes] / per_hour = 1 / voters = ^2^
2 of 100 nodes cannot vote
help: write 1, 3 or 5, and not more than `nodes`

the crash of a node that does not exist
nodes = 3 / [radio] / [[crashes.script]] / at = "1s" / node = ^3^
there is no node 3: nodes = 3, so they are numbered 0 to 2

wires that lose messages
[topology] / loss = 0.1 / [^crashes^] / per_hour = 1
a mesh that recovers needs links that keep all messages and their order while they are up
help: take `loss` and `fifo` out of [topology]
"#;

/// The help names those that can, whichever these are.
#[test]
fn printed_texts_and_baselines_do_not_recover() {
    let help = format!("use one that can: {} (text = \"repaired\")", recovering_protocols().join(", "));
    for (set, called) in [
        (("protocol.name", "raymond"), "raymond"),
        (("protocol.name", "central"), "central"),
        (("protocol.text", "published"), "reverse-link (published)"),
    ] {
        let told = mistake("[radio]\n[crashes]\nper_hour = 1\n", &[set]).unwrap_err().to_string();
        assert!(told.starts_with(&format!("{called} cannot recover from crashes\n")), "{told}");
        assert!(told.contains(&help) && help.contains("reverse-link"), "{told}");
    }
}
