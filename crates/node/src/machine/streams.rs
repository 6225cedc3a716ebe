//! Streams: which requests belong to which connection of a client, and what its end means for them.
//!
//! A connection that its client closes is the client's end, on this machine: the kernel closes it when the process dies,
//! however it dies. So its requests end at once. Over a network a closed connection says less, and so does one that
//! this node closed itself: the client may be alive and rely on what it holds, until its lease is over.
//!
//! An *anchor* is another connection of the same client that is handed on to a child process. Once the client is gone,
//! what it held is kept by the anchor, without a lease, until that is closed too.

use std::collections::{BTreeMap, BTreeSet};

use meshlock_api::stream::NodeLine;
use meshlock_api::{Expiry, OutOfReach, Place, Problem, RequestInfo, State};

use super::alarms::Alarm;
use super::clients::Ticket;
use super::{Machine, Now};

/// A connection of a client, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// From where a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From this machine: its end is seen for certain, and at once.
    Local,
    /// Over a network, where the end of a connection need not be that of the client.
    Remote,
}

/// Who closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// Its client, or the system because the client died.
    Client,
    /// This node. The client may be alive.
    Node,
}

/// All streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    last: u64,
    table: BTreeMap<StreamId, Stream>,
    /// Requests that have changed, for the streams to which they belong.
    changed: Vec<(StreamId, Ticket)>,
    /// The alarm is set.
    tells_places: bool,
    /// The place of which request was told last.
    told_last: Ticket,
}

#[derive(Debug)]
struct Stream {
    origin: Origin,
    tickets: BTreeSet<Ticket>,
    anchor: Option<Ticket>,
}

/// What a client was told about its waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToldPlace {
    place: Option<Place>,
    out_of_reach: Option<OutOfReach>,
    reason: Option<String>,
}

impl ToldPlace {
    /// As far as it matters: the time that a token is out of reach changes all the time.
    fn of(info: &RequestInfo) -> Self {
        Self::new(info.place, info.out_of_reach.as_ref(), info.reason.as_ref())
    }

    fn new(place: Option<Place>, out_of_reach: Option<&OutOfReach>, reason: Option<&String>) -> Self {
        let out_of_reach = out_of_reach.map(|lost| OutOfReach { for_ms: None, last_seen: lost.last_seen.clone() });
        Self { place, out_of_reach, reason: reason.cloned() }
    }

    /// What a line tells of a request that waits.
    pub(crate) fn in_line(line: &NodeLine<'_>) -> Option<Self> {
        let waits = |state| state == State::Queued;
        match (&line.request, &line.brief) {
            (Some(info), _) => waits(info.state).then(|| Self::of(info)),
            (None, Some(brief)) => {
                waits(brief.state).then(|| Self::new(brief.place, brief.out_of_reach.as_ref(), brief.reason.as_ref()))
            }
            (None, None) => None,
        }
    }
}

/// How often a client is told of its place.
const TELL_EVERY_MS: u64 = 1_000;
/// How many places are looked at each time: counting those ahead of one takes microseconds.
const TOLD_AT_ONCE: usize = 200;

impl Machine {
    /// A client opens a stream.
    pub fn open_stream(&mut self, origin: Origin) -> StreamId {
        self.streams.last += 1;
        let id = StreamId(self.streams.last);
        self.streams.table.insert(id, Stream { origin, tickets: BTreeSet::new(), anchor: None });
        id
    }

    /// Whether a stream has requests or is an anchor.
    pub fn is_stream_used(&self, stream: StreamId) -> bool {
        self.streams.table.get(&stream).is_some_and(|stream| !stream.tickets.is_empty() || stream.anchor.is_some())
    }

    /// Whether no request can be asked for on this stream, because it is an anchor.
    pub fn is_anchor(&self, stream: StreamId) -> bool {
        self.streams.table.get(&stream).is_some_and(|stream| stream.anchor.is_some())
    }

