//! What is held, and how long it is safe.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, PartInfo, Reason, RequestInfo, State};
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until};

use crate::backend::{Backend, Granted, Key};
use crate::client::Client;
use crate::error::Error;
use crate::http::Http;
use crate::keeper::Due;
use crate::stream::Anchor;

/// Why something that was held is held no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The lease ended by our own clock before it could be renewed: this program was stopped, or too busy.
    LeaseOver,
    /// The node did not answer for the length of the lease.
    NoAnswer,
    /// The node no longer knows the request: it was started anew.
    Forgotten(String),
    /// The node says that the request is over.
    Taken {
        /// How it ended.
        state: State,
        /// Why, in words.
        reason: Option<String>,
    },
}

impl std::error::Error for Loss {}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseOver => write!(f, "the lease ended before it could be renewed"),
            Self::NoAnswer => write!(f, "the node did not answer for the length of the lease"),
            Self::Forgotten(message) => write!(f, "the node no longer knows it: {message}"),
            Self::Taken { state, reason } => {
                write!(f, "{}: {}", state.name(), reason.as_deref().unwrap_or("it was given back by its id"))
            }
        }
    }
}

/// What guard and keeper know of a grant.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) key: Key,
    /// What was asked for and its fence, to ask for it again on another connection.
    pub(crate) taking_over: Option<(NewRequest, u64)>,
    status: Mutex<Status>,
    lost: Notify,
}

#[derive(Debug)]
struct Status {
    lease: Duration,
    expires: Instant,
    due: Option<Due>,
    /// Given back or lost: nothing is renewed any more.
    over: bool,
    loss: Option<Loss>,
}

impl Held {
    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn expires(&self) -> Instant {
        self.status().expires
    }

    pub(crate) fn lease(&self) -> Duration {
        self.status().lease
    }

    pub(crate) fn is_over(&self) -> bool {
        self.status().over
    }

    pub(crate) fn extend(&self, expires: Instant) {
        let mut status = self.status();
        status.expires = expires.max(status.expires);
    }

    /// It will be renewed then; `false` if that makes no sense any more.
    pub(crate) fn set_due(&self, due: Due) -> bool {
        let mut status = self.status();
        status.due = Some(due);
        !status.over
    }

    /// The first reason counts.
    pub(crate) fn lose(&self, loss: Loss) {
        let mut status = self.status();
        if !status.over {
            status.over = true;
            status.loss = Some(loss);
        }
        drop(status);
        self.lost.notify_waiters();
    }

    /// Why it is lost, if it is as far as we know.
    fn loss(&self) -> Option<Loss> {
        let status = self.status();
        status.loss.clone().or_else(|| (status.expires <= Instant::now()).then_some(Loss::LeaseOver))
    }
}

/// Something that is held. It is given back when this is dropped; [`release`](Self::release) tells whether that worked.
///
/// The lease is renewed in the background. A lease can end all the same, when this program was stopped or its node is
/// gone; then others may be let in. So do long work in [`run`](Self::run), and pass the [`fence`](Self::fence) to what
/// the lock guards.
#[derive(Debug)]
#[must_use = "what is held is given back as soon as this is dropped"]
pub struct Guard {
    client: Client,
    asked: NewRequest,
    name: String,
    fence: u64,
    pub(crate) parts: Vec<PartInfo>,
    slots: (Vec<u32>, Vec<String>),
    held: Arc<Held>,
    pub(crate) is_given_back: bool,
}

impl Guard {
    pub(crate) fn new(client: Client, asked: NewRequest, granted: Granted) -> Self {
        let Granted { key, fence, parts, slots, lease, expires } = granted;
        let watched = match &key {
            Key::Stream(watched) => Some(Arc::clone(watched)),
            Key::Id(_) => None,
            #[cfg(feature = "embedded")]
            Key::Ticket(_) => None,
        };
        let status = Status { lease, expires, due: None, over: false, loss: None };
        let taking_over = watched.as_ref().map(|_| (asked.clone(), fence));
        let held = Arc::new(Held { key, taking_over, status: Mutex::new(status), lost: Notify::new() });
        if let Some(watched) = watched {
            watched.is_held_by(&held);
        }
        let renew_at = expires.checked_sub(lease * 2 / 3).unwrap_or(expires);
        client.shared.keeper.add(&client.shared, &held, renew_at);
        Self { client, name: asked.names(), asked, fence, parts, slots, held, is_given_back: false }
    }

