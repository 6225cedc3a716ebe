//! One trace of several that were recorded by several processes of one mesh.
//!
//! Processes of one machine share a clock, so their order is exact. Otherwise wall clocks have to do, and the order
//! between machines is only as good as they are. Traces are read twice and never kept in memory.

mod plan;
mod weave;

use std::io::{BufRead, Seek, SeekFrom, Write};

use crate::error::TraceError;
use crate::reader::Reader;

use plan::Plan;
use weave::Weave;

/// What came of merging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The lines that were written.
    pub lines: u64,
    /// The nodes in them.
    pub nodes: usize,
    /// All traces were recorded by one clock, so the order is that in which things happened.
    pub exact: bool,
    /// What a reader of the merged trace should know.
    pub warnings: Vec<String>,
}

/// Why traces cannot be merged.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts of the errors say it")]
pub enum MergeError {
    #[error("there is nothing to merge; name at least one trace")]
    Nothing,
    #[error("{name}: {source}")]
    Unreadable { name: String, source: TraceError },
    #[error(
        "{first} has {what} {here}, but {second} has {there}; only traces of one resource of one mesh can be merged"
    )]
    Different { first: String, what: &'static str, here: String, second: String, there: String },
    #[error("{name} {reason}")]
    NotARecording { name: String, reason: &'static str },
    #[error("the merged trace cannot be written: {0}")]
    Unwritable(#[source] TraceError),
}

/// Merges traces of one resource, each with a name for people, and writes the merged one. Give it a buffered output.
pub fn merge<R, W>(mut inputs: Vec<(String, R)>, output: W) -> Result<Merged, MergeError>
where
    R: BufRead + Seek,
    W: Write,
{
    let mut plan = Plan::default();
    for (name, input) in &mut inputs {
        plan.read(name, input)?;
        let rewound = input.seek(SeekFrom::Start(0));
        rewound.map_err(|source| unreadable(name, TraceError::Io { line: 1, source }))?;
    }
    let plan = plan.finish()?;
    let mut readers = Vec::new();
    for (name, input) in inputs {
        let reader = Reader::new(input).map_err(|source| unreadable(&name, source))?;
        readers.push((name, reader));
    }
    Weave::new(plan, readers, output)?.run()
}

fn unreadable(name: &str, source: TraceError) -> MergeError {
    MergeError::Unreadable { name: name.to_owned(), source }
}

#[cfg(test)]
mod tests;
