//! Several resources, all or none, for programs without async.

use std::sync::Arc;
use std::time::{Duration, Instant};

use meshlock_api::PartInfo;

use super::{Background, Client, Guard};
use crate::error::Error;
use crate::guard::Loss;
use crate::lock_all::Part;

impl Client {
    /// Asks for several resources, all or none. See [`Client::lock_all`](crate::Client::lock_all).
    ///
    /// ```no_run
    /// use meshlock::Part;
    ///
    /// let client = meshlock::blocking::Client::connect()?;
    /// let guard = client.lock_all([Part::of("dock-3"), Part::of("lifts").units(2)]).acquire()?;
    /// println!("lifts {:?}", guard.part("lifts").map(|part| &part.slots));
    /// guard.release()?;
    /// # Ok::<(), meshlock::Error>(())
    /// ```
    pub fn lock_all<P: Into<Part>>(&self, parts: impl IntoIterator<Item = P>) -> LockAll {
        LockAll { lock: self.client.lock_all(parts), background: Arc::clone(&self.background) }
    }
}

/// A wish for several resources. See [`crate::LockAll`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked for until it is acquired"]
pub struct LockAll {
    lock: crate::LockAll,
    background: Arc<Background>,
}

/// What is said about all of them together.
macro_rules! say {
    ($($method:ident($argument:ident: $kind:ty)),* $(,)?) => {$(
        #[doc = concat!("See [`LockAll::", stringify!($method), "`](crate::LockAll::", stringify!($method), ").")]
        pub fn $method(mut self, $argument: $kind) -> Self {
            self.lock = self.lock.$method($argument);
            self
        }
    )*};
}

impl LockAll {
    say!(
        priority(priority: i32),
        deadline(deadline: u64),
        lease(lease: Duration),
        timeout(timeout: Duration),
        owner(owner: impl Into<String>),
        id(id: impl Into<String>),
    );

    /// Waits until all are granted.
    pub fn acquire(self) -> Result<GuardAll, Error> {
        let Self { lock, background } = self;
        let all = background.block_on(lock.into_future())??;
        Ok(GuardAll::new(all, background))
    }

    /// All of them if they can be had at once; `None` if not. See [`LockAll::try_lock`](crate::LockAll::try_lock).
    pub fn try_acquire(self) -> Result<Option<GuardAll>, Error> {
        let Self { lock, background } = self;
        let all = background.block_on(lock.try_lock())??;
        Ok(all.map(|all| GuardAll::new(all, background)))
    }
}

/// Several resources that are held together. They are given back when this is dropped. See [`crate::GuardAll`].
#[derive(Debug)]
#[must_use = "what is held is given back as soon as this is dropped"]
pub struct GuardAll {
    guard: Guard,
    parts: Vec<PartInfo>,
}

impl GuardAll {
    fn new(all: crate::GuardAll, background: Arc<Background>) -> Self {
        let (guard, parts) = all.into_guard();
        Self { guard: Guard { guard, background }, parts }
    }

    /// What is held, in the order of the list, each with its own fence and slots.
    pub fn parts(&self) -> &[PartInfo] {
        &self.parts
    }

    /// What is held of one of the resources.
    pub fn part(&self, resource: &str) -> Option<&PartInfo> {
        self.parts.iter().find(|part| part.resource == resource)
    }

    /// The names, as they are shown to people: `dock-3 + lift-1`.
    pub fn name(&self) -> &str {
        self.guard.guard.name()
    }

    /// The id of the request at its node.
    pub fn id(&self) -> String {
        self.guard.id()
    }

    /// See [`Guard::expires`].
    pub fn expires(&self) -> Instant {
        self.guard.expires()
    }

    /// Whether one of them is lost, and so all are. See [`Guard::is_lost`].
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// Waits until they are lost, at most for so long.
    pub fn lost_within(&self, patience: Duration) -> Result<Option<Loss>, Error> {
        self.guard.lost_within(patience)
    }

    /// Does some work and returns its result, or why they were lost before it ended. See [`Guard::run`].
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Loss> {
        self.guard.run(work)
    }

    /// Gives all of them back. See [`Guard::release`].
    pub fn release(self) -> Result<(), Error> {
        self.guard.release()
    }
}
