//! How nodes move: models that give one leg after the other, and recorded traces.
//!
//! A model is asked for the next leg only when the one before ends, so a run costs what happens in it and a world can
//! be cloned at any moment.

use crate::geometry::{Leg, Point};
use crate::random::{Stream, Streams};
use crate::scenario::{Area, Mobility};
use crate::time::Time;

/// Why nodes cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MobilityError(String);

/// The movement of one node: a value that gives its legs in order.
#[derive(Clone, Debug)]
pub struct Mover {
    /// For the model's draws.
    stream: Stream,
}

/// Puts all nodes in place and gives each its movement.
///
/// The first leg of every mover starts at [`Time::ZERO`]. Only [`Purpose::Placement`](crate::random::Purpose) and
/// [`Purpose::Mobility`](crate::random::Purpose) streams are drawn from.
pub fn movers(mobility: &Mobility, area: Area, nodes: u32, streams: Streams) -> Result<Vec<Mover>, MobilityError> {
    let _ = (mobility, area, nodes, streams);
    Err(MobilityError(String::new()))
}

impl Mover {
    /// The leg that starts when the one before ended. After a leg that ends [`Time::NEVER`] there is none to ask for.
    pub fn next_leg(&mut self) -> Leg {
        let _ = self.stream.unit();
        Leg::rest(Point::default(), Time::ZERO, Time::NEVER)
    }
}
