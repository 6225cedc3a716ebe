//! What a protocol knows and what it does not.

pub(super) const CASES: &str = r#"
an impossible h
[protocol] / capacity = 2 / [radio] / [traffic] / units = ^"choice(1: 0.9, 3: 0.1)"^
`units` can be 3, but the capacity is 2
help: ask for less, or raise `capacity` in [protocol]

joins with flood
[protocol] / name = "flood" / ^joins^ = 2 / [radio]
flood (repaired) does not know `joins`
help: `joins` is only for reverse-link (repaired), central and omniscient

levels with reverse-link
[protocol] / ^levels^ = 5 / [radio]
reverse-link (repaired) does not know `levels`
help: `levels` is only for group

aging with the published text
[protocol] / text = "published" / ^aging^ = 5 / [radio]
reverse-link (published) does not know `aging`
help: `aging` is only for order = "priority" with reverse-link (repaired), central or omniscient

a published text of central
[protocol] / name = "central" / text = ^"published"^ / [radio]
central has no published text
help: take `text` out; reverse-link, flood and group have a published text

several units of flood
[protocol] / name = "flood" / capacity = ^3^ / [radio]
flood has one unit only, not 3
help: use reverse-link, central, raynal or omniscient for more

several units of raymond
[protocol] / name = "raymond" / capacity = ^2^ / [radio]
raymond has one unit only, not 2
help: use reverse-link, central, raynal or omniscient for more

a session with flood
[protocol] / name = "flood" / [radio] / [traffic] / session = ^1^
flood (repaired) has no sessions
help: take `session` out, or use reverse-link (repaired), group, central or omniscient

group without a session
[protocol] / name = "group" / [radio] / [^traffic^] / think = "1s"
group needs a session for every request
help: write session = 1, or session = "uniform(1, 3)" in [traffic]

a priority above the levels
[protocol] / name = "group" / levels = 3 / [radio] / [traffic] / session = 1 / priority = ^"uniform(1, 5)"^
`priority` can be 5, but the levels are 1 to 3
help: raise `levels` in [protocol], or ask less urgently

a deadline with order by priority
[radio] / [traffic] / deadline = ^"5s"^
requests have a deadline, but are ordered by priority
help: write order = "deadline" in [protocol], or use `priority`

a priority with order by deadline
[protocol] / order = "deadline" / [radio] / [traffic] / priority = ^3^
requests are ordered by deadline, but have none
help: write deadline = "5s" in [traffic], or order = "priority" in [protocol]

no retry of flood
[protocol] / name = "flood" / retry = ^"none"^ / [radio]
flood (repaired) needs a retry
help: write "1s..2s"

patience with the published text
[protocol] / text = "published" / [radio] / [traffic] / patience = ^"1s"^
reverse-link (published) cannot cancel a request
help: take `patience` out, or use reverse-link, flood, group (repaired), central or omniscient

an unknown protocol
[protocol] / name = ^"reverse_link"^ / [radio]
there is no protocol `reverse_link`
help: did you mean `reverse-link`? allowed: reverse-link, flood, group, central, raymond, suzuki-kasami, ricart-agrawala, lamport, naimi-trehel, raynal, omniscient

an unknown model
[radio] / [mobility] / model = ^"waypoints"^
there is no model `waypoints`
help: did you mean `waypoint`? allowed: static, linear, direction, waypoint, gauss-markov, walk, trace

an unknown shape
[topology] / shape = ^"rign"^
there is no shape `rign`
help: did you mean `ring`? allowed: line, ring, star, grid, tree, complete, random, links

an unknown repair
[protocol] / text = "published" / repairs = ["p1", ^"p13"^] / [radio]
reverse-link has no defect `p13`
help: did you mean `p1`? allowed: p1, p2, p3, p4, p5, p6, p7, p8

the repair of another protocol
[protocol] / name = "flood" / text = "published" / repairs = [^"g1"^] / [radio]
flood has no defect `g1`
help: allowed: f1, f2, f3, f4, f5, f6, f7

relay for reverse-link
[protocol] / over = ^"relay"^ / [radio]
reverse-link sends to neighbours only
help: take `over` out, or write "links"

links for central on a line
[protocol] / name = "central" / over = ^"links"^ / [topology] / shape = "line"
central sends to any node, but not all nodes are linked to each other
help: write "relay" or "routing", or use [topology] with shape = "complete", or a longer range
"#;
