//! `meshlock audit`: who held what, when, and who revoked it.

use std::io::Write;
use std::time::Duration;

use meshlock_api::text::visible;
use meshlock_api::{AuditGrant, AuditRecord, Audited, duration};
use time::OffsetDateTime;

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output;
use crate::text::several;
use crate::watch;

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock audit                    the latest 100 records of this node
  meshlock audit gpu --last 1000    of one resource
  meshlock audit --json             for a program";

/// Who held what at a node, when, and who revoked it.
///
/// Each node writes down what its own clients hold, in `audit/` of its directory: at most four files of 8 MiB. What was written
/// in the last moments before a power cut may be missing; what could not be written is counted and said.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One resource only.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// So many records at most, the latest.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    last: u32,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let ask = async { Ok(args.node.connect().await?.audit(args.name.as_deref(), args.last).await?) };
    let records = block_on(ask)?;
    if args.json {
        output::json(&records)?;
        return Ok(Exit::Fine);
    }
    let mut out = anstream::stdout().lock();
    for record in &records {
        writeln!(out, "{}", visible(&line(record)))?;
    }
    Ok(Exit::Fine)
}

fn line(record: &AuditRecord) -> String {
    let who = |grant: &AuditGrant| {
        let fence = grant.fence.map(|fence| format!(", fence {fence}")).unwrap_or_default();
        format!("{}, request {}{fence}", grant.owner.as_deref().unwrap_or("a client"), grant.request)
    };
    let ms = |ms| duration::display(Duration::from_millis(ms));
    let what = match &record.what {
        Audited::Started { node, version } => format!("node {node} began, meshlock {version}"),
        Audited::Granted { grant, units, waited_ms, .. } => {
            let units = if *units == 1 { String::new() } else { format!(" {}", several(u64::from(*units), "unit")) };
            format!("{}: granted{units} to {} after {}", grant.resource, who(grant), ms(*waited_ms))
        }
        Audited::Ended { grant, state, reason, held_ms } => {
            let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{}: {} {} after {}{reason}", grant.resource, state.name(), who(grant), ms(*held_ms))
        }
        Audited::Revoked { grant, by, at, reason, forced } => {
            let forced = if *forced { " by force" } else { "" };
            format!("{}: revoked{forced} by {by} at node {at}, from {}: {reason}", grant.resource, who(grant))
        }
        Audited::Stopped { grant } => format!("{}: {} has stopped", grant.resource, who(grant)),
        Audited::Missed { records } => format!("{} missing here", several(*records, "record")),
    };
    format!("{}  {what}", time(record.at_ms))
}

/// `2026-05-04 17:30:00.250`, in UTC.
fn time(unix_ms: u64) -> String {
    let nanos = i128::from(unix_ms) * 1_000_000;
    let date = OffsetDateTime::from_unix_timestamp_nanos(nanos).map(OffsetDateTime::date);
    date.map_or_else(|_| unix_ms.to_string(), |date| format!("{date} {}", watch::time(unix_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_line() {
        let grant =
            AuditGrant { resource: "gpu".into(), request: "a".into(), owner: Some("job[7]".into()), fence: Some(3) };
        let what =
            Audited::Revoked { grant, by: "ann".into(), at: "n0".into(), reason: "broken".into(), forced: false };
        let expected =
            "1970-01-01 17:30:00.250  gpu: revoked by ann at node n0, from job[7], request a, fence 3: broken";
        assert_eq!(line(&AuditRecord { at_ms: 63_000_250, what }), expected);
    }
}
