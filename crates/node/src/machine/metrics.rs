//! What is counted, and its text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use meshlock_api::{RecoveryStatus, State, Urgency};

use super::clients::Ticket;
use super::estimate::Holds;
use super::registry::REGISTRY;
use super::resource::Usage;
use super::{Machine, Now};
use crate::wire::Number;

/// Counts of the whole node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Events of the protocols.
    pub(crate) steps: u64,
    pub(crate) links_up: u64,
    pub(crate) links_down: u64,
    pub(crate) links_overflowed: u64,
    pub(crate) rejected: u64,
}

/// Counts of one resource at this node.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResourceCounts {
    pub(crate) hops: u64,
    pub(crate) received: u64,
    grants: u64,
    lost: u64,
    expired: u64,
    sent: BTreeMap<&'static str, (u64, u64)>,
    waits: [Histogram; CLASSES.len()],
    pub(crate) holds: Holds,
}

/// Classes of priority in the histogram of waits.
const CLASSES: [&str; 5] = ["below 0", "0", "1-9", "10+", "deadline"];

fn class(urgency: Urgency) -> usize {
    match urgency {
        Urgency::Priority(..0) => 0,
        Urgency::Priority(0) => 1,
        Urgency::Priority(1..10) => 2,
        Urgency::Priority(10..) => 3,
        Urgency::Deadline(_) => 4,
    }
}

/// Upper bounds in milliseconds.
const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000];

#[derive(Clone, Copy, Debug, Default)]
struct Histogram {
    buckets: [u64; BOUNDS_MS.len()],
    count: u64,
    sum_ns: u64,
}

impl Histogram {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        if let Some(bucket) = BOUNDS_MS.iter().position(|bound| ns <= bound * 1_000_000) {
            self.buckets[bucket] += 1;
        }
    }
}

impl ResourceCounts {
    pub(crate) fn sent(&mut self, kind: &'static str, copies: usize, bytes: usize) {
        let (messages, total) = self.sent.entry(kind).or_default();
        *messages += copies as u64;
        *total += (copies * bytes) as u64;
    }
}

impl Machine {
    /// A request waits for a resource that is known.
    pub(crate) fn count_ask(&mut self, now: Now, ticket: Ticket) {
        let Some(number) = self.requests.get(ticket).and_then(|request| request.resource) else { return };
        if let Some(resource) = self.resources.get_mut(&number) {
            resource.usage.waiters.insert(ticket);
            self.watch_reach(now, number);
        }
    }

    pub(crate) fn count_grant(&mut self, now: Now, ticket: Ticket) {
        self.audit_grant(now, ticket);
        let Some(request) = self.requests.get(ticket) else { return };
        let Some(resource) = request.resource.and_then(|number| self.resources.get_mut(&number)) else { return };
        resource.usage.waiters.remove(&ticket);
        resource.usage.hold(ticket, request);
        resource.counts.grants += 1;
        let class = class(request.urgency.unwrap_or(Urgency::Priority(0)));
        resource.counts.waits[class].add(now.0.saturating_sub(request.asked_at.0));
    }

    pub(crate) fn count_end(&mut self, now: Now, ticket: Ticket, was: State, state: State) {
        self.audit_end(now, ticket, state);
        let Some(request) = self.requests.get(ticket) else { return };
        let Some(resource) = request.resource.and_then(|number| self.resources.get_mut(&number)) else { return };
        resource.usage.waiters.remove(&ticket);
        if resource.usage.holders.remove(&ticket) {
            resource.usage.units = resource.usage.units.saturating_sub(units(request));
        }
        let counts = &mut resource.counts;
        match (was, state) {
            (State::Granted, State::Expired | State::Revoked) => counts.lost += 1,
            (State::Queued, State::Expired) => counts.expired += 1,
            (_, _) => {}
        }
        // One that was taken away says nothing about how long its client needed.
        if let Some(granted_at) = request.granted_at.filter(|_| state == State::Released) {
            counts.holds.add(now.ms_since(granted_at));
        }
    }

    /// How long the oldest request for a resource has waited here.
    pub(crate) fn longest_wait_ns(&self, now: Now, resource: &super::Resource) -> u64 {
        let oldest = resource.usage.waiters.first().and_then(|ticket| self.requests.get(*ticket));
        oldest.map_or(0, |request| now.0.saturating_sub(request.asked_at.0))
    }
}