    /// A number larger than that of every earlier grant. Pass it to what the lock guards, which should refuse numbers
    /// smaller than the largest it has seen. Every grant has one: a grant without is an error, never 0.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// The resource.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many units are held.
    pub fn units(&self) -> u32 {
        self.asked.units.unwrap_or(1)
    }

    /// Which units are held, by number from 0: no other client has one of them. Empty where units are not numbered: they
    /// are for semaphores of at most 4,096.
    pub fn slots(&self) -> &[u32] {
        &self.slots.0
    }

    /// The names of these units, in the same order. Empty if the resource gives its units no names.
    pub fn slot_names(&self) -> &[String] {
        &self.slots.1
    }

    /// The session that is attended.
    pub fn session(&self) -> Option<&str> {
        self.asked.session.as_deref()
    }

    /// The id of the request at its node.
    pub fn id(&self) -> String {
        self.held.key.id(self.asked.id.as_deref())
    }

    /// Until when it is certainly held, if nothing more is heard of the node. Moves on with every renewal. By the
    /// monotonic clock of this machine and counted from before the renewal was sent: we stop before the node does.
    pub fn expires(&self) -> Instant {
        self.held.expires()
    }

    /// Whether it is lost, as far as we can know at this moment.
    pub fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// Returns when it is lost: the lease is over by our own clock, or the node says that the request is over.
    pub async fn lost(&self) -> Loss {
        self.client.shared.keeper.ensure_running(&self.client.shared);
        let told_by_node = self.told_by_node();
        tokio::pin!(told_by_node);
        loop {
            let told = self.held.lost.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(loss) = self.held.loss() {
                self.held.lose(loss.clone());
                return loss;
            }
            tokio::select! {
                () = told => {}
                () = sleep_until(self.held.expires().into()) => {}
                loss = &mut told_by_node => self.held.lose(loss),
            }
        }
    }

