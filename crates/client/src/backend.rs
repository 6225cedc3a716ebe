//! The two ways to a node, and how a grant is obtained on each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_api::resource::DEFAULT_LEASE_MS;
use meshlock_api::{Expiry, NewRequest, PartInfo, RequestInfo, State};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::error::Error;
use crate::http::{Http, PATIENCE};
use crate::stream::Watched;

/// The way to a node.
#[derive(Debug)]
pub(crate) enum Backend {
    /// Over a socket.
    Http(Arc<Http>),
    /// It is in this process.
    #[cfg(feature = "embedded")]
    Hub(Arc<meshlock_node::hub::Hub>),
}

/// The name of a request at its node.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    /// On a stream: the node ends it when this program does.
    Stream(Arc<Watched>),
    /// By HTTP.
    Id(String),
    #[cfg(feature = "embedded")]
    Ticket(meshlock_node::machine::Ticket),
}

impl Key {
    /// The id of a request that was made with this one, or without.
    pub(crate) fn id(&self, chosen: Option<&str>) -> String {
        match (self, chosen) {
            (_, Some(chosen)) => chosen.to_owned(),
            (Self::Stream(watched), None) => watched.id().to_owned(),
            (Self::Id(id), None) => id.clone(),
            // The name that the node gives to those without one.
            #[cfg(feature = "embedded")]
            (Self::Ticket(ticket), None) => format!("~{}", ticket.0),
        }
    }
}

/// What was granted, and how long it is safe.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) key: Key,
    /// Of several resources, that of the first.
    pub(crate) fence: u64,
    /// Each of several resources; none for one.
    pub(crate) parts: Vec<PartInfo>,
    /// Which units, where they are numbered, and their names, if they have any.
    pub(crate) slots: (Vec<u32>, Vec<String>),
    pub(crate) lease: Duration,
    /// Counted from before the question, so that it is over here before it is over there.
    pub(crate) expires: Instant,
}

/// How long one question waits at the node for a grant.
const BLOCK_FOR: Duration = Duration::from_secs(10);
/// How much later than its time the answer about a request with a timeout may come.
const LATE: Duration = Duration::from_millis(250);
/// How long to leave a node alone that does not answer.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Asks by HTTP until there is an answer: for grants that outlive this program, and at nodes that have no streams. Dropped before, it takes the request back.
pub(crate) async fn obtain(http: &Arc<Http>, asked: NewRequest, runtime: Handle) -> Result<Granted, Error> {
    let began = Instant::now();
    let until = asked.timeout_ms.map(|ms| began + Duration::from_millis(ms));
    let id = asked.id.clone().unwrap_or_default();
    let mut cancel = Cancel { http: Arc::clone(http), id: Some(id.clone()), runtime };
    let mut lease = Duration::from_millis(asked.lease_ms.unwrap_or(DEFAULT_LEASE_MS));
    let mut heard: Option<Instant> = None;
    let mut out_of_reach = None;
    loop {
        let before = Instant::now();
        let left = until.map_or(BLOCK_FOR, |until| until.saturating_duration_since(before).min(BLOCK_FOR));
        // Whoever set a limit does not want to wait longer for an answer either.
        let patience = if until.is_some() { LATE } else { PATIENCE };
        match http.ask(&asked, left, patience).await {
            Ok(info) => {
                heard = Some(Instant::now());
                lease = Duration::from_millis(info.lease_ms);
                out_of_reach.clone_from(&info.out_of_reach);
                if info.state == State::Granted {
                    let granted = settle(http, before, info).await?;
                    cancel.id = None;
                    return Ok(granted);
                }
                if info.state.is_over() {
                    cancel.id = None;
                    return Err(ended(info, began));
                }
                if before.elapsed() < left.min(PAUSE) {
                    sleep(PAUSE).await;
                }
            }
            // It may come back, and knows the request by its id; unless it never answered, or not for a whole lease.
            Err(error) if error.is_transient() && heard.is_some_and(|heard| heard.elapsed() < lease) => {
                sleep(PAUSE).await;
            }
            Err(error) => {
                if matches!(error, Error::NoNode { .. } | Error::Refused(_)) && heard.is_none() {
                    cancel.id = None; // it never got there
                }
                return Err(error);
            }
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            cancel.id = None;
            // Here and not in the background: the program may be about to end.
            let _ = http.release(&id, PAUSE * 10).await;
            return Err(Error::TimedOut { resource: asked.names(), after: began.elapsed(), out_of_reach });
        }
    }
}

/// A grant whose lease began so long ago that little of it is left is renewed first.
async fn settle(http: &Arc<Http>, mut before: Instant, mut info: RequestInfo) -> Result<Granted, Error> {
    loop {
        let lease = Duration::from_millis(info.lease_ms);
        let expires = before + Duration::from_millis(info.expires_in_ms.unwrap_or_default());
        if info.state != State::Granted {
            return Err(Error::Over(Box::new(info)));
        }
        if expires.saturating_duration_since(Instant::now()) * 3 > lease {
            let fence = info.any_fence().ok_or_else(|| http.garbled("a grant without a fence"))?;
            let slots = (info.slots, info.slot_names);
            return Ok(Granted { key: Key::Id(info.id), fence, parts: info.parts, slots, lease, expires });
        }
        before = Instant::now();
        info = http.renew(&info.id, None, lease).await?;
    }
}

/// The words for a request that ended before it was granted.
pub(crate) fn ended(info: RequestInfo, began: Instant) -> Error {
    let waited = Duration::from_millis(info.waited_ms);
    if info.expiry == Some(Expiry::Timeout) {
        let after = waited.max(began.elapsed());
        return Error::TimedOut { resource: info.resource, after, out_of_reach: info.out_of_reach };
    }
    Error::Over(Box::new(info))
}

/// Takes a request back, granted or not, when the future that waited for it is dropped.
struct Cancel {
    http: Arc<Http>,
    id: Option<String>,
    runtime: Handle,
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let http = Arc::clone(&self.http);
        self.runtime.spawn(async move {
            // The question itself may still be on its way, then the node does not know the request yet.
            for pause in [0, 20, 100, 500, 2_000] {
                sleep(Duration::from_millis(pause)).await;
                if http.release(&id, PAUSE * 10).await.is_ok() {
                    return;
                }
            }
        });
    }
}
