//! What kind of value a key takes: how it is read, checked and told.

use meshlock_core::Delay;

use super::draw;
use super::near;
use super::place::{Place, Problem};
use super::quantity::{Quantity, Range};
use super::value::{Value, quoted};
use crate::distribution::Distribution;

/// What kind of value a key takes.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// The name of a file, looked for beside the scenario.
    File,
    /// One of some words.
    Word(fn() -> Vec<&'static str>),
    Flag,
    /// A whole number from the first to the second.
    Whole(i64, i64),
    Real(Range),
    /// A number with a unit.
    Amount(Quantity, Range),
    /// A number with a unit, or this word.
    AmountOr(Quantity, Range, &'static str),
    Draw(Quantity, Range),
    /// `1s..2s`, or `none`.
    Retry,
    /// Two numbers with units.
    Pair(Quantity, Range),
    Link,
    /// A list of pairs of nodes.
    Links,
    /// `"all"`, a node, a list of nodes, or `"0..9"` with both ends.
    Nodes,
    /// A list of texts.
    Texts,
    /// A list of texts, or a list of such lists.
    Groups,
    /// Any text, number or list; the meaning is another key's.
    Raw,
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Read {
    /// Of texts, words and files.
    Text(String),
    Flag(bool),
    Whole(i64),
    /// Of numbers and amounts.
    Real(f64),
    Draw(Distribution),
    /// Of delays before something is repeated.
    Retry(Option<Delay>),
    Pair(f64, f64),
    /// Of links, each with its place.
    Links(Vec<(u32, u32, Place)>),
    /// Of nodes; `None` are all.
    Nodes(Option<Vec<u32>>),
    /// Of texts, each with its place.
    Texts(Vec<(String, Place)>),
    /// Of lists of texts.
    Groups(Vec<Vec<(String, Place)>>),
    Raw(Value),
}

impl Kind {
    pub(super) fn read(self, name: &str, value: &Value, place: &Place) -> Result<Read, Problem> {
        let wrong = |message: String, help: String| Err(Problem::new(place, message, help));
        let unfit = || wrong(format!("`{name}` needs {}, not {}", self.needs(), value.words()), self.how());
        let near = |(message, help): (String, String)| Problem::new(place, message, help);
        match (self, value) {
            (Self::Text | Self::File, Value::Text(text)) if text.is_empty() => {
                wrong(format!("`{name}` is empty"), String::new())
            }
            (Self::Text | Self::File, Value::Text(text)) => Ok(Read::Text(text.clone())),
            (Self::Word(words), Value::Text(text)) => match words().contains(&text.as_str()) {
                true => Ok(Read::Text(text.clone())),
                false => wrong(format!("there is no {name} `{text}`"), near::help(text, &words())),
            },
            (Self::Flag, Value::Flag(flag)) => Ok(Read::Flag(*flag)),
            (Self::Whole(least, most), Value::Whole(number)) if (least..=most).contains(number) => {
                Ok(Read::Whole(*number))
            }
            (Self::Whole(..), Value::Whole(number)) => wrong(format!("{number} is out of range"), self.how()),
            (Self::Whole(..), Value::Real(number)) => wrong(format!("{number} is not a whole number"), self.how()),
            (Self::Real(range), Value::Whole(_) | Value::Real(_)) => match number_of(value) {
                Some(number) if number.is_finite() && range.has(number) => Ok(Read::Real(number)),
                Some(_) | None => wrong(format!("{} is out of range", value.to_toml()), self.how()),
            },
            (Self::AmountOr(_, _, word), Value::Text(text)) if text == word => Ok(Read::Text(text.clone())),
            (Self::AmountOr(_, _, word), Value::Text(text)) if near::nearest(text, &[word]).is_some() => {
                wrong(format!("there is no {name} `{text}`"), self.how())
            }
            (Self::Amount(quantity, range) | Self::AmountOr(quantity, range, _), Value::Text(text)) => {
                match quantity.parse(text).map_err(near)? {
                    amount if range.has(amount) => Ok(Read::Real(amount)),
                    _ => wrong(format!("`{text}` is out of range"), self.how()),
                }
            }
            (
                Self::Amount(quantity, _) | Self::AmountOr(quantity, _, _) | Self::Draw(quantity, _),
                Value::Whole(_) | Value::Real(_),
            ) if quantity != Quantity::Count => no_unit(name, quantity, value, place),
            (Self::Draw(quantity, range), Value::Text(text)) => {
                Ok(Read::Draw(draw::parse(text, quantity, range).map_err(near)?))
            }
            (Self::Draw(quantity, range), Value::Whole(_) | Value::Real(_)) => {
                Ok(Read::Draw(draw::parse(&value.to_toml().replace(".0", ""), quantity, range).map_err(near)?))
            }
            (Self::Retry, Value::Text(text)) if text == "none" => Ok(Read::Retry(None)),
            (Self::Retry, Value::Text(text)) => match delay(text).map_err(near)? {
                Some(delay) => Ok(Read::Retry(Some(delay))),
                None => wrong(format!("`{text}` is out of range"), self.how()),
            },
            (Self::Pair(quantity, range), Value::List(list)) => match list.as_slice() {
                [(one, first), (two, second)] => {
                    let read = |value, place| Self::Amount(quantity, range).read(name, value, place);
                    match (read(one, first)?, read(two, second)?) {
                        (Read::Real(one), Read::Real(two)) => Ok(Read::Pair(one, two)),
                        _ => unfit(),
                    }
                }
                _ => wrong(format!("`{name}` needs two values, not {}", list.len()), self.how()),
            },
            (Self::Link, Value::List(_)) => Ok(Read::Links(vec![link(name, value, place)?])),
            (Self::Links, Value::List(list)) => {
                let links = list.iter().map(|(value, place)| link(name, value, place));
                Ok(Read::Links(links.collect::<Result<_, _>>()?))
            }
            (Self::Nodes, Value::Text(text)) if text == "all" => Ok(Read::Nodes(None)),
            (Self::Nodes, Value::Text(text)) => match node_range(text) {
                Some(nodes) => Ok(Read::Nodes(Some(nodes))),
                None => wrong(format!("`{text}` does not name nodes"), self.how()),
            },
            (Self::Nodes, Value::Whole(_)) => Ok(Read::Nodes(Some(vec![node(name, value, place)?]))),
            (Self::Nodes, Value::List(list)) if !list.is_empty() => {
                let mut nodes: Vec<u32> =
                    list.iter().map(|(value, place)| node(name, value, place)).collect::<Result<_, _>>()?;
                nodes.sort_unstable();
                nodes.dedup();
                Ok(Read::Nodes(Some(nodes)))
            }
            (Self::Texts, Value::List(list)) => Ok(Read::Texts(texts(name, list)?)),
            (Self::Groups, Value::List(list)) => Ok(Read::Groups(groups(name, list)?)),
            (Self::Raw, Value::Text(_) | Value::Whole(_) | Value::Real(_) | Value::Flag(_) | Value::List(_)) => {
                Ok(Read::Raw(value.clone()))
            }
            (
                Self::Text
                | Self::File
                | Self::Word(_)
                | Self::Flag
                | Self::Whole(..)
                | Self::Real(_)
                | Self::Amount(..)
                | Self::AmountOr(..)
                | Self::Draw(..)
                | Self::Retry
                | Self::Pair(..)
                | Self::Link
                | Self::Links
                | Self::Nodes
                | Self::Texts
                | Self::Groups
                | Self::Raw,
                _,
            ) => unfit(),
        }
    }

    /// The value in one form, in TOML: equal values, equal texts.
    pub(super) fn canonical(self, read: &Read) -> String {
        match (self, read) {
            (Self::Amount(quantity, _) | Self::AmountOr(quantity, ..), Read::Real(amount)) => {
                quoted(&quantity.show(*amount))
            }
            (Self::Draw(quantity, _), Read::Draw(distribution)) => quoted(&draw::show(distribution, quantity)),
            (Self::Pair(quantity, _), Read::Pair(one, two)) => {
                format!("[{}, {}]", quoted(&quantity.show(*one)), quoted(&quantity.show(*two)))
            }
            (_, Read::Text(text)) => quoted(text),
            (_, Read::Flag(flag)) => flag.to_string(),
            (_, Read::Whole(number)) => number.to_string(),
            (_, Read::Real(number)) => format!("{number:?}"),
            (_, Read::Retry(None)) => quoted("none"),
            (_, Read::Retry(Some(Delay { least_ms, most_ms }))) => quoted(&format!("{least_ms}ms..{most_ms}ms")),
            (_, Read::Links(links)) => {
                let all: Vec<_> = links.iter().map(|(a, b, _)| format!("[{a}, {b}]")).collect();
                format!("[{}]", all.join(", "))
            }
            (_, Read::Nodes(None)) => quoted("all"),
            (_, Read::Nodes(Some(nodes))) => format!("{nodes:?}"),
            (_, Read::Texts(texts)) => format!("{:?}", texts.iter().map(|(text, _)| text).collect::<Vec<_>>()),
            (_, Read::Draw(_) | Read::Pair(..) | Read::Groups(_) | Read::Raw(_)) => String::new(),
        }
    }

    pub(super) fn needs(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::File => "the name of a file".to_owned(),
            Self::Word(words) => words().iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "),
            Self::Flag => "true or false".to_owned(),
            Self::Whole(..) => "a whole number".to_owned(),
            Self::Real(_) => "a number".to_owned(),
            Self::Amount(quantity, _) => quantity.words().to_owned(),
            Self::AmountOr(quantity, _, word) => format!("{} or \"{word}\"", quantity.words()),
            Self::Draw(quantity, _) => format!("{} or a distribution", quantity.words()),
            Self::Retry => "\"1s..2s\" or \"none\"".to_owned(),
            Self::Pair(quantity, _) => format!("a list of two: {} each", quantity.words()),
            Self::Link => "two nodes".to_owned(),
            Self::Links => "a list of pairs of nodes".to_owned(),
            Self::Nodes => "nodes".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Groups => "a list of lists of keys".to_owned(),
            Self::Raw => "a value".to_owned(),
        }
    }

    /// The allowed values in words, if they are limited.
    pub(super) fn limits(self) -> String {
        match self {
            Self::Whole(least, most) => {
                let most = if most == i64::MAX { String::new() } else { format!(" and at most {most}") };
                format!("at least {least}{most}")
            }
            Self::Real(range) => range.words(None),
            Self::Amount(quantity, range)
            | Self::AmountOr(quantity, range, _)
            | Self::Draw(quantity, range)
            | Self::Pair(quantity, range) => range.words(Some(quantity)),
            Self::Retry => "1ms to 1000000s".to_owned(),
            Self::Text
            | Self::File
            | Self::Word(_)
            | Self::Flag
            | Self::Link
            | Self::Links
            | Self::Nodes
            | Self::Texts
            | Self::Groups
            | Self::Raw => String::new(),
        }
    }

    pub(super) fn how(self) -> String {
        let limited = |how: String| match self.limits() {
            limits if limits.is_empty() => how,
            limits => format!("{how}; allowed: {limits}"),
        };
        match self {
            Self::Whole(..) | Self::Real(_) => {
                format!("allowed: {} {}", self.needs(), self.limits()).trim_end().to_owned()
            }
            Self::Amount(quantity, _) => limited(quantity.how()),
            Self::AmountOr(quantity, _, word) => limited(format!("write \"{word}\" or \"{}\"", quantity.example())),
            Self::Draw(quantity, _) => limited(draw::how(quantity)),
            Self::Retry => "write \"1s..2s\" or \"none\"; allowed: 1ms to 1000000s".to_owned(),
            Self::Pair(quantity, _) => limited(format!("write [\"{0}\", \"{0}\"]", quantity.example())),
            Self::Link => "write [0, 1]".to_owned(),
            Self::Links => "write [[0, 1], [1, 2]]".to_owned(),
            Self::Nodes => "write \"all\", 3, [0, 1] or \"0..9\" (both ends are meant)".to_owned(),
            Self::Texts => "write [\"one\", \"two\"]".to_owned(),
            Self::Groups => "write [[\"nodes\", \"radio.range\"]]".to_owned(),
            Self::Flag => "write true or false, without quotes".to_owned(),
            Self::Text | Self::File | Self::Word(_) | Self::Raw => format!("write {}", self.needs()),
        }
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Table => None,
    }
}

fn no_unit(name: &str, quantity: Quantity, value: &Value, place: &Place) -> Result<Read, Problem> {
    let unit = quantity.unit_names().first().copied().unwrap_or_default();
    let help = format!("write \"{}{unit}\"; units: {}", value.to_toml(), quantity.unit_names().join(", "));
    Err(Problem::new(place, format!("`{name}` is {} and needs a unit", quantity.words()), help))
}

fn node(name: &str, value: &Value, place: &Place) -> Result<u32, Problem> {
    let number = if let Value::Whole(number) = value { u32::try_from(*number).ok() } else { None };
    let wrong =
        || Problem::new(place, format!("`{name}` needs the number of a node here"), "nodes are numbered from 0");
    number.ok_or_else(wrong)
}

fn link(name: &str, value: &Value, place: &Place) -> Result<(u32, u32, Place), Problem> {
    let Value::List(ends) = value else {
        return Err(Problem::new(place, format!("`{name}` needs two nodes here"), Kind::Link.how()));
    };
    let [(a, place_a), (b, place_b)] = ends.as_slice() else {
        return Err(Problem::new(place, format!("a link has two ends, not {}", ends.len()), Kind::Link.how()));
    };
    let (a, b) = (node(name, a, place_a)?, node(name, b, place_b)?);
    if a == b {
        return Err(Problem::new(place, format!("node {a} cannot be linked to itself"), Kind::Link.how()));
    }
    Ok((a, b, place.clone()))
}

/// `0..9`, with both ends.
fn node_range(text: &str) -> Option<Vec<u32>> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (low.trim().parse::<u32>().ok()?, high.trim().parse::<u32>().ok()?);
    (low <= high && high - low < MOST_NODES).then(|| (low..=high).collect())
}

