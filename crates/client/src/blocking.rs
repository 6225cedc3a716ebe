//! The same for programs without async: every call waits for its answer.
//!
//! ```no_run
//! use meshlock::blocking::Client;
//!
//! let client = Client::connect()?;
//! let guard = client.lock("dock-3").priority(7).acquire()?;
//! println!("fence {}", guard.fence());
//! guard.run(|| println!("alone at the dock"))?; // an error if the lock was lost meanwhile
//! guard.release()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One thread in the background renews leases and ends with the last client and guard. Inside of an asynchronous runtime
//! calls fail with [`Error::InsideRuntime`]; use [`crate::Client`] there.

mod lock_all;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use meshlock_api::{MeshStatus, NewResource, RequestInfo, ResourceInfo};
use tokio::runtime::{Builder as RuntimeBuilder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::client::{Builder, Query};
use crate::error::Error;
use crate::guard::Loss;
#[cfg(feature = "embedded")]
use crate::node::{NodeBuilder, Stopped};

pub use self::lock_all::{GuardAll, LockAll};

/// How long a dropped guard waits for its node to take the lock back. After that the lease ends by itself.
const DROP_PATIENCE: Duration = Duration::from_secs(1);

/// A thread with a runtime that drives sockets and renews leases, until this is dropped.
#[derive(Debug)]
struct Background {
    runtime: Handle,
    /// Dropped, it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl Background {
    fn start() -> Result<Arc<Self>, Error> {
        let runtime = RuntimeBuilder::new_current_thread().enable_all().build().map_err(Error::NoThread)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new().name("meshlock".into());
        // Nothing is ever sent: the end of the sender ends the thread.
        let run = move || drop(runtime.block_on(stopped));
        thread.spawn(run).map_err(Error::NoThread)?;
        Ok(Arc::new(Self { runtime: handle, _stop: stop }))
    }

    fn block_on<T>(&self, call: impl Future<Output = T>) -> Result<T, Error> {
        if Handle::try_current().is_ok() {
            return Err(Error::InsideRuntime);
        }
        Ok(self.runtime.block_on(call))
    }
}

/// A client of a node. Clones are the same client. See [`crate::Client`].
#[derive(Clone, Debug)]
pub struct Client {
    client: crate::Client,
    background: Arc<Background>,
}

/// Calls of the asynchronous client, waited for.
macro_rules! wait_for {
    ($($call:ident($($argument:ident: $kind:ty),*) -> $answer:ty),* $(,)?) => {$(
        #[doc = concat!("See [`Client::", stringify!($call), "`](crate::Client::", stringify!($call), ").")]
        pub fn $call(&self, $($argument: $kind),*) -> Result<$answer, Error> {
            self.background.block_on(self.client.$call($($argument),*))?
        }
    )*};
}

impl Client {
    /// The node of this machine: at `MESHLOCK_URL`, `MESHLOCK_SOCKET`, or the usual socket.
    pub fn connect() -> Result<Self, Error> {
        Self::connect_with(Builder::default())
    }

    /// A node somewhere else.
    pub fn connect_with(builder: Builder) -> Result<Self, Error> {
        let background = Background::start()?;
        let client = background.block_on(builder.connect())??;
        Ok(Self { client, background })
    }

    /// Asks for a resource. Say more about it, and then [`acquire`](Lock::acquire) it.
    pub fn lock(&self, name: impl Into<String>) -> Lock {
        Lock { lock: self.client.lock(name), background: Arc::clone(&self.background) }
    }

    wait_for!(
        query(name: &str) -> Query,
        status() -> MeshStatus,
        resources() -> Vec<ResourceInfo>,
        define(name: &str, wanted: NewResource) -> ResourceInfo,
        set_capacity(name: &str, capacity: u32) -> ResourceInfo,
        requests() -> Vec<RequestInfo>,
        request(id: &str) -> RequestInfo,
        renew(id: &str, lease: Option<Duration>) -> RequestInfo,
        release(id: &str) -> RequestInfo,
    );
}

/// A wish for a resource. See [`crate::Lock`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked for until it is acquired"]
pub struct Lock {
    lock: crate::Lock,
    background: Arc<Background>,
}

/// What can be said about a wish.
macro_rules! say {
    ($($method:ident($($argument:ident: $kind:ty)?)),* $(,)?) => {$(
        #[doc = concat!("See [`Lock::", stringify!($method), "`](crate::Lock::", stringify!($method), ").")]
        pub fn $method(mut self, $($argument: $kind)?) -> Self {
            self.lock = self.lock.$method($($argument)?);
            self
        }
    )*};
}

impl Lock {
    say!(
        units(units: u32),
        priority(priority: i32),
        deadline(deadline: u64),
        session(session: impl Into<String>),
        read(),
        write(),
        lease(lease: Duration),
        timeout(timeout: Duration),
        owner(owner: impl Into<String>),
        id(id: impl Into<String>),
    );

    /// Waits for the grant.
    pub fn acquire(self) -> Result<Guard, Error> {
        let Self { lock, background } = self;
        let guard = background.block_on(lock.into_future())??;
        Ok(Guard { guard, background })
    }

    /// The grant if it can be had at once; `None` if not. See [`Lock::try_lock`](crate::Lock::try_lock).
    pub fn try_acquire(self) -> Result<Option<Guard>, Error> {
        let Self { lock, background } = self;
        let guard = background.block_on(lock.try_lock())??;
        Ok(guard.map(|guard| Guard { guard, background }))
    }
}

/// Something that is held. It is given back when this is dropped. See [`crate::Guard`].
#[derive(Debug)]
#[must_use = "what is held is given back as soon as this is dropped"]
pub struct Guard {
    guard: crate::Guard,
    background: Arc<Background>,
}

impl Guard {
    /// See [`Guard::fence`](crate::Guard::fence).
    pub fn fence(&self) -> u64 {
        self.guard.fence()
    }

    /// The id of the request at its node.
    pub fn id(&self) -> String {
        self.guard.id()
    }

    /// See [`Guard::expires`](crate::Guard::expires).
    pub fn expires(&self) -> Instant {
        self.guard.expires()
    }

    /// Whether it is lost, as far as can be known at this moment. Look before every step that must not be done without
    /// the lock.
    pub fn is_lost(&self) -> bool {
        self.guard.is_lost()
    }

    /// Waits until it is lost, at most for so long.
    pub fn lost_within(&self, patience: Duration) -> Result<Option<Loss>, Error> {
        self.background.block_on(async { timeout(patience, self.guard.lost()).await.ok() })
    }

    /// Does some work and returns its result, or why the lock was lost before it ended. The work is not stopped in the
    /// middle: what takes long looks at [`is_lost`](Self::is_lost).
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Loss> {
        let result = work();
        match self.guard.loss() {
            Some(loss) => Err(loss),
            None => Ok(result),
        }
    }

    /// Gives it back. An error if it was lost before, or the node did not answer; its lease then ends by itself.
    pub fn release(mut self) -> Result<(), Error> {
        self.background.block_on(self.guard.give_back())?
    }
}

impl Drop for Guard {
    /// Waits for the node, because the program may end right after this.
    fn drop(&mut self) {
        if !self.guard.is_given_back {
            // Its lease ends by itself if this does not work.
            let _ = self.background.block_on(async { timeout(DROP_PATIENCE, self.guard.give_back()).await });
        }
    }
}

/// A node that runs in this program. See [`crate::Node`].
#[cfg(feature = "embedded")]
#[derive(Debug)]
pub struct Node {
    node: crate::Node,
    background: Arc<Background>,
}

#[cfg(feature = "embedded")]
impl Node {
    /// Starts a node.
    pub fn start(builder: NodeBuilder) -> Result<Self, Error> {
        let background = Background::start()?;
        let node = background.block_on(builder.start())??;
        Ok(Self { node, background })
    }

    /// A client of this node.
    pub fn client(&self) -> Client {
        let _inside = self.background.runtime.enter(); // where its leases are renewed
        Client { client: self.node.client(), background: Arc::clone(&self.background) }
    }

    /// See [`Node::stop`](crate::Node::stop).
    pub fn stop(self) -> Result<Stopped, Error> {
        self.background.block_on(self.node.stop())?
    }
}