impl Usage {
    pub(crate) fn hold(&mut self, ticket: Ticket, request: &super::Request) {
        self.holders.insert(ticket);
        self.units += units(request);
    }
}

fn units(request: &super::Request) -> u64 {
    u64::from(request.demand.map_or(0, |demand| demand.units.0))
}

/// What is told about one resource.
#[derive(Debug)]
struct Sample {
    label: String,
    number: Number,
    capacity: u32,
    token_here: bool,
    is_lost: bool,
    held: u64,
    waiting: usize,
    longest_wait_ns: u64,
    counts: ResourceCounts,
}

/// Everything that is told, taken from the machine in parts so that no caller waits long for it.
#[derive(Debug, Default)]
pub struct Metrics {
    uptime_ns: u64,
    links: usize,
    node: Counts,
    recovery: Option<Recovering>,
    resources: Vec<Sample>,
}

/// Recovery, in numbers.
#[derive(Debug)]
struct Recovering {
    status: RecoveryStatus,
    facts: u64,
    remade: u64,
}

impl Machine {
    /// Adds the next resources, so many at most. True when there are no more.
    pub fn measure(&self, now: Now, metrics: &mut Metrics, most: usize) -> bool {
        (metrics.uptime_ns, metrics.links, metrics.node) = (now.0, self.neighbours.len(), self.counts.clone());
        metrics.recovery = self.recovery_status(now).map(|status| {
            let (facts, remade) = self.recovery.as_ref().map_or((0, 0), |recovery| (recovery.facts, recovery.remade));
            Recovering { status, facts, remade }
        });
        let last = metrics.resources.last().map_or(REGISTRY, |sample| sample.number);
        let next = self.resources.range(last.saturating_add(1)..).take(most);
        let before = metrics.resources.len();
        metrics.resources.extend(next.map(|(number, known)| Sample {
            label: format!("resource=\"{}\"", known.entry.name),
            number: *number,
            capacity: known.entry.definition.capacity,
            token_here: known.instance.holds_token(),
            is_lost: self.is_lost(now, *number),
            held: known.usage.units,
            waiting: known.usage.waiters.len(),
            longest_wait_ns: self.longest_wait_ns(now, known),
            counts: known.counts.clone(),
        }));
        metrics.resources.len() - before < most
    }
}

/// Everything in the text format of Prometheus. Names of resources are checked, so they need no escaping.
pub fn render(machine: &Machine, now: Now) -> String {
    let mut metrics = Metrics::default();
    machine.measure(now, &mut metrics, usize::MAX);
    metrics.render()
}

