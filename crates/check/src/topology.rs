//! The shapes of small networks, and how they are written on a command line.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use meshlock_core::NodeId;

/// A link between two different nodes, the lower id first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    low: u32,
    high: u32,
}

impl Link {
    /// The link between two nodes; `None` if they are the same.
    pub const fn between(a: u32, b: u32) -> Option<Self> {
        if a == b {
            None
        } else if a < b {
            Some(Self { low: a, high: b })
        } else {
            Some(Self { low: b, high: a })
        }
    }

    /// Its end with the lower id.
    pub const fn low(self) -> NodeId {
        NodeId(self.low)
    }

    /// Its end with the higher id.
    pub const fn high(self) -> NodeId {
        NodeId(self.high)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.low, self.high)
    }
}

impl FromStr for Link {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let wrong = || TopologyError::Link(text.to_owned());
        let (a, b) = text.trim().split_once('-').ok_or_else(wrong)?;
        let (a, b): (u32, u32) = (a.parse().map_err(|_| wrong())?, b.parse().map_err(|_| wrong())?);
        if a.max(b) >= MOST_NODES {
            return Err(TopologyError::TooMany(a.max(b)));
        }
        Self::between(a, b).ok_or_else(wrong)
    }
}

/// A network of nodes 0, 1, 2, ... with links between some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    name: String,
    nodes: u32,
    links: Vec<Link>,
}

impl Topology {
    /// Nodes and the links between them. Links that name a node out of range are refused.
    pub fn new(nodes: u32, links: impl IntoIterator<Item = Link>) -> Result<Self, TopologyError> {
        let links: BTreeSet<Link> = links.into_iter().collect();
        if let Some(link) = links.iter().find(|link| link.high >= nodes) {
            return Err(TopologyError::Link(link.to_string()));
        }
        if nodes == 0 || nodes > MOST_NODES {
            return Err(TopologyError::TooMany(nodes));
        }
        let links: Vec<Link> = links.into_iter().collect();
        let name = format!("edges:{}", links.iter().map(Link::to_string).collect::<Vec<_>>().join(","));
        Ok(Self { name, nodes, links })
    }

    fn named(name: &str, nodes: u32, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let links: BTreeSet<Link> = pairs.into_iter().filter_map(|(a, b)| Link::between(a, b)).collect();
        Self { name: name.to_owned(), nodes, links: links.into_iter().collect() }
    }

    /// 0-1-2-...
    pub fn line(nodes: u32) -> Self {
        Self::named(&format!("line:{nodes}"), nodes, (1..nodes).map(|i| (i - 1, i)))
    }

    /// 0-1-2-...-0
    pub fn ring(nodes: u32) -> Self {
        Self::named(&format!("ring:{nodes}"), nodes, (0..nodes).map(|i| (i, (i + 1) % nodes)))
    }

    /// Node 0 in the middle, linked to all others.
    pub fn star(nodes: u32) -> Self {
        Self::named(&format!("star:{nodes}"), nodes, (1..nodes).map(|i| (0, i)))
    }

    /// Every node linked to every other.
    pub fn complete(nodes: u32) -> Self {
        let pairs = (0..nodes).flat_map(|a| (0..a).map(move |b| (b, a)));
        Self::named(&format!("complete:{nodes}"), nodes, pairs)
    }

    /// `rows` times `columns` nodes, each linked to those beside, above and below it.
    pub fn grid(rows: u32, columns: u32) -> Self {
        let across = (0..rows).flat_map(|r| (1..columns).map(move |c| (r * columns + c - 1, r * columns + c)));
        let down = (1..rows).flat_map(|r| (0..columns).map(move |c| ((r - 1) * columns + c, r * columns + c)));
        Self::named(&format!("grid:{rows}x{columns}"), rows * columns, across.chain(down))
    }

    pub const fn len(&self) -> usize {
        self.nodes as usize
    }

