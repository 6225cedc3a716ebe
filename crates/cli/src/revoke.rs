//! `meshlock revoke`: take away what a client holds.

use std::io::Write;
use std::time::{Duration, Instant};

use meshlock_api::text::visible;
use meshlock_api::{NewRevocation, Revocation, State, duration};

use crate::exit::Exit;
use crate::lock::NOT_IN_TIME;
use crate::node_options::{NodeOptions, block_on};
use crate::output;

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock status                                    shows ids and the nodes they are at
  meshlock revoke 01JD3W... --reason 'crane broken'  and wait until its client has stopped
  meshlock revoke forklift-3/~5                      if several nodes have a request of this id
  meshlock revoke 01JD3W... --force                  let others in at once; only fences protect then

\x1b[1;4mExit codes:\x1b[0m
    0  revoked, and its client has stopped or its lease is over
    2  no such request, or meshlock failed
  124  revoked, but the client had not stopped within --wait";

/// Take away what a client holds, or cancel a request that waits.
///
/// The client is told at once, at whatever node it is. Others are let in when it has said that it stopped, or when its lease is
/// over. `meshlock audit` at the node of the request shows who revoked it and why.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The request, as `meshlock status` shows it: its id, or NODE/ID.
    #[arg(value_name = "[NODE/]ID")]
    request: String,
    /// Why, for its client and for the audit.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not wait for the client to stop: let others in at once.
    #[arg(long)]
    force: bool,
    /// Give up waiting for the client after this time; it stays revoked [default: the end of its lease].
    #[arg(short = 'w', long, value_name = "TIME", value_parser = duration::parse, conflicts_with = "force")]
    wait: Option<Duration>,
    /// Print what came of it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

/// How long the node waits in one question.
const AT_ONCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let revoked = block_on(revoke(args))?;
    if args.json {
        output::json(&revoked)?;
    } else {
        writeln!(anstream::stdout(), "{}", visible(&words(&revoked)))?;
    }
    Ok(if revoked.stopped { Exit::Fine } else { Exit::Other(NOT_IN_TIME) })
}

async fn revoke(args: &Args) -> anyhow::Result<Revocation> {
    let client = args.node.connect().await?;
    let (node, id) = match args.request.split_once('/') {
        Some((node, id)) => (Some(node.to_owned()), id),
        None => (None, args.request.as_str()),
    };
    let by = std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).ok();
    let wanted = NewRevocation {
        id: id.to_owned(),
        node,
        reason: args.reason.clone(),
        by: by.map(|by| by.chars().filter(|c| !c.is_control()).take(64).collect()),
        force: args.force,
    };
    let until = args.wait.map(|wait| Instant::now() + wait);
    let left = || until.map_or(AT_ONCE, |until| until.saturating_duration_since(Instant::now()).min(AT_ONCE));
    let mut revoked = client.revoke(wanted.clone(), Duration::from_millis(500).min(left())).await?;
    if !revoked.stopped && !left().is_zero() {
        anstream::eprintln!("{}", visible(&words(&revoked)));
    }
    while !revoked.stopped && !left().is_zero() {
        let wanted = NewRevocation { node: Some(revoked.node.clone()), ..wanted.clone() };
        revoked = client.revoke(wanted, left()).await?;
    }
    Ok(revoked)
}

fn words(revoked: &Revocation) -> String {
    let Revocation { node, id, resource, state, .. } = revoked;
    let owner = revoked.owner.as_deref().unwrap_or("its client");
    match (revoked.stopped, revoked.expires_in_ms) {
        (true, _) if *state == State::Revoked => format!("{resource}: request {id} of {owner} at {node} is revoked"),
        (true, _) => format!("{resource}: request {id} of {owner} at {node} is over: {}", state.name()),
        (false, Some(left)) => {
            let left = duration::display(Duration::from_millis(left));
            format!(
                "{resource}: {owner} at {node} was told to stop; others are let in when it has, in {left} at the latest"
            )
        }
        (false, None) => format!("{resource}: {owner} at {node} was told to stop"),
    }
}
