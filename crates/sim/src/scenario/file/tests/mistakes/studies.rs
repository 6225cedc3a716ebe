//! The command line and studies.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "a wrong value on the command line",
        "[radio]
",
        &[("radio.range", "120s")],
        r#"`120s` is a time, but a length is needed
 --> --set radio.range=120s
  = help: write a length with its unit, such as "120m"; units: m, cm, km"#,
    ),
    (
        "an unknown key on the command line",
        "[radio]
",
        &[("radio.rang", "120m")],
        "unknown key `rang` in [radio]
 --> --set radio.rang=120m
  = help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, gentle",
    ),
    (
        "a key without its section on the command line",
        "[radio]
",
        &[("range", "120m")],
        "unknown key `range`
 --> --set range=120m
  = help: did you mean `radio.range`?",
    ),
    (
        "an impossible h on the command line",
        "[radio]
",
        &[("traffic.units", "2")],
        "`units` can be 2, but the capacity is 1
 --> --set traffic.units=2
  = help: ask for less, or raise `capacity` in [protocol]",
    ),
    (
        "an unknown class on the command line",
        r#"[radio]
[[traffic.class]]
name = "hot"
"#,
        &[("traffic.class.hto.think", "1s")],
        "there is no class `hto`
 --> --set traffic.class.hto.think=1s
  = help: allowed: hot",
    ),
    (
        "an unknown variant on the command line",
        r#"[radio]
[study]
[[study.variant]]
label = "literal"
"#,
        &[("variant", "litteral")],
        "there is no variant `litteral`
 --> --set variant=litteral
  = help: did you mean `literal`? allowed: literal",
    ),
    (
        "an axis that is no key",
        r#"[radio]
[study]
[study.axes]
"radio.rang" = ["1m"]
"#,
        &[],
        r#"unknown key `rang` in [radio]
 --> demo.toml:4:1
  |
4 | "radio.rang" = ["1m"]
  | ^^^^^^^^^^^^
  = help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, gentle"#,
    ),
    (
        "an axis with a wrong value",
        "[radio]
[study]
[study.axes]
nodes = [10, 0]
",
        &[],
        "0 is out of range
 --> demo.toml:4:14
  |
4 | nodes = [10, 0]
  |              ^
  = help: allowed: a whole number at least 1 and at most 100000",
    ),
    (
        "an axis with one value only",
        "[radio]
[study]
[study.axes]
nodes = 10
",
        &[],
        r#"the axis `nodes` needs several values
 --> demo.toml:4:9
  |
4 | nodes = 10
  |         ^^
  = help: write a list such as [10, 20, 50], or "10..100 step 10""#,
    ),
    (
        "an axis with a broken range",
        r#"[radio]
[study]
[study.axes]
nodes = "10..100"
"#,
        &[],
        r#"`10..100` is not a range with a step
 --> demo.toml:4:9
  |
4 | nodes = "10..100"
  |         ^^^^^^^^^
  = help: write "10..100 step 10" or "50m..200m step 50m" (both ends are meant)"#,
    ),
    (
        "a variant that sets an unknown key",
        r#"[radio]
[study]
[[study.variant]]
label = "a"
"protocol.txt" = "published"
"#,
        &[],
        r#"unknown key `txt` in [protocol]
 --> demo.toml:5:1
  |
5 | "protocol.txt" = "published"
  | ^^^^^^^^^^^^^^
  = help: did you mean `text`? allowed: name, text, repairs, over, capacity, order, aging, joins, levels, epsilon, retry"#,
    ),
    (
        "a variant and an axis of one key",
        r#"[radio]
[study]
[study.axes]
nodes = [1]
[[study.variant]]
label = "a"
nodes = 3
"#,
        &[],
        "`nodes` is set by a variant and is an axis too
 --> demo.toml:7:1
  |
7 | nodes = 3
  | ^^^^^
  = help: let one of them vary it",
    ),
    (
        "a zip of unequal axes",
        r#"[radio]
[study]
zip = [["nodes", "radio.error"]]
[study.axes]
nodes = [1, 2]
"radio.error" = [0.1]
"#,
        &[],
        r#"`radio.error` has 1 values, the axes before it have 2
 --> demo.toml:3:18
  |
3 | zip = [["nodes", "radio.error"]]
  |                  ^^^^^^^^^^^^^
  = help: axes that go together need as many values"#,
    ),
    (
        "a condition that is none",
        r#"[radio]
[study]
constraints = ["nodes 50"]
"#,
        &[],
        r#"`nodes 50` is not a condition
 --> demo.toml:3:16
  |
3 | constraints = ["nodes 50"]
  |                ^^^^^^^^^^
  = help: write such as "nodes <= 50""#,
    ),
    (
        "a condition of an unknown key",
        r#"[radio]
[study]
constraints = ["noodles <= 50"]
"#,
        &[],
        r#"unknown key `noodles`
 --> demo.toml:3:16
  |
3 | constraints = ["noodles <= 50"]
  |                ^^^^^^^^^^^^^^^
  = help: did you mean `nodes`?"#,
    ),
    (
        "a plot over no axis",
        r#"[radio]
[study]
[study.axes]
nodes = [1]
[[study.plot]]
x = "node"
y = "wait.mean"
"#,
        &[],
        r#"`node` is not an axis of this study
 --> demo.toml:6:5
  |
6 | x = "node"
  |     ^^^^^^
  = help: did you mean `nodes`? allowed: nodes"#,
    ),
    (
        "a comparison with nothing",
        r#"[radio]
[study]
[study.axes]
nodes = [1, 2]
[[study.compare]]
axis = "nodes"
baseline = 3
measures = ["wait.mean"]
"#,
        &[],
        "3 is not a value of the axis `nodes`
 --> demo.toml:7:12
  |
7 | baseline = 3
  |            ^
  = help: its values: 1, 2",
    ),
];
