//! Every measure by name: the one list that tables, reports and `docs/measures.md` follow.

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name, perhaps with one part in angle brackets that varies, such as `wait.<class>.mean`.
    pub name: &'static str,
    /// `s` for seconds, `1` for plain numbers and shares, otherwise what is counted.
    pub unit: &'static str,
    pub meaning: &'static str,
}

/// All measures. Of names with a varying part, the more special comes first.
pub const CATALOGUE: &[Definition] = &[
    of("warmup", "s", "what is left out at the beginning"),
    of(
        "warmup.reliable",
        "1",
        "MSER-5 only: 1 if it cut off at most half of the run, 0 if the run is too short to tell",
    ),
    of("requests", "requests", "measured requests: asked after the warm-up"),
    of("entries", "entries", "grants after the warm-up and until the end, whenever they were asked for"),
    of("entries/s", "entries/s", "entries by measured time"),
    of("cancelled", "requests", "measured requests that were given up"),
    of("unserved", "requests", "requests that still wait at the end, also those made in the warm-up"),
    of(
        "stuck",
        "requests",
        "requests of the whole run that were not granted in the drain either; absent if a broken rule or a storm ended the run",
    ),
    of("wait.mean", "s", "from asking to grant, of measured requests that entered"),
    of("wait.p50", "s", "the median of these waits"),
    of("wait.p95", "s", "the 95th percentile of these waits"),
    of("wait.p99", "s", "the 99th percentile of these waits"),
    of("wait.max", "s", "the longest of these waits"),
    of("wait.max/mean", "1", "the longest wait by the mean one"),
    of(
        "wait.censored-mean",
        "s",
        "the mean time that measured requests waited until grant, giving up, or the end: a lower bound for all of them",
    ),
    of("wait.priority-<p>.mean", "s", "the mean wait at this priority, if there are 2 to 20 different ones"),
    of("wait.priority-<p>.p95", "s", "the 95th percentile at this priority"),
    of("wait.<class>.mean", "s", "the mean wait of this class of clients, if there are several"),
    of("wait.<class>.p95", "s", "the 95th percentile of this class"),
    of("wait.<class>.max", "s", "the longest wait of this class"),
    of(
        "deadline.missed",
        "1",
        "the share of measured requests with a deadline that waited beyond it, of those for which that is decided",
    ),
    of("messages/entry", "messages", "messages from one node to one other, by entries"),
    of(
        "frames/entry",
        "frames",
        "transmissions by entries: a broadcast counts once, messages that share a frame too, every repetition once more",
    ),
    of("bytes/entry", "bytes", "bytes of all transmissions by entries, without acknowledgements"),
    of("messages.<kind>/entry", "messages", "messages of this kind by entries"),
    of(
        "frames.<kind>/entry",
        "frames",
        "transmissions of this kind by entries; a frame of several messages is one of its last",
    ),
    of("bytes.<kind>/entry", "bytes", "bytes of this kind by entries"),
    of("acks/entry", "frames", "acknowledgements of the whole run by entries of the whole run"),
    of("units.used", "units", "the mean number of units in use, over time"),
    of("units.idle-while-fitting", "1", "the share of the time in which a waiting request would have fitted"),
    of(
        "units.idle-while-front-fits",
        "1",
        "the share of the time in which the most urgent waiting request would have fitted",
    ),
    of("concurrency.mean", "grants", "the mean number of grants inside at once, over the time in which there is one"),
    of("concurrency.mean-all-time", "grants", "the mean number of grants inside at once, over all time"),
    of("concurrency.max", "grants", "the greatest number of grants inside at once"),
    of(
        "inversions.known",
        "1",
        "breaks of the rule grant-order (the granter knew better) of the whole run, by its entries",
    ),
    of(
        "inversions.settled/entry",
        "1",
        "the share of entries that passed a more urgent request that all nodes could have known of",
    ),
    of("inversions.any/entry", "1", "the share of entries that passed any more urgent request"),
    of(
        "inversions.fitting/entry",
        "1",
        "the share of entries that passed a more urgent request that would have fitted in their place",
    ),
    of("sync-delay.mean", "s", "from a release that leaves everything free, while a request waits, to the next grant"),
    of("sync-delay.p50", "s", "the median of these hand-overs"),
    of("sync-delay.p95", "s", "the 95th percentile of these hand-overs"),
    of(
        "sessions.switches/entry",
        "1",
        "entries into another session than the entry before, by entries; absent without sessions",
    ),
    of(
        "sessions.concurrency",
        "grants",
        "the mean number of grants inside in a session, over the time in which there is one",
    ),
    of(
        "fairness.jain",
        "1",
        "Jain's index over the entries of the nodes that asked: 1 is even, 1/n is all for one of n",
    ),
    of(
        "overtakes.max",
        "grants",
        "the most grants to requests asked later that one measured request saw while it waited",
    ),
    of("load", "1", "what was asked for: units times the mean holding of the class, by capacity and measured time"),
    of("crashes", "crashes", "nodes that crashed; this and all down to `declared.wrongly` only with crashes"),
    of("outages", "outages", "times in which nothing could be granted: a crash took the token or all units"),
    of("outage.mean", "s", "from what took the token or all units to the next grant"),
    of("outage.p99", "s", "the 99th percentile of these outages"),
    of("outage.max", "s", "the longest of these outages"),
    of("outage.share", "1", "the share of the time that was outage"),
    of("repairs", "facts", "returns, declarations and removals: each starts a repair"),
    of("messages/repair", "messages", "messages of the kinds census and report, by repairs"),
    of("frames/repair", "frames", "their transmissions, by repairs"),
    of("bytes/repair", "bytes", "their bytes, by repairs"),
    of("tokens.remade", "tokens", "lost tokens that were made anew"),
    of("cut-short", "grants", "clients that had to stop before they were done: a lease or a standing was over"),
    of("cut-short/entry", "1", "these by entries"),
    of("refused", "requests", "requests lost with their node, or turned away by one that did not serve"),
    of("declared", "nodes", "nodes that voters declared gone"),
    of("declared.wrongly", "nodes", "those of them that were running"),
    of("network.degree", "nodes", "the mean number of neighbours, over time and nodes"),
    of("network.connected", "1", "the share of the time in which the network was in one part"),
    of("network.parts", "parts", "the mean number of parts"),
    of("network.hops", "hops", "the mean number of hops between nodes that can reach each other"),
    of("network.diameter", "hops", "the greatest number of hops between nodes that can reach each other"),
    of("network.link-changes/s", "1/s", "links that came or went, by the time of the whole run"),
    of("network.lost/s", "1/s", "messages lost, by the time of the whole run"),
    of("events", "events", "events handled in the whole run"),
    of("violations", "times", "how often rules broke in the whole run"),
    of("rejected", "messages", "messages that their receivers refused as a mistake"),
];

