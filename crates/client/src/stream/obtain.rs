//! From a wish to a grant.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_api::resource::DEFAULT_LEASE_MS;
use meshlock_api::stream::{Act, ClientLine};
use meshlock_api::{NewRequest, Reason, RequestInfo, State};
use tokio::time::sleep;

use super::attend;
use super::conn::{Asker, Conn};
use super::watched::{Heard, Watched};
use crate::backend::{Granted, Key, PAUSE, ended};
use crate::error::Error;
use crate::http::{Http, PATIENCE};

/// How long after our own timeout the node may take to say that the request timed out, and why.
const LAST_WORD: Duration = Duration::from_millis(50);

/// Asks until there is an answer. Dropped before, it takes the request back. `None` if the node has no streams.
pub(crate) async fn obtain(http: &Arc<Http>, asked: &NewRequest) -> Result<Option<Granted>, Error> {
    let began = Instant::now();
    let until = asked.timeout_ms.map(|ms| began + Duration::from_millis(ms));
    let id = asked.id.clone().unwrap_or_default();
    let watched = Watched::new(&id);
    http.streams.requests.add(&watched);
    let mut wait = Wait {
        cancel: Cancel { http, watched: Some(Arc::clone(&watched)) },
        began,
        until,
        lease: Duration::from_millis(asked.lease_ms.unwrap_or(DEFAULT_LEASE_MS)),
        heard: None,
        out_of_reach: None,
    };
    loop {
        let before = Instant::now();
        let patience = wait.left(before).min(PATIENCE);
        let error = match http.streams.connected(http, patience).await {
            Ok(None) => return Ok(None),
            Err(error) => error,
            Ok(Some(conn)) => {
                watched.belongs_to(conn.number);
                let mut line = ClientLine::new(0, Act::Acquire);
                line.request = Some(Cow::Borrowed(asked));
                if conn.say(&mut line, Some(Asker::Request(Arc::clone(&watched)))) {
                    match wait.answer(&conn, &watched, asked).await {
                        Ok(info) => {
                            let granted = settle(http, &watched, before, info).await?;
                            wait.cancel.watched = None;
                            return Ok(Some(granted));
                        }
                        Err(error) => error,
                    }
                } else {
                    http.silent("the connection was closed")
                }
            }
        };
        // It may come back, and knows the request by its id; unless it never answered, or not for a whole lease.
        let may_come_back = wait.heard.is_some_and(|heard| heard.elapsed() < wait.lease);
        if !error.is_transient() || !may_come_back || wait.left(Instant::now()).is_zero() {
            return Err(error);
        }
        sleep(PAUSE).await;
    }
}

struct Wait<'a> {
    cancel: Cancel<'a>,
    began: Instant,
    until: Option<Instant>,
    lease: Duration,
    /// When the node was heard last.
    heard: Option<Instant>,
    out_of_reach: Option<meshlock_api::OutOfReach>,
}

impl Wait<'_> {
    fn left(&self, now: Instant) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(now))
    }

    /// Waits for the grant.
    async fn answer(&mut self, conn: &Arc<Conn>, watched: &Watched, asked: &NewRequest) -> Result<RequestInfo, Error> {
        let mut is_answered = false;
        loop {
            let left = self.left(Instant::now());
            let patience = if is_answered { left.saturating_add(LAST_WORD) } else { left.min(PATIENCE) };
            match attend(conn, watched.next(), patience).await {
                Some(Heard::Info(info)) => {
                    is_answered = true;
                    self.heard = Some(Instant::now());
                    self.lease = Duration::from_millis(info.lease_ms);
                    self.out_of_reach.clone_from(&info.out_of_reach);
                    if info.state == State::Granted {
                        return Ok(*info);
                    }
                    if info.state.is_over() {
                        self.cancel.forget();
                        return Err(ended(*info, self.began));
                    }
                }
                Some(Heard::Refused(problem)) => {
                    if problem.reason != Reason::Unavailable {
                        self.cancel.forget();
                    }
                    return Err(Error::Refused(problem));
                }
                Some(Heard::CutOff) => {
                    self.heard = Some(Instant::now()); // a node was there, and may know the request
                    return Err(self.cancel.http.silent("the connection was closed"));
                }
                None if is_answered => {
                    let (resource, after) = (asked.names(), self.began.elapsed());
                    return Err(Error::TimedOut { resource, after, out_of_reach: self.out_of_reach.clone() });
                }
                None => return Err(self.cancel.http.waited(patience)),
            }
        }
    }
}

/// A grant whose lease began so long ago that little of it is left is renewed first. The lease counts from the last line
/// that was sent about it: we cannot know when the grant was made, and not how long it was on its way.
async fn settle(
    http: &Arc<Http>,
    watched: &Arc<Watched>,
    mut before: Instant,
    mut info: RequestInfo,
) -> Result<Granted, Error> {
    loop {
        let lease = Duration::from_millis(info.lease_ms);
        let expires = before + Duration::from_millis(info.expires_in_ms.unwrap_or_default());
        if info.state != State::Granted {
            return Err(Error::Over(Box::new(info)));
        }
        let fence = info.any_fence().ok_or_else(|| http.garbled("a grant without a fence"))?;
        if expires.saturating_duration_since(Instant::now()) * 3 > lease {
            let slots = (info.slots, info.slot_names);
            let (key, parts) = (Key::Stream(Arc::clone(watched)), info.parts);
            return Ok(Granted { key, fence, parts, slots, lease, expires });
        }
        before = Instant::now();
        let mut line = ClientLine::new(0, Act::Renew).about(&watched.id);
        let renewed = http.streams.call(http, &mut line, lease).await?;
        info = renewed.ok_or_else(|| http.garbled("an answer without a request"))?;
    }
}

/// Takes a request back, granted or not, when the future that waited for it is dropped.
struct Cancel<'a> {
    http: &'a Arc<Http>,
    watched: Option<Arc<Watched>>,
}

impl Cancel<'_> {
    /// It is over, or was never there.
    fn forget(&mut self) {
        if let Some(watched) = self.watched.take() {
            self.http.streams.requests.remove(&watched);
        }
    }
}

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        if let Some(watched) = self.watched.take() {
            self.http.streams.let_go(&watched);
        }
    }
}
