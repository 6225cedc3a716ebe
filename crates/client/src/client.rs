//! Finding a node, and what can be asked of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use meshlock_api::{
    AuditRecord, MeshStatus, Mode, NewResource, NewRevocation, RequestInfo, ResourceChange, ResourceInfo, Revocation,
    Row,
};
use tokio::runtime::Handle;

use crate::address::Address;
use crate::backend::Backend;
use crate::error::Error;
use crate::events::Events;
use crate::http::Http;
use crate::keeper::Keeper;
use crate::lock::Lock;
use crate::lock_all::{LockAll, Part};

/// How long other nodes may take to say how they are doing.
const STATUS_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for the lock under which resources are made and changed.
const REGISTRY_PATIENCE: Duration = Duration::from_secs(10);

/// A client of a node. Clones are the same client.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

/// What clones and guards have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) backend: Backend,
    pub(crate) keeper: Arc<Keeper>,
    /// Where guards that are dropped outside of the runtime can still give back.
    runtime: Option<Handle>,
    /// Who asks, unless a request says otherwise.
    pub(crate) owner: Arc<str>,
}

impl Shared {
    /// The runtime we are on, or else the one on which the client was made.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        Handle::try_current().ok().or_else(|| self.runtime.clone())
    }
}

/// Where to look for a node. What is not said comes from `MESHLOCK_URL` and `MESHLOCK_SOCKET`, or is the usual socket.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    socket: Option<PathBuf>,
    url: Option<String>,
    token: Option<String>,
    owner: Option<String>,
    patience: Option<Duration>,
}

impl Builder {
    /// The node that listens on this Unix socket.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = Some(path.into());
        self
    }

    /// The node at this address: `http://host:port` or `unix:/path`.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// The bearer token that the node wants on TCP.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Who asks, for people who look at the queue. The program's name and process id, if not said.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// How long the node may take to answer the greeting of [`connect`](Self::connect). 10 s if not said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Finds the node and greets it.
    pub async fn connect(self) -> Result<Client, Error> {
        let address = match (self.url, self.socket) {
            (Some(url), _) => Address::parse(&url)?,
            (None, Some(path)) => Address::Socket(path),
            (None, None) => Address::from_environment()?,
        };
        let token = match (self.token, &address) {
            (None, Address::Tcp(_)) => crate::address::token_from_environment()?,
            (token, _) => token,
        };
        let http = Http::new(address, token);
        http.health(self.patience.unwrap_or(crate::http::PATIENCE)).await?;
        Ok(Client::new(Backend::Http(Arc::new(http)), self.owner))
    }
}

/// Who holds a resource and who waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Those who hold, the oldest grant first.
    pub holders: Vec<Row>,
    /// Those who wait, in the order of service as far as it can be told.
    pub waiters: Vec<Row>,
}

impl Client {
    /// The node of this machine: at `MESHLOCK_URL`, `MESHLOCK_SOCKET`, or the usual socket.
    pub async fn connect() -> Result<Self, Error> {
        Self::builder().connect().await
    }

    /// A node somewhere else.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The node behind a hub of `meshlock-node`, for tools of the same version; programs use [`Node`](crate::Node).
    #[doc(hidden)]
    #[cfg(feature = "embedded")]
    pub fn embedded(hub: Arc<meshlock_node::hub::Hub>) -> Self {
        Self::new(Backend::Hub(hub), None)
    }

    fn new(backend: Backend, owner: Option<String>) -> Self {
        let owner = owner.unwrap_or_else(program).into();
        let runtime = Handle::try_current().ok();
        Self { shared: Arc::new(Shared { backend, keeper: Arc::default(), runtime, owner }) }
    }

    /// The name of the node's mesh, if the node told it.
    pub fn mesh(&self) -> Option<String> {
        match &self.shared.backend {
            Backend::Http(http) => http.mesh.get().cloned(),
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Some(hub.with(|machine, _| machine.settings().mesh.clone())),
        }
    }

    /// Asks for a resource. Await what comes back, or say more about it first.
    pub fn lock(&self, name: impl Into<String>) -> Lock {
        Lock::new(self.clone(), name.into())
    }

    /// Asks for several resources, all or none: 1 to 16, each once. Await what comes back, or say more about it first.
    ///
    /// ```no_run
    /// # async fn example(client: meshlock::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use meshlock::Part;
    ///
    /// let guard = client.lock_all([Part::of("dock-3"), Part::of("lifts").units(2)]).priority(5).await?;
    /// for part in guard.parts() {
    ///     println!("{} with fence {:?}", part.resource, part.fence);
    /// }
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock_all<P: Into<Part>>(&self, parts: impl IntoIterator<Item = P>) -> LockAll {
        LockAll::new(self.clone(), parts.into_iter().map(Into::into).collect())
    }

    /// Asks to attend a session of a resource with sessions.
    pub fn session(&self, name: impl Into<String>, session: impl Into<String>) -> Lock {
        self.lock(name).session(session)
    }

    /// Asks for a readers-writer resource, together with other readers.
    pub fn read(&self, name: impl Into<String>) -> Lock {
        self.lock(name).mode(Mode::Read)
    }

    /// Asks for a readers-writer resource, alone.
    pub fn write(&self, name: impl Into<String>) -> Lock {
        self.lock(name).mode(Mode::Write)
    }

