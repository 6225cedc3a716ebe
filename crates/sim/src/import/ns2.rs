//! ns-2 movement: Tcl commands that set nodes in place and send them to destinations.
//!
//! ```text
//! $node_(0) set X_ 131.9                                          where it starts; may stand anywhere in the file
//! $ns_ at 1.5 "$node_(0) setdest 246.7 114.9 1.16" ;# comment     to x, y at metres per second
//! $ns_ at 9.0 "$node_(0) switch OFF"                              the node goes, or comes (ON)
//! ```
//!
//! - Comments hold commands, too: what follows a `#` at the start of a command is not read.
//! - A new `setdest` cuts the leg before; one at speed 0 halts; one at a million metres per second or more is a jump
//!   (files use 1e9). Commands of one moment are carried out in the order of the file.
//! - `off` and `on` are `switch OFF` and `switch ON`. A scheduled `set X_` puts the node elsewhere, and it halts.
//! - What is no command to a node (`$god_ ...`, `set val(x) 500`) does not move anything and is not read.

use std::collections::BTreeMap;

use crate::geometry::Point;
use crate::import::error::ImportError;
use crate::import::record::Record;
use crate::import::source::{Lines, Place, shown};
use crate::import::{Imported, NodeTrack};
use crate::time::{Span, Time};

/// In metres per second: faster is no movement but a jump.
const JUMP: f64 = 1e6;
/// What can be told to a node that does not move it.
const HARMLESS: [&str; 9] =
    ["add-mark", "color", "delete-mark", "label", "namattach", "random-motion", "reset", "shape", "start"];
const COMMANDS: &str =
    "commands to a node are `set X_ 1.5`, `setdest X Y SPEED`, `switch ON`, `switch OFF`, `on`, `off`";

/// What a file tells of one node.
struct Orders {
    line: usize,
    x: Option<f64>,
    y: Option<f64>,
    /// In the order of the file.
    scheduled: Vec<(Time, Order)>,
}

#[derive(Clone, Copy)]
enum Order {
    SetX(f64),
    SetY(f64),
    /// To where, and how fast.
    Go(Point, f64),
    Switch {
        on: bool,
    },
    /// Without effect on movement.
    Nothing,
}

pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Imported, ImportError> {
    let mut nodes = BTreeMap::<u64, Orders>::new();
    let mut lines = Lines::new(file, bytes);
    while let Some((place, line)) = lines.next()? {
        for command in line.split(';').map(str::trim) {
            if command.starts_with('#') {
                break;
            }
            if command.matches('"').count() % 2 == 1 {
                return Err(place.error("a quotation mark is missing", "a command begins and ends in the same line"));
            }
            let bare = command.replace(['"', '{', '}'], " ");
            let words: Vec<_> = bare.split_whitespace().collect();
            carry_out(place, &words, &mut nodes)?;
        }
    }
    let track = |(id, orders)| NodeTrack::follow(file, id, orders);
    let nodes = nodes.into_iter().map(track).collect::<Result<_, _>>()?;
    Imported::new(Place { file, line: 0 }, nodes, Time::ZERO)
}

fn carry_out(place: Place<'_>, words: &[&str], nodes: &mut BTreeMap<u64, Orders>) -> Result<(), ImportError> {
    let (at, words) = match words {
        [who, "at", time, words @ ..] if who.starts_with('$') => (Some(*time), words),
        [who, "at", ..] if who.starts_with('$') => {
            return Err(place.error("at which time?", "as in `$ns_ at 1.5 \"$node_(0) setdest 10 20 3\"`"));
        }
        words => (None, words),
    };
    let Some((id, words)) = words.split_first().and_then(|(first, words)| Some((node(first)?, words))) else {
        return Ok(()); // not to a node
    };
    let order = order(place, words)?;
    let fresh = Orders { line: place.line, x: None, y: None, scheduled: Vec::new() };
    let node = nodes.entry(id).or_insert(fresh);
    match (at, order) {
        (_, Order::Nothing) => {}
        (Some(time), order) => node.scheduled.push((place.time(time)?, order)),
        (None, Order::SetX(x)) => node.x = Some(x),
        (None, Order::SetY(y)) => node.y = Some(y),
        (None, Order::Go(..) | Order::Switch { .. }) => {
            return Err(place.error("when?", "as in `$ns_ at 1.5 \"$node_(0) setdest 10 20 3\"`"));
        }
    }
    Ok(())
}

