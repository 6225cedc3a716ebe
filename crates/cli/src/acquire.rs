//! `meshlock acquire`, `release` and `renew`: a grant that outlives the program that asked for it.

use std::time::Duration;

use meshlock_api::text::visible;
use meshlock_api::{RequestInfo, State, duration};

use crate::exit::Exit;
use crate::lock::{LOST, fail, nesting};
use crate::node_options::{NodeOptions, block_on};
use crate::output;
use crate::signals::Signals;
use crate::waiting::{tell_what_was_made, wait};
use crate::wish::Wish;

const ACQUIRE_EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  id=$(meshlock acquire dock-3 --lease 10m) && ./unload; meshlock release \"$id\"
      hold dock-3 over several commands
  meshlock acquire gpu --units 2 --try --json
      all about the grant, for a script

\x1b[1;4mExit codes:\x1b[0m
  124  not obtained in time; -E changes this
  125  meshlock failed: no node, a wrong argument, a refusal
128+n  the waiting was ended by signal n";

const RELEASE_EXAMPLES: &str = "\x1b[1;4mExit codes:\x1b[0m
    0  given back, now or before
  123  it was lost before: others may have been let in
  125  meshlock failed: no node, or no such request";

/// Take a resource and leave it taken: until `release`, or the end of its lease.
///
/// Prints the id of the request. Nothing renews it but `meshlock renew`, so choose a lease that is long enough;
/// `meshlock lock` is the better choice wherever a single command can do the work.
#[derive(Debug, clap::Args)]
#[command(after_long_help = ACQUIRE_EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub struct AcquireArgs {
    #[command(flatten)]
    wish: Wish,
    /// Print all about the grant as JSON.
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

/// Give back what `acquire` took, or cancel a request that waits.
#[derive(Debug, clap::Args)]
#[command(after_help = RELEASE_EXAMPLES)]
pub struct ReleaseArgs {
    /// The id that `acquire` printed.
    id: String,
    /// Print how the request ended as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

/// Let the lease of a request begin anew.
#[derive(Debug, clap::Args)]
#[command(after_help = RELEASE_EXAMPLES)]
pub struct RenewArgs {
    /// The id that `acquire` printed.
    id: String,
    /// Another length of the lease, from now on.
    #[arg(long, alias = "ttl", value_name = "TIME", value_parser = duration::parse)]
    lease: Option<Duration>,
    /// Print how the request is doing as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

pub(crate) fn acquire(args: &AcquireArgs) -> Exit {
    let acquire = async {
        let mut signals = Signals::listen()?;
        let client = args.node.connect_within(args.wish.patience()).await?;
        nesting::check(&client, &args.wish).await?;
        let id = meshlock::new_id()?;
        let grant = args.wish.lock(&client, &id, "acquire").unguarded();
        let info = match wait(&client, (&args.wish, &id), &mut signals, grant).await? {
            Ok(info) => info,
            Err(exit) => return Ok(exit),
        };
        if args.json {
            output::json(&info)?;
        } else {
            tell_what_was_made(&client, &id).await;
            print(&info.id)?;
        }
        Ok(Exit::Fine)
    };
    block_on(acquire).unwrap_or_else(|error| fail(&error))
}

pub(crate) fn release(args: &ReleaseArgs) -> Exit {
    let release = async {
        let info = args.node.connect().await?.release(&args.id).await?;
        if args.json {
            output::json(&info)?;
        }
        Ok(if info.state == State::Released { Exit::Fine } else { lost(&info) })
    };
    block_on(release).unwrap_or_else(|error| fail(&error))
}

pub(crate) fn renew(args: &RenewArgs) -> Exit {
    let renew = async {
        let info = args.node.connect().await?.renew(&args.id, args.lease).await?;
        if args.json {
            output::json(&info)?;
        }
        if info.state.is_over() {
            return Ok(lost(&info));
        }
        if !args.json {
            let left = Duration::from_millis(info.expires_in_ms.unwrap_or_default());
            print(&format!("{} for another {}", info.state.name(), duration::display(left)))?;
        }
        Ok(Exit::Fine)
    };
    block_on(renew).unwrap_or_else(|error| fail(&error))
}

fn lost(info: &RequestInfo) -> Exit {
    let reason = info.reason.as_deref().unwrap_or("somebody gave it back");
    anstream::eprintln!("{} is {}: {}", info.resource, info.state.name(), visible(reason));
    Exit::Other(LOST)
}

fn print(line: &str) -> anyhow::Result<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
