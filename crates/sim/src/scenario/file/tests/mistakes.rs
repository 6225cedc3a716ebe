//! Every mistake with the exact words in which it is told.

use super::told;

/// What is told, the text, what is set, and how it is told.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const CASES: &[Case] = &[
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
  = help: did you mean `nodes`? allowed: name, nodes, duration, warmup, drain, seed, protocol, radio, area, mobility, topology, traffic, study",
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
  = help: did you mean `radio`? allowed: protocol, radio, area, mobility, topology, topology.change, traffic, traffic.class, study, study.axes, study.variant, study.stop, study.plot, study.compare",
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
        r#"reverse-link speaks to neighbours only
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
        r#"central speaks to everyone, but not everyone is linked to everyone
 --> demo.toml:3:8
  |
3 | over = "links"
  |        ^^^^^^^
  = help: write "relay" or "routing", or use [topology] with shape = "complete", or a longer range"#,
    ),
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
        r#"a client that neither thinks nor holds asks for ever at one moment
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

#[test]
fn every_mistake_is_told_in_these_words() {
    for (what, text, sets, words) in CASES {
        assert_eq!(told(text, sets), *words, "{what}");
    }
}
