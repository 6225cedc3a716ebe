//! What a protocol knows and what it does not.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "an impossible h",
        r#"[protocol]
capacity = 2
[radio]
[traffic]
units = "choice(1: 0.9, 3: 0.1)"
"#,
        &[],
        r#"`units` can be 3, but the capacity is 2
 --> demo.toml:5:9
  |
5 | units = "choice(1: 0.9, 3: 0.1)"
  |         ^^^^^^^^^^^^^^^^^^^^^^^^
  = help: ask for less, or raise `capacity` in [protocol]"#,
    ),
    (
        "joins with flood",
        r#"[protocol]
name = "flood"
joins = 2
[radio]
"#,
        &[],
        "flood (repaired) does not know `joins`
 --> demo.toml:3:1
  |
3 | joins = 2
  | ^^^^^
  = help: `joins` is only for reverse-link (repaired), central and omniscient",
    ),
    (
        "levels with reverse-link",
        "[protocol]
levels = 5
[radio]
",
        &[],
        "reverse-link (repaired) does not know `levels`
 --> demo.toml:2:1
  |
2 | levels = 5
  | ^^^^^^
  = help: `levels` is only for group",
    ),
    (
        "aging with the published text",
        r#"[protocol]
text = "published"
aging = 5
[radio]
"#,
        &[],
        r#"reverse-link (published) does not know `aging`
 --> demo.toml:3:1
  |
3 | aging = 5
  | ^^^^^
  = help: `aging` is only for order = "priority" with reverse-link (repaired), central or omniscient"#,
    ),
    (
        "a published text of central",
        r#"[protocol]
name = "central"
text = "published"
[radio]
"#,
        &[],
        r#"central has no published text
 --> demo.toml:3:8
  |
3 | text = "published"
  |        ^^^^^^^^^^^
  = help: take `text` out; reverse-link, flood and group have a published text"#,
    ),
    (
        "several units of flood",
        r#"[protocol]
name = "flood"
capacity = 3
[radio]
"#,
        &[],
        "flood has one unit only, not 3
 --> demo.toml:3:12
  |
3 | capacity = 3
  |            ^
  = help: use reverse-link, central, raynal or omniscient for more",
    ),
    (
        "several units of raymond",
        r#"[protocol]
name = "raymond"
capacity = 2
[radio]
"#,
        &[],
        "raymond has one unit only, not 2
 --> demo.toml:3:12
  |
3 | capacity = 2
  |            ^
  = help: use reverse-link, central, raynal or omniscient for more",
    ),
    (
        "a session with flood",
        r#"[protocol]
name = "flood"
[radio]
[traffic]
session = 1
"#,
        &[],
        "flood (repaired) has no sessions
 --> demo.toml:5:11
  |
5 | session = 1
  |           ^
  = help: take `session` out, or use reverse-link (repaired), group, central or omniscient",
    ),
    (
        "group without a session",
        r#"[protocol]
name = "group"
[radio]
[traffic]
think = "1s"
"#,
        &[],
        r#"group needs a session for every request
 --> demo.toml:4:2
  |
4 | [traffic]
  |  ^^^^^^^
  = help: write session = 1, or session = "uniform(1, 3)" in [traffic]"#,
    ),
    (
        "a priority above the levels",
        r#"[protocol]
name = "group"
levels = 3
[radio]
[traffic]
session = 1
priority = "uniform(1, 5)"
"#,
        &[],
        r#"`priority` can be 5, but the levels are 1 to 3
 --> demo.toml:7:12
  |
7 | priority = "uniform(1, 5)"
  |            ^^^^^^^^^^^^^^^
  = help: raise `levels` in [protocol], or ask less urgently"#,
    ),
    (
        "a deadline with order by priority",
        r#"[radio]
[traffic]
deadline = "5s"
"#,
        &[],
        r#"requests have a deadline, but are ordered by priority
 --> demo.toml:3:12
  |
3 | deadline = "5s"
  |            ^^^^
  = help: write order = "deadline" in [protocol], or use `priority`"#,
    ),
    (
        "a priority with order by deadline",
        r#"[protocol]
order = "deadline"
[radio]
[traffic]
priority = 3
"#,
        &[],
        r#"requests are ordered by deadline, but have none
 --> demo.toml:5:12
  |
5 | priority = 3
  |            ^
  = help: write deadline = "5s" in [traffic], or order = "priority" in [protocol]"#,
    ),
    (
        "no retry of flood",
        r#"[protocol]
name = "flood"
retry = "none"
[radio]
"#,
        &[],
        r#"flood (repaired) needs a retry
 --> demo.toml:3:9
  |
3 | retry = "none"
  |         ^^^^^^
  = help: write "1s..2s""#,
    ),
    (
        "patience with the published text",
        r#"[protocol]
text = "published"
[radio]
[traffic]
patience = "1s"
"#,
        &[],
        r#"reverse-link (published) cannot cancel a request
 --> demo.toml:5:12
  |
5 | patience = "1s"
  |            ^^^^
  = help: take `patience` out, or use reverse-link, flood, group (repaired), central or omniscient"#,
    ),
    (
        "an unknown protocol",
        r#"[protocol]
name = "reverse_link"
[radio]
"#,
        &[],
        r#"there is no protocol `reverse_link`
 --> demo.toml:2:8
  |
2 | name = "reverse_link"
  |        ^^^^^^^^^^^^^^
  = help: did you mean `reverse-link`? allowed: reverse-link, flood, group, central, raymond, suzuki-kasami, ricart-agrawala, lamport, naimi-trehel, raynal, omniscient"#,
    ),
    (
        "an unknown model",
        r#"[radio]
[mobility]
model = "waypoints"
"#,
        &[],
        r#"there is no model `waypoints`
 --> demo.toml:3:9
  |
3 | model = "waypoints"
  |         ^^^^^^^^^^^
  = help: did you mean `waypoint`? allowed: static, linear, direction, waypoint, gauss-markov, walk, trace"#,
    ),
    (
        "an unknown shape",
        r#"[topology]
shape = "rign"
"#,
        &[],
        r#"there is no shape `rign`
 --> demo.toml:2:9
  |
2 | shape = "rign"
  |         ^^^^^^
  = help: did you mean `ring`? allowed: line, ring, star, grid, tree, complete, random, links"#,
    ),
    (
        "an unknown repair",
        r#"[protocol]
text = "published"
repairs = ["p1", "p13"]
[radio]
"#,
        &[],
        r#"reverse-link has no defect `p13`
 --> demo.toml:3:18
  |
3 | repairs = ["p1", "p13"]
  |                  ^^^^^
  = help: did you mean `p1`? allowed: p1, p2, p3, p4, p5, p6, p7, p8"#,
    ),
    (
        "the repair of another protocol",
        r#"[protocol]
name = "flood"
text = "published"
repairs = ["g1"]
[radio]
"#,
        &[],
        r#"flood has no defect `g1`
 --> demo.toml:4:12
  |
4 | repairs = ["g1"]
  |            ^^^^
  = help: allowed: f1, f2, f3, f4, f5, f6, f7"#,
    ),
    (
        "relay for reverse-link",
        r#"[protocol]
over = "relay"
[radio]
"#,
        &[],
        r#"reverse-link sends to neighbours only
 --> demo.toml:2:8
  |
2 | over = "relay"
  |        ^^^^^^^
  = help: take `over` out, or write "links""#,
    ),
    (
        "links for central on a line",
        r#"[protocol]
name = "central"
over = "links"
[topology]
shape = "line"
"#,
        &[],
        r#"central sends to any node, but not all nodes are linked to each other
 --> demo.toml:3:8
  |
3 | over = "links"
  |        ^^^^^^^
  = help: write "relay" or "routing", or use [topology] with shape = "complete", or a longer range"#,
    ),
];