    /// Whether there is no node at all.
    pub const fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// The links, ordered.
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let (shape, rest) = match text.split_once(':') {
            Some((shape, rest)) => (shape, Some(rest)),
            None => (text, None),
        };
        let size = |least: u32| -> Result<u32, TopologyError> {
            let given = rest.ok_or_else(|| TopologyError::SizeMissing(shape.to_owned()))?;
            number_of_nodes(shape, given, least)
        };
        let whole = |topology: Self| match rest {
            None => Ok(Self { name: shape.to_owned(), ..topology }),
            Some(_) => Err(TopologyError::SizeGiven(shape.to_owned())),
        };
        match shape {
            "line" => size(1).map(Self::line),
            "ring" => size(3).map(Self::ring),
            "star" => size(2).map(Self::star),
            "complete" => size(1).map(Self::complete),
            "grid" => {
                let given = rest.ok_or_else(|| TopologyError::SizeMissing(shape.to_owned()))?;
                let wrong = || TopologyError::Size { shape: shape.to_owned(), given: given.to_owned(), least: 1 };
                let (rows, columns) = given.split_once('x').ok_or_else(wrong)?;
                let (rows, columns) = (number_of_nodes(shape, rows, 1)?, number_of_nodes(shape, columns, 1)?);
                if rows * columns > MOST_NODES {
                    return Err(TopologyError::TooMany(rows * columns));
                }
                Ok(Self::grid(rows, columns))
            }
            "pair" => whole(Self::line(2)),
            "triangle" => whole(Self::ring(3)),
            "square" => whole(Self::ring(4)),
            "kite" => whole(Self::named("kite", 4, [(0, 1), (0, 2), (1, 2), (2, 3)])),
            "edges" => {
                let links = parse_links(rest.unwrap_or_default())?;
                let nodes = links.iter().map(|link| link.high + 1).max().unwrap_or(1);
                Self::new(nodes, links)
            }
            _ => Err(TopologyError::Shape(text.to_owned())),
        }
    }
}

/// Reads links as in `0-1,1-2`; an empty text is no link.
pub fn parse_links(text: &str) -> Result<Vec<Link>, TopologyError> {
    text.split(',').filter(|part| !part.trim().is_empty()).map(Link::from_str).collect()
}

fn number_of_nodes(shape: &str, given: &str, least: u32) -> Result<u32, TopologyError> {
    let wrong = || TopologyError::Size { shape: shape.to_owned(), given: given.to_owned(), least };
    let nodes: u32 = given.parse().map_err(|_| wrong())?;
    if nodes > MOST_NODES {
        return Err(TopologyError::TooMany(nodes));
    }
    if nodes < least { Err(wrong()) } else { Ok(nodes) }
}

/// Why a text is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// An unknown word.
    #[error(
        "{0:?} is no topology; known are line:N, ring:N, star:N, complete:N, grid:RxC, pair, triangle, square, kite \
         and edges:0-1,1-2"
    )]
    Shape(String),
    /// `line` instead of `line:3`.
    #[error("how many nodes? write {0}:N, such as {0}:3")]
    SizeMissing(String),
    /// `kite:4` instead of `kite`.
    #[error("{0} has a fixed size; write it without a number")]
    SizeGiven(String),
    /// Not a number, or too small.
    #[error("{shape}:{given} needs a number of nodes, at least {least}")]
    Size { shape: String, given: String, least: u32 },
    #[error("{0:?} is no link between two different nodes of this network; write links like 0-1")]
    Link(String),
    /// More nodes than a model can have.
    #[error("a network here has between 1 and {most} nodes, not {0}", most = MOST_NODES)]
    TooMany(u32),
}

/// Sets of nodes are kept in the bits of one word.
pub const MOST_NODES: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> String {
        let topology: Topology = text.parse().unwrap();
        assert_eq!(topology.to_string(), text);
        let links: Vec<String> = topology.links().iter().map(Link::to_string).collect();
        format!("{} {}", topology.len(), links.join(" "))
    }

    #[test]
    fn every_shape_has_its_links() {
        let table = [
            ("line:3", "3 0-1 1-2"),
            ("ring:4", "4 0-1 0-3 1-2 2-3"),
            ("star:4", "4 0-1 0-2 0-3"),
            ("complete:3", "3 0-1 0-2 1-2"),
            ("grid:2x2", "4 0-1 0-2 1-3 2-3"),
            ("pair", "2 0-1"),
            ("triangle", "3 0-1 0-2 1-2"),
            ("square", "4 0-1 0-3 1-2 2-3"),
            ("kite", "4 0-1 0-2 1-2 2-3"),
            ("edges:0-1,1-2", "3 0-1 1-2"),
            ("line:1", "1 "),
        ];
        for (text, expected) in table {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn a_mistake_is_explained() {
        let table = [
            ("lime:3", "is no topology; known are line:N"),
            ("line", "write line:N, such as line:3"),
            ("ring:2", "ring:2 needs a number of nodes, at least 3"),
            ("star:x", "star:x needs a number"),
            ("kite:4", "kite has a fixed size"),
            ("edges:0-0", "\"0-0\" is no link"),
            ("edges:0", "\"0\" is no link"),
            ("line:65", "between 1 and 64 nodes, not 65"),
            ("edges:0-4000000000", "not 4000000000"),
            ("grid:9x9", "not 81"),
            ("grid:3", "grid:3 needs"),
        ];
        for (text, expected) in table {
            let error = text.parse::<Topology>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_link_written_backwards_is_the_same_link() {
        assert_eq!(parse_links("2-1, 1-0").unwrap(), parse_links("1-2,0-1").unwrap());
    }
}
