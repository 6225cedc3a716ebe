//! What the scenarios of the three papers share: texts, each with its label on the page.

use meshlock_sim::scenario::Text;

use crate::verdict;

/// The repairs of the printed flood that change no line but their own, by the names of `docs/errata.md`.
pub(crate) const F: [&str; 7] = ["f1", "f2", "f3", "f4", "f5", "f6", "f7"];
/// The repairs of the printed group protocol.
pub(crate) const G: [&str; 10] = ["g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10"];

pub(crate) type Variant = (verdict::Text, Text);

/// The text that a node runs.
pub(crate) const REPAIRED: Variant = (verdict::Text::Repaired, Text::Repaired);

pub(crate) fn with(repairs: &[&str]) -> Variant {
    (verdict::with(repairs), Text::with_repairs(repairs))
}

/// The printed text with all repairs.
pub(crate) fn mended(repairs: &[&str]) -> Variant {
    let label = format!("{} to {}", repairs[0], repairs[repairs.len() - 1]);
    (verdict::Text::With(label), Text::with_repairs(repairs))
}

/// The printed text with all repairs but some.
pub(crate) fn all_but(repairs: &[&str], missing: &[&str]) -> Variant {
    let others: Vec<&str> = repairs.iter().copied().filter(|name| !missing.contains(name)).collect();
    (verdict::Text::With(format!("all but {}", missing.join(" and "))), Text::with_repairs(&others))
}
