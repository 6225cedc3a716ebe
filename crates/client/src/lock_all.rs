//! Several resources, all or none: what is wanted, and what is held.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::{Duration, Instant};

use meshlock_api::{Mode, NewPart, NewRequest, PartInfo};

use crate::client::Client;
use crate::error::Error;
use crate::guard::{Guard, Loss};
use crate::lock::Lock;
use crate::stream::Anchor;

/// One of several resources that are wanted together. The name of a resource alone is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part(NewPart);

impl Part {
    /// This resource.
    pub fn of(resource: impl Into<String>) -> Self {
        Self(NewPart { resource: resource.into(), ..NewPart::default() })
    }

    /// How many units of it. One if not said.
    #[must_use]
    pub fn units(mut self, units: u32) -> Self {
        self.0.units = Some(units);
        self
    }

    /// The session of it to attend.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.0.session = Some(session.into());
        self
    }

    /// Together with other readers.
    #[must_use]
    pub fn read(mut self) -> Self {
        self.0.mode = Some(Mode::Read);
        self
    }

    /// Alone.
    #[must_use]
    pub fn write(mut self) -> Self {
        self.0.mode = Some(Mode::Write);
        self
    }
}

impl From<&str> for Part {
    fn from(resource: &str) -> Self {
        Self::of(resource)
    }
}

impl From<String> for Part {
    fn from(resource: String) -> Self {
        Self::of(resource)
    }
}

/// A wish for several resources. Await it to get a [`GuardAll`]; drop the future and the request is cancelled, and given
/// back if it was granted meanwhile.
///
/// The node asks for one after the other, in the order of their names and not in that of the list, so that no two such
/// wishes wait for each other. What is granted first is held while the others are waited for: keep lists short.
#[derive(Clone, Debug)]
#[must_use = "nothing is asked for until it is awaited"]
pub struct LockAll {
    lock: Lock,
}

/// What is said about all of them together.
macro_rules! say {
    ($($(#[$doc:meta])* $method:ident($argument:ident: $kind:ty)),* $(,)?) => {$(
        $(#[$doc])*
        pub fn $method(mut self, $argument: $kind) -> Self {
            self.lock = self.lock.$method($argument);
            self
        }
    )*};
}

impl LockAll {
    pub(crate) fn new(client: Client, parts: Vec<Part>) -> Self {
        let all = parts.into_iter().map(|Part(part)| part).collect();
        Self { lock: Lock { client, asked: NewRequest { all, ..NewRequest::default() } } }
    }

    say!(
        /// How urgent: higher is more. Zero if not said.
        priority(priority: i32),
        /// How urgent: earlier is more, if all of them are ordered by deadline.
        deadline(deadline: u64),
        /// How long the grant outlives this program. The shortest of the resources' defaults if not said.
        lease(lease: Duration),
        /// How long to wait for all of them together. Without limit if not said.
        timeout(timeout: Duration),
        /// Who asks, for people who look at the queue.
        owner(owner: impl Into<String>),
        /// The id of the request: up to 128 visible ASCII characters, never used before. A random one if not said.
        id(id: impl Into<String>),
    );

    /// All of them if they can be had at once; `None` if not. See [`Lock::try_lock`].
    pub async fn try_lock(self) -> Result<Option<GuardAll>, Error> {
        Ok(self.lock.try_lock().await?.map(GuardAll::new))
    }
}

impl IntoFuture for LockAll {
    type Output = Result<GuardAll, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(GuardAll::new(self.lock.await?)) })
    }
}

/// Several resources that are held together. One lease, one loss, one release: what is lost of one is lost of all. They are
/// given back when this is dropped.
#[derive(Debug)]
#[must_use = "what is held is given back as soon as this is dropped"]
pub struct GuardAll {
    guard: Guard,
}

impl GuardAll {
    fn new(guard: Guard) -> Self {
        Self { guard }
    }

    /// What is held, in the order of the list, each with its own fence and slots.
    pub fn parts(&self) -> &[PartInfo] {
        &self.guard.parts
    }

    /// What is held of one of the resources.
    pub fn part(&self, resource: &str) -> Option<&PartInfo> {
        self.parts().iter().find(|part| part.resource == resource)
    }

    /// The names, as they are shown to people: `dock-3 + lift-1`.
    pub fn name(&self) -> &str {
        self.guard.name()
    }

    /// The id of the request at its node.
    pub fn id(&self) -> String {
        self.guard.id()
    }

    /// See [`Guard::expires`].
    pub fn expires(&self) -> Instant {
        self.guard.expires()
    }

    /// See [`Guard::is_lost`].
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// Returns when one of them is lost, and so all are. See [`Guard::lost`].
    pub async fn lost(&self) -> Loss {
        self.guard.lost().await
    }

    /// Does some work, or stops it when they are lost. See [`Guard::run`].
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        self.guard.run(work).await
    }

    /// See [`Guard::anchor`].
    pub async fn anchor(&self) -> Result<Option<Anchor>, Error> {
        self.guard.anchor().await
    }

    /// Gives all of them back. See [`Guard::release`].
    pub async fn release(self) -> Result<(), Error> {
        self.guard.release().await
    }

    /// For `meshlock lock`, which treats one and several alike. The fence of the guard is that of the first part.
    #[doc(hidden)]
    pub fn into_guard(self) -> (Guard, Vec<PartInfo>) {
        let parts = self.guard.parts.clone();
        (self.guard, parts)
    }
}
