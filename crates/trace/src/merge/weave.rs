//! The second reading: all records in the order of their times, with lines numbered anew.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use meshlock_core::{Event, NodeId};
use serde_json::Value;

use super::plan::Plan;
use super::{MergeError, Merged, unreadable};
use crate::ends::LinkEnds;
use crate::error::TraceError;
use crate::header::Header;
use crate::reader::Reader;
use crate::record::{At, Happening, Link, Lost, Record, What};
use crate::under_way::UnderWay;
use crate::writer::Writer;

/// Where merging stands.
pub(super) struct Weave<R, W: Write> {
    plan: Plan,
    strands: Vec<Strand<R>>,
    writer: Writer<W>,
    latest: u64,
    lines: u64,
    known: BTreeSet<NodeId>,
    ends: LinkEnds,
    under_way: UnderWay,
}

/// One of the traces.
struct Strand<R> {
    name: String,
    reader: Reader<R>,
    number: usize,
    has_begun: bool,
    next: Option<(u64, Record)>,
    /// The line in the merged trace of each of its own lines; zero for those that were left out.
    lines: Vec<u64>,
}

impl<R: BufRead, W: Write> Weave<R, W> {
    pub(super) fn new(plan: Plan, readers: Vec<(String, Reader<R>)>, output: W) -> Result<Self, MergeError> {
        let header: &Header = plan.header.as_ref().ok_or(MergeError::Nothing)?;
        let writer = Writer::new(output, header).map_err(MergeError::Unwritable)?;
        let strand =
            |(number, (name, reader))| Strand { name, reader, number, has_begun: false, next: None, lines: Vec::new() };
        let strands = readers.into_iter().enumerate().map(strand).collect();
        let (known, under_way) = (BTreeSet::new(), UnderWay::new());
        Ok(Self { plan, strands, writer, latest: 0, lines: 1, known, ends: LinkEnds::default(), under_way })
    }

    pub(super) fn run(mut self) -> Result<Merged, MergeError> {
        let first: Vec<NodeId> = self.plan.header.iter().flat_map(|header| &header.nodes).map(|node| node.id).collect();
        self.known.extend(first.iter().copied());
        for node in first {
            self.first_links(0, node)?;
        }
        for number in 0..self.strands.len() {
            self.advance(number)?;
        }
        // A trace begins at its time zero, before anything in it.
        let time = |strand: &Strand<R>, plan: &Plan| match (&strand.next, strand.has_begun) {
            (_, false) => Some(plan.offset(strand.number)),
            (Some((time, _)), true) => Some(*time),
            (None, true) => None,
        };
        loop {
            let times = self.strands.iter().filter_map(|strand| Some((time(strand, &self.plan)?, strand.number)));
            let Some((time, number)) = times.min() else { break };
            self.take(time, number)?;
        }
        if let Some(end) = self.plan.end.take() {
            self.write(self.latest, What::End(end))?;
        }
        self.writer.finish().map_err(MergeError::Unwritable)?;
        let Plan { warnings, exact, .. } = self.plan;
        Ok(Merged { lines: self.lines, nodes: self.known.len(), exact, warnings })
    }

    /// Takes the next of a trace: its beginning or a record.
    fn take(&mut self, time: u64, number: usize) -> Result<(), MergeError> {
        if !self.strands[number].has_begun {
            self.strands[number].has_begun = true;
            for node in self.plan.first_nodes(number) {
                self.meet(time, node)?;
            }
            return Ok(());
        }
        let Some((_, record)) = self.strands[number].next.take() else { return Ok(()) };
        let old = self.strands[number].reader.line();
        let new = match record.what {
            What::Event(happening) => Some(self.event(time, number, happening)?),
            What::Join(node) => {
                self.meet(time, node.id)?;
                None
            }
            What::Lost(lost) => {
                let cause = self.strands[number].renumbered(lost.cause);
                self.under_way.lost(lost.from, lost.to, &lost.message, cause);
                Some(self.write(time, What::Lost(Lost { cause, ..lost }))?)
            }
            What::Move(movement) => Some(self.write(time, What::Move(movement))?),
            // Links follow from what their ends say, and one end comes first; the end is written when all have ended.
            What::Link(_) => None,
            What::End(_) => {
                self.latest = self.latest.max(time);
                None
            }
        };
        self.strands[number].note(old, new.unwrap_or_default());
        self.advance(number)
    }