impl Metrics {
    /// As text.
    pub fn render(&self) -> String {
        let mut text = Text::default();
        let resources = || self.resources.iter();

        text.head("build_info", "gauge", "The version of meshlock.");
        text.line("build_info", &format!("version=\"{}\"", env!("CARGO_PKG_VERSION")), 1);
        text.head("uptime_seconds", "gauge", "Seconds since this node began.");
        text.line("uptime_seconds", "", self.uptime_ns / 1_000_000_000);
        text.head("links", "gauge", "Links that are up.");
        text.line("links", "", self.links);
        if let Some(Recovering { status, facts, remade }) = &self.recovery {
            let ms = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
            if let Some(standing) = status.standing_ms {
                text.head("standing_seconds", "gauge", "How long this node may grant if it hears no more of voters.");
                text.line("standing_seconds", "", ms(standing));
            }
            text.head("granting", "gauge", "Whether this node may grant: 0 without standing, or before it takes part.");
            text.line("granting", "", u8::from(status.suspended.is_none()));
            text.head("census_rank", "gauge", "Grows with every fact about who came and who is gone.");
            text.line("census_rank", "", status.rank);
            text.head("census_facts_total", "counter", "How often this node learned who came or is gone.");
            text.line("census_facts_total", "", facts);
            text.head("repair_open_seconds", "gauge", "How long a repair has waited for reports; 0 if none is open.");
            text.line("repair_open_seconds", "", ms(status.repair.as_ref().map_or(0, |repair| repair.for_ms)));
            text.head("tokens_remade_total", "counter", "Lost tokens that this node made anew.");
            text.line("tokens_remade_total", "", remade);
        }
        text.head("link_changes_total", "counter", "Links that came up or went down.");
        text.line("link_changes_total", "change=\"up\"", self.node.links_up);
        text.line("link_changes_total", "change=\"down\"", self.node.links_down);
        text.head("link_overflows_total", "counter", "Links dropped because too much waited to be sent.");
        text.line("link_overflows_total", "", self.node.links_overflowed);
        text.head("rejected_messages_total", "counter", "Messages of members that made no sense and were ignored.");
        text.line("rejected_messages_total", "", self.node.rejected);
        text.head("capacity_units", "gauge", "Units of the resource in all.");
        for resource in resources() {
            text.line("capacity_units", &resource.label, resource.capacity);
        }
        text.head("token_here", "gauge", "Whether the token of the resource is at this node.");
        for resource in resources() {
            text.line("token_here", &resource.label, u8::from(resource.token_here));
        }
        text.head("held_units", "gauge", "Units held by clients of this node.");
        for resource in resources() {
            text.line("held_units", &resource.label, resource.held);
        }
        text.head("pending", "gauge", "Requests of clients of this node that wait.");
        for resource in resources() {
            text.line("pending", &resource.label, resource.waiting);
        }
        text.head("longest_pending_seconds", "gauge", "How long the oldest of them has waited.");
        for resource in resources() {
            text.line("longest_pending_seconds", &resource.label, seconds(resource.longest_wait_ns));
        }
        text.head("out_of_reach", "gauge", "Whether clients wait and the token is out of reach.");
        for resource in resources() {
            text.line("out_of_reach", &resource.label, u8::from(resource.is_lost));
        }
        text.head("grants_total", "counter", "Grants to clients of this node.");
        for resource in resources() {
            text.line("grants_total", &resource.label, resource.counts.grants);
        }
        text.head("lost_total", "counter", "Grants that ended without being given back: expired leases, revoked.");
        for resource in resources() {
            text.line("lost_total", &resource.label, resource.counts.lost);
        }
        text.head("expired_requests_total", "counter", "Requests that waited too long, or whose client was gone.");
        for resource in resources() {
            text.line("expired_requests_total", &resource.label, resource.counts.expired);
        }
        text.head("token_hops_total", "counter", "How often the token came to this node.");
        for resource in resources() {
            text.line("token_hops_total", &resource.label, resource.counts.hops);
        }
        text.head("messages_received_total", "counter", "Protocol messages received.");
        for resource in resources() {
            text.line("messages_received_total", &resource.label, resource.counts.received);
        }
        text.head("messages_total", "counter", "Protocol messages sent, by kind.");
        for resource in resources() {
            for (kind, (messages, _)) in &resource.counts.sent {
                text.line("messages_total", &format!("{},kind=\"{kind}\"", resource.label), messages);
            }
        }
        text.head("message_bytes_total", "counter", "Bytes of protocol messages sent, by kind.");
        for resource in resources() {
            for (kind, (_, bytes)) in &resource.counts.sent {
                text.line("message_bytes_total", &format!("{},kind=\"{kind}\"", resource.label), bytes);
            }
        }
        text.head("wait_seconds", "histogram", "From asking to the grant, by class of priority.");
        for resource in resources() {
            for (class, histogram) in CLASSES.iter().zip(&resource.counts.waits).filter(|(_, h)| h.count > 0) {
                text.histogram(&format!("{},priority=\"{class}\"", resource.label), histogram);
            }
        }
        text.0
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP meshlock_{name} {help}\n# TYPE meshlock_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "meshlock_{name}{labels} {value}");
    }

    fn histogram(&mut self, labels: &str, histogram: &Histogram) {
        let mut below = 0;
        for (bound, count) in BOUNDS_MS.iter().zip(histogram.buckets) {
            below += count;
            let bound = *bound as f64 / 1e3;
            self.line("wait_seconds_bucket", &format!("{labels},le=\"{bound}\""), below);
        }
        self.line("wait_seconds_bucket", &format!("{labels},le=\"+Inf\""), histogram.count);
        self.line("wait_seconds_sum", labels, seconds(histogram.sum_ns));
        self.line("wait_seconds_count", labels, histogram.count);
    }
}
