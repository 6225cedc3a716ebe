//! Networks, nodes, files and clients.

pub(super) const CASES: &str = r#"
two networks
[radio] / [^topology^] / shape = "line"
there are two networks: [radio] and [topology]
help: take one of them out

no network
nodes = 3
there is no network
help: add [radio] for a radio network, or [topology] for given links; both may be empty

an area without a radio
[topology] / [area] / ^degree^ = 10
`degree` has no effect with [topology]
help: [area] is for [radio]

an area of two kinds
[radio] / [area] / size = ["1m", "1m"] / degree = ^10^
both `size` and `degree` are given
help: take one of them out

a key without effect
[radio] / [mobility] / model = "static" / ^leg^ = "10s"
`leg` has no effect here
help: `leg` is only for walk

a node that is not there
nodes = 3 / [topology] / links = [[0, 1], ^[1, 3]^]
there is no node 3: nodes = 3, so they are numbered 0 to 2

a client that is not there
nodes = 3 / [radio] / [traffic] / nodes = ^"0..3"^
there is no node 3: nodes = 3, so they are numbered 0 to 2

a change of a link that cannot be
nodes = 3 / [topology] / [[topology.change]] / at = "1s" / cut = ^[2, 2]^
node 2 cannot be linked to itself
help: write [0, 1]

a change without a link
[topology] / [[topology.change]] / at = ^"1s"^
this change has neither `up` nor `cut`
help: write cut = [0, 1] or up = [0, 1]

a file that is not there
[radio] / [mobility] / placement = "file" / file = ^"nowhere.csv"^
`nowhere.csv` cannot be read: entity not found
help: looked for nowhere.csv

no file
[radio] / [^mobility^] / model = "trace"
`file` is missing in [mobility]
help: write the name of a file: a trace, or lines `x,y` in metres; looked for beside the scenario

two ways to ask
[radio] / [traffic] / think = "1s" / gap = ^"1s"^
both `think` and `gap` are given
help: `think`, `gap` and `burst` are three ways to ask; keep one

a client without rest
[radio] / [traffic] / think = ^"0s"^ / holding = "0s"
a client that neither thinks nor holds asks endlessly at one moment
help: think or hold for more than 0s

a class without a name
[radio] / [[traffic.^class^]] / think = "1s"
`name` is missing in [[traffic.class]]
help: write name = "hot"
"#;
