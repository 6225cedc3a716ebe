//! The one list of all sections and keys. Reading, errors, the JSON schema and the reference table come from it.

use super::kind::{Kind, MOST_NODES};
use super::quantity::{Quantity, Range};
use crate::scenario::{Name, Voting};

pub(super) struct Section {
    /// Such as `traffic.class`; empty for the top of the file.
    pub(super) path: &'static str,
    /// Whether it is written `[[...]]` and may come several times.
    pub(super) repeated: bool,
    /// Whether its keys are paths of other keys.
    pub(super) free: bool,
    pub(super) about: &'static str,
}

pub(super) struct Key {
    /// Such as `radio.range`.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    pub(super) given: Given,
    /// When it has an effect, if not always.
    pub(super) only: &'static str,
    pub(super) about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// This value, in TOML.
    Default(&'static str),
    /// What these words say.
    Depends(&'static str),
    /// Absent: there is no default.
    Optional,
    Needed,
}

use Given::{Default, Depends, Needed, Optional};
use Quantity::{Angle, Count, Length, Rate, Size, Speed, Time};

pub(super) const SECTIONS: &[Section] = &[
    section("", "The run as a whole"),
    section("protocol", "The protocol and its parameters"),
    section("radio", "A radio network: nodes in range are linked. A file has this or [topology]"),
    section("area", "The plane in which nodes stand or move, with [radio]"),
    section("mobility", "How nodes move, with [radio]"),
    section("topology", "A network of given links. A file has this or [radio]"),
    section("topology.change", "A link that comes or goes at a given time").repeated(),
    section("traffic", "The requests of clients; with classes, what they have in common"),
    section("traffic.class", "One kind of clients. Takes all keys of [traffic]").repeated(),
    section("crashes", "Nodes that crash, and how the mesh recovers. Without it none does"),
    section("crashes.script", "A crash at a given time").repeated(),
    section("limits", "What stops a run that would not end: a storm"),
    section("study", "Many runs: what varies, how often, and what is shown"),
    section("study.axes", "Keys that vary: lists, or \"10..100 step 10\" with both ends").free(),
    section("study.variant", "One value of the axis `variant`: a label and keys that are set together")
        .repeated()
        .free(),
    section("study.stop", "Goes on beyond `repeat` until a measure is known well"),
    section("study.plot", "A picture").repeated(),
    section("study.compare", "A paired comparison of the points along an axis").repeated(),
];

/// Keys that exclude each other: setting one removes the others.
pub(super) const RIVALS: &[&[&str]] = &[
    &["area.size", "area.degree"],
    &["traffic.think", "traffic.gap", "traffic.burst"],
    &["traffic.priority", "traffic.deadline"],
];

pub(super) const KEYS: &[Key] = &[
    key("name", Kind::Text, Default("\"scenario\""), "for tables and reports"),
    key("nodes", Kind::Whole(1, MOST_NODES as i64), Default("100"), "how many nodes; they are numbered from 0"),
    key("duration", Kind::Amount(Time, LONG), Default("\"60s\""), "how long clients ask and are measured"),
    key(
        "warmup",
        Kind::AmountOr(Time, TIME, "mser5"),
        Default("\"5s\""),
        "left out of the measures at the beginning; `mser5` finds it from the waiting times",
    ),
    key("drain", MOMENT, Default("\"60s\""), "how long the run may go on until nothing is in flight"),
    key("seed", Kind::Whole(0, i64::MAX), Default("1"), "of a single run; a study has its own"),
    // Protocol.
    key("protocol.name", Kind::Word(protocols), Default("\"reverse-link\""), "which"),
    key(
        "protocol.text",
        Kind::Word(|| vec!["repaired", "published"]),
        Default("\"repaired\""),
        "what a node runs, or as printed in the paper; the latter for reverse-link, flood and group",
    ),
    key("protocol.repairs", Kind::Texts, Default("[]"), "defects that are repaired, by their name in the errata")
        .only("text = \"published\""),
    key(
        "protocol.over",
        Kind::Word(|| vec!["links", "relay", "routing"]),
        Depends(
            "links for reverse-link and flood and on complete topologies, else relay for group and routing for others",
        ),
        "how messages travel: to neighbours, by flooding relay, or by ideal routing",
    ),
    key(
        "protocol.capacity",
        Kind::Whole(1, u32::MAX as i64),
        Default("1"),
        "the k of h-out-of-k; more than 1 for reverse-link, central, raynal and omniscient",
    ),
    key(
        "protocol.order",
        Kind::Word(|| vec!["priority", "deadline"]),
        Default("\"priority\""),
        "the order in which requests are served",
    )
    .only("protocols that serve by urgency: reverse-link, central, omniscient"),
    key(
        "protocol.aging",
        NUMBER,
        Default("0"),
        "grants of waiting that are worth one step of priority; 0 is strict priority",
    )
    .only("order = \"priority\" with reverse-link (repaired), central or omniscient"),
    key("protocol.joins", NUMBER, Default("0"), "how many requests may join the running session past the front")
        .only("reverse-link (repaired), central and omniscient"),
    key(
        "protocol.passes",
        NUMBER,
        Default("0"),
        "how many requests may pass a front that waits for more units than are free",
    )
    .only("reverse-link (repaired)"),
    key("protocol.levels", Kind::Whole(1, i32::MAX as i64), Default("10"), "the greatest priority; the least is 1")
        .only("group"),
    key("protocol.epsilon", NUMBER, Default("0"), "what the paper's aging adds").only("reverse-link (published)"),
    key("protocol.retry", Kind::Retry, Default("\"1s..2s\""), "how long a node waits before it repeats a message")
        .only("flood (repaired) and group (repaired)"),
    // Radio.
    key(
        "radio.range",
        Kind::Amount(Length, Range::above_to(0.0, FAR)),
        Default("\"120m\""),
        "nodes nearer than this are linked",
    ),
    key("radio.bandwidth", Kind::Amount(Rate, Range::POSITIVE), Default("\"1Mbps\""), "of a sender"),
    key("radio.latency", MOMENT, Default("\"300us\""), "from the end of a transmission to its handling"),
    key("radio.error", SHARE, Default("0.0"), "the probability that a reception fails"),
    key(
        "radio.message",
        Kind::AmountOr(Size, BYTES, "encoded"),
        Default("\"200B\""),
        "the length of a message; `encoded`: as on the wire, plus `header`",
    ),
    key("radio.header", LENGTH, Default("\"34B\""), "in front of every encoded message").only("message = \"encoded\""),
    key("radio.ack", LENGTH, Default("\"14B\""), "the length of an acknowledgement"),
    key(
        "radio.retries",
        Kind::Whole(0, 1000),
        Default("7"),
        "repetitions of an unacknowledged transmission before the link is given up",
    ),
    key(
        "radio.hold_back",
        MOMENT,
        Optional,
        "how long a message that nobody waits for may wait for the next one to its receiver, to share its frame; \
         absent: every message is a frame",
    ),
    key("radio.gentle", Kind::Flag, Default("false"), "whether a link that breaks first delivers what is in flight"),
    // Area.
    key(
        "area.size",
        Kind::Pair(Length, Range::above_to(0.0, FAR)),
        Default("[\"600m\", \"600m\"]"),
        "from west to east and from south to north",
    )
    .only("models other than trace, which brings its own area"),
    key(
        "area.degree",
        Kind::Real(Range::POSITIVE),
        Optional,
        "instead of `size`: a square in which a node has so many neighbours on average, whatever `nodes` is",
    )
    .only("models other than trace, which brings its own area"),
    // Mobility.
    key("mobility.model", Kind::Word(models), Default("\"static\""), "how nodes move"),
    key(
        "mobility.speed",
        Kind::Draw(Speed, Range::POSITIVE),
        Depends("\"3mps\" for gauss-markov, else \"uniform(1mps, 5mps)\""),
        "a mean for gauss-markov; a constant or uniform for waypoint",
    )
    .only("linear, direction, waypoint, gauss-markov and walk"),
    key("mobility.pause", DRAWN_TIME, Default("\"0s\""), "rest before the next leg").only("direction and waypoint"),
    key("mobility.step", Kind::Amount(Time, LONG), Default("\"1s\""), "between changes").only("gauss-markov"),
    key("mobility.memory", SHARE, Default("0.75"), "0 forgets, 1 never changes").only("gauss-markov"),
    key("mobility.speed_deviation", Kind::Amount(Speed, Range::NOT_NEGATIVE), Default("\"1mps\""), "of the speed")
        .only("gauss-markov"),
    key(
        "mobility.direction_deviation",
        Kind::Amount(Angle, Range::NOT_NEGATIVE),
        Default("\"30deg\""),
        "of the direction",
    )
    .only("gauss-markov"),
    key("mobility.leg", Kind::Draw(Time, Range::POSITIVE), Default("\"10s\""), "how long a node goes straight")
        .only("walk"),
    key("mobility.turn", Kind::Amount(Angle, TURN), Default("\"45deg\""), "how far the direction turns at most")
        .only("walk"),
    key(
        "mobility.placement",
        Kind::Word(|| vec!["random", "grid", "file"]),
        Default("\"random\""),
        "where nodes stand",
    )
    .only("static"),
    key("mobility.file", Kind::File, Needed, "a trace, or lines `x,y` in metres; looked for beside the scenario")
        .only("trace, and static with placement = \"file\""),
    key(
        "mobility.format",
        Kind::Word(formats),
        Default("\"auto\""),
        "of the trace; `auto` goes by the end of its name",
    )
    .only("trace"),
    // Topology.
    key(
        "topology.shape",
        Kind::Word(shapes),
        Depends("links if `links` is given, else complete"),
        "which links there are",
    ),
    key("topology.connectivity", SHARE, Default("0.3"), "the share of all possible links, at least a spanning tree")
        .only("random"),
    key("topology.arity", Kind::Whole(1, 100_000), Default("2"), "children per node").only("tree"),
    key("topology.links", Kind::Links, Needed, "such as [[0, 1], [1, 2]]").only("shape = \"links\""),
    key("topology.delay", DRAWN_TIME, Default("\"1ms\""), "of a message, from sending to handling"),
    key("topology.fifo", Kind::Flag, Default("true"), "whether a message waits for those sent before it on its link"),
    key("topology.loss", SHARE, Default("0.0"), "the probability that a message is lost"),
    key(
        "topology.message",
        Kind::AmountOr(Size, BYTES, "encoded"),
        Default("\"200B\""),
        "for counting bytes; `encoded`: as on the wire, plus `header`",
    ),
    key("topology.header", LENGTH, Default("\"54B\""), "in front of every encoded message")
        .only("message = \"encoded\""),
    key(
        "topology.hold_back",
        MOMENT,
        Optional,
        "how long a message that nobody waits for may wait for the next one to its receiver, to share its frame; \
         absent: every message is a frame",
    ),
    key("topology.gentle", Kind::Flag, Default("false"), "whether a link that breaks first delivers what is in flight"),
    key(
        "topology.change_every",
        Kind::Amount(Time, LONG),
        Optional,
        "mean time between random changes: one link goes, one comes",
    ),
    key("topology.keep_connected", Kind::Flag, Default("false"), "never cut a link that holds the network together"),
    key("topology.change.at", MOMENT, Needed, "when"),
    key("topology.change.up", Kind::Link, Optional, "the link that comes, such as [0, 1]"),
    key("topology.change.cut", Kind::Link, Optional, "the link that goes"),
    // Traffic.
    key("traffic.name", Kind::Text, Default("\"all\""), "of the class, in tables; needed in [[traffic.class]]"),
    key(
        "traffic.nodes",
        Kind::Nodes,
        Default("\"all\""),
        "where clients run: \"all\", 3, [0, 1] or \"0..9\" with both ends",
    ),
    key("traffic.think", DRAWN_TIME, Default("\"uniform(0s, 1s)\""), "between a release and the next request"),
    key("traffic.gap", DRAWN_TIME, Optional, "instead of `think`: between requests, whether answered or not"),
    key("traffic.burst", Kind::Whole(1, 100_000), Optional, "instead of `think`: so many requests per node at once"),
    key("traffic.at", MOMENT, Default("\"0s\""), "when the burst comes").only("burst"),
    key("traffic.holding", DRAWN_TIME, Default("\"10ms\""), "how long a grant is held"),
    key(
        "traffic.units",
        Kind::Draw(Count, Range::between(1.0, u32::MAX as f64)),
        Default("1"),
        "the h of h-out-of-k, up to the capacity",
    ),
    key(
        "traffic.priority",
        Kind::Draw(Count, Range::between(i32::MIN as f64, i32::MAX as f64)),
        Default("1"),
        "higher is more urgent",
    ),
    key("traffic.deadline", DRAWN_TIME, Optional, "instead of `priority`: due so long after it was asked for"),
    key(
        "traffic.session",
        Kind::Draw(Count, Range::between(0.0, u32::MAX as f64)),
        Optional,
        "requests of the same session may be inside together; reverse-link (repaired), group, central, omniscient",
    ),
    key("traffic.patience", Kind::Draw(Time, Range::POSITIVE), Optional, "how long a client waits before it cancels"),
    key("traffic.start", MOMENT, Default("\"0s\""), "asks from this moment on"),
    key("traffic.stop", MOMENT, Optional, "asks no more from this moment on"),
    // Crashes.
    key("crashes.per_hour", Kind::Real(CRASHES), Default("0.0"), "crashes of each node per hour, at random times"),
    key(
        "crashes.back",
        DRAWN_TIME,
        Default("\"exponential(10s)\""),
        "from a random crash to the return, links included. It takes longer if clients may still hold on",
    )
    .only("per_hour"),
    key("crashes.never", SHARE, Default("0.0"), "the share of random crashes after which the node never returns")
        .only("per_hour"),
    key(
        "crashes.recovery",
        Kind::Word(|| vec!["voters", "restart", "none"]),
        Default("\"voters\""),
        "how others learn that a node is gone: from voters or its return; from its return or an operator; never",
    ),
    key(
        "crashes.lease",
        Kind::Amount(Time, LONG),
        Default("\"10s\""),
        "how long clients hold on without word of their node, which renews three times in that",
    ),
    key(
        "crashes.removal",
        MOMENT,
        Default("\"60s\""),
        "from its crash until an operator removes a node that never returns",
    )
    .only("recovery = \"restart\""),
    key(
        "crashes.voters",
        Kind::Whole(1, 5),
        Depends("3, or 1 with fewer nodes"),
        "how many vote: the first 1, 3 or 5 nodes",
    )
    .only("recovery = \"voters\""),
    key(
        "crashes.standing",
        Kind::Amount(Time, LONG),
        Default("\"10s\""),
        "how long a node may act without word of most voters. After 1.02 times this and 0.2 s it is declared gone",
    )
    .only("recovery = \"voters\""),
    key(
        "crashes.drift",
        Kind::Real(Range::between(0.0, Voting::MOST_DRIFT)),
        Default("0.001"),
        "clocks run slower or faster by at most this share",
    )
    .only("recovery = \"voters\""),
    key("crashes.script.at", MOMENT, Needed, "when"),
    key("crashes.script.node", Kind::Whole(0, MOST_NODES as i64), Needed, "which node"),
    key("crashes.script.for", MOMENT, Optional, "how long it is down; not given: it never returns"),
    // Limits.
    key("limits.events", Kind::Whole(1, i64::MAX), Default("1000000000"), "the most events of a run"),
    key(
        "limits.in_flight",
        Kind::Whole(1, i64::MAX),
        Depends("1000000, or four for each pair of nodes if that is more"),
        "the most messages in flight at a time",
    ),
    // Study.
    key("study.repeat", Kind::Whole(1, 1_000_000), Default("10"), "replications of each point"),
    key(
        "study.seed",
        Kind::Whole(0, i64::MAX),
        Default("1"),
        "of the first replication; all points have the same seeds",
    ),
    key("study.zip", Kind::Groups, Default("[]"), "axes that go together step by step instead of being crossed"),
    key("study.constraints", Kind::Texts, Default("[]"), "conditions a point must meet, such as \"nodes <= 50\""),
    key("study.variant.label", Kind::Text, Needed, "in tables and pictures, and for `--set variant=label`"),
    key("study.stop.measure", Kind::Text, Needed, "that must be known well, such as \"wait.mean\""),
    key(
        "study.stop.half_width",
        Kind::Real(Range::above_to(0.0, 1.0)),
        Default("0.05"),
        "of its 95 % interval, relative to the mean",
    ),
    key("study.stop.most", Kind::Whole(1, 1_000_000), Default("100"), "but not more replications than this"),
    key("study.plot.title", Kind::Text, Depends("y over x"), "above it"),
    key("study.plot.x", Kind::Text, Needed, "the axis along x"),
    key("study.plot.y", Kind::Text, Needed, "the measure along y"),
    key("study.plot.lines", Kind::Text, Optional, "the axis with one line per value"),
    key("study.plot.log_x", Kind::Flag, Default("false"), "logarithmic scale"),
    key("study.plot.log_y", Kind::Flag, Default("false"), "logarithmic scale"),
    key("study.compare.axis", Kind::Text, Needed, "whose points are compared"),
    key("study.compare.baseline", Kind::Raw, Needed, "the value or label everything is compared with"),
    key("study.compare.measures", Kind::Texts, Needed, "that are compared"),
];

/// The key of this path. Classes have the keys of `[traffic]`.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let path = match path.strip_prefix("traffic.class.") {
        Some(name) => format!("traffic.{name}"),
        None => path.to_owned(),
    };
    KEYS.iter().find(|key| key.path == path)
}

