//! One client of `meshlock bench guard`: a process that may be killed or stopped at any moment.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use meshlock::Client;
use meshlock_api::duration;

use super::RESOURCE;
use super::store::{Stale, Store};
use meshlock_cli::block_on;
use meshlock_cli::exit::Exit;

/// A client of `meshlock bench guard`; started by it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node.
    #[arg(long)]
    pub(super) socket: PathBuf,
    /// What is guarded.
    #[arg(long)]
    pub(super) file: PathBuf,
    /// Where it notes what it did.
    #[arg(long)]
    pub(super) log: PathBuf,
    #[arg(long, value_parser = duration::parse)]
    pub(super) lease: Duration,
    #[arg(long, value_parser = duration::parse)]
    pub(super) think: Duration,
    #[arg(long)]
    pub(super) seed: u64,
    #[arg(long)]
    pub(super) no_fences: bool,
}

/// How long to leave a node alone that refused.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the command, until it is killed or nobody is at the other end of standard input.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Whoever started us may be killed too; then we must not stay behind.
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read(&mut [0]);
        std::process::exit(Exit::Fine.code().into());
    });
    block_on(count(args))
}

async fn count(args: &Args) -> anyhow::Result<Exit> {
    let mut random = fastrand::Rng::with_seed(args.seed);
    let mut store = Store::open(&args.file)?;
    let mut log = OpenOptions::new().append(true).create(true).open(&args.log)?;
    let client = loop {
        match Client::builder().socket(&args.socket).connect().await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(PAUSE).await, // its node was killed, and comes back
        }
    };
    loop {
        let guard = match client.lock(RESOURCE).lease(args.lease).await {
            Ok(guard) => guard,
            Err(error) => {
                // Such as a lease that ended while we waited and were stopped.
                note(&mut log, &format!("failed {}", error.to_string().replace('\n', " ")))?;
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let fence = (!args.no_fences).then(|| guard.fence());
        match store.read(fence)? {
            Ok(value) => {
                tokio::time::sleep(args.think.mul_f64(random.f64() * 2.0)).await;
                match store.write(fence, value + 1)? {
                    Ok(()) => note(&mut log, &format!("wrote {}", value + 1))?,
                    Err(Stale) => note(&mut log, &format!("refused-write {}", value + 1))?,
                }
            }
            Err(Stale) => note(&mut log, "refused-read")?,
        }
        // It may have been lost long ago; whoever is next does not depend on this.
        let _ = guard.release().await;
    }
}

/// A line at once: whoever is killed leaves a whole one.
fn note(log: &mut File, line: &str) -> std::io::Result<()> {
    log.write_all(format!("{line}\n").as_bytes())
}