/// The number in `$node_(12)`, for any variable name.
fn node(word: &str) -> Option<u64> {
    let (_, number) = word.strip_prefix('$')?.strip_suffix(')')?.split_once('(')?;
    number.parse().ok()
}

fn order(place: Place<'_>, words: &[&str]) -> Result<Order, ImportError> {
    let lower: Vec<_> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let lower: Vec<_> = lower.iter().map(String::as_str).collect();
    Ok(match lower[..] {
        ["set", "x_", x] => Order::SetX(place.metres(x)?),
        ["set", "y_", y] => Order::SetY(place.metres(y)?),
        ["set", "z_", z] => {
            place.metres(z)?;
            Order::Nothing // the world is flat
        }
        ["setdest", x, y, speed] => {
            let speed = place.number(speed, "a speed in metres per second")?;
            if speed < 0.0 {
                return Err(place.error(format!("a speed of {speed} m/s"), "a speed is zero or more"));
            }
            Order::Go(Point::new(place.metres(x)?, place.metres(y)?), speed)
        }
        ["switch", "on"] | ["on"] => Order::Switch { on: true },
        ["switch", "off"] | ["off"] => Order::Switch { on: false },
        [word, ..] if HARMLESS.contains(&word) => Order::Nothing,
        _ => return Err(place.error(format!("{} is not understood", shown(&words.join(" "))), COMMANDS)),
    })
}

impl NodeTrack {
    /// Carries out all orders to a node.
    fn follow(file: &str, id: u64, mut orders: Orders) -> Result<Self, ImportError> {
        let (Some(x), Some(y)) = (orders.x, orders.y) else {
            let place = Place { file, line: orders.line };
            let help = format!("`$node_({id}) set X_ 1.5` and `$node_({id}) set Y_ 1.5` anywhere in the file say it");
            return Err(place.error(format!("it is not said where node {id} starts"), help));
        };
        let mut record = Record::new(Point::new(x, y), true);
        // Where the node goes to, and when it is there.
        let mut journey = None;
        orders.scheduled.sort_by_key(|(time, _)| *time);
        for (time, order) in orders.scheduled {
            advance(&mut record, &mut journey, time);
            match order {
                Order::SetX(x) => (record.at.x, journey) = (x, None),
                Order::SetY(y) => (record.at.y, journey) = (y, None),
                Order::Go(to, speed) if speed >= JUMP => (record.at, journey) = (to, None),
                Order::Go(_, 0.0) => journey = None,
                Order::Go(to, speed) => {
                    let span = Span::from_seconds((to - record.at).length() / speed);
                    // A node that would not arrive in centuries stands.
                    journey = Some((to, time + span)).filter(|(_, arrival)| *arrival < Time::NEVER);
                }
                Order::Switch { on } => record.present = on,
                Order::Nothing => {}
            }
        }
        if let Some((to, arrival)) = journey {
            record.go(to, arrival);
        }
        Ok(Self { name: id.to_string(), legs: record.finish() })
    }
}

fn advance(record: &mut Record, journey: &mut Option<(Point, Time)>, now: Time) {
    if let Some((to, arrival)) = *journey {
        if arrival <= now {
            record.go(to, arrival);
            *journey = None;
        } else if record.now < now {
            let share = now.since(record.now).seconds() / arrival.since(record.now).seconds();
            record.go(record.at + (to - record.at) * share, now);
        }
    }
    record.wait(now);
}
