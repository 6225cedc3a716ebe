//! External movement of the ONE simulator: samples of all nodes, sorted by time.
//!
//! ```text
//! 0 600 1000 1500 2000 2500 0 0        from time, to time, from x, to x, from y, to y, and the same of z
//! 0 a 1010.5 2020.0                    at this time node a is there
//! 0 b 1500.0 2100.0
//! 1 a 1011.5 2020.0
//! ```
//!
//! - Times and places are counted from the least ones of the header, as the ONE does it.
//! - Between two samples a node goes straight, however far they are apart. Before its first it is absent, and after its
//!   last it stays.

use std::collections::BTreeMap;

use crate::geometry::Point;
use crate::import::error::ImportError;
use crate::import::record::Record;
use crate::import::source::{Lines, Place, shown};
use crate::import::{Imported, NodeTrack};
use crate::scenario::Area;
use crate::time::Time;

const HEADER: &str = "the first line is `minTime maxTime minX maxX minY maxY minZ maxZ` (without z will do)";
const SAMPLE: &str = "a line is `time id x y`, in seconds and metres";

struct Header {
    start: f64,
    end: Time,
    low: Point,
    area: Area,
}

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(file, bytes);
    let mut header: Option<Header> = None;
    let mut now = Time::ZERO;
    let mut index = BTreeMap::<String, usize>::new();
    let mut records = Vec::<(String, Record)>::new();
    while let Some((place, line)) = lines.next()? {
        let words: Vec<_> = line.split_whitespace().collect();
        if words.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(header) = &header else {
            header = Some(Header::read(place, &words)?);
            continue;
        };
        let [time, id, x, y, ..] = words[..] else {
            return Err(place.error(format!("{} is no sample", shown(&line)), SAMPLE));
        };
        let time = place.moment(place.number(time, "a time in seconds")? - header.start)?;
        if time < now {
            return Err(place.error("this is earlier than the line before", "all lines must be sorted by time"));
        }
        now = time;
        let at = Point::new(place.metres(x)?, place.metres(y)?) - header.low;
        match index.get(id).and_then(|known| records.get_mut(*known)) {
            Some((_, record)) => record.go(at, time),
            None => {
                index.insert(id.to_owned(), records.len());
                let mut record = Record::new(at, false);
                record.wait(time);
                record.present = true;
                records.push((id.to_owned(), record));
            }
        }
    }
    let place = Place { file, line: 0 };
    let header = header.ok_or_else(|| place.error("there is nothing in it", HEADER))?;
    let nodes = records.into_iter().map(|(name, record)| NodeTrack { name, legs: record.finish() });
    let mut imported = Imported::new(place, nodes.collect(), header.end)?;
    imported.declared = Some(header.area);
    Ok(imported)
}

impl Header {
    fn read(place: Place<'_>, words: &[&str]) -> Result<Self, ImportError> {
        let [start, end, west, east, south, north] = match words {
            [six @ .., _, _] if six.len() == 6 => numbers(place, six)?,
            six => numbers(place, six)?,
        };
        let (width, height) = (east - west, north - south);
        let ordered = start <= end && (0.0..=2e9).contains(&width) && (0.0..=2e9).contains(&height);
        if !ordered {
            return Err(place.error("a least value is greater than its greatest, or the area is endless", HEADER));
        }
        let end = place.moment(end - start)?;
        Ok(Self { start, end, low: Point::new(west, south), area: Area { width, height } })
    }
}

fn numbers(place: Place<'_>, words: &[&str]) -> Result<[f64; 6], ImportError> {
    let numbers = words.iter().map(|word| place.number(word, HEADER)).collect::<Result<Vec<_>, _>>()?;
    <[f64; 6]>::try_from(numbers).map_err(|numbers| place.error(format!("{} numbers", numbers.len()), HEADER))
}
