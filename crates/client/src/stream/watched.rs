//! What is known of a request on a stream, by its answers and by what the node pushes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use meshlock_api::{Problem, RequestInfo};
use tokio::sync::Notify;

use crate::guard::{Held, Loss};

/// A request that is waited for, or held.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(super) id: String,
    news: Mutex<News>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct News {
    /// The connection to which it belongs.
    conn: u64,
    latest: Option<Heard>,
    held: Option<Weak<Held>>,
}

/// What was heard last.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Info(Box<RequestInfo>),
    Refused(Problem),
    CutOff,
}

impl Watched {
    pub(super) fn new(id: &str) -> Arc<Self> {
        Arc::new(Self { id: id.to_owned(), news: Mutex::default(), changed: Notify::new() })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is asked for on this connection.
    pub(super) fn belongs_to(&self, conn: u64) {
        let mut news = self.news();
        news.conn = conn;
        news.latest = None;
    }

    /// The connection to which it belongs.
    pub(super) fn conn(&self) -> u64 {
        self.news().conn
    }

    pub(super) fn hear(&self, conn: u64, info: RequestInfo) {
        let mut news = self.news();
        if news.conn != conn {
            return; // late news of a connection that was given up
        }
        let held = news.held.as_ref().and_then(Weak::upgrade).filter(|_| info.state.is_over());
        let loss = held.map(|held| (held, Loss::Taken { state: info.state, reason: info.reason.clone() }));
        news.latest = Some(Heard::Info(Box::new(info)));
        drop(news);
        if let Some((held, loss)) = loss {
            held.lose(loss);
        }
        self.changed.notify_one();
    }

    pub(super) fn refused(&self, problem: Problem) {
        self.news().latest = Some(Heard::Refused(problem));
        self.changed.notify_one();
    }

    fn cut_off(&self, conn: u64) {
        let mut news = self.news();
        if news.conn == conn {
            news.latest = Some(Heard::CutOff);
            drop(news);
            self.changed.notify_one();
        }
    }

    /// The next thing that is heard. One task waits at a time.
    pub(super) async fn next(&self) -> Heard {
        loop {
            let latest = self.news().latest.take();
            if let Some(latest) = latest {
                return latest;
            }
            self.changed.notified().await;
        }
    }

    /// A guard has it from now on, and hears of its loss.
    pub(crate) fn is_held_by(&self, held: &Arc<Held>) {
        let mut news = self.news();
        news.held = Some(Arc::downgrade(held));
        let over = match &news.latest {
            Some(Heard::Info(info)) if info.state.is_over() => {
                Some(Loss::Taken { state: info.state, reason: info.reason.clone() })
            }
            Some(Heard::Info(_) | Heard::Refused(_) | Heard::CutOff) | None => None,
        };
        drop(news);
        if let Some(loss) = over {
            held.lose(loss);
        }
    }
}

/// All requests of a client that are on streams.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<HashMap<String, Arc<Watched>>>);

impl Requests {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Watched>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, watched: &Arc<Watched>) {
        self.table().insert(watched.id.clone(), Arc::clone(watched));
    }

    /// Forgets it, unless another request has its id by now.
    pub(super) fn remove(&self, watched: &Arc<Watched>) {
        let mut table = self.table();
        if table.get(&watched.id).is_some_and(|known| Arc::ptr_eq(known, watched)) {
            table.remove(&watched.id);
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Watched>> {
        self.table().get(id).cloned()
    }

    /// A connection is gone, with all that was said on it.
    pub(super) fn cut_off(&self, conn: u64) {
        let all: Vec<Arc<Watched>> = self.table().values().cloned().collect();
        for watched in all {
            watched.cut_off(conn);
        }
    }
}