    /// Who holds a resource and who waits for it, in the whole mesh.
    pub async fn query(&self, name: &str) -> Result<Query, Error> {
        let status = self.status_of(Some(name), STATUS_PATIENCE).await?;
        let found = status.resources.into_iter().find(|resource| resource.name == name);
        Ok(found.map(|found| Query { holders: found.holders, waiters: found.waiters }).unwrap_or_default())
    }

    /// All nodes and resources of the mesh.
    pub async fn status(&self) -> Result<MeshStatus, Error> {
        self.status_of(None, STATUS_PATIENCE).await
    }

    /// One resource or all, from the nodes that answer in time. No time at all: from this node alone.
    pub async fn status_of(&self, name: Option<&str>, patience: Duration) -> Result<MeshStatus, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.status(name, patience).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.status(name, patience).await?),
        }
    }

    /// All resources that the node knows.
    pub async fn resources(&self) -> Result<Vec<ResourceInfo>, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.resources().await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.resources()),
        }
    }

    /// Makes a resource. One that is there with the same definition is left as it is; with another, it is refused.
    pub async fn define(&self, name: &str, wanted: NewResource) -> Result<ResourceInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.define(name, &wanted, REGISTRY_PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.define(name, &wanted, REGISTRY_PATIENCE).await?),
        }
    }

    /// Makes a resource, also in the place of another definition, if no client holds or waits for that one.
    pub async fn replace(&self, name: &str, wanted: NewResource) -> Result<ResourceInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.replace(name, &wanted, REGISTRY_PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => match hub.define(name, &wanted, REGISTRY_PATIENCE).await {
                Err(problem) if problem.reason == meshlock_api::Reason::Conflict => {
                    Ok(hub.retire(name, Some(&wanted), REGISTRY_PATIENCE).await?)
                }
                made => Ok(made?),
            },
        }
    }

    /// Removes a resource that no client holds or waits for. Its name can be used again; fences go on where they ended.
    pub async fn remove(&self, name: &str) -> Result<ResourceInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.remove(name, REGISTRY_PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.retire(name, None, REGISTRY_PATIENCE).await?),
        }
    }

    /// Changes the capacity of a resource.
    pub async fn set_capacity(&self, name: &str, capacity: u32) -> Result<ResourceInfo, Error> {
        self.change(name, Some(capacity), None).await
    }

    /// Changes the capacity of a resource, or the lease of requests that name none.
    pub async fn change(
        &self,
        name: &str,
        capacity: Option<u32>,
        lease: Option<Duration>,
    ) -> Result<ResourceInfo, Error> {
        let lease_ms = lease.map(milliseconds);
        self.change_as(name, ResourceChange { capacity, lease_ms, slots: None }).await
    }

    /// Changes whatever can be changed about a resource, such as the names of its units.
    pub async fn change_as(&self, name: &str, change: ResourceChange) -> Result<ResourceInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.change(name, &change, REGISTRY_PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.change(name, change, REGISTRY_PATIENCE).await?),
        }
    }

    /// Takes away what a client of any node holds, and waits until that has stopped, at most for so long.
    pub async fn revoke(&self, wanted: NewRevocation, patience: Duration) -> Result<Revocation, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.revoke(&wanted, patience).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.revoke(&wanted, patience).await?),
        }
    }

    /// The latest records of the node's audit, of one resource or all. A node in this program has none.
    pub async fn audit(&self, resource: Option<&str>, last: u32) -> Result<Vec<AuditRecord>, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.audit(resource, last).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(_) => Ok(Vec::new()),
        }
    }

    /// Whether the node is well, as it says itself: the document of `GET /v1/health`. Nothing from a node in this program.
    pub async fn health(&self) -> Result<Option<serde_json::Value>, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.full_health().await.map(Some),
            #[cfg(feature = "embedded")]
            Backend::Hub(_) => Ok(None),
        }
    }

    /// All requests that are queued or granted at the node.
    pub async fn requests(&self) -> Result<Vec<RequestInfo>, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.requests().await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.requests()),
        }
    }

    /// How a request is doing, with its place in the queue. A look does not renew it.
    pub async fn request(&self, id: &str) -> Result<RequestInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.look(id).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.look(id)?),
        }
    }

    /// Renews a request by its id, perhaps with another lease from now on. The answer tells whether it is over.
    pub async fn renew(&self, id: &str, lease: Option<Duration>) -> Result<RequestInfo, Error> {
        let lease_ms = lease.map(milliseconds);
        match &self.shared.backend {
            Backend::Http(http) => http.renew(id, lease_ms, crate::http::PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.renew(id, lease_ms)?),
        }
    }

    /// Gives back or cancels a request by its id. The answer tells whether it was lost before.
    pub async fn release(&self, id: &str) -> Result<RequestInfo, Error> {
        match &self.shared.backend {
            Backend::Http(http) => http.release(id, crate::http::PATIENCE).await,
            #[cfg(feature = "embedded")]
            Backend::Hub(hub) => Ok(hub.release(id)?),
        }
    }

    /// What happens at the node from now on.
    pub async fn events(&self) -> Result<Events, Error> {
        Events::open(self, None).await
    }

    /// What happens to one resource at the node from now on.
    pub async fn events_of(&self, name: &str) -> Result<Events, Error> {
        Events::open(self, Some(name)).await
    }
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// This program and its process, such as `backup[4711]`.
fn program() -> String {
    let name = std::env::args_os().next().map(PathBuf::from);
    let name = name.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    meshlock_api::text::owner_of(name.as_deref().unwrap_or("unknown"), std::process::id())
}
