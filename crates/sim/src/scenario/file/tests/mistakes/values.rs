//! Keys, sections, units and ranges.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "a syntax error",
        "nodes = = 3
",
        &[],
        "this is not TOML: extra `=`, expected nothing
 --> demo.toml:1:9
  |
1 | nodes = = 3
  |         ^",
    ),
    (
        "an unknown key",
        r#"[radio]
rang = "120m"
"#,
        &[],
        r#"unknown key `rang` in [radio]
 --> demo.toml:2:1
  |
2 | rang = "120m"
  | ^^^^
  = help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, gentle"#,
    ),
    (
        "a key of another section",
        r#"[radio]
speed = "2mps"
"#,
        &[],
        r#"unknown key `speed` in [radio]
 --> demo.toml:2:1
  |
2 | speed = "2mps"
  | ^^^^^
  = help: `speed` belongs to [mobility]"#,
    ),
    (
        "a key of the top",
        "[radio]
nodes = 3
",
        &[],
        "unknown key `nodes` in [radio]
 --> demo.toml:2:1
  |
2 | nodes = 3
  | ^^^^^
  = help: `nodes` belongs to the top of the file, before the first section",
    ),
    (
        "an unknown key at the top",
        "node = 3
[radio]
",
        &[],
        "unknown key `node` at the top of the file
 --> demo.toml:1:1
  |
1 | node = 3
  | ^^^^
  = help: did you mean `nodes`? allowed: name, nodes, duration, warmup, drain, seed, protocol, radio, area, mobility, topology, traffic, crashes, limits, study",
    ),
    (
        "an unknown section",
        r#"[radoi]
range = "120m"
"#,
        &[],
        "unknown section `radoi`
 --> demo.toml:1:2
  |
1 | [radoi]
  |  ^^^^^
  = help: did you mean `radio`? allowed: protocol, radio, area, mobility, topology, topology.change, traffic, traffic.class, crashes, crashes.script, limits, study, study.axes, study.variant, study.stop, study.plot, study.compare",
    ),
    (
        "a section that is no section",
        "radio = 3
",
        &[],
        "`radio` is a section
 --> demo.toml:1:1
  |
1 | radio = 3
  | ^^^^^
  = help: write it on a line of its own as [radio], with its keys below",
    ),
    (
        "a section that may come several times",
        r#"[radio]
[traffic.class]
name = "a"
"#,
        &[],
        "`traffic.class` may come several times
 --> demo.toml:2:10
  |
2 | [traffic.class]
  |          ^^^^^
  = help: write it on a line of its own as [[traffic.class]], with its keys below",
    ),
    (
        "a missing unit",
        "[radio]
range = 120
",
        &[],
        r#"`range` is a length and needs a unit
 --> demo.toml:2:9
  |
2 | range = 120
  |         ^^^
  = help: write "120m"; units: m, cm, km"#,
    ),
    (
        "a missing unit in quotes",
        r#"[radio]
range = "120"
"#,
        &[],
        r#"`120` has no unit
 --> demo.toml:2:9
  |
2 | range = "120"
  |         ^^^^^
  = help: write a length with its unit, such as "120m"; units: m, cm, km"#,
    ),
    (
        "a wrong unit",
        r#"[radio]
range = "120s"
"#,
        &[],
        r#"`120s` is a time, but a length is needed
 --> demo.toml:2:9
  |
2 | range = "120s"
  |         ^^^^^^
  = help: write a length with its unit, such as "120m"; units: m, cm, km"#,
    ),
    (
        "an unknown unit",
        r#"[radio]
range = "120ft"
"#,
        &[],
        r#"`120ft` has the unknown unit `ft`
 --> demo.toml:2:9
  |
2 | range = "120ft"
  |         ^^^^^^^
  = help: write a length with its unit, such as "120m"; units: m, cm, km"#,
    ),
    (
        "a probability above one",
        "[radio]
error = 1.5
",
        &[],
        "1.5 is out of range
 --> demo.toml:2:9
  |
2 | error = 1.5
  |         ^^^
  = help: allowed: a number at least 0 and at most 1",
    ),
    (
        "a number in quotes",
        r#"[radio]
error = "0.5"
"#,
        &[],
        r#"`error` needs a number, not a text
 --> demo.toml:2:9
  |
2 | error = "0.5"
  |         ^^^^^
  = help: allowed: a number at least 0 and at most 1"#,
    ),
    (
        "no nodes",
        "nodes = 0
[radio]
",
        &[],
        "0 is out of range
 --> demo.toml:1:9
  |
1 | nodes = 0
  |         ^
  = help: allowed: a whole number at least 1 and at most 100000",
    ),
    (
        "half a node",
        "nodes = 1.5
[radio]
",
        &[],
        "1.5 is not a whole number
 --> demo.toml:1:9
  |
1 | nodes = 1.5
  |         ^^^
  = help: allowed: a whole number at least 1 and at most 100000",
    ),
    (
        "no speed",
        r#"[radio]
[mobility]
model = "linear"
speed = "0mps"
"#,
        &[],
        r#"0mps is out of range
 --> demo.toml:4:9
  |
4 | speed = "0mps"
  |         ^^^^^^
  = help: allowed: more than 0"#,
    ),
    (
        "a negative time",
        r#"duration = "-5s"
[radio]
"#,
        &[],
        r#"`-5s` is out of range
 --> demo.toml:1:12
  |
1 | duration = "-5s"
  |            ^^^^^
  = help: write a time with its unit, such as "10ms"; units: s, ns, us, ms, min, h; allowed: more than 0 and at most 10000000s"#,
    ),
    (
        "a warmup without end",
        r#"duration = "4s"
[radio]
"#,
        &[],
        r#"nothing is left to measure: warmup 5s of 4s
 --> demo.toml:1:12
  |
1 | duration = "4s"
  |            ^^^^
  = help: a shorter warmup, or a longer duration"#,
    ),
    (
        "an unknown distribution",
        r#"[radio]
[traffic]
think = "unifrom(0s, 1s)"
"#,
        &[],
        r#"there is no distribution `unifrom`
 --> demo.toml:3:9
  |
3 | think = "unifrom(0s, 1s)"
  |         ^^^^^^^^^^^^^^^^^
  = help: did you mean `uniform`? allowed: constant, uniform, exponential, lognormal, choice"#,
    ),
];
