//! What is known of measures by their names: units, and which of them a short table shows.

use meshlock_sim::measures::definition;

/// The unit of a measure, for axes and heads of columns; empty if it is a plain number, or if the name says what is
/// counted.
pub(crate) fn unit(name: &str) -> &'static str {
    match definition(name).map_or("", |definition| definition.unit) {
        "bytes" => "B",
        "s" => "s",
        _ => "",
    }
}

/// Measures that say whether the others can be trusted: always shown, also if they are zero. Broken rules are counted by
/// the study itself, because runs that they ended count for no mean.
pub(crate) const TROUBLE: [&str; 2] = ["unserved", "stuck"];

/// Measures of the network that was actually there.
pub(crate) const NETWORK: [&str; 4] = ["network.degree", "network.connected", "network.parts", "network.hops"];

/// What a study shows that names no measures itself, as far as runs have it.
pub(crate) const MAIN: [&str; 3] = ["wait.mean", "messages/entry", "frames/entry"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_and_counts_have_no_unit() {
        for (name, expected) in
            [("wait.mean", "s"), ("bytes/entry", "B"), ("messages/entry", ""), ("stuck", ""), ("my.own", "")]
        {
            assert_eq!(unit(name), expected, "{name}");
        }
    }
}
