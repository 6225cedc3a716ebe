//! One line of a trace, read only as far as a viewer needs it: what messages and views say is passed on as it stands.

use std::borrow::Cow;

use meshlock_core::{Effect, Event};
use meshlock_trace::{Header, Link, Move, Position, VERSION};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A record, or something else that is JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<'a> {
    step: Option<u64>,
    time_ns: Option<u64>,
    pub(crate) node: Option<u32>,
    pub(crate) cause: Option<u64>,
    #[serde(borrow)]
    pub(crate) event: Option<Event<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(crate) effects: Vec<Effect<&'a RawValue>>,
    #[serde(borrow)]
    pub(crate) view: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) misuse: Option<&'a RawValue>,
    pub(crate) link: Option<Link>,
    #[serde(rename = "move")]
    pub(crate) movement: Option<Move>,
    #[serde(borrow)]
    pub(crate) lost: Option<Lost<'a>>,
    #[serde(borrow)]
    pub(crate) join: Option<Join<'a>>,
    #[serde(borrow)]
    pub(crate) end: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lost<'a> {
    pub(crate) from: u32,
    pub(crate) to: u32,
    #[serde(borrow, rename = "message")]
    _message: Option<&'a RawValue>,
    pub(crate) cause: Option<u64>,
}

/// A node of the header or one that comes later.
#[derive(Debug, Deserialize)]
pub(crate) struct Join<'a> {
    pub(crate) id: u32,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    pub(crate) position: Option<Position>,
    #[serde(borrow)]
    pub(crate) view: Option<&'a RawValue>,
}

/// The first line, with views as they stand.
#[derive(Debug, Deserialize)]
pub(crate) struct First<'a> {
    #[serde(borrow)]
    pub(crate) nodes: Vec<Join<'a>>,
    #[serde(default)]
    pub(crate) links: Vec<(u32, u32)>,
}

/// In which way a trace counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Clock {
    #[default]
    Step,
    TimeNs,
}

impl<'a> Line<'a> {
    /// The line is not blank.
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// When it happened.
    pub(crate) fn moment(&self) -> Result<(Clock, u64), String> {
        match (self.step, self.time_ns) {
            (Some(step), None) => Ok((Clock::Step, step)),
            (None, Some(time)) => Ok((Clock::TimeNs, time)),
            (None, None) => Err("it says neither `step` nor `time_ns`".into()),
            (Some(_), Some(_)) => Err("it says both `step` and `time_ns`".into()),
        }
    }
}

/// Reads the first line, and refuses what is no trace.
pub(crate) fn read_header(text: &str) -> Result<(Header, First<'_>), String> {
    #[derive(Deserialize)]
    struct Version {
        #[serde(rename = "meshlock-trace")]
        version: Option<serde_json::Value>,
    }
    let not_a_trace = |error| format!("this is no trace of meshlock: {error}");
    let Version { version } = serde_json::from_str(text).map_err(not_a_trace)?;
    match version {
        None => return Err("this is no trace of meshlock: its first line has no \"meshlock-trace\"".into()),
        Some(version) if version.as_u64() != Some(VERSION) => {
            return Err(format!("the trace has version {version}; this program shows version {VERSION}"));
        }
        Some(_) => {}
    }
    let wrong = |error| format!("the first line is not what belongs there: {error}");
    let header = serde_json::from_str(text).map_err(wrong)?;
    let first = serde_json::from_str(text).map_err(wrong)?;
    Ok((header, first))
}
