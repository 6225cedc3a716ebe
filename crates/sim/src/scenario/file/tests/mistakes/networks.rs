//! Networks, nodes, files and clients.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "two networks",
        r#"[radio]
[topology]
shape = "line"
"#,
        &[],
        "there are two networks: [radio] and [topology]
 --> demo.toml:2:2
  |
2 | [topology]
  |  ^^^^^^^^
  = help: take one of them out",
    ),
    (
        "no network",
        "nodes = 3
",
        &[],
        "there is no network
 --> demo.toml
  = help: add [radio] for a radio network, or [topology] for given links; both may be empty",
    ),
    (
        "an area without a radio",
        "[topology]
[area]
degree = 10
",
        &[],
        "`degree` has no effect with [topology]
 --> demo.toml:3:1
  |
3 | degree = 10
  | ^^^^^^
  = help: [area] is for [radio]",
    ),
    (
        "an area of two kinds",
        r#"[radio]
[area]
size = ["1m", "1m"]
degree = 10
"#,
        &[],
        "both `size` and `degree` are given
 --> demo.toml:4:10
  |
4 | degree = 10
  |          ^^
  = help: take one of them out",
    ),
    (
        "a key without effect",
        r#"[radio]
[mobility]
model = "static"
leg = "10s"
"#,
        &[],
        r#"`leg` has no effect here
 --> demo.toml:4:1
  |
4 | leg = "10s"
  | ^^^
  = help: `leg` is only for walk"#,
    ),
    (
        "a node that is not there",
        "nodes = 3
[topology]
links = [[0, 1], [1, 3]]
",
        &[],
        "there is no node 3: nodes = 3, so they are numbered 0 to 2
 --> demo.toml:3:18
  |
3 | links = [[0, 1], [1, 3]]
  |                  ^^^^^^",
    ),
    (
        "a client that is not there",
        r#"nodes = 3
[radio]
[traffic]
nodes = "0..3"
"#,
        &[],
        r#"there is no node 3: nodes = 3, so they are numbered 0 to 2
 --> demo.toml:4:9
  |
4 | nodes = "0..3"
  |         ^^^^^^"#,
    ),
    (
        "a change of a link that cannot be",
        r#"nodes = 3
[topology]
[[topology.change]]
at = "1s"
cut = [2, 2]
"#,
        &[],
        "node 2 cannot be linked to itself
 --> demo.toml:5:7
  |
5 | cut = [2, 2]
  |       ^^^^^^
  = help: write [0, 1]",
    ),
    (
        "a change without a link",
        r#"[topology]
[[topology.change]]
at = "1s"
"#,
        &[],
        r#"this change has neither `up` nor `cut`
 --> demo.toml:3:6
  |
3 | at = "1s"
  |      ^^^^
  = help: write cut = [0, 1] or up = [0, 1]"#,
    ),
    (
        "a file that is not there",
        r#"[radio]
[mobility]
placement = "file"
file = "nowhere.csv"
"#,
        &[],
        r#"`nowhere.csv` cannot be read: entity not found
 --> demo.toml:4:8
  |
4 | file = "nowhere.csv"
  |        ^^^^^^^^^^^^^
  = help: looked for nowhere.csv"#,
    ),
    (
        "no file",
        r#"[radio]
[mobility]
model = "trace"
"#,
        &[],
        "`file` is missing in [mobility]
 --> demo.toml:2:2
  |
2 | [mobility]
  |  ^^^^^^^^
  = help: write the name of a file: a trace, or lines `x,y` in metres; looked for beside the scenario",
    ),
    (
        "two ways to ask",
        r#"[radio]
[traffic]
think = "1s"
gap = "1s"
"#,
        &[],
        r#"both `think` and `gap` are given
 --> demo.toml:4:7
  |
4 | gap = "1s"
  |       ^^^^
  = help: `think`, `gap` and `burst` are three ways to ask; keep one"#,
    ),
    (
        "a client without rest",
        r#"[radio]
[traffic]
think = "0s"
holding = "0s"
"#,
        &[],
        r#"a client that neither thinks nor holds asks endlessly at one moment
 --> demo.toml:3:9
  |
3 | think = "0s"
  |         ^^^^
  = help: think or hold for more than 0s"#,
    ),
    (
        "a class without a name",
        r#"[radio]
[[traffic.class]]
think = "1s"
"#,
        &[],
        r#"`name` is missing in [[traffic.class]]
 --> demo.toml:2:11
  |
2 | [[traffic.class]]
  |           ^^^^^
  = help: write name = "hot""#,
    ),
];