    /// The request belongs to this stream from now on, unless it is over.
    pub fn take_over(&mut self, now: Now, stream: StreamId, ticket: Ticket) {
        let Some(request) = self.requests.get_mut(ticket).filter(|request| !request.state.is_over()) else { return };
        let before = request.stream.replace(stream);
        request.abandoned = false;
        request.kept_by_anchor = false;
        let waits = request.state == State::Queued;
        if before != Some(stream) {
            if let Some(before) = before.and_then(|before| self.streams.table.get_mut(&before)) {
                before.tickets.remove(&ticket);
            }
            if let Some(stream) = self.streams.table.get_mut(&stream) {
                stream.tickets.insert(ticket);
            }
        }
        if waits && !self.streams.tells_places {
            self.streams.tells_places = true;
            self.alarms.set(now.plus_ms(TELL_EVERY_MS), Alarm::Places);
        }
    }

    /// Lets this stream keep what the request holds, should the stream to which it belongs be closed.
    pub fn anchor(&mut self, stream: StreamId, ticket: Ticket) -> Result<(), Problem> {
        let refuse = |message: &str| Err(Problem::conflict(message));
        let Some(known) = self.streams.table.get_mut(&stream) else { return refuse("this stream is closed") };
        if known.origin == Origin::Remote {
            return refuse("an anchor has to be a connection over the Unix socket: only there its end is seen at once");
        }
        if known.anchor == Some(ticket) {
            return Ok(());
        }
        if known.anchor.is_some() || !known.tickets.is_empty() {
            return refuse("an anchor is for one request and has none of its own: open another connection");
        }
        let Some(request) = self.requests.get_mut(ticket) else {
            return Err(Problem::unknown("this request was long ago"));
        };
        if request.state.is_over() {
            return Err(Problem::gone(format!("the request is {}: nothing is left to be kept", request.state.name())));
        }
        if request.stream.is_none() && !request.kept_by_anchor {
            return refuse("the request belongs to no stream: acquire it on another connection first");
        }
        request.anchors += 1;
        known.anchor = Some(ticket);
        Ok(())
    }

    /// A stream is closed.
    pub fn close_stream(&mut self, now: Now, stream: StreamId, by: ClosedBy) {
        let Some(Stream { origin, tickets, anchor }) = self.streams.table.remove(&stream) else { return };
        let is_over = origin == Origin::Local && by == ClosedBy::Client;
        // Those that wait first: what the client held must not go to another request of the same dead client.
        let is_queued = |ticket: &Ticket| self.requests.get(*ticket).is_some_and(|it| it.state == State::Queued);
        let (queued, others): (Vec<Ticket>, Vec<Ticket>) = tickets.into_iter().partition(is_queued);
        for ticket in queued.into_iter().chain(others) {
            let Some(request) = self.requests.get_mut(ticket) else { continue };
            request.stream = None;
            match (request.state, is_over) {
                (State::Granted | State::Revoked, true) if request.anchors > 0 => self.keep_by_anchor(now, ticket),
                (_, true) => self.disconnect(now, ticket, "its client closed the connection, or died"),
                (State::Queued, false) => self.unheard(now, ticket),
                (State::Granted | State::Revoked | State::Rejected | State::Expired | State::Released, false) => {}
            }
        }
        let Some(ticket) = anchor else { return };
        let Some(request) = self.requests.get_mut(ticket) else { return };
        request.anchors = request.anchors.saturating_sub(1);
        if !request.kept_by_anchor || request.anchors > 0 {
            return;
        }
        request.kept_by_anchor = false;
        match by {
            ClosedBy::Client => {
                self.disconnect(now, ticket, "its client died, and so did the last process that it started");
            }
            ClosedBy::Node => {} // the process runs on; the lease is all that is left
        }
    }

    /// From now on this node renews it by itself.
    fn keep_by_anchor(&mut self, now: Now, ticket: Ticket) {
        if let Some(request) = self.requests.get_mut(ticket) {
            request.kept_by_anchor = true;
        }
        self.renew_by_itself(now, ticket);
    }