pub(super) fn section_of(path: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == path)
}

/// The keys of a section, without those of the sections inside it.
pub(super) fn keys_of(section: &str) -> impl Iterator<Item = &'static Key> {
    let section = if section == "traffic.class" { "traffic" } else { section };
    KEYS.iter().filter(move |key| key.section() == section)
}

impl Section {
    const fn repeated(self) -> Self {
        Self { repeated: true, ..self }
    }

    const fn free(self) -> Self {
        Self { free: true, ..self }
    }
}

impl Key {
    const fn only(self, only: &'static str) -> Self {
        Self { only, ..self }
    }

    pub(super) fn section(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// What its value is, in sentences.
    pub(super) fn subject(&self) -> &'static str {
        if self.path == "protocol.name" { "protocol" } else { self.name() }
    }

    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

const fn section(path: &'static str, about: &'static str) -> Section {
    Section { path, repeated: false, free: false, about }
}

const fn key(path: &'static str, kind: Kind, given: Given, about: &'static str) -> Key {
    Key { path, kind, given, only: "", about }
}

fn protocols() -> Vec<&'static str> {
    Name::SIMULATED.map(Name::name).to_vec()
}

fn models() -> Vec<&'static str> {
    vec!["static", "linear", "direction", "waypoint", "gauss-markov", "walk", "trace"]
}

fn shapes() -> Vec<&'static str> {
    vec!["line", "ring", "star", "grid", "tree", "complete", "random", "links"]
}

fn formats() -> Vec<&'static str> {
    vec!["auto", "ns-2", "bonnmotion", "one", "sumo"]
}

/// Long enough for any run, and short enough for nanoseconds.
const TIME: Range = Range::between(0.0, 1e7);
const LONG: Range = Range::above_to(0.0, 1e7);
const FAR: f64 = 1e7;
/// More than one in a second is no crash any more.
const CRASHES: Range = Range::between(0.0, 3600.0);
const BYTES: Range = Range::between(0.0, 1e9);
const NUMBER: Kind = Kind::Whole(0, u32::MAX as i64);
const SHARE: Kind = Kind::Real(Range::between(0.0, 1.0));
const MOMENT: Kind = Kind::Amount(Time, TIME);
const DRAWN_TIME: Kind = Kind::Draw(Time, Range::NOT_NEGATIVE);
const LENGTH: Kind = Kind::Amount(Size, BYTES);
const TURN: Range = Range::between(0.0, std::f64::consts::PI);
