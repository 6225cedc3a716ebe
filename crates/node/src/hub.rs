//! The machine shared by links, clients and the timer.
//!
//! One mutex, held for a microsecond at a time and never across an await: a thread with an event applies it to its end
//! and sends what comes of it before the next one gets its turn. A task with a queue would give the same order, and
//! two changes of thread for every acquire.

mod operators;

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use meshlock_api::{Event, MeshStatus, NewRequest, Problem, RequestInfo, ResourceInfo, State, Urgency};
use meshlock_core::NodeId;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::audit_log::AuditSender;
use crate::links::{DoubleIdentity, FrameReceiver, FrameSender, LinkId, LinkUser, Outgoing, Peer, frame_queue};
use crate::machine::{Answers, ClosedBy, Machine, Metrics, Now, Origin, Post, Promise, Request, StreamId, Ticket};
use crate::mesh::Member;
use crate::mesh::promises::{ClientPlace, Moment, Promises};
use crate::wire::{About, Removals};

/// How many resources or requests are told about before others have their turn.
const AT_ONCE: usize = 1_000;

/// A node's machine, with everything that is needed to share it.
#[derive(Debug)]
pub struct Hub {
    inner: Mutex<Inner>,
    /// On a clock that goes on while the machine is suspended: leases and standings end in a closed laptop, too.
    began: Moment,
    /// The next alarm has become earlier.
    earlier: Notify,
    /// A neighbour told of removed members.
    removals: mpsc::Sender<HeardRemovals>,
    /// Others hold this incarnation for gone.
    expelled: Notify,
    /// The catalogue is to be written.
    catalogue: Notify,
    /// It was written.
    kept: Notify,
}

/// What a neighbour said about removed members.
pub type HeardRemovals = (NodeId, Removals);

/// Frames about removals that wait to be verified; fifteen neighbours may tell of all members that there can be.
const MOST_REMOVALS_UNREAD: usize = 4_096;

#[derive(Debug)]
struct Inner {
    machine: Machine,
    senders: BTreeMap<NodeId, FrameSender>,
    links: HashMap<LinkId, NodeId>,
    /// What every new neighbour is told besides.
    greeting: Option<Outgoing>,
    /// What clients were promised, where that outlives this process.
    promises: Option<(Promises, ClientPlace)>,
    /// Where it is written down who holds what.
    audit: Option<AuditSender>,
    /// What an operator has to act on, by member, with the time when it was heard last.
    alarms: BTreeMap<Member, (Instant, String)>,
    /// The clients at the other ends of streams.
    streams: HashMap<StreamId, Arc<dyn StreamUser>>,
    /// The node was killed: nothing reaches the machine from outside any more, and nothing comes out of it.
    killed: bool,
}

/// An alarm that is not heard again in this time is over. Those who are refused try again twice a minute.
const ALARM_LASTS: Duration = Duration::from_secs(300);

impl Inner {
    /// Hands frames to the links. Whether somebody waits for one of them.
    fn flush(&mut self) -> bool {
        let mut hurries = false;
        for Post { to, frame, can_wait } in self.machine.take_outbox() {
            // One without a sender belongs to a link that is about to be reported down.
            let Some(sender) = self.senders.get(&to) else { continue };
            hurries |= !can_wait;
            let sent = if can_wait { sender.send_later(frame) } else { sender.send(frame) };
            if sent.is_err() {
                self.senders.remove(&to);
                self.machine.counts.links_overflowed += 1;
            }
        }
        hurries
    }
}

impl Inner {
    /// Notes what clients were promised, before any of them hears of it.
    fn note_promises(&mut self, now: Now) {
        let Some((promises, clients)) = &mut self.promises else { return };
        if self.machine.take_try_again() && promises.try_to_write().is_ok() {
            self.machine.can_note(now);
            tracing::info!("what clients hold can be noted again");
        }
        let noted = match self.machine.take_promise() {
            None => return,
            // Left out, the next start only waits for longer than it must.
            Some(Promise::Nothing) => return drop(promises.clear()),
            Some(Promise::Until(until)) => promises.note(Duration::from_nanos(until.0.saturating_sub(now.0)), *clients),
        };
        if let Err(error) = noted {
            // Once, and not for every request that comes meanwhile: a full disk often has the log on it, too.
            if self.machine.cannot_note(now, "this node cannot note what its clients hold; see its log") {
                tracing::error!("what clients hold cannot be noted, so they lose it: {error}");
            }
        }
    }
}

