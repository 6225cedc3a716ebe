//! BonnMotion's own format: a line per node, with times and places in turns.
//!
//! ```text
//! 0.0 121.9 237.3 290.8 343.7 161.9 330.8 343.7 161.9        at 0 s, at 290.8 s, still there at 330.8 s
//! ```
//!
//! - A place said twice is a rest. Before its first time a node stands at its first place, as BonnMotion itself has it:
//!   the first time is when it first leaves. After its last time it stays.
//! - Places may have a height, which is dropped. Whether they do is seen from the lines themselves, since there are
//!   `.params` files that say `dim=3` beside lines without a height.
//! - The `.params` file gives the area, the duration and the number of nodes (`nn`), which must be that of lines.

use crate::geometry::Point;
use crate::import::error::ImportError;
use crate::import::record::Record;
use crate::import::source::{Lines, Place};
use crate::import::{Imported, NodeTrack};
use crate::scenario::Area;
use crate::time::Time;

struct Line<'a> {
    place: Place<'a>,
    numbers: Vec<f64>,
}

pub(super) fn read(file: &str, bytes: &[u8], params: Option<&str>) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(file, bytes);
    let mut nodes = Vec::new();
    while let Some((place, line)) = lines.next()? {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let numbers = line.split_whitespace().map(|word| place.metres(word)).collect::<Result<_, _>>()?;
        nodes.push(Line { place, numbers });
    }
    let params = Params::read(params.unwrap_or_default());
    let stride = stride(&nodes, params.dimensions)?;
    let nodes = nodes.iter().enumerate().map(|(number, line)| line.track(number, stride));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    let place = Place { file, line: 0 };
    if let Some(expected) = params.nodes.filter(|expected| *expected != nodes.len() as f64) {
        let reason = format!("there are {} nodes, but the parameters say {expected}", nodes.len());
        return Err(place.error(reason, "each line is a node; is the file complete, and are they its parameters?"));
    }
    let duration = params.duration.map_or(Ok(Time::ZERO), |seconds| place.moment(seconds))?;
    let mut imported = Imported::new(place, nodes, duration)?;
    imported.declared = params.area;
    Ok(imported)
}

/// Numbers per place and time: three, or four with a height, whatever fits more lines; then it must fit all. Where both
/// do, the parameters decide.
fn stride(lines: &[Line<'_>], dimensions: Option<f64>) -> Result<usize, ImportError> {
    let fitting = |stride| lines.iter().filter(|line| line.fits(stride)).count();
    let (flat, high) = (fitting(3), fitting(4));
    let stride = if high > flat || (high == flat && dimensions == Some(3.0)) { 4 } else { 3 };
    match lines.iter().find(|line| !line.fits(stride)) {
        Some(line) => Err(line.error(stride)),
        None => Ok(stride),
    }
}

impl Line<'_> {
    /// Whether the line can be read like that: nothing is left over, and times do not go back.
    fn fits(&self, stride: usize) -> bool {
        let times = || self.numbers.iter().step_by(stride);
        let sorted = times().zip(times().skip(1)).all(|(one, next)| one <= next);
        self.numbers.len().is_multiple_of(stride) && sorted
    }

    fn error(&self, stride: usize) -> ImportError {
        let count = self.numbers.len();
        let help = "a line is `time x y` (or `time x y z`) again and again, in seconds and metres, times going up";
        if !count.is_multiple_of(stride) {
            return self.place.error(format!("{count} numbers are not {stride} for each place"), help);
        }
        let times: Vec<_> = self.numbers.iter().step_by(stride).collect();
        let back = times.windows(2).find(|pair| pair[0] > pair[1]);
        let told = back.map_or_else(String::new, |pair| format!("after {} s comes {} s", pair[0], pair[1]));
        self.place.error(told, help)
    }

    fn track(&self, number: usize, stride: usize) -> Result<NodeTrack, ImportError> {
        let mut record: Option<Record> = None;
        for stop in self.numbers.chunks_exact(stride) {
            let [seconds, x, y, ..] = *stop else { continue };
            let (time, at) = (self.place.moment(seconds)?, Point::new(x, y));
            match &mut record {
                None => record.insert(Record::new(at, true)).wait(time),
                Some(record) => record.go(at, time),
            }
        }
        let legs = record.map_or_else(Vec::new, Record::finish);
        Ok(NodeTrack { name: number.to_string(), legs })
    }
}

/// What matters of a `.params` file, which has a `key=value` in each line.
struct Params {
    nodes: Option<f64>,
    dimensions: Option<f64>,
    duration: Option<f64>,
    area: Option<Area>,
}

impl Params {
    fn read(text: &str) -> Self {
        let pairs: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |wanted: &str| -> Option<f64> {
            let (_, value) = pairs.iter().find(|(key, _)| key.trim() == wanted)?;
            value.trim().parse().ok().filter(|value: &f64| value.is_finite())
        };
        let area = value("x").zip(value("y")).map(|(width, height)| Area { width, height });
        let sensible = |area: &Area| (0.0..=1e9).contains(&area.width) && (0.0..=1e9).contains(&area.height);
        let area = area.filter(sensible);
        Self { nodes: value("nn"), dimensions: value("dim"), duration: value("duration"), area }
    }
}
