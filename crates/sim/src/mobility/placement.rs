//! Where nodes start.

use crate::geometry::Point;
use crate::mobility::error::MobilityError;
use crate::random::Stream;
use crate::scenario::{Area, Mobility, Placement};

pub(super) enum Start<'a> {
    Anywhere(Area),
    Grid { columns: u32, cell: Point },
    At(&'a [(f64, f64)]),
}

impl<'a> Start<'a> {
    pub(super) fn new(mobility: &'a Mobility, area: Area, nodes: u32) -> Result<Self, MobilityError> {
        Ok(match mobility {
            Mobility::Static(Placement::Grid) => {
                let columns = columns(area, nodes);
                let rows = nodes.div_ceil(columns).max(1);
                let cell = Point::new(area.width / f64::from(columns), area.height / f64::from(rows));
                Self::Grid { columns, cell }
            }
            Mobility::Static(Placement::At(places)) => {
                check(places, area, nodes)?;
                Self::At(places)
            }
            Mobility::Static(Placement::Random)
            | Mobility::Linear { .. }
            | Mobility::Direction { .. }
            | Mobility::Waypoint { .. }
            | Mobility::GaussMarkov { .. }
            | Mobility::Walk { .. }
            | Mobility::Trace { .. } => Self::Anywhere(area),
        })
    }

    /// The place of a node, drawn from its own stream.
    pub(super) fn of(&self, node: u32, stream: &mut Stream) -> Point {
        match self {
            Self::Anywhere(area) => anywhere(*area, stream),
            Self::Grid { columns, cell } => {
                let (column, row) = (node % columns, node / columns);
                Point::new(cell.x * (f64::from(column) + 0.5), cell.y * (f64::from(row) + 0.5))
            }
            Self::At(places) => places.get(node as usize).map_or(Point::default(), |&(x, y)| Point::new(x, y)),
        }
    }
}

/// A point of the area; all are as likely.
pub(super) fn anywhere(area: Area, stream: &mut Stream) -> Point {
    Point::new(stream.between(0.0, area.width), stream.between(0.0, area.height))
}

/// So many that the cells are about square.
fn columns(area: Area, nodes: u32) -> u32 {
    let square = libm::sqrt(f64::from(nodes) * area.width / area.height);
    (square.ceil() as u32).clamp(1, nodes.max(1))
}

/// There may be more places than nodes: the first are taken.
fn check(places: &[(f64, f64)], area: Area, nodes: u32) -> Result<(), MobilityError> {
    if places.len() < nodes as usize {
        return Err(MobilityError::TooFew { what: "places", given: places.len(), nodes });
    }
    let Area { width, height } = area;
    let inside = |&(x, y): &(f64, f64)| (0.0..=width).contains(&x) && (0.0..=height).contains(&y);
    match (0..nodes).zip(places).find(|(_, place)| !inside(place)) {
        Some((node, &(x, y))) => Err(MobilityError::Outside { node, x, y, width, height }),
        None => Ok(()),
    }
}