    fn event(&mut self, time: u64, number: usize, happening: Happening) -> Result<u64, MergeError> {
        let node = happening.node;
        if let Event::LinkUp { neighbour } = happening.event {
            self.link(time, node, neighbour, true)?;
        } else if let Event::LinkDown { neighbour } = happening.event {
            self.link(time, node, neighbour, false)?;
        }
        // The recorder of the arrival did not always see the sending.
        let found = self.under_way.happens(node, &happening.event).ok().flatten();
        let cause = self.strands[number].renumbered(happening.cause).or(found);
        let effects = happening.effects.clone();
        let line = self.write(time, What::Event(Happening { cause, ..happening }))?;
        effects.iter().for_each(|effect| self.under_way.effect(node, effect, line));
        Ok(line)
    }

    /// A node is there, if it was not before.
    fn meet(&mut self, time: u64, node: NodeId) -> Result<(), MergeError> {
        if self.known.insert(node)
            && let Some(info) = self.plan.info(node).cloned()
        {
            self.write(time, What::Join(info))?;
            self.first_links(time, node)?;
        }
        Ok(())
    }

    /// The links that a node knew when its recording began.
    fn first_links(&mut self, time: u64, node: NodeId) -> Result<(), MergeError> {
        let view = self.plan.info(node).and_then(|info| info.view.as_ref());
        let Some(neighbours) = view.map(|view| view.neighbours.clone()) else {
            self.under_way.ignore(node); // it was only heard of
            return Ok(());
        };
        for neighbour in neighbours {
            // The sender of what comes over it is not always known; see `happens`.
            let _ = self.under_way.happens::<Value>(node, &Event::LinkUp { neighbour });
            self.link(time, node, neighbour, true)?;
        }
        Ok(())
    }

    fn link(&mut self, time: u64, node: NodeId, neighbour: NodeId, up: bool) -> Result<(), MergeError> {
        self.meet(time, neighbour)?;
        if self.ends.tells(node, neighbour, up) && self.known.contains(&neighbour) {
            self.write(time, What::Link(Link { between: (node, neighbour), up }))?;
        }
        Ok(())
    }

    fn write(&mut self, time: u64, what: What) -> Result<u64, MergeError> {
        self.latest = self.latest.max(time);
        let record = Record { at: At::TimeNs(time), what };
        self.lines = self.writer.write(&record).map_err(MergeError::Unwritable)?;
        Ok(self.lines)
    }

    fn advance(&mut self, number: usize) -> Result<(), MergeError> {
        let offset = self.plan.offset(number);
        let strand = &mut self.strands[number];
        strand.next = match strand.reader.next() {
            None | Some(Err(TraceError::CutOff { .. })) => None,
            Some(Ok(record)) => Some((record.at.number().saturating_add(offset), record)),
            Some(Err(source)) => return Err(unreadable(&strand.name, source)),
        };
        Ok(())
    }
}

impl<R> Strand<R> {
    fn note(&mut self, old: u64, new: u64) {
        let place = usize::try_from(old).unwrap_or_default();
        if self.lines.len() <= place {
            self.lines.resize(place + 1, 0);
        }
        self.lines[place] = new;
    }

    fn renumbered(&self, cause: Option<u64>) -> Option<u64> {
        let place = usize::try_from(cause?).ok()?;
        self.lines.get(place).copied().filter(|line| *line > 0)
    }
}
