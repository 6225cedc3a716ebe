//! The stream to a node: one connection for all requests of a client. `docs/stream.md` describes the lines.
//!
//! The node sees by it whether this program is alive: on the same machine, requests end the moment that it dies. A
//! connection that breaks while this program lives costs nothing: the node knows the requests by their ids, and they are
//! taken over by the next connection.
//!
//! | module | what it is |
//! |---|---|
//! | `conn` | one connection: lines out, lines in |
//! | `watched` | what is known of a request |
//! | `open` | the upgrade from HTTP |
//! | `obtain` | from a wish to a grant |
//! | `anchor` | a connection for a child process |

mod anchor;
mod conn;
mod obtain;
mod open;
mod watched;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meshlock_api::stream::{Act, ClientLine};
use meshlock_api::{NewRequest, RequestInfo};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::http::Http;
use conn::{Asker, Conn};
use watched::Requests;

pub use anchor::Anchor;
pub(crate) use anchor::anchor;
pub(crate) use obtain::obtain;
pub(crate) use watched::Watched;

/// After this time without an answer, the task that reads may be on a runtime that is not driven.
const READ_ELSEWHERE: Duration = Duration::from_secs(1);
/// Longer than any program runs, and short enough to be added to a moment.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// The way to a node on streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    requests: Arc<Requests>,
    conn: Mutex<Option<Arc<Conn>>>,
    /// One connects at a time.
    connecting: tokio::sync::Mutex<()>,
    last: AtomicU64,
    /// The node is of a version that has no streams.
    has_none: AtomicBool,
}

impl Drop for Streams {
    fn drop(&mut self) {
        if let Some(conn) = self.current() {
            conn.close();
        }
    }
}

impl Streams {
    fn conn(&self) -> MutexGuard<'_, Option<Arc<Conn>>> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, if there is one.
    fn current(&self) -> Option<Arc<Conn>> {
        self.conn().as_ref().filter(|conn| !conn.is_closed()).cloned()
    }

    /// Whether the node is of a version that has no streams: then there is HTTP.
    pub(crate) fn has_none(&self) -> bool {
        self.has_none.load(Ordering::Relaxed)
    }

    /// The connection, which is made if there is none. `None` if the node has no streams.
    async fn connected(&self, http: &Http, patience: Duration) -> Result<Option<Arc<Conn>>, Error> {
        if let Some(conn) = self.current() {
            conn.ensure_read();
            return Ok(Some(conn));
        }
        if self.has_none() {
            return Ok(None);
        }
        let opened = async {
            let _one = self.connecting.lock().await;
            if let Some(conn) = self.current() {
                return Ok::<_, Error>(Some(conn));
            }
            let Some((socket, read)) = open::open(http).await? else {
                self.has_none.store(true, Ordering::Relaxed);
                return Ok(None);
            };
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            let conn = Conn::new(number, socket, Arc::clone(&self.requests), read);
            *self.conn() = Some(Arc::clone(&conn));
            Ok(Some(conn))
        };
        let conn = timeout(patience, opened).await.map_err(|_| http.waited(patience))??;
        if let Some(conn) = &conn {
            conn.ensure_read();
        }
        Ok(conn)
    }

    /// Says a line, and waits for its answer.
    async fn call(
        &self,
        http: &Http,
        line: &mut ClientLine<'_>,
        patience: Duration,
    ) -> Result<Option<RequestInfo>, Error> {
        let conn = self.connected(http, patience).await?;
        let conn = conn.ok_or_else(|| http.silent("it has no streams"))?;
        let (sender, answer) = oneshot::channel();
        conn.say(line, Some(Asker::Call(sender)));
        match attend(&conn, answer, patience).await {
            Some(Ok(answer)) => Ok(answer?),
            Some(Err(_)) => Err(http.silent("the connection was closed")),
            None => Err(http.waited(patience)),
        }
    }

    /// Renews, and takes the request over if it was made on a connection that is gone.
    pub(crate) async fn renew(
        &self,
        http: &Http,
        watched: &Arc<Watched>,
        (asked, fence): (&NewRequest, u64),
        patience: Duration,
    ) -> Result<RequestInfo, Error> {
        let mut line = ClientLine::new(0, Act::Renew).about(&watched.id);
        let info = self.call(http, &mut line, patience).await?;
        let info = info.ok_or_else(|| http.garbled("an answer without a request"))?;
        let Some(conn) = self.current().filter(|conn| conn.number != watched.conn()) else { return Ok(info) };
        if info.state.is_over() || info.any_fence() != Some(fence) {
            return Ok(info);
        }
        // Not before the node has said that it knows the request: one that was started anew would make a second one.
        watched.belongs_to(conn.number);
        let mut line = ClientLine::new(0, Act::Acquire);
        line.request = Some(std::borrow::Cow::Borrowed(asked));
        let taken = self.call(http, &mut line, patience).await?;
        taken.ok_or_else(|| http.garbled("an answer without a request"))
    }

    /// Gives back or cancels, and waits for the answer.
    pub(crate) async fn release(
        &self,
        http: &Http,
        watched: &Arc<Watched>,
        patience: Duration,
    ) -> Result<RequestInfo, Error> {
        self.requests.remove(watched);
        let mut line = ClientLine::new(0, Act::Release).about(&watched.id);
        let info = self.call(http, &mut line, patience).await?;
        info.ok_or_else(|| http.garbled("an answer without a request"))
    }

    /// Gives back or cancels, at once and from any thread. If there is no connection, the node ends it by itself.
    pub(crate) fn let_go(&self, watched: &Arc<Watched>) {
        self.requests.remove(watched);
        if let Some(conn) = self.current() {
            conn.say(&mut ClientLine::new(0, Act::Release).about(&watched.id), None);
        }
    }
}

/// Waits so long for something that is read from a connection, and sees to it that it is read. One timer for all: setting
/// one costs as much as a line.
async fn attend<T>(conn: &Arc<Conn>, what: impl Future<Output = T>, patience: Duration) -> Option<T> {
    tokio::pin!(what);
    let begin = Instant::now();
    let mut timer = std::pin::pin!(sleep_until(begin + READ_ELSEWHERE.min(patience)));
    let mut is_elsewhere = patience > READ_ELSEWHERE;
    loop {
        let unread = conn.unread.notified();
        tokio::pin!(unread);
        unread.as_mut().enable();
        conn.ensure_read();
        tokio::select! {
            biased;
            result = &mut what => return Some(result),
            () = unread => {}
            () = timer.as_mut() => {
                if !is_elsewhere {
                    return None;
                }
                is_elsewhere = false;
                conn.read_here();
                timer.as_mut().reset(begin + patience.min(LONGEST));
            }
        }
    }
}
