//! How nodes move: models that give one leg after the other, and recorded traces.
//!
//! A model is asked for the next leg only when the one before ends, so a run costs what happens in it and a world can
//! be cloned at any moment. Each model has a file of its own; `docs/mobility.md` tells what each is good for.

mod direction;
mod error;
mod gauss_markov;
mod linear;
mod placement;
mod trace;
mod track;
mod walk;
mod waypoint;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use error::MobilityError;

use crate::distribution::Distribution;
use crate::geometry::Leg;
use crate::random::{Purpose, Streams};
use crate::scenario::{Area, Mobility};
use crate::time::Span;
use direction::Direction;
use error::{check_area, check_number, check_speed, check_times};
use gauss_markov::{GaussMarkov, Habits};
use trace::Recording;
use track::Track;
use walk::Walk;
use waypoint::{Waypoint, Waypoints};

/// The movement of one node: a value that gives its legs in order.
#[derive(Clone, Debug)]
pub struct Mover {
    /// Where the node is, and what it draws from.
    track: Track,
    model: Model,
}

/// What a node knows about its own movement. What all nodes share is behind an [`Arc`].
#[derive(Clone, Debug)]
enum Model {
    Rest,
    Linear(linear::Linear),
    Direction(Direction),
    Waypoint(Waypoint),
    GaussMarkov(GaussMarkov),
    Walk(Walk),
    Recording(Recording),
}

/// Puts all nodes in place and gives each its movement.
///
/// The first leg of every mover starts at [`Time::ZERO`](crate::time::Time::ZERO). Node i draws its place from
/// [`Purpose::Placement`] and everything else from [`Purpose::Mobility`], both at index i: more nodes do not move the
/// others, and nodes placed at random start in the same places under every model but waypoint, whose steady state is
/// not uniform.
pub fn movers(mobility: &Mobility, area: Area, nodes: u32, streams: Streams) -> Result<Vec<Mover>, MobilityError> {
    check_area(area)?;
    let start = placement::Start::new(mobility, area, nodes)?;
    let model = prepare(mobility, area, nodes)?;
    let mover = |node| {
        let at = start.of(node, &mut streams.stream(Purpose::Placement, node));
        let mut track = Track::new(streams.stream(Purpose::Mobility, node), area, at);
        let model = model(node, &mut track);
        Mover { track, model }
    };
    Ok((0..nodes).map(mover).collect())
}

impl Mover {
    /// The leg that starts when the one before ended. After a leg that ends [`Time::NEVER`](crate::time::Time::NEVER)
    /// there is none to ask for.
    pub fn next_leg(&mut self) -> Leg {
        let track = &mut self.track;
        match &mut self.model {
            Model::Rest => track.rest(Span(u64::MAX)),
            Model::Linear(model) => model.next_leg(track),
            Model::Direction(model) => model.next_leg(track),
            Model::Waypoint(model) => model.next_leg(track),
            Model::GaussMarkov(model) => model.next_leg(track),
            Model::Walk(model) => model.next_leg(track),
            Model::Recording(model) => model.next_leg(track),
        }
    }
}

/// Makes the model of a node. It may move the track, which stands where placement put it.
type Maker = Box<dyn Fn(u32, &mut Track) -> Model>;

/// Checks the parameters once, for all nodes.
fn prepare(mobility: &Mobility, area: Area, nodes: u32) -> Result<Maker, MobilityError> {
    Ok(match mobility.clone() {
        Mobility::Static(_) => Box::new(|_, _| Model::Rest),
        Mobility::Linear { speed } => {
            check_speed(&speed)?;
            Box::new(move |_, track| Model::Linear(linear::Linear::new(&speed, track)))
        }
        Mobility::Direction { speed, pause } => {
            check_speed(&speed)?;
            check_times("a pause", &pause)?;
            let shared = Arc::new((speed, pause));
            Box::new(move |_, track| Model::Direction(Direction::new(Arc::clone(&shared), track)))
        }
        Mobility::Waypoint { slowest, fastest, pause } => {
            check_number("the slowest speed", slowest, f64::MIN_POSITIVE, fastest)?;
            check_speed(&Distribution::Uniform { low: slowest, high: fastest })?;
            check_times("a pause", &pause)?;
            let shared = Arc::new(Waypoints::new(area, slowest, fastest, pause));
            Box::new(move |_, track| Model::Waypoint(Waypoint::new(Arc::clone(&shared), track)))
        }
        Mobility::GaussMarkov { step, memory, speed, speed_deviation, direction_deviation } => {
            if step == Span::ZERO {
                return Err(MobilityError::NoTime { what: "a step" });
            }
            check_number("the memory", memory, 0.0, 1.0)?;
            check_speed(&Distribution::Constant(speed))?;
            check_number("the deviation of the speed", speed_deviation, 0.0, track::LIGHT)?;
            check_number("the deviation of the direction", direction_deviation, 0.0, 1e3)?;
            let habits = Habits::new(area, step, memory, speed, speed_deviation, direction_deviation);
            let shared = Arc::new(habits);
            Box::new(move |_, track| Model::GaussMarkov(GaussMarkov::new(Arc::clone(&shared), track)))
        }
        Mobility::Walk { speed, leg, turn } => {
            check_speed(&speed)?;
            check_times("a leg", &leg)?;
            if leg.mean() <= 0.0 {
                return Err(MobilityError::NoTime { what: "a leg" });
            }
            check_number("the turn", turn, 0.0, std::f64::consts::PI)?;
            let shared = Arc::new(walk::Manner { speed, leg, turn });
            Box::new(move |_, track| Model::Walk(Walk::new(Arc::clone(&shared), track)))
        }
        Mobility::Trace { source: _, legs } => {
            trace::check(&legs, area, nodes)?;
            Box::new(move |node, _| Model::Recording(Recording::new(Arc::clone(&legs), node)))
        }
    })
}
