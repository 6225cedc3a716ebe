//! Everything that can be wrong with a trace. Every error names the line and says what would be right.

use std::io;

use meshlock_core::NodeId;

use crate::LONGEST_LINE;
use crate::header::VERSION;
use crate::record::At;

/// A trace cannot be read on, or a record cannot be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts of the errors say it")]
pub enum TraceError {
    #[error("line {line}: {source}")]
    Io { line: u64, source: io::Error },
    #[error("line 1: the file is empty; a trace begins with a header line")]
    Empty,
    #[error(
        "line {line}: this is no meshlock trace: {reason}; its first line is an object with \"meshlock-trace\":{VERSION}"
    )]
    NotATrace { line: u64, reason: String },
    #[error("line {line}: trace format version {found} is not known here; version {VERSION} is")]
    Version { line: u64, found: String },
    #[error("line {line}: longer than {LONGEST_LINE} bytes, the most a line may have")]
    TooLong { line: u64 },
    #[error("line {line}, byte {column}: not UTF-8; a trace is UTF-8 text")]
    NotUtf8 { line: u64, column: usize },
    #[error("line {line}: the file ends in the middle of this line; all lines before it are whole")]
    CutOff { line: u64 },
    #[error("line {line}, byte {column}: {reason}")]
    Json { line: u64, column: usize, reason: String },
    #[error("line {line}: {flaw}")]
    Flaw {
        line: u64,
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
#[expect(missing_docs, reason = "the texts of the errors say it")]
pub enum Flaw {
    #[error("a record needs a `step` or a `time_ns`")]
    NoClock,
    #[error("a record has either a `step` or a `time_ns`, not both")]
    TwoClocks,
    #[error("this trace counts by `{}`, so `{}` is not allowed in it", .before.clock(), .now.clock())]
    MixedClocks { before: At, now: At },
    #[error("{now} comes after {before}; records stand in the order in which things happened")]
    Backwards { before: At, now: At },
    #[error("a record needs one of `event`, `link`, `move`, `lost`, `join`, `end`")]
    NoKind,
    #[error("a record has only one of `event`, `link`, `move`, `lost`, `join`, `end`")]
    TwoKinds,
    #[error("a record with an `event` needs a `node`")]
    EventWithoutNode,
    #[error("node {0} is not known; nodes stand in the header or `join` before they take part")]
    UnknownNode(NodeId),
    #[error("node {0} is there already; every node stands in the header once, or joins once")]
    NodeTwice(NodeId),
    #[error("a link from node {0} to itself; a link has two ends")]
    LinkToItself(NodeId),
    #[error("the position or velocity of node {0} is not finite")]
    NotFinite(NodeId),
    #[error("line {0} cannot be the cause; it must be an earlier line, and not the header")]
    NoSuchCause(u64),
    #[error("the run cannot repeat from {from}, it ends at {end}")]
    RepeatsFromLater { from: u64, end: At },
    #[error("nothing may follow the `end`")]
    AfterEnd,
}
