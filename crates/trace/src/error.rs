//! Everything that can be wrong with a trace. Every error names the line and says what would be right.

use std::io;

use meshlock_core::NodeId;

use crate::LONGEST_LINE;
use crate::header::VERSION;
use crate::record::At;

/// A trace cannot be read on, or a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading or writing failed.
    #[error("line {line}: {source}")]
    Io {
        /// The line that was under way.
        line: u64,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// There is not even a header.
    #[error("line 1: the file is empty; a trace begins with a header line")]
    Empty,
    /// The first line is not a header.
    #[error(
        "line {line}: this is no meshlock trace: {reason}; its first line is an object with \"meshlock-trace\":{VERSION}"
    )]
    NotATrace {
        /// The first line that is not blank.
        line: u64,
        /// Why not.
        reason: String,
    },
    /// A header of a version this crate does not know.
    #[error("line {line}: trace format version {found} is not known here; version {VERSION} is")]
    Version {
        /// The line of the header.
        line: u64,
        /// The version it names.
        found: String,
    },
    /// A line too long to be kept in memory.
    #[error("line {line}: longer than {LONGEST_LINE} bytes, the most a line may have")]
    TooLong {
        /// The number of the line, counted from 1.
        line: u64,
    },
    /// Bytes that are no text.
    #[error("line {line}, byte {column}: not UTF-8; a trace is UTF-8 text")]
    NotUtf8 {
        /// The number of the line, counted from 1.
        line: u64,
        /// The first bad byte, counted from 1.
        column: usize,
    },
    /// The last line is not complete.
    #[error("line {line}: the file ends in the middle of this line; all lines before it are whole")]
    CutOff {
        /// The number of the line, counted from 1.
        line: u64,
    },
    /// A line that is not the JSON it should be.
    #[error("line {line}, byte {column}: {reason}")]
    Json {
        /// The number of the line, counted from 1.
        line: u64,
        /// Where in it, counted from 1.
        column: usize,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A line that makes no sense where it is.
    #[error("line {line}: {flaw}")]
    Flaw {
        /// The number of the line, counted from 1.
        line: u64,
        /// What is wrong with it.
        #[source]
        flaw: Flaw,
    },
}

impl TraceError {
    /// The line it is about, counted from 1.
    pub const fn line(&self) -> u64 {
        match self {
            Self::Empty => 1,
            Self::Io { line, .. }
            | Self::NotATrace { line, .. }
            | Self::Version { line, .. }
            | Self::TooLong { line }
            | Self::NotUtf8 { line, .. }
            | Self::CutOff { line }
            | Self::Json { line, .. }
            | Self::Flaw { line, .. } => *line,
        }
    }
}

/// What makes no sense although it is good JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Neither step nor time.
    #[error("a record needs a `step` or a `time_ns`")]
    NoClock,
    /// Both step and time.
    #[error("a record has either a `step` or a `time_ns`, not both")]
    TwoClocks,
    /// Step here, time there.
    #[error("this trace counts by `{}`, so `{}` is not allowed in it", .before.clock(), .now.clock())]
    MixedClocks {
        /// How it counted.
        before: At,
        /// How it goes on.
        now: At,
    },
    /// Backwards.
    #[error("{now} comes after {before}; records stand in the order in which things happened")]
    Backwards {
        /// What was reached.
        before: At,
        /// What comes now.
        now: At,
    },
    /// Nothing that is known.
    #[error("a record needs one of `event`, `link`, `move`, `lost`, `join`, `end`")]
    NoKind,
    /// More than one.
    #[error("a record has only one of `event`, `link`, `move`, `lost`, `join`, `end`")]
    TwoKinds,
    /// An event that happens nowhere.
    #[error("a record with an `event` needs a `node`")]
    EventWithoutNode,
    /// A node that was not introduced.
    #[error("node {0} is not known; nodes stand in the header or `join` before they take part")]
    UnknownNode(NodeId),
    /// A node that was introduced before.
    #[error("node {0} is there already; every node stands in the header once, or joins once")]
    NodeTwice(NodeId),
    /// A link that is none.
    #[error("a link from node {0} to itself; a link has two ends")]
    LinkToItself(NodeId),
    /// Infinity or nothing at all.
    #[error("the position or velocity of node {0} is not finite")]
    NotFinite(NodeId),
    /// A cause that comes later than what it causes.
    #[error("line {0} cannot be the cause; it must be an earlier line, and not the header")]
    NoSuchCause(u64),
    /// The future cannot repeat.
    #[error("the run cannot repeat from {from}, it ends at {end}")]
    RepeatsFromLater {
        /// What was said.
        from: u64,
        /// The end.
        end: At,
    },
    /// There is more.
    #[error("nothing may follow the `end`")]
    AfterEnd,
}
