//! Reads scenarios from TOML, and says what is wrong in which line.

use std::fmt;

use crate::scenario::Scenario;

/// A scenario file that was parsed but not yet resolved: keys can still be set.
#[derive(Clone, Debug)]
pub struct Document {}

/// What is wrong with a file, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, or `--set`.
    pub file: String,
    /// From 1; 0 if it is not about a line.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// The line itself.
    pub text: String,
}

/// The `[study]` part of a file.
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
    /// Pictures.
    pub plots: Vec<PlotSpec>,
    /// Paired comparisons.
    pub compare: Vec<Compare>,
}

/// A key that varies.
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

/// When enough replications were run.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The measure that must be known well.
    pub measure: String,
    /// The relative half width of its 95 % interval.
    pub half_width: f64,
    /// But not more replications than this.
    pub most: u32,
}

/// A picture of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotSpec {
    /// Above it.
    pub title: String,
    /// The axis key along x.
    pub x: String,
    /// The measure along y.
    pub y: String,
    /// The axis key with one line per value, if any.
    pub lines: Option<String>,
    /// Axes with logarithmic scale.
    pub log_x: bool,
    /// The same for y.
    pub log_y: bool,
}

/// A paired comparison of the points along an axis with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The axis key.
    pub axis: String,
    /// The value everything is compared with.
    pub baseline: String,
    /// The measures that are compared.
    pub measures: Vec<String>,
}

impl Document {
    /// Parses a file. `name` is for error messages, and files it names are looked for beside it.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let _ = (name, text);
        Ok(Self {})
    }

    /// The built-in reference scenario, `scenarios/reference.toml`.
    pub fn reference() -> Self {
        Self {}
    }

    /// Sets a key, such as `radio.range`, to a value in TOML or a bare word (`120m` is read as `"120m"`).
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), FileError> {
        let _ = (key, value);
        Ok(())
    }

    /// The value of a key as it stands, in TOML, if it is given.
    pub fn get(&self, key: &str) -> Option<String> {
        let _ = key;
        None
    }

    /// Checks everything and reads the files that are named (placements, traces).
    pub fn resolve(&self) -> Result<Scenario, FileError> {
        Ok(Scenario::reference())
    }

    /// The `[study]` part, if there is one.
    pub fn study(&self) -> Result<Option<StudySpec>, FileError> {
        Ok(None)
    }

    /// Everything that decides a run (without the seed and without `[study]`), sorted, as TOML: equal texts, equal runs.
    pub fn canonical(&self) -> String {
        String::new()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for FileError {}