impl Inner {
    /// Tells the streams of what has changed for them. They are to be flushed when the machine is free.
    fn tell_streams(&mut self, now: Now) -> Vec<Arc<dyn StreamUser>> {
        if !self.machine.has_changed() {
            return Vec::new();
        }
        let changed = self.machine.take_changed();
        if self.killed {
            return Vec::new(); // a crash says nothing to anyone
        }
        let mut told = Vec::with_capacity(changed.len().min(16));
        for (stream, ticket) in changed {
            let Some(user) = self.streams.get(&stream) else { continue };
            let Ok(info) = self.machine.look(now, ticket) else { continue };
            user.tell(&info, self.machine.is_stream_used(stream));
            told.push(Arc::clone(user));
        }
        told
    }
}

impl Hub {
    /// Shares a machine. What neighbours say about removed members comes out of the receiver.
    pub fn new(machine: Machine) -> (Arc<Self>, mpsc::Receiver<HeardRemovals>) {
        let (removals, received) = mpsc::channel(MOST_REMOVALS_UNREAD);
        let inner = Inner {
            machine,
            senders: BTreeMap::new(),
            links: HashMap::new(),
            greeting: None,
            promises: None,
            audit: None,
            alarms: BTreeMap::new(),
            streams: HashMap::new(),
            killed: false,
        };
        let (earlier, expelled, catalogue, kept) = (Notify::new(), Notify::new(), Notify::new(), Notify::new());
        let began = Moment::now();
        (Arc::new(Self { inner: Mutex::new(inner), began, earlier, removals, expelled, catalogue, kept }), received)
    }

    /// The time as the machine knows it.
    pub fn now(&self) -> Now {
        Now(u64::try_from(Moment::now().since(self.began).as_nanos()).unwrap_or(u64::MAX))
    }

