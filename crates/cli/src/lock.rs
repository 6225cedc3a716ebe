//! `meshlock lock`: hold a resource while a command runs.

mod args;
mod child;
mod hold;
pub(crate) mod nesting;
mod terminal;

use std::path::Path;

use meshlock::Guard;
use serde_json::json;

use crate::exit::Exit;
use crate::node_options::block_on;
use crate::signals::Signals;
use crate::style::{self, styled};
use crate::waiting::{tell_what_was_made, wait};

pub(crate) use self::args::Args;

/// It was lost while the command ran.
pub(crate) const LOST: u8 = 123;
/// It was not obtained in time.
pub(crate) const NOT_IN_TIME: u8 = 124;
/// Something other than the command failed.
pub(crate) const FAILED: u8 = 125;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Exit {
    block_on(lock(args)).unwrap_or_else(|error| fail(&error))
}

/// Tells an error, and ends with the code that says that it is our own.
pub(crate) fn fail(error: &anyhow::Error) -> Exit {
    anstream::eprintln!("{} {}", styled(style::ERROR, "error:"), crate::text::with_causes(error));
    Exit::Other(FAILED)
}

async fn lock(args: &Args) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let client = args.node.connect_within(args.wish.patience()).await?;
    nesting::check(&client, &args.wish).await?;
    let id = meshlock::new_id()?;
    let wanted = args.wish.lock(&client, &id, &program(args));
    if args.verbose {
        anstream::eprintln!("asking for {} as request {id}", args.wish.name);
    }
    let guard = match wait(&client, (&args.wish, &id), &mut signals, wanted.into_future()).await? {
        Ok(guard) => guard,
        Err(exit) => return Ok(exit),
    };
    if !args.json {
        tell_what_was_made(&client, &args.wish.name, &id).await;
    }
    tell(args, &guard)?;
    hold::hold(args, &nesting::holds(&client, &args.wish.name), guard, &mut signals).await
}

/// The name of the command, for people who look at the queue.
fn program(args: &Args) -> String {
    let first = args.command.first().map(|word| word.to_string_lossy());
    let first = first.as_deref().and_then(|word| word.split_whitespace().next());
    let name = first.and_then(|word| Path::new(word).file_name());
    name.map_or_else(|| "meshlock".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn tell(args: &Args, guard: &Guard) -> anyhow::Result<()> {
    let line = if args.json {
        let left = guard.expires().saturating_duration_since(std::time::Instant::now());
        json!({
            "resource": guard.name(),
            "request": guard.id(),
            "state": "GRANTED",
            "units": guard.units(),
            "session": guard.session(),
            "fence": guard.fence(),
            "expires_in_ms": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        })
        .to_string()
    } else {
        format!("{} granted, fence {}, request {}", guard.name(), guard.fence(), guard.id())
    };
    if args.command.is_empty() {
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()?;
    } else if args.json || args.verbose {
        anstream::eprintln!("{line}");
    }
    Ok(())
}
