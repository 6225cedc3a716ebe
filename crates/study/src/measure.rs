//! What is known of measures by their names: units, and which of them a short table shows.

/// The unit of a measure, for axes and heads of columns; empty if it is a plain number.
pub(crate) fn unit(name: &str) -> &'static str {
    let first = name.split(['.', '/', '[', ':']).next().unwrap_or(name);
    let last = name.rsplit(['.', '/']).next().unwrap_or(name);
    match first {
        "bytes" if name.contains('/') => "B/entry",
        "bytes" => "B",
        "wait" | "sync-delay" | "warmup" if !matches!(last, "reliable") => "s",
        _ => "",
    }
}

/// Measures that say whether the others can be trusted: always shown, also if they are zero.
pub(crate) const TROUBLE: [&str; 3] = ["unserved", "stuck", "violations"];

/// Measures of the network that was actually there.
pub(crate) const NETWORK: [&str; 4] = ["network.degree", "network.connected", "network.parts", "network.hops"];

/// What a study shows that names no measures itself, as far as runs have it.
pub(crate) const MAIN: [&str; 3] = ["wait.mean", "messages/entry", "frames/entry"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_and_counts_have_no_unit() {
        for (name, expected) in [("wait.mean", "s"), ("bytes/entry", "B/entry"), ("messages/entry", ""), ("stuck", "")]
        {
            assert_eq!(unit(name), expected, "{name}");
        }
    }
}
