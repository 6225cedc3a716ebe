//! Who is served, and who has to go for a newcomer.
//!
//! Silent connections cost nothing but their place. So they may stay as long as there are places; when there are none, the
//! one of which nothing was heard for longest goes, and a newcomer always gets in. Only if every peer is just being
//! answered none can go.

use std::collections::HashMap;

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use crate::patience::Busy;

/// All connections of a listener.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    tasks: JoinSet<()>,
    guests: HashMap<Id, Guest>,
}

#[derive(Debug)]
struct Guest {
    busy: Busy,
    task: AbortHandle,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, tasks: JoinSet::new(), guests: HashMap::new() }
    }

    /// Whether there is a place for one more, which may be that of a silent peer.
    pub(crate) fn make_room(&mut self) -> bool {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
        self.guests.len() < self.most || self.close_quietest()
    }

    /// Closes the connection of which nothing was heard for longest, unless all are being answered.
    pub(crate) fn close_quietest(&mut self) -> bool {
        let idle = self.guests.iter().filter(|(_, guest)| !guest.busy.is_busy());
        let Some(quietest) = idle.min_by_key(|(_, guest)| guest.busy.last_heard()).map(|(id, _)| *id) else {
            return false;
        };
        if let Some(guest) = self.guests.remove(&quietest) {
            guest.task.abort();
            tracing::debug!("a silent connection was closed to make room for a new one");
        }
        true
    }

    /// Serves one more.
    pub(crate) fn take(&mut self, busy: Busy, connection: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(connection);
        self.guests.insert(task.id(), Guest { busy, task });
    }

    /// Waits until a connection ends, which never comes if there is none.
    pub(crate) async fn one_ends(&mut self) {
        match self.tasks.join_next_with_id().await {
            Some(ended) => self.forget(ended),
            None => std::future::pending().await,
        }
    }

    /// Waits until all have ended by themselves.
    pub(crate) async fn all_end(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        self.guests.remove(&id);
    }
}
