//! The trace format, once for checker, simulator and node: JSON lines, a versioned header first.
//!
//! A trace tells what happened in one resource of one mesh, in enough detail for a viewer to show it and for a tool to
//! run it again: who received what, what the node did about it, and how it looked afterwards. `docs/trace-format.md`
//! has every field.
//!
//! | module | what it is |
//! |---|---|
//! | [`header`] | the first line: what was run, with which nodes |
//! | [`record`] | all other lines: events, links, moves, losses, and the end |
//! | [`writer`] | writes a trace line by line |
//! | [`reader`] | reads one line by line, and says what is wrong in which line |
//! | [`ends`] | link records are written once although two ends tell of a change |
//! | [`under_way`] | which line sent the message that arrives now |
//! | [`merge`](mod@merge) | one trace of several that were recorded by several processes |
//! | [`error`] | everything that can be wrong |
//!
//! Messages are a type parameter: a viewer reads them as [`serde_json::Value`], a tool that knows the protocol as the
//! protocol's own message type.
//!
//! ```
//! use meshlock_core::{Demand, Event, NodeId, RequestId};
//! use meshlock_trace::{At, Happening, Header, NodeInfo, Reader, Record, Source, What, Writer};
//!
//! let header = Header::new(Source::Check, "reverse-link", "repaired", vec![NodeInfo::new(0, "ann")], vec![]);
//! let asks = Event::Request { request: RequestId(1), demand: Demand::units(1, 5) };
//! let mut writer = Writer::new(Vec::new(), &header)?;
//! writer.write::<()>(&Record { at: At::Step(1), what: What::Event(Happening::new(NodeId(0), asks)) })?;
//! let bytes = writer.finish()?;
//!
//! let reader = Reader::new(bytes.as_slice())?;
//! assert_eq!(reader.header(), &header);
//! let records = reader.collect::<Result<Vec<Record>, _>>()?;
//! assert_eq!(records[0].at, At::Step(1));
//! # Ok::<(), meshlock_trace::TraceError>(())
//! ```

#![warn(missing_docs)]

pub mod ends;
pub mod error;
pub mod header;
pub mod merge;
pub mod reader;
pub mod record;
pub mod under_way;
pub mod writer;

mod sense;

pub use ends::LinkEnds;
pub use error::{Flaw, TraceError};
pub use header::{Header, NodeInfo, Position, Source, VERSION};
pub use merge::{MergeError, Merged, merge};
pub use reader::Reader;
pub use record::{At, End, Happening, Link, Lost, Move, Record, Violation, What};
pub use under_way::{UnderWay, Unexplained};
pub use writer::Writer;

/// The longest line that is written or read, in bytes without its end. Anything longer is no trace of ours, and
/// reading it into memory would be unwise.
pub const LONGEST_LINE: usize = 16 * 1024 * 1024;
