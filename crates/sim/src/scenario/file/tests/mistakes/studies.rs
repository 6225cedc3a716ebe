//! The command line and studies.

pub(super) const CASES: &str = r#"
a wrong value on the command line
[radio]
--set radio.range=120s
`120s` is a time, but a length is needed
help: write a length with its unit, such as "120m"; units: m, cm, km

an unknown key on the command line
[radio]
--set radio.rang=120m
unknown key `rang` in [radio]
help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, hold_back, gentle

a key without its section on the command line
[radio]
--set range=120m
unknown key `range`
help: did you mean `radio.range`?

an impossible h on the command line
[radio]
--set traffic.units=2
`units` can be 2, but the capacity is 1
help: ask for less, or raise `capacity` in [protocol]

an unknown class on the command line
[radio] / [[traffic.class]] / name = "hot"
--set traffic.class.hto.think=1s
there is no class `hto`
help: allowed: hot

an unknown variant on the command line
[radio] / [study] / [[study.variant]] / label = "literal"
--set variant=litteral
there is no variant `litteral`
help: did you mean `literal`? allowed: literal

an axis that is no key
[radio] / [study] / [study.axes] / ^"radio.rang"^ = ["1m"]
unknown key `rang` in [radio]
help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, hold_back, gentle

an axis with a wrong value
[radio] / [study] / [study.axes] / nodes = [10, ^0^]
0 is out of range
help: allowed: a whole number at least 1 and at most 100000

an axis with one value only
[radio] / [study] / [study.axes] / nodes = ^10^
the axis `nodes` needs several values
help: write a list such as [10, 20, 50], or "10..100 step 10"

an axis with a broken range
[radio] / [study] / [study.axes] / nodes = ^"10..100"^
`10..100` is not a range with a step
help: write "10..100 step 10" or "50m..200m step 50m" (both ends are meant)

an axis without values
[radio] / [study] / [study.axes] / nodes = ^[]^
the axis `nodes` has no values
help: write at least one

an axis with a value twice
[radio] / [study] / [study.axes] / nodes = [10, 20, ^10^]
the axis `nodes` has 10 twice
help: take one out

a variant that sets an unknown key
[radio] / [study] / [[study.variant]] / label = "a" / ^"protocol.txt"^ = "published"
unknown key `txt` in [protocol]
help: did you mean `text`? allowed: name, text, repairs, over, capacity, order, aging, joins, passes, levels, epsilon, retry

a variant and an axis of one key
[radio] / [study] / [study.axes] / nodes = [1] / [[study.variant]] / label = "a" / ^nodes^ = 3
`nodes` is set by a variant and is an axis too
help: let one of them vary it

a zip of unequal axes
[radio] / [study] / zip = [["nodes", ^"radio.error"^]] / [study.axes] / nodes = [1, 2] / "radio.error" = [0.1]
`radio.error` has 1 values, the axes before it have 2
help: axes that go together need as many values

an axis that is zipped twice
[radio] / [study] / zip = [["nodes", "radio.error"], [^"nodes"^]] / [study.axes] / nodes = [1, 2] / "radio.error" = [0.1, 0.2]
`nodes` is zipped twice
help: each axis at most once

a zip of no axis
[radio] / [study] / zip = [[^"node"^]] / [study.axes] / nodes = [1]
`node` is not an axis of this study
help: did you mean `nodes`? allowed: nodes

a study of no runs
[radio] / [study] / repeat = ^0^
0 is out of range
help: allowed: a whole number at least 1 and at most 1000000

a condition that is none
[radio] / [study] / constraints = [^"nodes 50"^]
`nodes 50` is not a condition
help: write such as "nodes <= 50"

a condition of an unknown key
[radio] / [study] / constraints = [^"noodles <= 50"^]
unknown key `noodles`
help: did you mean `nodes`?

a plot over no axis
[radio] / [study] / [study.axes] / nodes = [1] / [[study.plot]] / x = ^"node"^ / y = "wait.mean"
`node` is not an axis of this study
help: did you mean `nodes`? allowed: nodes

a plot with lines over no axis
[radio] / [study] / [study.axes] / nodes = [1] / [[study.plot]] / x = "nodes" / y = "wait.mean" / lines = ^"node"^
`node` is not an axis of this study
help: did you mean `nodes`? allowed: nodes

a comparison along no axis
[radio] / [study] / [study.axes] / nodes = [1] / [[study.compare]] / axis = ^"node"^ / baseline = 1 / measures = ["wait.mean"]
`node` is not an axis of this study
help: did you mean `nodes`? allowed: nodes

a comparison with nothing
[radio] / [study] / [study.axes] / nodes = [1, 2] / [[study.compare]] / axis = "nodes" / baseline = ^3^ / measures = ["wait.mean"]
3 is not a value of the axis `nodes`
help: its values: 1, 2
"#;
