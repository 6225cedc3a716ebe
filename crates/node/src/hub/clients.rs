//! What clients ask of a node, one call at a time or over a stream.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use meshlock_api::stream::NodeLine;
use meshlock_api::{NewRequest, Problem, RequestInfo, State, Urgency};
use tokio::time::timeout;

use super::Hub;
use crate::machine::{ClosedBy, Detail, Machine, Now, Origin, Request, StreamId, Ticket};

impl Hub {
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
}

/// The client at the other end of a stream.
pub trait StreamUser: Send + Sync + std::fmt::Debug {
    /// How much it wants to hear of a change.
    fn detail(&self) -> Detail;

    /// One of its requests has changed. Called while the machine is held, so it must not block; whether the stream has
    /// requests or is an anchor is told besides.
    fn tell(&self, line: &NodeLine<'_>, is_used: bool);

    /// Sends what was told. The machine is free.
    fn flush(&self);
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
