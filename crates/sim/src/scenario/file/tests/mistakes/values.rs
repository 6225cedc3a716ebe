//! Keys, sections, units and ranges.

pub(super) const CASES: &str = r#"
a syntax error
nodes = ^=^ 3
this is not TOML: extra `=`, expected nothing

an unknown key
[radio] / ^rang^ = "120m"
unknown key `rang` in [radio]
help: did you mean `range`? allowed: range, bandwidth, latency, error, message, header, ack, retries, hold_back, gentle

a key of another section
[radio] / ^speed^ = "2mps"
unknown key `speed` in [radio]
help: `speed` belongs to [mobility]

a key of the top
[radio] / ^nodes^ = 3
unknown key `nodes` in [radio]
help: `nodes` belongs to the top of the file, before the first section

an unknown key at the top
^node^ = 3 / [radio]
unknown key `node` at the top of the file
help: did you mean `nodes`? allowed: name, nodes, duration, warmup, drain, seed, protocol, radio, area, mobility, topology, traffic, crashes, limits, study

an unknown section
[^radoi^] / range = "120m"
unknown section `radoi`
help: did you mean `radio`? allowed: protocol, radio, area, mobility, topology, topology.change, traffic, traffic.class, crashes, crashes.script, limits, study, study.axes, study.variant, study.stop, study.plot, study.compare

a section that is no section
^radio^ = 3
`radio` is a section
help: write it on a line of its own as [radio], with its keys below

a section that may come several times
[radio] / [traffic.^class^] / name = "a"
`traffic.class` may come several times
help: write it on a line of its own as [[traffic.class]], with its keys below

a missing unit
[radio] / range = ^120^
`range` is a length and needs a unit
help: write "120m"; units: m, cm, km

a missing unit in quotes
[radio] / range = ^"120"^
`120` has no unit
help: write a length with its unit, such as "120m"; units: m, cm, km

a wrong unit
[radio] / range = ^"120s"^
`120s` is a time, but a length is needed
help: write a length with its unit, such as "120m"; units: m, cm, km

an unknown unit
[radio] / range = ^"120ft"^
`120ft` has the unknown unit `ft`
help: write a length with its unit, such as "120m"; units: m, cm, km

a probability above one
[radio] / error = ^1.5^
1.5 is out of range
help: allowed: a number at least 0 and at most 1

a number in quotes
[radio] / error = ^"0.5"^
`error` needs a number, not a text
help: allowed: a number at least 0 and at most 1

no nodes
nodes = ^0^ / [radio]
0 is out of range
help: allowed: a whole number at least 1 and at most 100000

half a node
nodes = ^1.5^ / [radio]
1.5 is not a whole number
help: allowed: a whole number at least 1 and at most 100000

no speed
[radio] / [mobility] / model = "linear" / speed = ^"0mps"^
0mps is out of range
help: allowed: more than 0

a negative time
duration = ^"-5s"^ / [radio]
`-5s` is out of range
help: write a time with its unit, such as "10ms"; units: s, ns, us, ms, min, h; allowed: more than 0 and at most 10000000s

a warmup without end
duration = ^"4s"^ / [radio]
nothing is left to measure: warmup 5s of 4s
help: a shorter warmup, or a longer duration

an unknown distribution
[radio] / [traffic] / think = ^"unifrom(0s, 1s)"^
there is no distribution `unifrom`
help: did you mean `uniform`? allowed: constant, uniform, exponential, lognormal, choice
"#;