    /// Ends a request whose client is gone for certain.
    fn disconnect(&mut self, now: Now, ticket: Ticket, reason: &str) {
        if self.lingers(ticket) {
            return self.end_lingering_of(now, ticket);
        }
        if let Some(request) = self.requests.get_mut(ticket).filter(|request| !request.state.is_over()) {
            request.expiry = Some(Expiry::Disconnect);
        }
        self.end(now, ticket, State::Expired, Some(reason.to_owned()));
    }

    /// The lease is over; but if the connection of a client that waits is open, or an anchor, that is its sign of life.
    /// `false` if it is over all the same.
    pub(super) fn renew_by_itself(&mut self, now: Now, ticket: Ticket) -> bool {
        let Some(request) = self.requests.get(ticket) else { return false };
        let times_out = request.times_out.is_some_and(|times_out| times_out <= now);
        let end = match request.state {
            State::Queued if request.stream.is_some() && !times_out => now.plus_ms(request.lease_ms),
            State::Granted | State::Revoked if request.kept_by_anchor => self.lease_end(now, request.lease_ms),
            State::Queued | State::Granted | State::Revoked | State::Rejected | State::Expired | State::Released => {
                return false;
            }
        };
        if end <= now {
            return false; // this node may not promise anything any more
        }
        if request.kept_by_anchor {
            self.promise(end);
        }
        if let Some(request) = self.requests.get_mut(ticket) {
            request.alive_until = end;
            request.told_ms = end.ms_since(now);
        }
        self.set_alarm(ticket);
        true
    }

    /// A request is over, and belongs to no stream any more.
    pub(super) fn leave_stream(&mut self, ticket: Ticket) {
        let Some(request) = self.requests.get_mut(ticket) else { return };
        request.kept_by_anchor = false;
        if let Some(stream) = request.stream.take().and_then(|stream| self.streams.table.get_mut(&stream)) {
            stream.tickets.remove(&ticket);
        }
    }

    /// The stream of a request has to hear of a change.
    pub(super) fn note_change(&mut self, ticket: Ticket) {
        if let Some(stream) = self.requests.get(ticket).and_then(|request| request.stream) {
            self.streams.changed.push((stream, ticket));
        }
    }

    /// The answer on this stream tells how the request is doing, so that nothing has to be told besides.
    pub fn told(&mut self, stream: StreamId, ticket: Ticket) {
        self.streams.changed.retain(|changed| *changed != (stream, ticket));
    }

    /// What a client that waits was told, so that it is told again only if that changes.
    pub(crate) fn note_place(&mut self, ticket: Ticket, told: ToldPlace) {
        if let Some(request) = self.requests.get_mut(ticket).filter(|request| request.state == State::Queued) {
            request.told_place = Some(Box::new(told));
        }
    }

    /// Whether a stream has to hear of something.
    pub fn has_changed(&self) -> bool {
        !self.streams.changed.is_empty()
    }

    /// What has changed, for whom.
    pub fn take_changed(&mut self) -> Vec<(StreamId, Ticket)> {
        std::mem::take(&mut self.streams.changed)
    }

    /// Tells clients that wait of their places, if these have changed.
    pub(super) fn places_due(&mut self, now: Now) {
        let all = self.streams.table.values().flat_map(|stream| stream.tickets.iter().copied());
        let is_queued = |ticket: &Ticket| self.requests.get(*ticket).is_some_and(|r| r.state == State::Queued);
        let mut waiting: Vec<Ticket> = all.filter(is_queued).collect();
        self.streams.tells_places = !waiting.is_empty();
        if waiting.is_empty() {
            return;
        }
        self.alarms.set(now.plus_ms(TELL_EVERY_MS), Alarm::Places);
        waiting.sort_unstable();
        let start = waiting.partition_point(|ticket| *ticket <= self.streams.told_last);
        waiting.rotate_left(start);
        waiting.truncate(TOLD_AT_ONCE);
        for ticket in waiting {
            self.streams.told_last = ticket;
            let Ok(info) = self.look(now, ticket) else { continue };
            let place = ToldPlace::of(&info);
            let Some(request) = self.requests.get_mut(ticket) else { continue };
            if request.told_place.as_deref() != Some(&place) {
                request.told_place = Some(Box::new(place));
                self.note_change(ticket);
            }
        }
    }
}
