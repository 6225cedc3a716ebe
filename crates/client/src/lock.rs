//! What is wanted: units, urgency, session, patience.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use meshlock_api::{Mode, NewRequest, RequestInfo, Urgency};

use crate::backend::{Backend, Granted, obtain};
use crate::client::{Client, milliseconds};
use crate::error::Error;
use crate::guard::Guard;

/// How long [`Lock::try_lock`] waits: long enough for an idle token to come from another node.
pub const TRY_PATIENCE: Duration = Duration::from_millis(500);

/// A wish for a resource. Await it to get a [`Guard`]; drop the future and the request is cancelled, and given back if
/// it was granted meanwhile.
#[derive(Clone, Debug)]
#[must_use = "nothing is asked for until it is awaited"]
pub struct Lock {
    pub(crate) client: Client,
    pub(crate) asked: NewRequest,
}

impl Lock {
    pub(crate) fn new(client: Client, resource: String) -> Self {
        Self { client, asked: NewRequest { resource, ..NewRequest::default() } }
    }

    /// How many units, all at once. One if not said.
    pub fn units(mut self, units: u32) -> Self {
        self.asked.units = Some(units);
        self
    }

    /// How urgent: higher is more. Zero if not said.
    pub fn priority(mut self, priority: i32) -> Self {
        self.asked.urgency = Some(Urgency::Priority(priority));
        self
    }

    /// How urgent: earlier is more, for a resource that is ordered by deadline. A number on which all clients agree,
    /// such as milliseconds since 1970.
    pub fn deadline(mut self, deadline: u64) -> Self {
        self.asked.urgency = Some(Urgency::Deadline(deadline));
        self
    }

    /// The session to attend.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.asked.session = Some(session.into());
        self
    }

    /// Together with other readers.
    pub fn read(self) -> Self {
        self.mode(Mode::Read)
    }

    /// Alone.
    pub fn write(self) -> Self {
        self.mode(Mode::Write)
    }

    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.asked.mode = Some(mode);
        self
    }

    /// How long the grant outlives this program, should it die or be stopped. The resource's default if not said.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.asked.lease_ms = Some(milliseconds(lease));
        self
    }

    /// How long to wait for the grant. Without limit if not said.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.asked.timeout_ms = Some(milliseconds(timeout));
        self
    }

    /// Who asks, for people who look at the queue.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.asked.owner = Some(owner.into());
        self
    }

    /// The id of the request: up to 128 visible ASCII characters, never used before. A random one if not said.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.asked.id = Some(id.into());
        self
    }

    /// The grant if it can be had at once, which is within [`TRY_PATIENCE`] unless a timeout is set; `None` if not.
    pub async fn try_lock(mut self) -> Result<Option<Guard>, Error> {
        self.asked.timeout_ms.get_or_insert(milliseconds(TRY_PATIENCE));
        match self.await {
            Ok(guard) => Ok(Some(guard)),
            Err(Error::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The grant without a guard: it ends with its lease unless [`Client::renew`] is called with its id, and is given
    /// back by [`Client::release`]. For programs that end before the grant does.
    pub async fn unguarded(self) -> Result<RequestInfo, Error> {
        let (lock, granted) = self.obtain(Outlives::Program).await?;
        lock.client.request(&granted.key.id(lock.asked.id.as_deref())).await
    }

    async fn obtain(mut self, outlives: Outlives) -> Result<(Self, Granted), Error> {
        if self.asked.owner.is_none() {
            self.asked.owner = Some(self.client.shared.owner.as_ref().to_owned());
        }
        let granted = match &self.client.shared.backend {
            Backend::Http(http) => {
                if self.asked.id.is_none() {
                    self.asked.id = Some(new_id()?);
                }
                let on_stream = match outlives {
                    Outlives::Nothing => crate::stream::obtain(http, &self.asked).await?,
                    Outlives::Program => None,
                };
                match on_stream {
                    Some(granted) => granted,
                    None => obtain(http, self.asked.clone(), tokio::runtime::Handle::current()).await?,
                }
            }
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => crate::embedded::obtain(hub, self.asked.clone()).await?,
        };
        Ok((self, granted))
    }
}

impl IntoFuture for Lock {
    type Output = Result<Guard, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (lock, granted) = self.obtain(Outlives::Nothing).await?;
            Ok(Guard::new(lock.client, lock.asked, granted))
        })
    }
}

/// What a grant shall outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlives {
    /// It ends with this program at the latest.
    Nothing,
    /// It ends with its lease.
    Program,
}

/// A unique id for a request: 128 random bits.
pub fn new_id() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
