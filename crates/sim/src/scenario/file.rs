//! Reads scenarios from TOML, and says what is wrong in which line.

mod draw;
mod keys;
mod kind;
mod near;
mod place;
mod quantity;
mod reader;
mod reference;
mod resolve;
mod schema;
mod set;
mod study;
#[cfg(test)]
mod tests;
mod value;
mod walk;

use crate::scenario::Scenario;

pub use place::FileError;
use place::{Problem, Source};
pub use quantity::units;
use reader::Reader;
pub use reference::reference_table;
pub use schema::schema;
use walk::Content;

/// A scenario file that was parsed but not yet resolved: keys can still be set.
#[derive(Clone, Debug)]
pub struct Document {
    source: Source,
    content: Content,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudySpec {
    /// What varies, in the order of the file; the last varies fastest.
    pub axes: Vec<Axis>,
    /// Sets of axes that go together step by step instead of being crossed.
    pub zip: Vec<Vec<String>>,
    /// Conditions a point must meet, such as `nodes <= 50`.
    pub constraints: Vec<Constraint>,
    /// Replications of each point. Replication r of every point has the same seed: common random numbers.
    pub repeat: u32,
    /// The seed of the first replication.
    pub seed: u64,
    /// Goes on beyond `repeat` until an interval is small enough.
    pub stop: Option<Stop>,
    pub plots: Vec<PlotSpec>,
    pub compare: Vec<Compare>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// As for `--set`, such as `radio.range`.
    pub key: String,
    /// In TOML, such as `10` or `"120m"`.
    pub values: Vec<String>,
}

/// `left op right`, where a side is a key or a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// A key or a number, perhaps with a unit.
    pub left: String,
    /// One of `<`, `<=`, `>`, `>=`, `==`, `!=`.
    pub op: String,
    /// A key or a number, perhaps with a unit.
    pub right: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The measure that must be known well.
    pub measure: String,
    /// The relative half width of its 95 % interval.
    pub half_width: f64,
    /// But not more replications than this.
    pub most: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotSpec {
    pub title: String,
    /// The axis key along x.
    pub x: String,
    pub y: String,
    /// The axis key with one line per value, if any.
    pub lines: Option<String>,
    pub log_x: bool,
    pub log_y: bool,
}

/// A paired comparison of the points along an axis with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    pub axis: String,
    pub baseline: String,
    pub measures: Vec<String>,
}

impl Document {
    /// Parses a file. `name` is for error messages, and files it names are looked for beside it.
    ///
    /// Every key must exist and every value must be of its kind; [`Self::resolve`] checks how they fit together.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        match walk::content(text) {
            Ok(content) => Ok(Self { source, content }),
            Err(problem) => Err(source.error(problem)),
        }
    }

    /// The built-in reference scenario, `scenarios/reference.toml`.
    pub fn reference() -> Self {
        let source = Source { name: "reference".to_owned(), text: REFERENCE.to_owned() };
        // The text is ours and tested: it is never wrong, and an empty content would resolve to an error.
        let content = walk::content(REFERENCE).unwrap_or_default();
        Self { source, content }
    }

    /// Sets a key, such as `radio.range`, to a value in TOML or a bare word (`120m` is read as `"120m"`).
    ///
    /// `default` removes the key. A key replaces its rivals: setting `traffic.gap` removes `traffic.think`.
    /// Keys of a class have its name in their path: `traffic.class.hot.gap`. The key `variant` sets everything that the
    /// `[[study.variant]]` of this label sets. On an error nothing has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), FileError> {
        set::assign(&mut self.content, key, value).map_err(|problem| self.source.error(problem))
    }

    /// The value of a key as it stands, in TOML, if it is given.
    pub fn get(&self, key: &str) -> Option<String> {
        set::value(&self.content, key).map(value::Value::to_toml)
    }

    pub fn seed(&self) -> u64 {
        Reader::new(&self.content).part("").get("seed").unwrap_or(1)
    }

    /// Checks everything and reads the files that are named (placements, traces).
    pub fn resolve(&self) -> Result<Scenario, FileError> {
        self.read().map(|(scenario, _)| scenario).map_err(|problem| self.source.error(problem))
    }

    pub fn study(&self) -> Result<Option<StudySpec>, FileError> {
        study::study(&self.content).map_err(|problem| self.source.error(problem))
    }

    /// Everything that decides a run (without the seed and without `[study]`), sorted, as TOML: equal texts, equal runs.
    /// Files enter with their content. Empty if the document does not resolve.
    pub fn canonical(&self) -> String {
        self.read().map(|(_, canonical)| canonical).unwrap_or_default()
    }

    fn read(&self) -> Result<(Scenario, String), Problem> {
        let mut reader = Reader::new(&self.content);
        let scenario = resolve::scenario(&self.source, &mut reader)?;
        Ok((scenario, reader.canonical(&resolve::NOT_DECIDING)))
    }
}

/// The defaults are those of the report, so there is little to say.
const REFERENCE: &str = "name = \"reference\"
nodes = 100
[radio]
[mobility]
model = \"linear\"
";
