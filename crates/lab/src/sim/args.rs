//! The arguments of `meshlock sim`, in the order of its help.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::help::{EXAMPLES, LONG_ABOUT};
use crate::document::setting;
use meshlock_cli::view::USUAL;

/// Run a scenario once: nodes, radio, movement, clients; and measure it.
#[derive(Debug, Default, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// A scenario file [default: the built-in reference scenario].
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Set a key of the scenario, such as radio.range=120m; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// The seed: another one is another run of the same kind [default: what the file says, or 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Make the edits of this file: run a run again in which somebody took part.
    #[arg(long, value_name = "FILE")]
    pub(crate) edits: Option<PathBuf>,

    /// Show the run in the browser while it goes on, and take part in it.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = USUAL,
          conflicts_with = "json", help_heading = "Viewer")]
    pub(crate) view: Option<SocketAddr>,
    /// Open the page in the browser.
    #[arg(long, requires = "view", help_heading = "Viewer")]
    pub(crate) open: bool,
    /// Keep what is done in this file [default: the name of the scenario with .edits.jsonl].
    #[arg(long, value_name = "FILE", requires = "view", help_heading = "Viewer")]
    pub(crate) record_edits: Option<PathBuf>,

    /// Record the run in this file, such as run.trace.jsonl.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Record with every event how its node looks afterwards: traces become several times as large.
    #[arg(long, requires = "trace", help_heading = "Output")]
    pub(crate) views: bool,
    /// One JSON document on standard output, and nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Print all keys of scenario files with their values, defaults and meanings.
    #[arg(long, conflicts_with = "schema", help_heading = "Scenario files")]
    pub(crate) keys: bool,
    /// Print the JSON schema of scenario files, for editors.
    #[arg(long, help_heading = "Scenario files")]
    pub(crate) schema: bool,
}

impl Args {
    /// What `--set` changes, as it was given.
    pub(super) fn settings(&self) -> Vec<String> {
        self.set.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }
}
