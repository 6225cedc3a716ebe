//! The first reading: whether the traces belong together, when each began, and what is known of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use meshlock_core::NodeId;
use serde_json::{Value, json};

use super::{MergeError, unreadable};
use crate::error::TraceError;
use crate::header::{Header, NodeInfo, Source};
use crate::reader::Reader;
use crate::record::{At, End, What};

/// The parameters that must be the same everywhere.
const SAME: [&str; 4] = ["mesh", "resource", "order", "joins"];

/// What is known after the first reading.
#[derive(Default)]
pub(super) struct Plan {
    traces: Vec<Trace>,
    pub(super) warnings: Vec<String>,
    /// The earliest that is known of each node, with its view if any trace has one.
    infos: BTreeMap<NodeId, (u64, NodeInfo)>,
    pub(super) header: Option<Header>,
    pub(super) exact: bool,
    /// How the merged trace ends; none if some trace has no end.
    pub(super) end: Option<End>,
    cut_off: BTreeSet<NodeId>,
}

/// One of the traces.
struct Trace {
    name: String,
    header: Header,
    joins: Vec<(u64, NodeInfo)>,
    end: Option<End>,
    /// Its time zero after that of the merged trace, in nanoseconds.
    offset: u64,
}

impl Plan {
    pub(super) fn read<R: BufRead>(&mut self, name: &str, input: &mut R) -> Result<(), MergeError> {
        let mut reader = Reader::new(input).map_err(|source| unreadable(name, source))?;
        let header = reader.header().clone();
        if header.source != Source::Node {
            let reason = "is no recording of a node: runs of the simulator and the checker are whole already";
            return Err(MergeError::NotARecording { name: name.to_owned(), reason });
        }
        let (mut joins, mut end) = (Vec::new(), None);
        for record in reader.by_ref() {
            let record = match record {
                Ok(record) => record,
                // The writer was stopped in the middle of a line; all lines before it are good.
                Err(TraceError::CutOff { .. }) => break,
                Err(source) => return Err(unreadable(name, source)),
            };
            let At::TimeNs(time) = record.at else {
                let reason = "counts steps instead of time; it is no recording of a node";
                return Err(MergeError::NotARecording { name: name.to_owned(), reason });
            };
            match record.what {
                What::Join(node) => joins.push((time, node)),
                What::End(found) => end = Some(found),
                What::Event(_) | What::Link(_) | What::Move(_) | What::Lost(_) => {}
            }
        }
        self.traces.push(Trace { name: name.to_owned(), header, joins, end, offset: 0 });
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Self, MergeError> {
        self.compare()?;
        self.set_offsets()?;
        for trace in &self.traces {
            if trace.end.is_none() {
                let name = &trace.name;
                self.warnings.push(format!("{name} has no end: it was cut off, or is still being written"));
                let all = trace.header.nodes.iter().chain(trace.joins.iter().map(|(_, node)| node));
                self.cut_off.extend(all.filter(|node| node.view.is_some()).map(|node| node.id));
            }
            let first = trace.header.nodes.iter().map(|node| (0, node));
            for (time, node) in first.chain(trace.joins.iter().map(|(time, node)| (*time, node))) {
                let found = (time + trace.offset, node.clone());
                let known = self.infos.entry(node.id).or_insert_with(|| found.clone());
                let has_more = node.view.is_some() && (known.1.view.is_none() || found.0 < known.0);
                if has_more {
                    *known = found;
                }
            }
        }
        self.end = self.traces.iter().map(|trace| trace.end.clone()).collect::<Option<Vec<End>>>().map(sum);
        self.header = self.merged_header();
        Ok(self)
    }

    /// The best that is known of a node.
    pub(super) fn info(&self, node: NodeId) -> Option<&NodeInfo> {
        self.infos.get(&node).map(|(_, info)| info)
    }

    pub(super) fn offset(&self, trace: usize) -> u64 {
        self.traces.get(trace).map_or(0, |trace| trace.offset)
    }

    /// The nodes that are there when a trace begins.
    pub(super) fn first_nodes(&self, trace: usize) -> Vec<NodeId> {
        let nodes = self.traces.get(trace).map(|trace| trace.header.nodes.iter().map(|node| node.id).collect());
        nodes.unwrap_or_default()
    }

    fn compare(&mut self) -> Result<(), MergeError> {
        let Some((first, others)) = self.traces.split_first() else { return Err(MergeError::Nothing) };
        for other in others {
            let quoted = |text: &String| format!("{text:?}");
            let parameter = |trace: &Trace, name: &str| {
                trace.header.parameters.get(name).map_or_else(|| "(none)".to_owned(), Value::to_string)
            };
            let mut facts = vec![
                ("protocol", quoted(&first.header.protocol), quoted(&other.header.protocol)),
                ("variant", quoted(&first.header.variant), quoted(&other.header.variant)),
            ];
            facts.extend(SAME.map(|name| (name, parameter(first, name), parameter(other, name))));
            if let Some((what, here, there)) = facts.into_iter().find(|(_, here, there)| here != there) {
                let (first, second) = (first.name.clone(), other.name.clone());
                return Err(MergeError::Different { first, what, here, second, there });
            }
            if parameter(first, "capacity") != parameter(other, "capacity") {
                let (a, b) = (&first.name, &other.name);
                self.warnings.push(format!("{a} and {b} begin with different capacities: it was changed in between"));
            }
        }
        Ok(())
    }

    fn set_offsets(&mut self) -> Result<(), MergeError> {
        let boot = |trace: &Trace| trace.header.parameters.get("boot_id").and_then(Value::as_str).map(str::to_owned);
        let number = |trace: &Trace, name: &str| trace.header.parameters.get(name).and_then(Value::as_u64);
        let boots: BTreeSet<Option<String>> = self.traces.iter().map(boot).collect();
        let shared_clock = boots.len() == 1 && !boots.contains(&None);
        let exact: Option<Vec<u64>> = self.traces.iter().map(|trace| number(trace, "monotonic_ns")).collect();
        let begins = match exact.filter(|_| shared_clock || self.traces.len() == 1) {
            Some(begins) => {
                self.exact = true;
                begins
            }
            None => {
                let warning = "the traces were not recorded by one clock: the order between machines is only as good as \
                               their clocks";
                self.warnings.push(warning.to_owned());
                let mut begins = Vec::new();
                for trace in &self.traces {
                    let Some(ms) = number(trace, "began_unix_ms") else {
                        let reason = "does not say when it began: its header has no `began_unix_ms`";
                        return Err(MergeError::NotARecording { name: trace.name.clone(), reason });
                    };
                    begins.push(ms.saturating_mul(1_000_000));
                }
                begins
            }
        };
        let first = begins.iter().copied().min().unwrap_or_default();
        for (trace, begin) in self.traces.iter_mut().zip(begins) {
            trace.offset = begin - first;
        }
        Ok(())
    }

    /// That of the trace that begins first, with the nodes of all that begin then.
    fn merged_header(&self) -> Option<Header> {
        let first = self.traces.iter().min_by_key(|trace| trace.offset)?;
        let mut header = first.header.clone();
        header.links.clear();
        let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
        for trace in self.traces.iter().filter(|trace| trace.offset == 0) {
            nodes.extend(trace.header.nodes.iter().map(|node| node.id));
        }
        header.nodes = nodes.into_iter().filter_map(|node| self.info(node).cloned()).collect();
        if !self.exact {
            header.parameters.remove("monotonic_ns");
            header.parameters.remove("boot_id");
        }
        header.parameters.insert("merged".to_owned(), json!(self.traces.len()));
        header.parameters.insert("one_clock".to_owned(), json!(self.exact));
        if !self.cut_off.is_empty() {
            header.parameters.insert("cut_off".to_owned(), json!(self.cut_off));
        }
        Some(header)
    }
}

/// The first broken rule, and the sums of all numbers.
fn sum(ends: Vec<End>) -> End {
    let mut total = End::default();
    for end in ends {
        total.violation = total.violation.or(end.violation);
        for (name, value) in end.totals {
            let before = total.totals.get(&name).and_then(Value::as_u64).unwrap_or_default();
            match value.as_u64() {
                Some(number) => total.totals.insert(name, json!(before.saturating_add(number))),
                None => total.totals.insert(name, value),
            };
        }
    }
    total
}
