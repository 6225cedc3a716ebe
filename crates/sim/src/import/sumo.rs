//! SUMO's floating car data: in every time step, all vehicles and where they are.
//!
//! ```text
//! <fcd-export>
//!     <timestep time="0.00">
//!         <vehicle id="f0.0" x="252.30" y="238.40" angle="90.00" speed="0.00" .../>
//! ```
//!
//! - Vehicles come and go: one is absent until its first time step, and from the first that does not have it. It may
//!   come back elsewhere. Those of the last time step stay.
//! - Between time steps they go straight. Ids are words; persons and containers are nodes like vehicles.
//! - Coordinates may be negative or large; they must be metres, not degrees (`--fcd-output.geo` is not for this).
//! - Files are long, so they are read piece by piece.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::geometry::Point;
use crate::import::error::ImportError;
use crate::import::record::Record;
use crate::import::source::{Place, damaged, shown, unpacked};
use crate::import::{Imported, NodeTrack};
use crate::time::Time;

const VEHICLE: &str = "as in `<vehicle id=\"a\" x=\"1.5\" y=\"2.5\"/>`, which stands in a `<timestep time=\"0.00\">`";
const WHOLE: &str = "the file must be well-formed XML from beginning to end";

struct Vehicle {
    name: String,
    record: Record,
    step: usize,
}

#[derive(Default)]
struct Traffic {
    steps: Vec<Time>,
    vehicles: Vec<Vehicle>,
    /// By element and id: a person may be called like a vehicle.
    index: BTreeMap<(String, String), usize>,
}

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut reader = Reader::from_reader(Counted { inner: unpacked(bytes), line: 1 });
    let mut traffic = Traffic::default();
    let mut buffer = Vec::new();
    // The names of the elements that are open.
    let mut open = Vec::<String>::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let place = Place { file, line: reader.get_ref().line };
        match event.map_err(|error| broken(place, &error))? {
            Event::Start(element) => {
                traffic.meet(place, &element, open.last())?;
                open.push(element.local_name().as_ref().to_owned());
            }
            Event::Empty(element) => traffic.meet(place, &element, open.last())?,
            Event::End(_) => {
                open.pop();
            }
            Event::Eof if open.is_empty() => break,
            Event::Eof => return Err(place.error("the file ends in the middle", WHOLE)),
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
    traffic.finish(Place { file, line: 0 })
}

impl Traffic {
    fn meet(&mut self, place: Place<'_>, element: &BytesStart<'_>, within: Option<&String>) -> Result<(), ImportError> {
        let local = element.local_name();
        match (local.as_ref(), within.map(String::as_str)) {
            ("timestep", _) => self.on_timestep(place, element),
            (kind @ ("vehicle" | "person" | "container"), Some("timestep")) => self.on_vehicle(place, element, kind),
            _ => Ok(()),
        }
    }

    fn on_timestep(&mut self, place: Place<'_>, element: &BytesStart<'_>) -> Result<(), ImportError> {
        let [time] = attributes(place, element, ["time"])?;
        let time = place.moment(seconds(place, &time)?)?;
        if self.steps.last().is_some_and(|last| *last >= time) {
            return Err(place.error(format!("a time step at {time} comes too late"), "time steps must go up"));
        }
        self.steps.push(time);
        Ok(())
    }

    fn on_vehicle(&mut self, place: Place<'_>, element: &BytesStart<'_>, kind: &str) -> Result<(), ImportError> {
        let [id, x, y] = attributes(place, element, ["id", "x", "y"])?;
        let at = Point::new(place.metres(&x)?, place.metres(&y)?);
        let (Some(step), Some(&now)) = (self.steps.len().checked_sub(1), self.steps.last()) else {
            return Err(place.error("this is in no time step", VEHICLE));
        };
        let key = (kind.to_owned(), id);
        let Some(vehicle) = self.index.get(&key).and_then(|known| self.vehicles.get_mut(*known)) else {
            let mut record = Record::new(at, false);
            record.wait(now);
            record.present = true;
            self.vehicles.push(Vehicle { name: key.1.clone(), record, step });
            self.index.insert(key, self.vehicles.len() - 1);
            return Ok(());
        };
        if vehicle.step == step {
            let reason = format!("{kind} {} is twice in this time step", shown(&key.1));
            return Err(place.error(reason, "each id stands once in a time step"));
        }
        vehicle.leave(&self.steps[..step]);
        if vehicle.record.present {
            vehicle.record.go(at, now);
        } else {
            vehicle.record.wait(now);
            vehicle.record.at = at;
            vehicle.record.present = true;
        }
        vehicle.step = step;
        Ok(())
    }

    fn finish(self, place: Place<'_>) -> Result<Imported, ImportError> {
        let (Some(&begin), Some(&end)) = (self.steps.first(), self.steps.last()) else {
            return Err(place.error("there is no time step in it", VEHICLE));
        };
        let track = |mut vehicle: Vehicle| {
            vehicle.leave(&self.steps);
            NodeTrack { name: vehicle.name, legs: vehicle.record.finish() }
        };
        let nodes = self.vehicles.into_iter().map(track).collect();
        Ok(Imported { begin, ..Imported::new(place, nodes, end)? })
    }
}

impl Vehicle {
    /// Makes the vehicle absent if one of these time steps, which are all so far, does not have it any more.
    fn leave(&mut self, steps: &[Time]) {
        if let Some(&gone) = steps.get(self.step + 1) {
            self.record.wait(gone);
            self.record.present = false;
        }
    }
}

/// The values of these attributes, all of which must be there.
fn attributes<const N: usize>(
    place: Place<'_>,
    element: &BytesStart<'_>,
    names: [&str; N],
) -> Result<[String; N], ImportError> {
    let mut values = [const { None::<String> }; N];
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| place.error(format!("this is no XML ({error})"), WHOLE))?;
        let Some(wanted) = names.iter().position(|name| *name == attribute.key.as_ref()) else { continue };
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        values[wanted] = Some(value.map_err(|error| broken(place, &error))?.into_owned());
    }
    if let Some((name, _)) = names.iter().zip(&values).find(|(_, value)| value.is_none()) {
        return Err(place.error(format!("an attribute `{name}` is missing"), VEHICLE));
    }
    Ok(values.map(Option::unwrap_or_default))
}

/// `12.50`, or `00:00:12.50`, or `1:00:00:12` with days in front.
fn seconds(place: Place<'_>, text: &str) -> Result<f64, ImportError> {
    let parts: Vec<_> = text.split(':').collect();
    let sizes: &[f64] = match parts.len() {
        1 => &[1.0],
        3 => &[3_600.0, 60.0, 1.0],
        4 => &[86_400.0, 3_600.0, 60.0, 1.0],
        _ => return Err(place.error(format!("{} is no time", shown(text)), "seconds, or hours:minutes:seconds")),
    };
    let values = parts.iter().map(|part| place.number(part, "a time, in seconds or as hours:minutes:seconds"));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(values.iter().zip(sizes).map(|(value, size)| value * size).sum())
}

fn broken(place: Place<'_>, error: &quick_xml::Error) -> ImportError {
    if let quick_xml::Error::Io(error) = error {
        return damaged(place, error);
    }
    place.error(format!("this is no XML ({error})"), WHOLE)
}

/// Knows in which line it is.
struct Counted<R> {
    inner: R,
    line: usize,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(into)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        // What was filled is still there and costs nothing to look at again.
        if let Ok(filled) = self.inner.fill_buf() {
            self.line += filled.iter().take(length).filter(|byte| **byte == b'\n').count();
        }
        self.inner.consume(length);
    }
}
