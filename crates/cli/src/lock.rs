//! `meshlock lock`: hold a resource while a command runs.

mod args;
mod child;
mod hold;
mod mistyped;
pub(crate) mod nesting;
mod terminal;

use std::iter;
use std::path::Path;

use meshlock::{Client, Error, Guard, Part};
use meshlock_api::PartInfo;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::node_options::block_on;
use crate::signals::Signals;
use crate::style::{self, styled};
use crate::waiting::{tell_what_was_made, wait};

use self::args::Other;

pub(crate) use self::args::Args;

/// It was lost while the command ran.
pub(crate) const LOST: u8 = 123;
/// It was not obtained in time.
pub(crate) const NOT_IN_TIME: u8 = 124;
/// Something other than the command failed.
pub(crate) const FAILED: u8 = 125;

pub(crate) fn run(args: &Args) -> Exit {
    block_on(lock(args)).unwrap_or_else(|error| fail(&error))
}

/// Tells an error, and ends with the code that says that it is our own.
pub(crate) fn fail(error: &anyhow::Error) -> Exit {
    anstream::eprintln!("{} {}", styled(style::ERROR, "error:"), crate::text::with_causes(error));
    Exit::Other(FAILED)
}

async fn lock(args: &Args) -> anyhow::Result<Exit> {
    mistyped::check(args)?;
    let mut signals = Signals::listen()?;
    let client = args.node.connect_within(args.wish.patience()).await?;
    nesting::check(&client, &args.wish).await?;
    for other in &args.others {
        nesting::check_one(&client, &args.wish, &other.name, false).await?;
    }
    let id = meshlock::new_id()?;
    let names: Vec<&str> =
        iter::once(&args.wish.name).chain(args.others.iter().map(|other| &other.name)).map(String::as_str).collect();
    if args.verbose {
        anstream::eprintln!("asking for {} as request {id}", names.join(" + "));
    }
    let granted = wait(&client, (&args.wish, &id), &mut signals, obtain(args, &client, &id)).await?;
    let (guard, parts) = match granted {
        Ok(granted) => granted,
        Err(exit) => return Ok(exit),
    };
    if !args.json {
        tell_what_was_made(&client, &id).await;
    }
    tell(args, &guard, &parts)?;
    hold::hold(args, &nesting::holds(&client, names), (guard, &parts), &mut signals).await
}

/// The grant of one resource, or of several with what is held of each.
async fn obtain(args: &Args, client: &Client, id: &str) -> Result<(Guard, Vec<PartInfo>), Error> {
    if args.others.is_empty() {
        return Ok((args.wish.lock(client, id, &program(args)).await?, Vec::new()));
    }
    let part = |other: &Other| match other.units {
        Some(units) => Part::of(&other.name).units(units),
        None => Part::of(&other.name),
    };
    let others: Vec<Part> = args.others.iter().map(part).collect();
    Ok(args.wish.lock_all(client, id, &program(args), &others).await?.into_guard())
}

/// The name of the command, for people who look at the queue.
fn program(args: &Args) -> String {
    let first = args.command.first().map(|word| word.to_string_lossy());
    let first = first.as_deref().and_then(|word| word.split_whitespace().next());
    let name = first.and_then(|word| Path::new(word).file_name());
    name.map_or_else(|| "meshlock".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn tell(args: &Args, guard: &Guard, parts: &[PartInfo]) -> anyhow::Result<()> {
    let line = if args.json {
        let left = guard.expires().saturating_duration_since(std::time::Instant::now());
        let mut line = json!({
            "resource": guard.name(),
            "request": guard.id(),
            "state": "GRANTED",
            "units": guard.units(),
            "session": guard.session(),
            "fence": guard.fence(),
            "expires_in_ms": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        });
        if !parts.is_empty() {
            (line["fence"], line["parts"]) = (Value::Null, json!(parts));
        }
        line.to_string()
    } else if !parts.is_empty() {
        format!("{} granted, fences {}, request {}", guard.name(), hold::fences(parts), guard.id())
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
