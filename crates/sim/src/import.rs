//! Recorded movement: ns-2, BonnMotion, ONE and SUMO files, read into legs.
//!
//! Every format has a file of its own here, which names the pitfalls found in real files. Errors name the line and what
//! would be right; readers never guess silently, and no input makes them panic.

mod bonnmotion;
mod error;
mod ns2;
mod one;
mod record;
mod source;
mod sumo;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use error::ImportError;

use crate::geometry::{Leg, Point};
use crate::scenario::{Area, Mobility};
use crate::time::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Tcl commands of ns-2: `setdest` and initial positions.
    Ns2,
    /// BonnMotion's `.movements`, with the `.params` beside it.
    BonnMotion,
    /// What the ONE simulator reads as external movement.
    One,
    /// SUMO's floating car data, in XML.
    Sumo,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// In the order of their numbers (ns-2), lines (BonnMotion) or first appearance (ONE, SUMO).
    pub nodes: Vec<NodeTrack>,
    /// The least and the greatest coordinates of nodes that are there, as in the file (ONE: as normalised by its
    /// header).
    pub extent: (Point, Point),
    /// The area that the recording was made in, with its corner at the origin, if it says so.
    pub declared: Option<Area>,
    /// The first moment of the recording. Only SUMO starts at another time than zero.
    pub begin: Time,
    /// The last moment of the recording: nothing moves after it.
    pub end: Time,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NodeTrack {
    /// As in the file. BonnMotion names none: there it is the number of the line, from 0.
    pub name: String,
    /// From time zero without a gap; the last one is a rest or an absence without end.
    pub legs: Vec<Leg>,
}

/// Reads a recording. `name` is for error messages; `params` is the text of BonnMotion's `.params` file, which other
/// formats do not have. Bytes compressed by gzip are unpacked, independent of the name.
pub fn read(name: &str, bytes: &[u8], format: Format, params: Option<&str>) -> Result<Imported, ImportError> {
    match format {
        Format::Ns2 => ns2::read(name, bytes),
        Format::BonnMotion => bonnmotion::read(name, bytes, params),
        Format::One => one::read(name, bytes),
        Format::Sumo => sumo::read(name, bytes),
    }
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Ns2, Self::BonnMotion, Self::One, Self::Sumo];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2",
            Self::BonnMotion => "bonnmotion",
            Self::One => "one",
            Self::Sumo => "sumo",
        }
    }

    /// The format of this name; `ns2` will do, too.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "ns2" { "ns-2" } else { name };
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that files of such a name usually have, packed or not.
    pub fn of_file(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, ending) = name.rsplit_once('.')?;
        match ending {
            "ns_movements" | "tcl" | "mob" | "ns2" => Some(Self::Ns2),
            "movements" => Some(Self::BonnMotion),
            "one" => Some(Self::One),
            "xml" => Some(Self::Sumo),
            _ => None,
        }
    }
}

impl NodeTrack {
    /// Where the node is at this moment, if it is there.
    pub fn position(&self, now: Time) -> Option<Point> {
        let next = self.legs.partition_point(|leg| leg.start <= now);
        let leg = self.legs.get(next.checked_sub(1)?)?;
        leg.present.then(|| leg.position(now))
    }
}

impl Imported {
    /// Puts together what a reader found. `end` is the last moment that the file itself names.
    fn new(place: source::Place<'_>, nodes: Vec<NodeTrack>, end: Time) -> Result<Self, ImportError> {
        if nodes.is_empty() {
            return Err(place.error("no node in the whole file", "is this the right file, and the right format?"));
        }
        let changes = nodes.iter().filter_map(|node| node.legs.last()).map(|last| last.start);
        let end = changes.fold(end, Time::max);
        let extent = record::extent(&nodes);
        Ok(Self { nodes, extent, declared: None, begin: Time::ZERO, end })
    }

    /// As a movement for a scenario, and the area it needs. A world begins at the origin and at time zero, so
    /// everything is shifted: the extent (or the declared area, where that is larger) to the origin, and the first
    /// moment of the recording to zero. The area is at least a metre wide and high.
    pub fn into_mobility(self, source: String) -> (Mobility, Area) {
        let (mut low, mut high) = self.extent;
        if let Some(Area { width, height }) = self.declared {
            low = Point::new(low.x.min(0.0), low.y.min(0.0));
            high = Point::new(high.x.max(width), high.y.max(height));
        }
        let area = Area { width: (high.x - low.x).max(1.0), height: (high.y - low.y).max(1.0) };
        let shift = |leg: Leg| Leg {
            start: leg.start - self.begin.since(Time::ZERO),
            end: if leg.end == Time::NEVER { leg.end } else { leg.end - self.begin.since(Time::ZERO) },
            // The place of a node that never appears does not matter.
            from: if leg.present { leg.from - low } else { inside(leg.from - low, area) },
            ..leg
        };
        let begun = |leg: &Leg| leg.end > self.begin;
        let nodes = self.nodes.into_iter();
        let legs = nodes.map(|node| node.legs.into_iter().filter(begun).map(shift).collect()).collect();
        (Mobility::Trace { source, legs: Arc::new(legs) }, area)
    }
}

fn inside(at: Point, area: Area) -> Point {
    Point::new(at.x.clamp(0.0, area.width), at.y.clamp(0.0, area.height))
}
