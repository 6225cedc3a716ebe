//! How the nodes of `meshlock up` are linked.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use meshlock_check::Topology;
use meshlock_node::local::Pair;

use super::MOST_NODES;

/// With whom a node is linked that comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// With the last one.
    Line,
    /// With the first one.
    Star,
    /// With everybody.
    Complete,
    /// With the first and the last one, so that no single link matters.
    Other,
}

impl Shape {
    /// What `--topology` says: the shape, how many nodes, and their links.
    pub(super) fn read(text: &str, nodes: u16) -> anyhow::Result<(Self, u16, BTreeSet<Pair>)> {
        let whole = if text.contains(':') { text.to_owned() } else { format!("{text}:{nodes}") };
        let topology: Topology = whole.parse().with_context(|| format!("--topology {whole}"))?;
        let nodes = u16::try_from(topology.len()).context("too many nodes for one machine")?;
        if nodes > MOST_NODES {
            bail!("{nodes} nodes are too many for one process: give at most {MOST_NODES}, or simulate them");
        }
        let shape = match text.split(':').next() {
            Some("line") => Self::Line,
            Some("star") => Self::Star,
            Some("complete") => Self::Complete,
            Some(_) | None => Self::Other,
        };
        let links = topology.links().iter().map(|link| (link.low().0 as usize, link.high().0 as usize));
        Ok((shape, nodes, links.collect()))
    }

    /// With whom of those that are there a new one is linked.
    pub(super) fn friends(self, present: &[usize]) -> BTreeSet<usize> {
        let (first, last) = (present.first().copied(), present.last().copied());
        match self {
            Self::Line => last.into_iter().collect(),
            Self::Star => first.into_iter().collect(),
            Self::Complete => present.iter().copied().collect(),
            Self::Other => first.into_iter().chain(last).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_node_fits_into_the_shape() {
        let friends = |text: &str| {
            let (shape, nodes, _) = Shape::read(text, 4).expect("a shape");
            shape.friends(&(0..usize::from(nodes)).collect::<Vec<_>>()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(friends("line"), [3]);
        assert_eq!(friends("star"), [0]);
        assert_eq!(friends("ring"), [0, 3]);
        assert_eq!(friends("complete"), [0, 1, 2, 3]);
        assert_eq!(friends("grid:2x3"), [0, 5]);
        assert_eq!(Shape::Other.friends(&[2]), BTreeSet::from([2]));
        assert!(Shape::read("grid:20x20", 4).is_err());
    }
}
