//! The machine shared by links, clients and the timer.
//!
//! One mutex, held for a microsecond at a time and never across an await: a thread with an event applies it to its end
//! and sends what comes of it before the next one gets its turn. A task with a queue would give the same order, and
//! two changes of thread for every acquire.

mod busy_poll;
mod clients;
mod links;
mod look;
mod operators;

pub use clients::{Attendance, Attends, StreamUser};
pub use look::EventStream;

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use meshlock_core::NodeId;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::audit_log::AuditSender;
use crate::links::{FrameSender, LinkId, Outgoing};
use crate::machine::{Machine, Now, Post, Promise, StreamId};
use crate::mesh::Member;
use crate::mesh::promises::{ClientPlace, Moment, Promises};
use crate::wire::Removals;

/// A node's machine, with everything that is needed to share it.
#[derive(Debug)]
pub struct Hub {
    inner: Mutex<Inner>,
    /// On a clock that goes on while the machine is suspended: leases and standings end in a closed laptop, too.
    began: Moment,
    /// The next alarm has become earlier, or the timer would ring in vain.
    earlier: Notify,
    /// A neighbour told of removed members.
    removals: mpsc::Sender<HeardRemovals>,
    /// Others hold this incarnation for gone.
    expelled: Notify,
    /// The catalogue is to be written.
    catalogue: Notify,
    /// It was written.
    kept: Notify,
    /// How far the protocols are.
    steps: busy_poll::Steps,
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
            let Ok(line) = self.machine.line(now, ticket, user.detail()) else { continue };
            user.tell(&line, self.machine.is_stream_used(stream));
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
            links: HashMap::default(),
            greeting: None,
            promises: None,
            audit: None,
            alarms: BTreeMap::new(),
            streams: HashMap::default(),
            killed: false,
        };
        let (earlier, expelled, catalogue, kept) = (Notify::new(), Notify::new(), Notify::new(), Notify::new());
        let began = Moment::now();
        let steps = busy_poll::Steps::default();
        (
            Arc::new(Self { inner: Mutex::new(inner), began, earlier, removals, expelled, catalogue, kept, steps }),
            received,
        )
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
        let is_eased = inner.machine.take_eased();
        let woken = inner.machine.take_woken();
        let steps = inner.machine.counts.steps;
        drop(inner);
        // From this thread, so that the grant of one client's release is under way before another thread has woken up.
        told.iter().for_each(|stream| stream.flush());
        // Not before: a task that is woken may want the machine at once, on this thread.
        woken.into_iter().for_each(Waker::wake);
        self.steps.reached(steps);
        if is_eased || after.is_some_and(|after| before.is_none_or(|before| after < before)) {
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
}

fn since_1970_ms() -> u64 {
    u64::try_from(crate::mesh::clock::since_1970().as_millis()).unwrap_or(u64::MAX)
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

    use meshlock_api::{NewRequest, State};

    use super::*;
    use crate::links::{DoubleIdentity, LinkUser, Peer};
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