const fn of(name: &'static str, unit: &'static str, meaning: &'static str) -> Definition {
    Definition { name, unit, meaning }
}

/// What a name stands for, such as `wait.mean` or `wait.priority-3.p95`.
pub fn definition(name: &str) -> Option<&'static Definition> {
    let exact = CATALOGUE.iter().find(|definition| definition.name == name);
    exact.or_else(|| CATALOGUE.iter().find(|definition| definition.covers(name)))
}

impl Definition {
    /// Whether the name is this one's with something in place of the angle brackets.
    fn covers(&self, name: &str) -> bool {
        let Some((before, rest)) = self.name.split_once('<') else {
            return false;
        };
        let after = rest.split_once('>').map_or("", |(_, after)| after);
        let varying = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        varying.is_some_and(|varying| !varying.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/measures.md");

    #[test]
    fn the_page_has_exactly_this_table() {
        let row = |definition: &Definition| {
            format!("| `{}` | {} | {} |\n", definition.name, definition.unit, definition.meaning)
        };
        let table: String = CATALOGUE.iter().map(row).collect();
        let table = format!("| name | unit | meaning |\n|---|---|---|\n{table}");
        assert!(PAGE.contains(&table), "docs/measures.md should have this table:\n{table}");
    }

    #[test]
    fn names_are_found_with_their_varying_part() {
        let found = |name| definition(name).map(|definition| definition.name);
        assert_eq!(found("wait.mean"), Some("wait.mean"));
        assert_eq!(found("wait.priority--2.p95"), Some("wait.priority-<p>.p95"));
        assert_eq!(found("wait.fire brigade.mean"), Some("wait.<class>.mean"));
        assert_eq!(found("messages.token/entry"), Some("messages.<kind>/entry"));
        assert_eq!(found("messages/entry"), Some("messages/entry"));
        assert_eq!(found("wait..mean"), None);
        assert_eq!(found("wait"), None);
    }

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = CATALOGUE.iter().map(|definition| definition.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOGUE.len());
    }
}
