//! Redis: one server, nothing on disk. A key with a time limit is the lock, as in the usual libraries; a list wakes the next
//! waiter, which is faster than the polling of most of them.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use redis::Script;
use redis::aio::MultiplexedConnection;

use super::{Client, Process, Service, Wish, free_port, until};

/// The time limit of a lock, as long as meshlock's standing.
const LIMIT_MS: usize = 10_000;

pub struct Redis {
    _place: tempfile::TempDir,
    log: std::path::PathBuf,
    port: u16,
    server: Option<Process>,
}

impl Redis {
    pub async fn start() -> Result<Self> {
        let place = tempfile::tempdir()?;
        let log = place.path().join("log");
        let mut redis = Self { _place: place, log, port: free_port()?, server: None };
        redis.repair().await?;
        Ok(redis)
    }
}

async fn connect(address: &str) -> Result<MultiplexedConnection> {
    let client = redis::Client::open(address)?;
    let patient = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    Ok(client.get_multiplexed_async_connection_with_config(&patient).await?)
}

/// A client of the server at this address.
pub async fn attach(address: &str) -> Result<Box<dyn Client>> {
    let unlock = Script::new(
        "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]); \
         redis.call('lpush', KEYS[2], 1); redis.call('ltrim', KEYS[2], 0, 0); return 1 end return 0",
    );
    static CLIENTS: AtomicUsize = AtomicUsize::new(0);
    let id = format!("{}-{}", std::process::id(), CLIENTS.fetch_add(1, Ordering::Relaxed));
    Ok(Box::new(Connection { redis: connect(address).await?, id, unlock, held: None }))
}

#[async_trait]
impl Service for Redis {
    fn name(&self) -> &'static str {
        "Redis"
    }

    fn about(&self) -> &'static str {
        "one server, no replica, nothing on disk; SET NX PX and a list that wakes the next"
    }

    fn lacks(&self, wish: Wish) -> Option<&'static str> {
        match wish {
            Wish::Urgent(_) => Some("no priorities"),
            Wish::Read | Wish::Write => Some("no readers-writer lock"),
            Wish::Lock | Wish::Unit => None,
        }
    }

    fn address(&self, _: usize) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    fn server(&self, _: usize) -> Option<&Process> {
        self.server.as_ref()
    }

    async fn repair(&mut self) -> Result<()> {
        if self.server.as_mut().is_none_or(|server| !matches!(server.child.try_wait(), Ok(None))) {
            let mut command = Command::new("redis-server");
            command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            self.server = Some(Process::start(&mut command, &self.log)?);
        }
        let address = self.address(0);
        let mut redis = until("Redis", || connect(&address)).await?;
        let _: () = redis::cmd("FLUSHALL").query_async(&mut redis).await?;
        // Four units, as many as the other semaphores have.
        let _: () = redis::cmd("RPUSH").arg("units").arg(&[0, 1, 2, 3]).query_async(&mut redis).await?;
        Ok(())
    }
}

struct Connection {
    redis: MultiplexedConnection,
    id: String,
    unlock: Script,
    held: Option<(String, Wish)>,
}

#[async_trait]
impl Client for Connection {
    async fn lock(&mut self, resource: &str, wish: Wish) -> Result<()> {
        match wish {
            Wish::Lock => loop {
                let mut set = redis::cmd("SET");
                set.arg(resource).arg(&self.id).arg("NX").arg("PX").arg(LIMIT_MS);
                if set.query_async::<Option<String>>(&mut self.redis).await?.is_some() {
                    break;
                }
                let wake = format!("{resource}:wake");
                let mut wait = redis::cmd("BLPOP");
                let _: Option<(String, i64)> = wait.arg(&wake).arg(1).query_async(&mut self.redis).await?;
            },
            Wish::Unit => {
                let mut take = redis::cmd("BLPOP");
                let _: (String, i64) = take.arg("units").arg(0).query_async(&mut self.redis).await?;
            }
            Wish::Urgent(_) | Wish::Read | Wish::Write => bail!("not offered"),
        }
        self.held = Some((resource.to_owned(), wish));
        Ok(())
    }

    async fn unlock(&mut self) -> Result<()> {
        let (resource, wish) = self.held.take().context("nothing is held")?;
        if wish == Wish::Unit {
            let _: i64 = redis::cmd("RPUSH").arg("units").arg(1).query_async(&mut self.redis).await?;
            return Ok(());
        }
        let mut call = self.unlock.prepare_invoke();
        call.key(&resource).key(format!("{resource}:wake")).arg(&self.id);
        let _: i64 = call.invoke_async(&mut self.redis).await?;
        Ok(())
    }
}
