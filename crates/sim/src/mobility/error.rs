//! What can be wrong with a movement, in words that help to correct the file.

use crate::distribution::Distribution;
use crate::mobility::track::LIGHT;
use crate::scenario::Area;

/// Why nodes cannot move like that.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MobilityError {
    /// The area is empty.
    #[error("an area of {width} m x {height} m is no place to be in: both sides must be greater than zero")]
    Area { width: f64, height: f64 },
    #[error("{what} cannot be {value}: it must be between {least} and {most}")]
    Number { what: &'static str, value: f64, least: f64, most: f64 },
    /// Something must take time and does not.
    #[error("{what} must take some time, or nothing would ever happen")]
    NoTime { what: &'static str },
    /// Times are drawn from a distribution that has no mean.
    #[error("{what} is drawn from a distribution without a finite mean")]
    Endless { what: &'static str },
    /// There are fewer places or recordings than nodes.
    #[error("there are {nodes} nodes but only {given} {what}")]
    TooFew { what: &'static str, given: usize, nodes: u32 },
    #[error("node {node} stands at ({x}, {y}), which is outside of the area of {width} m x {height} m")]
    Outside { node: u32, x: f64, y: f64, width: f64, height: f64 },
    /// A recording is not what a recording should be.
    #[error("leg {leg} of node {node} {problem}")]
    Trace {
        node: u32,
        /// From 0.
        leg: usize,
        problem: String,
    },
}

pub(super) fn check_area(area: Area) -> Result<(), MobilityError> {
    let Area { width, height } = area;
    let fine = |side: f64| side.is_finite() && side > 0.0;
    if fine(width) && fine(height) { Ok(()) } else { Err(MobilityError::Area { width, height }) }
}

pub(super) fn check_number(what: &'static str, value: f64, least: f64, most: f64) -> Result<(), MobilityError> {
    // Written so that what is no number is refused.
    if value >= least && value <= most { Ok(()) } else { Err(MobilityError::Number { what, value, least, most }) }
}

/// A speed may be drawn from anything that is never negative. Distributions without a greatest value are cut at the
/// speed of light.
pub(super) fn check_speed(speed: &Distribution) -> Result<(), MobilityError> {
    let (least, most) = speed.range();
    check_number("a speed", least, 0.0, LIGHT)?;
    check_number("a speed", if most == f64::INFINITY { least } else { most }, least, LIGHT)
}

pub(super) fn check_times(what: &'static str, times: &Distribution) -> Result<(), MobilityError> {
    let (least, most) = times.range();
    check_number(what, least, 0.0, f64::MAX)?;
    check_number(what, most, least, f64::INFINITY)?;
    let mean = times.mean();
    if mean.is_finite() && mean >= 0.0 { Ok(()) } else { Err(MobilityError::Endless { what }) }
}
