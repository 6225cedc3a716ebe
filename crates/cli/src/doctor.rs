//! `meshlock doctor`: what is wrong, in words, and what to do.

mod certificate;
mod machine;
mod mesh;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use meshlock_api::duration;
use serde::Serialize;

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::output::{self, width};
use crate::style::{self, styled};
use crate::text::{fold, several};

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock doctor                        the node of this machine, and its mesh
  meshlock doctor --dir /etc/meshlock    with the configuration that is there
  meshlock doctor --json                 for a program

\x1b[1;4mExit codes:\x1b[0m
    0  nothing is wrong
    1  something is; each finding says what to do
    2  meshlock failed";

/// Look for what is wrong with the node of this machine and with its mesh, and say what to do.
///
/// Looks at the configuration, the mesh directory and the papers in it, the socket, the ports, the disk, and asks the node and all others it
/// reaches. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The mesh directory of the node [default: where commands look for it].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Its configuration [default: meshlock.toml in the mesh directory].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How long other nodes may take to answer.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    patience: Duration,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    node: NodeOptions,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    subject: &'static str,
    /// Nothing is wrong with it.
    fine: bool,
    /// What was seen.
    what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn fine(subject: &'static str, what: impl Into<String>) -> Self {
        Self { subject, fine: true, what: what.into(), fix: None }
    }

    fn wrong(subject: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject, fine: false, what: what.into(), fix: Some(fix.into()) }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    let here = machine::look(args, &mut findings);
    block_on(async {
        mesh::look(args, here.as_ref(), &mut findings).await;
        Ok(())
    })?;
    let wrong = findings.iter().filter(|finding| !finding.fine).count();
    if args.json {
        output::json(&serde_json::json!({ "fine": wrong == 0, "findings": findings }))?;
    } else {
        tell(&findings)?;
    }
    Ok(if wrong == 0 { Exit::Fine } else { Exit::Broken })
}

fn tell(findings: &[Finding]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    for finding in findings {
        let (mark, style) = if finding.fine { ("ok", style::FAINT) } else { ("WRONG", style::ALARM) };
        let text = meshlock_api::text::visible(&finding.what);
        let mut lines = fold(&format!("{}: {text}", finding.subject), width().saturating_sub(8), 0).into_iter();
        writeln!(out, "{} {}", styled(style, &format!("{mark:<6}")), lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| writeln!(out, "       {line}"))?;
        if let Some(fix) = &finding.fix {
            for line in fold(&format!("-> {}", meshlock_api::text::visible(fix)), width().saturating_sub(8), 3) {
                writeln!(out, "       {line}")?;
            }
        }
    }
    let wrong = findings.iter().filter(|finding| !finding.fine).count();
    match wrong {
        0 => writeln!(out, "nothing is wrong")?,
        _ => writeln!(out, "{}", several(wrong as u64, "finding"))?,
    }
    Ok(())
}
