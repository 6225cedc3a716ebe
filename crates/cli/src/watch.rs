//! `meshlock watch`: what happens at the node, line by line.

use std::io::Write;

use meshlock_api::text::visible;
use meshlock_api::{Event, RequestInfo, What};

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output::word;
use crate::signals::Signals;
use crate::style::{self, styled};

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock watch                 everything at this node
  meshlock watch dock-3          one resource
  meshlock watch --json | jq     a line of JSON for each event";

/// Show what happens at the node: requests, tokens, links. Times are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One resource only.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// A line of JSON for each event.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

/// Runs the command, until a signal or the end of the node.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    block_on(async {
        let mut signals = Signals::listen()?;
        let client = args.node.connect().await?;
        if let Some(name) = &args.name
            && !client.resources().await?.iter().any(|known| known.name == *name)
        {
            let note = styled(style::PARTIAL, "note:");
            anstream::eprintln!("{note} this node knows no resource {} yet; waiting for it", visible(name));
        }
        let mut events = match &args.name {
            Some(name) => client.events_of(name).await?,
            None => client.events().await?,
        };
        let mut last = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event?,
                _ = signals.end() => return Ok(Exit::Interrupted),
            };
            let Some(event) = event else {
                anstream::eprintln!("the node has ended");
                return Ok(Exit::Failed);
            };
            let missed = last.filter(|last| args.name.is_none() && last + 1 < event.number);
            last = Some(event.number);
            let mut out = anstream::stdout().lock();
            if args.json {
                writeln!(out, "{}", serde_json::to_string(&event)?)?;
            } else {
                if missed.is_some() {
                    writeln!(out, "(some events were missed: they came faster than they were read)")?;
                }
                writeln!(out, "{}", visible(&line(&event)))?;
            }
            out.flush()?;
        }
    })
}

fn line(event: &Event) -> String {
    let what = match &event.what {
        What::Request { request } => self::request(request),
        What::LinkUp { node } => format!("link to {node} is up"),
        What::LinkDown { node, reason } => format!("link to {node} is down: {reason}"),
        What::TokenHere { resource } => format!("{resource}: the token came here"),
        What::TokenGone { resource } => format!("{resource}: the token left"),
        What::ResourceRemoved { resource } => format!("{resource}: removed"),
        What::Resource { resource } => {
            let conflict = if resource.conflict.is_some() { ", in conflict with this node's file" } else { "" };
            let definition = &resource.definition;
            format!("{}: {} with capacity {}{conflict}", resource.name, word(&definition.kind), definition.capacity)
        }
        What::Broken { resource, what } => format!("{resource}: A RULE IS BROKEN, please report this: {what}"),
    };
    format!("{}  {what}", time(event.at_ms))
}

fn request(request: &RequestInfo) -> String {
    let fence = request.fence.map(|fence| format!(", fence {fence}")).unwrap_or_default();
    let reason = request.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let owner = request.owner.as_deref().unwrap_or("somebody");
    format!("{}: {} {owner}, request {}{fence}{reason}", request.resource, request.state.name(), request.id)
}

/// `17:30:00.250`.
pub(crate) fn time(unix_ms: u64) -> String {
    let (seconds, ms) = (unix_ms / 1_000, unix_ms % 1_000);
    format!("{:02}:{:02}:{:02}.{ms:03}", seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let what = What::LinkDown { node: "n1".into(), reason: "silent".into() };
        let event = Event { number: 1, at_ms: 63_000_250, what };
        assert_eq!(line(&event), "17:30:00.250  link to n1 is down: silent");
    }
}
