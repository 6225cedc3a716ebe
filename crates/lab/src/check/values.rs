//! How single values of the command line are written.

use std::fmt::Write;

use meshlock_check::Work;
use meshlock_check::spec::parse_work;
use meshlock_core::{Demand, Urgency};
use meshlock_properties::Rule;

/// What one node asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeWork {
    pub(crate) node: usize,
    pub(crate) work: Work,
}

/// Reads `2=1@5,1@3`.
pub(super) fn node_work(text: &str) -> Result<NodeWork, String> {
    let (node, work) = text.split_once('=').ok_or("write NODE=DEMANDS, such as 2=1@5,1@3, or 0=- for nothing")?;
    let node = node.trim().parse().map_err(|_| format!("{node:?} is no node; write its number, such as 2=1@5"))?;
    let work = parse_work(work).map_err(|error| error.to_string())?;
    Ok(NodeWork { node, work })
}

/// Reads a number that is not 0.
pub(super) fn at_least_one(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a whole number, at least 1".to_owned())
}

pub(super) fn rule(name: &str) -> Result<Rule, String> {
    Rule::named(name).ok_or_else(|| {
        let mut text = String::from("there is no such rule; there are:");
        for rule in Rule::ALL {
            let _ = write!(text, "\n  {:<17}  {}", rule.name(), rule.words());
        }
        text
    })
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    seconds.filter(|seconds| *seconds < 1e9).ok_or_else(|| "write seconds, such as 60 or 0.5".to_owned())
}

/// Reads a size of memory, such as `2GiB`, `500MB` or plain bytes.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let wrong = || "write a size, such as 500MiB, 2GiB or 1000000 (bytes)".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let bytes = number * factor as f64;
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong()) }
}

pub(super) fn demand_text(demand: &Demand) -> String {
    let mut text = match demand.urgency {
        Urgency::Priority(priority) => format!("{}@{priority}", demand.units),
        Urgency::Deadline(deadline) => format!("{}#{deadline}", demand.units),
    };
    if let Some(session) = demand.session {
        let _ = write!(text, "/{session}");
    }
    text
}

#[cfg(test)]
mod tests {
    use meshlock_check::spec::parse_demand;

    use super::*;

    #[test]
    fn the_work_of_a_node_is_read_as_written() {
        let two = node_work("2=1@5,2@3").unwrap();
        assert_eq!((two.node, two.work.count, two.work.demands.len()), (2, 2, 2));
        assert_eq!(node_work("0=-").unwrap().work.count, 0);
        for text in ["2", "x=1@5", "2=five", "=1@5"] {
            let error = node_work(text).unwrap_err();
            assert!(error.contains("1@5"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let table = [("2GiB", 2 << 30), ("500MB", 500_000_000), ("1.5k", 1536), ("77", 77), ("3 mib", 3 << 20)];
        for (text, bytes) in table {
            assert_eq!(memory(text), Ok(bytes), "{text}");
        }
        for text in ["", "GiB", "2 giraffes", "-1", "0", "1.2.3MB"] {
            assert!(memory(text).unwrap_err().contains("2GiB"), "{text}");
        }
    }

    #[test]
    fn seconds_are_finite_and_some() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "inf", "nan", "soon", "1e300"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_rule_is_answered_with_all_rules_in_words() {
        let error = rule("fairness").unwrap_err();
        for known in Rule::ALL {
            assert!(error.contains(known.name()) && error.contains(known.words()), "{known}");
        }
    }

    #[test]
    fn a_demand_is_written_as_it_is_read() {
        for text in ["2@5", "1@-3/7", "1#90"] {
            assert_eq!(demand_text(&parse_demand(text).unwrap()), text);
        }
    }
}
