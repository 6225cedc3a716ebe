//! How the nodes of `meshlock up` are linked.

use std::collections::BTreeSet;

use anyhow::{Context, bail, ensure};
use meshlock_node::local::Pair;

use super::MOST_NODES;

/// With whom a node is linked that comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// With the last one.
    Line,
    /// With the first one.
    Star,
    /// With all others.
    Complete,
    /// With the first and the last one, so that no single link matters.
    Other,
}

/// Where nothing says how many.
const USUAL_NODES: u16 = 5;

impl Shape {
    /// What `--topology` and `--nodes` say: the shape, how many nodes, and their links.
    pub(super) fn read(text: Option<&str>, nodes: Option<u16>) -> anyhow::Result<(Self, u16, BTreeSet<Pair>)> {
        // A ring of two would be one link.
        let usual = if nodes.is_some_and(|nodes| nodes < 3) { "line" } else { "ring" };
        let text = text.unwrap_or(usual);
        let whole =
            if text.contains(':') { text.to_owned() } else { format!("{text}:{}", nodes.unwrap_or(USUAL_NODES)) };
        let read = Self::parse(&whole).with_context(|| format!("--topology {whole}"))?;
        if let Some(nodes) = nodes.filter(|nodes| *nodes != read.1) {
            bail!("--topology {whole} has {} nodes, and --nodes says {nodes}: leave one of them out", read.1);
        }
        Ok(read)
    }

    fn parse(text: &str) -> anyhow::Result<(Self, u16, BTreeSet<Pair>)> {
        let (name, size) = text.split_once(':').unwrap_or((text, ""));
        let (shape, nodes, more) = match name {
            "line" => (Self::Line, number(size)?, Vec::new()),
            "star" => (Self::Star, number(size)?, Vec::new()),
            "complete" => (Self::Complete, number(size)?, Vec::new()),
            "ring" => {
                let nodes = number(size)?;
                ensure!(nodes >= 3, "a ring has at least 3 nodes");
                (Self::Other, nodes, (0..nodes).map(|node| (node, (node + 1) % nodes)).collect())
            }
            "grid" => {
                let (rows, columns) = size.split_once('x').context("write grid:ROWSxCOLUMNS, such as grid:3x4")?;
                let (rows, columns) = (number(rows)?, number(columns)?);
                let across = (0..rows * columns).filter(|node| node % columns > 0).map(|node| (node - 1, node));
                let down = (columns..rows * columns).map(|node| (node - columns, node));
                (Self::Other, rows * columns, across.chain(down).collect())
            }
            "edges" => {
                let links = size.split(',').map(edge).collect::<anyhow::Result<Vec<Pair>>>()?;
                (Self::Other, links.iter().map(|(_, high)| high + 1).max().unwrap_or(1), links)
            }
            _ => bail!("known are line, ring, star, complete, grid:ROWSxCOLUMNS and edges:0-1,1-2"),
        };
        let known = u16::try_from(nodes).ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
        let known =
            known.with_context(|| format!("give 1 to {MOST_NODES} nodes, not {nodes}; simulate more of them"))?;
        let mut links: BTreeSet<Pair> = more.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
        if shape != Self::Other {
            let present: Vec<usize> = (0..nodes).collect();
            links.extend(
                (1..nodes).flat_map(|node| shape.friends(&present[..node]).into_iter().map(move |it| (it, node))),
            );
        }
        Ok((shape, known, links))
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

fn number(text: &str) -> anyhow::Result<usize> {
    let number: u16 =
        text.parse().ok().filter(|number| *number > 0).context("give a number of nodes, such as ring:5")?;
    Ok(number.into())
}

fn edge(text: &str) -> anyhow::Result<Pair> {
    let ends = text.split_once('-').and_then(|(a, b)| Some((a.trim().parse::<u16>().ok()?, b.trim().parse().ok()?)));
    let ends = ends.filter(|(a, b)| a != b).map(|(a, b)| (usize::from(a.min(b)), usize::from(a.max(b))));
    ends.with_context(|| format!("{text:?} is no link between two nodes: write links like 0-1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_node_fits_into_the_shape() {
        let friends = |text: &str| {
            let (shape, nodes, _) = Shape::read(Some(text), None).expect("a shape");
            shape.friends(&(0..usize::from(nodes)).collect::<Vec<_>>()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(friends("line"), [4]);
        assert_eq!(friends("star"), [0]);
        assert_eq!(friends("ring"), [0, 4]);
        assert_eq!(friends("complete:4"), [0, 1, 2, 3]);
        assert_eq!(friends("grid:2x3"), [0, 5]);
        assert_eq!(Shape::Other.friends(&[2]), BTreeSet::from([2]));
    }

    #[test]
    fn every_shape_has_its_links() {
        for (text, nodes, expected) in [
            ("line", 3, "0-1 1-2"),
            ("ring:4", 4, "0-1 0-3 1-2 2-3"),
            ("star", 4, "0-1 0-2 0-3"),
            ("complete", 3, "0-1 0-2 1-2"),
            ("grid:2x3", 6, "0-1 0-3 1-2 1-4 2-5 3-4 4-5"),
            ("edges:1-0, 2-1", 3, "0-1 1-2"),
            ("line", 1, ""),
        ] {
            let (_, read, links) = Shape::read(Some(text), Some(nodes)).expect("a shape");
            let links: Vec<String> = links.iter().map(|(a, b)| format!("{a}-{b}")).collect();
            assert_eq!((read, links.join(" ").as_str()), (nodes, expected), "{text}");
        }
        assert_eq!(
            Shape::read(Some("line"), Some(MOST_NODES)).expect("as many as possible").2.len(),
            usize::from(MOST_NODES) - 1
        );
    }

    #[test]
    fn a_number_of_nodes_never_contradicts_the_shape() {
        let links = |text, nodes| Shape::read(text, nodes).map(|(_, nodes, links)| (nodes, links.len()));
        assert_eq!(links(None, None).expect("five in a ring"), (5, 5));
        assert_eq!(links(None, Some(2)).expect("a line"), (2, 1));
        assert_eq!(links(None, Some(1)).expect("alone"), (1, 0));
        assert_eq!(links(Some("grid:3x4"), None).expect("a grid"), (12, 17));
        let error = links(Some("grid:3x4"), Some(5)).expect_err("refused").to_string();
        assert!(error.contains("12 nodes") && error.contains("--nodes says 5"), "{error}");
    }

    #[test]
    fn a_mistake_is_explained() {
        for (text, expected) in [
            ("lime", "known are line, ring"),
            ("ring:2", "at least 3"),
            ("star:x", "give a number of nodes"),
            ("grid:3", "grid:ROWSxCOLUMNS"),
            ("grid:0x3", "give a number of nodes"),
            ("grid:20x20", "give 1 to 200 nodes, not 400"),
            ("edges:0-0", "\"0-0\" is no link"),
        ] {
            let error = format!("{:#}", Shape::read(Some(text), None).expect_err("refused"));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
