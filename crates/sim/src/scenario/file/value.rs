//! TOML values with their places, owned, so that a document outlives its text.

use toml::Spanned;
use toml::de::DeValue;

use super::place::Place;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) place: Place,
    pub(super) key: Place,
}

/// A value of TOML. Dates have no use here and are read as text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// Without a point.
    Whole(i64),
    /// With a point.
    Real(f64),
    Flag(bool),
    /// In square brackets.
    List(Vec<(Self, Place)>),
    /// In curly brackets, inside a list.
    Table,
}

impl Value {
    /// The owned form of a parsed value. `set` is the assignment it comes from, if it is not from the file.
    pub(super) fn from_toml(value: &Spanned<DeValue<'_>>, set: Option<&str>) -> Self {
        match value.get_ref() {
            DeValue::String(text) => Self::Text(text.clone().into_owned()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(whole) => Self::Whole(whole),
                Err(_) => Self::Real(number.as_str().parse().unwrap_or(f64::INFINITY)),
            },
            DeValue::Float(number) => Self::Real(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Self::Flag(*flag),
            DeValue::Datetime(date) => Self::Text(date.to_string()),
            DeValue::Array(list) => {
                Self::List(list.iter().map(|item| (Self::from_toml(item, set), place_of(item.span(), set))).collect())
            }
            DeValue::Table(_) => Self::Table,
        }
    }

    /// A value as it is written after `--set key=`: TOML, or a bare word.
    pub(super) fn from_words(words: &str, assignment: &str) -> Self {
        match DeValue::parse(words) {
            Ok(value) => Self::from_toml(&value, Some(assignment)),
            Err(_) => Self::Text(words.to_owned()),
        }
    }

    pub(super) fn to_toml(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => format!("{number:?}"),
            Self::Flag(flag) => flag.to_string(),
            Self::List(list) => {
                let all: Vec<_> = list.iter().map(|(value, _)| value.to_toml()).collect();
                format!("[{}]", all.join(", "))
            }
            Self::Table => "{}".to_owned(),
        }
    }

    pub(super) const fn words(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Whole(_) | Self::Real(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table => "a table",
        }
    }
}

/// The place of a span, or of the assignment it was set by.
pub(super) fn place_of(span: std::ops::Range<usize>, set: Option<&str>) -> Place {
    match set {
        Some(assignment) => Place::Set(assignment.to_owned()),
        None => Place::Bytes { start: span.start, end: span.end },
    }
}

/// A text in TOML's quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