    /// Does some work and returns its result, or stops it and returns why the lock is lost.
    ///
    /// The work is dropped where it awaits when the lock is lost. Work that ended after the lock was lost counts as lost
    /// too: another client may have been let in before it ended. The guard stays: release it after the work.
    ///
    /// ```no_run
    /// # async fn load(fence: u64) -> std::io::Result<()> { Ok(()) }
    /// # async fn example(client: meshlock::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = client.lock("dock-3").await?;
    /// guard.run(load(guard.fence())).await??; // the loss of the lock, then the error of the work
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        let result = tokio::select! {
            biased;
            loss = self.lost() => return Err(loss),
            result = work => result,
        };
        match self.loss() {
            Some(loss) => Err(loss),
            None => Ok(result),
        }
    }

    /// Why it is lost, as far as we can know at this moment.
    pub(crate) fn loss(&self) -> Option<Loss> {
        self.client.shared.keeper.ensure_running(&self.client.shared);
        if let Some(loss) = self.held.loss() {
            return Some(loss);
        }
        match (&self.client.shared.backend, &self.held.key) {
            #[cfg(feature = "embedded")]
            (Backend::Hub(hub), Key::Ticket(ticket)) => {
                let state =
                    hub.with(|machine, _| machine.glance(*ticket)).map_or(State::Expired, |(state, _, _)| state);
                let taken = || Loss::Taken { state, reason: crate::keeper::reason_of(hub, *ticket) };
                (state != State::Granted).then(taken)
            }
            _ => None,
        }
    }

    /// Returns when the node says that the request is over.
    async fn told_by_node(&self) -> Loss {
        match (&self.client.shared.backend, &self.held.key) {
            // Pushed on the stream, and found out by renewing.
            (Backend::Http(_), Key::Stream(_)) => std::future::pending().await,
            (Backend::Http(http), Key::Id(id)) => loop {
                match watch(http, id).await {
                    Ok(info) => return Loss::Taken { state: info.state, reason: info.reason },
                    Err(Error::Refused(problem)) if problem.reason == Reason::Unknown => {
                        return Loss::Forgotten(problem.message);
                    }
                    Err(_) => {}
                }
                // Renewing goes on beside this; it will find out.
                sleep(Duration::from_millis(250)).await;
            },
            #[cfg(feature = "embedded")]
            (Backend::Hub(hub), Key::Ticket(ticket)) => {
                let state = hub.changed(*ticket, State::Granted).await;
                Loss::Taken { state, reason: crate::keeper::reason_of(hub, *ticket) }
            }
            #[cfg(feature = "embedded")]
            (Backend::Http(_), Key::Ticket(_)) | (Backend::Hub(_), Key::Id(_) | Key::Stream(_)) => {
                std::future::pending().await
            }
        }
    }

    /// A connection for a child process that works under this lock, so that the lock stays taken should this program die
    /// before the child. `None` where there can be none: over TCP, with an embedded node, and at nodes of earlier versions.
    pub async fn anchor(&self) -> Result<Option<Anchor>, Error> {
        match (&self.client.shared.backend, &self.held.key) {
            (Backend::Http(http), Key::Stream(watched)) => crate::stream::anchor(http, watched).await,
            _ => Ok(None),
        }
    }

    /// Gives it back. An error if it was lost before, or the node did not answer; its lease then ends by itself.
    pub async fn release(mut self) -> Result<(), Error> {
        self.give_back().await
    }

    /// The same, once.
    pub(crate) async fn give_back(&mut self) -> Result<(), Error> {
        let lost = self.retire();
        let info = match (&self.client.shared.backend, &self.held.key) {
            (Backend::Http(http), Key::Stream(watched)) => {
                http.streams.release(http, watched, crate::http::PATIENCE).await?
            }
            (Backend::Http(http), Key::Id(id)) => http.release(id, crate::http::PATIENCE).await?,
            #[cfg(feature = "embedded")]
            (Backend::Hub(hub), Key::Ticket(ticket)) => {
                if crate::embedded::release(hub, *ticket) == State::Released && !lost {
                    return Ok(());
                }
                hub.with(|machine, now| machine.look(now, *ticket))?
            }
            #[cfg(feature = "embedded")]
            (Backend::Http(_), Key::Ticket(_)) | (Backend::Hub(_), Key::Id(_) | Key::Stream(_)) => return Ok(()),
        };
        if info.state == State::Released && !lost { Ok(()) } else { Err(Error::Over(Box::new(info))) }
    }

    /// Nothing is renewed any more. Whether it was lost before.
    fn retire(&mut self) -> bool {
        self.is_given_back = true;
        let lost = self.held.loss().is_some();
        let mut status = self.held.status();
        status.over = true;
        let due = status.due.take();
        drop(status);
        if let Some(due) = due {
            self.client.shared.keeper.remove(due);
        }
        lost
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.is_given_back {
            return;
        }
        self.retire();
        match (&self.client.shared.backend, &self.held.key) {
            // Written here and now, also outside of a runtime.
            (Backend::Http(http), Key::Stream(watched)) => http.streams.let_go(watched),
            (Backend::Http(http), Key::Id(id)) => {
                let (http, id) = (Arc::clone(http), id.clone());
                if let Some(runtime) = self.client.shared.runtime() {
                    // As well as it can be done; if the node is not there, the lease ends by itself.
                    runtime.spawn(async move { http.release(&id, crate::http::PATIENCE).await });
                }
            }
            #[cfg(feature = "embedded")]
            (Backend::Hub(hub), Key::Ticket(ticket)) => {
                hub.with_if_sound(|machine, now| machine.release(now, *ticket));
            }
            #[cfg(feature = "embedded")]
            (Backend::Http(_), Key::Ticket(_)) | (Backend::Hub(_), Key::Id(_) | Key::Stream(_)) => {}
        }
    }
}

/// Follows a request until it is over.
async fn watch(http: &Http, id: &str) -> Result<RequestInfo, Error> {
    let mut stream = http.watch(id).await?;
    while let Some(info) = stream.next::<RequestInfo>().await? {
        if info.state.is_over() {
            return Ok(info);
        }
    }
    // The end of the stream says that something is over: the request, or the node.
    let info = http.look(id).await?;
    if info.state.is_over() { Ok(info) } else { Err(Error::Silent { place: http.place(), cause: "no news".into() }) }
}
