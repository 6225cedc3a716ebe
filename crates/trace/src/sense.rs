//! What has to make sense from line to line. The writer asks first, so that what it writes can be read.

use std::collections::BTreeSet;

use meshlock_core::NodeId;

use crate::error::Flaw;
use crate::header::{Header, NodeInfo, Position};
use crate::record::{At, Record, What};

/// What is known of a trace up to some line.
#[derive(Debug, Default)]
pub(crate) struct Sense {
    header_line: u64,
    known: BTreeSet<NodeId>,
    latest: Option<At>,
    ended: bool,
}

impl Sense {
    /// Takes the header in.
    pub(crate) fn header(header: &Header, line: u64) -> Result<Self, Flaw> {
        let mut sense = Self { header_line: line, ..Self::default() };
        for node in &header.nodes {
            sense.check_new(node)?;
            sense.known.insert(node.id);
        }
        for &link in &header.links {
            sense.check_link(link)?;
        }
        Ok(sense)
    }

    /// Whether this record may stand in this line.
    pub(crate) fn check<M>(&self, record: &Record<M>, line: u64) -> Result<(), Flaw> {
        if self.ended {
            return Err(Flaw::AfterEnd);
        }
        self.check_clock(record.at)?;
        match &record.what {
            What::Event(happening) => {
                self.check_known(happening.node)?;
                self.check_cause(happening.cause, line)
            }
            What::Link(link) => self.check_link(link.between),
            What::Move(movement) => {
                self.check_known(movement.node)?;
                check_finite(movement.node, Some(movement.position))?;
                check_finite(movement.node, movement.velocity)
            }
            What::Lost(lost) => {
                self.check_known(lost.from)?;
                self.check_known(lost.to)?;
                self.check_cause(lost.cause, line)
            }
            What::Join(node) => self.check_new(node),
            What::End(end) => match end.repeats_from {
                Some(from) if from > record.at.number() => Err(Flaw::RepeatsFromLater { from, end: record.at }),
                Some(_) | None => Ok(()),
            },
        }
    }

    /// Takes in a record that was checked.
    pub(crate) fn take<M>(&mut self, record: &Record<M>) {
        match &record.what {
            What::Join(node) => {
                self.known.insert(node.id);
            }
            What::End(_) => self.ended = true,
            What::Event(_) | What::Link(_) | What::Move(_) | What::Lost(_) => {}
        }
        self.latest = Some(record.at);
    }

    /// Whether an end was seen.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    fn check_new(&self, node: &NodeInfo) -> Result<(), Flaw> {
        check_finite(node.id, node.position)?;
        if self.known.contains(&node.id) { Err(Flaw::NodeTwice(node.id)) } else { Ok(()) }
    }

    fn check_known(&self, node: NodeId) -> Result<(), Flaw> {
        if self.known.contains(&node) { Ok(()) } else { Err(Flaw::UnknownNode(node)) }
    }

    fn check_link(&self, (a, b): (NodeId, NodeId)) -> Result<(), Flaw> {
        self.check_known(a)?;
        self.check_known(b)?;
        if a == b { Err(Flaw::LinkToItself(a)) } else { Ok(()) }
    }

    const fn check_cause(&self, cause: Option<u64>, line: u64) -> Result<(), Flaw> {
        match cause {
            Some(cause) if cause <= self.header_line || cause >= line => Err(Flaw::NoSuchCause(cause)),
            Some(_) | None => Ok(()),
        }
    }

    fn check_clock(&self, now: At) -> Result<(), Flaw> {
        let Some(before) = self.latest else {
            return Ok(());
        };
        if before.clock() != now.clock() {
            return Err(Flaw::MixedClocks { before, now });
        }
        if now.number() < before.number() { Err(Flaw::Backwards { before, now }) } else { Ok(()) }
    }
}

fn check_finite(node: NodeId, position: Option<Position>) -> Result<(), Flaw> {
    let finite = position.is_none_or(|position| position.iter().all(|x| x.is_finite()));
    if finite { Ok(()) } else { Err(Flaw::NotFinite(node)) }
}