    /// The machine, alone.
    ///
    /// # Panics
    ///
    /// If an earlier event broke an invariant of the machine. Half of that event was applied, so nothing that the
    /// machine would say can be trusted: a token could be in two places.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|_| panic!("{BROKEN}"))
    }

    /// Like [`with`](Self::with), where a panic must not follow another: nothing is done if the node is broken.
    pub fn with_if_sound(&self, what: impl FnOnce(&mut Machine, Now)) {
        if !self.inner.is_poisoned() {
            self.with(what);
        }
    }

    /// Does something with the machine, and sends what comes of it.
    pub fn with<R>(&self, what: impl FnOnce(&mut Machine, Now) -> R) -> R {
        self.with_inner(|inner, now| what(&mut inner.machine, now))
    }

    /// Does something with the machine, and then says what a client may hear of it: what it was promised is noted in between,
    /// and what could not be noted is not promised.
    pub fn with_then<T, R>(
        &self,
        what: impl FnOnce(&mut Machine, Now) -> T,
        tell: impl FnOnce(&Machine, Now, T) -> R,
    ) -> R {
        self.apply(|inner, now| what(&mut inner.machine, now), |inner, now, done| tell(&inner.machine, now, done)).0
    }

    fn with_inner<R>(&self, what: impl FnOnce(&mut Inner, Now) -> R) -> R {
        self.apply(what, |_, _, result| result).0
    }

    /// Applies one event to its end. What clients are promised is noted before `tell` is called, and before any stream hears
    /// of it. Says besides whether links have something to send now.
    fn apply<T, R>(
        &self,
        what: impl FnOnce(&mut Inner, Now) -> T,
        tell: impl FnOnce(&mut Inner, Now, T) -> R,
    ) -> (R, bool) {
        let mut inner = self.lock();
        let before = inner.machine.next_wake();
        let applied = panic::catch_unwind(AssertUnwindSafe(|| {
            let now = self.now();
            if before.is_some_and(|due| due <= now) && !inner.killed {
                inner.machine.wake(now); // what is over is over, also if the timer is late
            }
            let result = what(&mut inner, now);
            inner.note_promises(now);
            if let Inner { machine, audit: Some(audit), .. } = &mut *inner {
                audit.send(machine.take_audit());
            }
            let result = tell(&mut inner, now, result);
            (result, inner.tell_streams(now))
        }));
        let (result, told) = applied.unwrap_or_else(|cause| {
            // Neighbours are not told half of an event: the links are closed instead.
            inner.senders.clear();
            tracing::error!("{BROKEN}");
            panic::resume_unwind(cause) // and the mutex is poisoned
        });
        let (mut notes, mut remarks) = (Vec::new(), Vec::new());
        let mut hurries = false;
        if inner.machine.has_output() {
            hurries = inner.flush();
            (notes, remarks) = (inner.machine.take_notes(), inner.machine.take_remarks());
        }
        if inner.machine.is_expelled() && !inner.senders.is_empty() {
            inner.senders.clear(); // this closes the links; the next ones are of the next incarnation
            self.expelled.notify_one();
        }
        if inner.machine.has_catalogue() {
            self.catalogue.notify_one();
        }
        let after = inner.machine.next_wake();
        let woken = inner.machine.take_woken();
        drop(inner);
        // From this thread, so that the grant of one client's release is under way before another thread has woken up.
        told.iter().for_each(|stream| stream.flush());
        // Not before: a task that is woken may want the machine at once, on this thread.
        woken.into_iter().for_each(Waker::wake);
        if after.is_some_and(|after| before.is_none_or(|before| after < before)) {
            self.earlier.notify_one();
        }
        for remark in remarks {
            tracing::info!("{remark}");
        }
        for note in notes {
            tracing::warn!("{note}");
        }
        (result, hurries)
    }

    /// Does what is due, without end. Run it as a task.
    pub async fn keep_time(self: Arc<Self>) {
        loop {
            let next = self.lock().machine.next_wake();
            match next {
                Some(at) => {
                    let wait = Duration::from_nanos(at.0.saturating_sub(self.now().0));
                    // An earlier alarm or the time, whichever comes first.
                    let _ = timeout(wait, self.earlier.notified()).await;
                }
                None => self.earlier.notified().await,
            }
            self.with(|machine, now| machine.wake(now));
        }
    }

    /// Waits until this node may grant, at most for so long; otherwise why it may not.
    pub async fn until_granting(&self, patience: Duration) -> Result<(), String> {
        let until = Instant::now() + patience;
        loop {
            let reason = self.with(|machine, _| machine.suspended().map(str::to_owned));
            match reason {
                None => return Ok(()),
                Some(reason) if Instant::now() >= until => return Err(reason),
                Some(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Waits until others hold this incarnation for gone: then it has to begin anew.
    pub async fn expelled(&self) {
        while !self.lock().machine.is_expelled() {
            self.expelled.notified().await;
        }
    }

    /// Notes what clients are promised from now on, so that it outlives this process.
    pub(crate) fn note_in(&self, promises: Promises, clients: ClientPlace) {
        self.lock().promises = Some((promises, clients));
    }

    /// Writes down who holds what from now on.
    pub(crate) fn audit_in(&self, sender: AuditSender) {
        self.with_inner(|inner, now| {
            inner.audit = Some(sender);
            inner.machine.begin_audit(now);
        });
    }

    /// Nothing more is written down.
    pub(crate) fn end_audit(&self) {
        self.lock().audit = None;
    }

    /// No client holds anything any more, and none ever will: this node has left.
    pub(crate) fn clear_promises(&self) {
        if let Some((promises, _)) = &mut self.lock().promises
            && let Err(error) = promises.clear()
        {
            tracing::warn!("the next start will wait for clients that are gone: {error}");
        }
    }

    /// Ends as a crash does: no neighbour is told anything, nothing more is written to disk or recorded. What clients were
    /// promised stays noted. Those in this process that still have the hub learn that they hold nothing.
    pub(crate) fn kill(&self) {
        self.with_inner(|inner, now| {
            inner.killed = true;
            inner.senders.clear();
            inner.links.clear();
            inner.promises = None;
            inner.audit = None;
            inner.machine.fall_silent(now);
        });
    }

    /// Tells every new neighbour this.
    pub(crate) fn greet_with(&self, frame: Outgoing) {
        self.lock().greeting = Some(frame);
    }

    /// A client asks; see [`Machine::ask`].
    pub fn ask(&self, asked: NewRequest) -> Result<RequestInfo, Problem> {
        self.with_then(|machine, now| machine.ask(now, asked), |machine, now, ticket| machine.look(now, ticket?))
    }

    /// Asks, and says only what a program in this process needs.
    pub fn ask_briefly(&self, asked: NewRequest) -> Result<(Ticket, State, Option<u64>), Problem> {
        self.with_then(
            |machine, now| machine.ask(now, asked),
            |machine, now, ticket| {
                let ticket = ticket?;
                let (state, fence, _) = machine.glance(ticket).unwrap_or((State::Queued, None, now));
                Ok((ticket, state, fence))
            },
        )
    }

    /// Asks, and says by which number protocols and recordings know the request. One that waits in front of a protocol
    /// which serves one request of a node at a time, or attends the session of another, has none.
    pub fn ask_numbered(&self, asked: NewRequest) -> Result<(RequestInfo, Option<u64>), Problem> {
        self.with_then(
            |machine, now| {
                let ticket = machine.ask(now, asked)?;
                Ok((ticket, machine.requests.get(ticket).and_then(|request| request.number)))
            },
            |machine, now, asked: Result<_, Problem>| {
                let (ticket, number) = asked?;
                Ok((machine.look(now, ticket)?, number.map(|number| number.0)))
            },
        )
    }

    /// The names of sessions that clients of this node asked for lately, with the numbers that protocols and recordings
    /// know them by.
    pub fn session_names(&self) -> Vec<(String, u64)> {
        self.with(|machine, _| {
            let named = |request: &Request| Some((request.asked.session.clone()?, request.demand?.session?.0));
            machine.requests.iter().filter_map(|(_, request)| named(request)).collect()
        })
    }

    /// How a request is doing.
    pub fn look(&self, id: &str) -> Result<RequestInfo, Problem> {
        self.with(|machine, now| machine.find(id).and_then(|ticket| machine.look(now, ticket)))
    }

    /// The client is still there.
    pub fn renew(&self, id: &str, lease_ms: Option<u64>) -> Result<RequestInfo, Problem> {
        self.with_then(
            |machine, now| {
                let ticket = machine.find(id)?;
                machine.renew(now, ticket, lease_ms).map(|()| ticket)
            },
            |machine, now, ticket: Result<_, Problem>| machine.look(now, ticket?),
        )
    }

    /// Changes how urgent a waiting request is.
    pub fn reprioritize(&self, id: &str, urgency: Urgency) -> Result<RequestInfo, Problem> {
        self.with(|machine, now| {
            let ticket = machine.find(id)?;
            machine.reprioritize(now, ticket, urgency)?;
            machine.look(now, ticket)
        })
    }

    /// The client no longer wants it, waiting or held.
    pub fn release(&self, id: &str) -> Result<RequestInfo, Problem> {
        self.with(|machine, now| {
            let ticket = machine.find(id)?;
            machine.release(now, ticket);
            machine.look(now, ticket)
        })
    }

    /// A client opens a stream, and hears of its requests through `user`.
    pub fn open_stream(&self, origin: Origin, user: Arc<dyn StreamUser>) -> StreamId {
        self.with_inner(|inner, _| {
            let id = inner.machine.open_stream(origin);
            inner.streams.insert(id, user);
            id
        })
    }

    /// A stream is closed; what that means depends on who closed it.
    pub fn close_stream(&self, id: StreamId, by: ClosedBy) {
        if !self.inner.is_poisoned() {
            self.with_inner(|inner, now| {
                inner.streams.remove(&id);
                inner.machine.close_stream(now, id, by);
            });
        }
    }

    /// Does something for a stream, and tells it the result before it hears of any other change. Neither may block.
    /// Whether links have something to send now because of it.
    pub fn answer<T>(
        &self,
        what: impl FnOnce(&mut Machine, Now) -> T,
        tell: impl FnOnce(&mut Machine, Now, T),
    ) -> bool {
        let ((), hurries) = self.apply(
            |inner, now| what(&mut inner.machine, now),
            |inner, now, result| tell(&mut inner.machine, now, result),
        );
        hurries
    }

    /// The answer about a request did not reach its client; see [`Machine::unheard`].
    pub fn unheard(&self, ticket: Ticket) {
        self.with_if_sound(|machine, now| machine.unheard(now, ticket));
    }

    /// The ticket of an id.
    pub fn find(&self, id: &str) -> Result<Ticket, Problem> {
        self.with(|machine, _| machine.find(id))
    }

    /// Waits until a request is no longer in the state `seen`, and returns the one it is in.
    pub async fn changed(&self, ticket: Ticket, seen: State) -> State {
        poll_fn(|context| {
            let mut inner = self.lock();
            match inner.machine.glance(ticket) {
                Some((state, _, _)) if state == seen => {
                    inner.machine.wake_on_change(ticket, context.waker());
                    Poll::Pending
                }
                Some((state, _, _)) => Poll::Ready(state),
                None => Poll::Ready(State::Expired),
            }
        })
        .await
    }

    /// A client waits for a request on a connection, as long as the result lives.
    pub fn attend(self: &Arc<Self>, ticket: Ticket, client: Attends) -> Attendance {
        self.with(|machine, _| machine.attended(ticket));
        Attendance { hub: Arc::clone(self), ticket, client }
    }

    /// Waits until a queued request is answered, at most for so long. A client waits, so the request is kept alive.
    pub async fn wait(&self, id: &str, patience: Duration) -> Result<RequestInfo, Problem> {
        let ticket = self.find(id)?;
        let until = Instant::now() + patience;
        loop {
            let info = self.look(id)?;
            let left = until.saturating_duration_since(Instant::now());
            if info.state != State::Queued || left.is_zero() {
                return Ok(info);
            }
            let third = Duration::from_millis(info.lease_ms / 3);
            if timeout(left.min(third), self.changed(ticket, State::Queued)).await.is_err() {
                self.with(|machine, now| machine.renew(now, ticket, None))?;
            }
        }
    }

    /// Who holds what and who waits, from all nodes that answer in time.
    pub async fn status(&self, resource: Option<&str>, patience: Duration) -> Result<MeshStatus, Problem> {
        let about = self.with(|machine, now| {
            machine.set_clock(now, since_1970_ms());
            machine.about(resource)
        })?;
        let answers = if patience.is_zero() { None } else { Some(self.answers(about.clone(), patience).await) };
        // In parts, so that no other caller waits long for the machine.
        let mut gathered = self.with(|machine, now| machine.gather(now, answers));
        while !self.with(|machine, now| machine.gather_more(now, &about, &mut gathered)) {
            yield_now().await;
        }
        Ok(MeshStatus { alarms: self.alarms(), ..gathered.assemble() })
    }

    async fn answers(&self, about: About, patience: Duration) -> Answers {
        let number = self.with(|machine, _| machine.ask_everybody(about));
        let forget = OnDrop(|| self.with_if_sound(|machine, _| machine.forget_query(number)));
        let complete = poll_fn(|context| {
            if self.lock().machine.poll_query(number, context.waker()) { Poll::Ready(()) } else { Poll::Pending }
        });
        // Nodes that have not answered by then are not in the answer.
        let _ = timeout(patience, complete).await;
        let answers = self.with(|machine, _| machine.take_answers(number));
        drop(forget);
        answers
    }

    /// What an operator has to act on, in words.
    pub fn alarms(&self) -> Vec<String> {
        let mut inner = self.lock();
        inner.alarms.retain(|_, (heard, _)| heard.elapsed() < ALARM_LASTS);
        inner.alarms.values().map(|(_, words)| words.clone()).collect()
    }

    /// All resources that this node knows. In parts, so that no caller waits long for the machine.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        let mut all: Vec<ResourceInfo> = Vec::new();
        loop {
            let last = all.last().map(|info| info.name.clone());
            let next = self.with(|machine, _| machine.resource_infos_after(last.as_deref(), AT_ONCE));
            if next.is_empty() {
                return all;
            }
            all.extend(next);
        }
    }

    /// All requests that are queued or granted at this node. In parts, like the resources.
    pub fn requests(&self) -> Vec<RequestInfo> {
        let (mut all, mut last) = (Vec::new(), Ticket(0));
        while let Some((next, until)) = self.with(|machine, now| machine.request_infos_after(now, last, AT_ONCE)) {
            all.extend(next);
            last = until;
        }
        all
    }

    /// The text for Prometheus.
    pub fn metrics(&self) -> String {
        let mut metrics = Metrics::default();
        while !self.with(|machine, now| machine.measure(now, &mut metrics, AT_ONCE)) {}
        metrics.render()
    }

    /// Listens to what happens from now on.
    pub fn events(self: &Arc<Self>) -> EventStream {
        let last = self.with(|machine, _| machine.listen());
        EventStream { hub: Arc::clone(self), last }
    }
}

impl LinkUser for Hub {
    fn up(&self, link: LinkId, peer: &Peer) -> Result<FrameReceiver, String> {
        let (sender, receiver) = frame_queue();
        self.with_inner(|inner, now| {
            if inner.killed {
                return Err("this node was killed".to_owned());
            }
            let replaced = inner.senders.insert(peer.node, sender);
            if let Err(reason) = inner.machine.link_up(now, peer) {
                inner.senders.remove(&peer.node);
                inner.senders.extend(replaced.map(|sender| (peer.node, sender)));
                return Err(reason);
            }
            inner.links.insert(link, peer.node);
            if let Some(greeting) = &inner.greeting {
                inner.machine.post(peer.node, greeting);
            }
            Ok(receiver)
        })
    }

    fn received(&self, link: LinkId, frame: &[u8]) -> Result<(), String> {
        let removals = self.with_inner(|inner, now| {
            let Some(from) = inner.links.get(&link).copied() else { return Ok(Vec::new()) };
            inner.machine.set_clock(now, since_1970_ms());
            inner.machine.receive(now, from, frame)?;
            Ok::<_, String>(inner.machine.take_removals())
        })?;
        for removal in removals {
            // A node that verifies none, because it ends, lets them go.
            if let Err(TrySendError::Full(_)) = self.removals.try_send(removal) {
                return Err("it tells of more removals than this node can verify".to_owned());
            }
        }
        Ok(())
    }

    fn down(&self, link: LinkId, reason: &str) {
        self.with_inner(|inner, now| {
            let Some(node) = inner.links.remove(&link) else { return };
            inner.senders.remove(&node);
            inner.machine.link_down(now, node, reason);
        });
    }

    fn alarm(&self, double: &DoubleIdentity) {
        self.lock().alarms.insert(double.member, (Instant::now(), double.to_string()));
    }
}

/// The client at the other end of a stream.
pub trait StreamUser: Send + Sync + std::fmt::Debug {
    /// One of its requests has changed. Called while the machine is held, so it must not block; whether the stream has
    /// requests or is an anchor is told besides.
    fn tell(&self, info: &RequestInfo, is_used: bool);

    /// Sends what was told. The machine is free.
    fn flush(&self);
}

fn since_1970_ms() -> u64 {
    u64::try_from(crate::mesh::clock::since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// What happens at a node from some moment on.
#[derive(Debug)]
pub struct EventStream {
    hub: Arc<Hub>,
    last: u64,
}

impl EventStream {
    /// The next events, at least one.
    pub async fn next(&mut self) -> Vec<Event> {
        let events = poll_fn(|context| {
            let mut inner = self.hub.lock();
            let events = inner.machine.events_after(self.last);
            if events.is_empty() {
                inner.machine.wake_on_event(context.waker());
                return Poll::Pending;
            }
            Poll::Ready(events)
        })
        .await;
        self.last = events.last().map_or(self.last, |event| event.number);
        events
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.hub.with_if_sound(|machine, _| machine.stop_listening());
    }
}

/// Who waits for a request on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attends {
    /// The client that asked for it. When it goes away without an answer, the request is not wanted any more.
    AsClient,
    /// All who may look at it.
    AsOnlooker,
}

/// A client waits for a request on a connection. Dropped, the connection was closed before there was an answer.
#[derive(Debug)]
pub struct Attendance {
    hub: Arc<Hub>,
    ticket: Ticket,
    client: Attends,
}

impl Attendance {
    /// There is an answer.
    pub fn answered(mut self) {
        self.client = Attends::AsOnlooker; // a client that has its answer may go
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let (ticket, client) = (self.ticket, self.client);
        self.hub.with_if_sound(|machine, now| match client {
            Attends::AsClient => machine.abandoned(now, ticket),
            Attends::AsOnlooker => machine.answered(ticket),
        });
    }
}

/// What is told when the machine broke an invariant of its own.
const BROKEN: &str = "this node broke an invariant of its own and takes no part any more; please report it, with what \
                      was told before. A new start brings it back as a new node";

/// Does something when it goes out of scope, also when a future is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Wake};

    use super::*;
    use crate::machine::Settings;

    fn hub() -> Arc<Hub> {
        Hub::new(Machine::new(Settings::founder("test", "n0"))).0
    }

    fn neighbour(number: u32) -> Peer {
        Peer { node: NodeId(number), name: format!("n{number}"), address: ([127, 0, 0, 1], 1).into() }
    }

    #[tokio::test]
    async fn an_alarm_of_links_is_shown_by_status() {
        let hub = hub();
        assert_eq!(hub.status(None, Duration::ZERO).await.unwrap().alarms, Vec::<String>::new());
        hub.alarm(&DoubleIdentity::sample());
        let alarms = hub.status(None, Duration::ZERO).await.unwrap().alarms;
        assert!(alarms[0].starts_with("two nodes have the identity of cy (member 7)"), "{alarms:?}");
    }

    #[test]
    fn a_queue_that_is_full_is_counted_once_and_others_go_on() {
        let hub = hub();
        let (_slow, _quick) = (hub.up(LinkId(1), &neighbour(1)).unwrap(), hub.up(LinkId(2), &neighbour(2)).unwrap());
        let frame = Outgoing::from(vec![0; 1 << 20]);
        for _ in 0..100 {
            hub.with(|machine, _| machine.post(NodeId(1), &frame));
        }
        assert!(hub.metrics().contains("\nmeshlock_link_overflows_total 1\n"), "{}", hub.metrics());
        assert!(hub.lock().senders.contains_key(&NodeId(2)));
        hub.down(LinkId(1), "full");
        let _again = hub.up(LinkId(3), &neighbour(1)).unwrap();
        assert!(hub.lock().senders.contains_key(&NodeId(1)), "the next link begins anew");
    }

    #[tokio::test]
    async fn a_question_whose_asker_went_away_is_forgotten() {
        let (hub, _) = Hub::new(Machine::new(Settings {
            mesh: "test".into(),
            id: NodeId(0),
            name: "n0".into(),
            founds_registry: true,
            first_fence: 0,
            create_on_first_use: true,
            declared: BTreeMap::new(),
            declared_in: None,
            seed: 1,
            began_unix_ms: 0,
            most_requests: 10,
        }));
        let silent = Peer { node: NodeId(1), name: "n1".into(), address: ([127, 0, 0, 1], 1).into() };
        let _frames = hub.up(LinkId(1), &silent);
        let open = || hub.with(|machine, _| machine.open_queries());

        let mut asking = Box::pin(hub.status(None, Duration::from_secs(3_600)));
        assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(open().0, 1);
        drop(asking);
        assert_eq!(open().0, 0);
    }

    fn founder() -> Arc<Hub> {
        Hub::new(Machine::new(Settings::founder("test", "n0"))).0
    }

    fn wants(id: &str) -> NewRequest {
        NewRequest { id: Some(id.into()), resource: "dock".into(), ..NewRequest::default() }
    }

    /// Looks at the node when it is woken, as an executor might that runs its tasks in place.
    struct Looks {
        hub: Arc<Hub>,
        seen: Mutex<Option<State>>,
    }

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            assert!(self.hub.inner.try_lock().is_ok(), "the machine is free");
            *self.seen.lock().unwrap() = self.hub.look("b").ok().map(|info| info.state);
        }
    }

    #[test]
    fn whoever_is_woken_may_use_the_node_at_once() {
        let hub = founder();
        hub.ask(wants("a")).unwrap();
        hub.ask(wants("b")).unwrap();
        let looks = Arc::new(Looks { hub: Arc::clone(&hub), seen: Mutex::default() });
        let waker = Waker::from(Arc::clone(&looks));
        let mut changed = Box::pin(hub.changed(hub.find("b").unwrap(), State::Queued));
        assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        hub.release("a").unwrap();
        assert_eq!(*looks.seen.lock().unwrap(), Some(State::Granted));
    }

    #[tokio::test]
    async fn a_node_that_broke_an_invariant_takes_no_part_any_more() {
        let hub = founder();
        let peer = Peer { node: NodeId(1), name: "n1".into(), address: ([127, 0, 0, 1], 1).into() };
        let mut frames = hub.up(LinkId(1), &peer).unwrap();
        let _ = frames.waiting();
        let events = hub.events();
        let break_it = || {
            hub.with(|machine, _| {
                machine.post_to_all(&Outgoing::from([1, 2, 3]), None);
                panic!("a test of ours");
            })
        };
        assert!(panic::catch_unwind(AssertUnwindSafe(break_it)).is_err());
        let sent = frames.take(&mut Vec::new(), 1).await;
        assert_eq!(sent, 0, "the link is closed, and half of the event is not sent");
        assert!(panic::catch_unwind(AssertUnwindSafe(|| hub.ask(wants("a")))).is_err(), "no grant comes of it");
        drop(events); // in order, although the node is broken
    }
}