/// `1s..2s` or `1s`; `None` if it is out of range.
fn delay(text: &str) -> Result<Option<Delay>, (String, String)> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let milliseconds = |text| Quantity::Time.parse(text).map(|seconds| (seconds * 1e3).round());
    let (least, most) = (milliseconds(least)?, milliseconds(most)?);
    let fits = least >= 1.0 && least <= most && most <= 1e9;
    Ok(fits.then_some(Delay { least_ms: least as u32, most_ms: most as u32 }))
}

fn texts(name: &str, list: &[(Value, Place)]) -> Result<Vec<(String, Place)>, Problem> {
    let one = |(value, place): &(Value, Place)| match value {
        Value::Text(text) => Ok((text.clone(), place.clone())),
        Value::Whole(_) | Value::Real(_) | Value::Flag(_) | Value::List(_) | Value::Table => {
            let message = format!("`{name}` needs a text here, not {}", value.words());
            Err(Problem::new(place, message, Kind::Texts.how()))
        }
    };
    list.iter().map(one).collect()
}

fn groups(name: &str, list: &[(Value, Place)]) -> Result<Vec<Vec<(String, Place)>>, Problem> {
    let inner = |(value, _): &(Value, Place)| match value {
        Value::List(inner) => Some(inner.clone()),
        Value::Text(_) | Value::Whole(_) | Value::Real(_) | Value::Flag(_) | Value::Table => None,
    };
    match list.iter().map(inner).collect::<Option<Vec<_>>>() {
        Some(groups) => groups.iter().map(|group| texts(name, group)).collect(),
        None => Ok(vec![texts(name, list)?]),
    }
}

/// More nodes than any run can have.
pub(super) const MOST_NODES: u32 = 100_000;
