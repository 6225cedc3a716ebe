//! The arguments of `meshlock reproduce`, in the order of its help.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::help::{EXAMPLES, LONG_ABOUT};

/// Measure what the papers claim: each claim beside our number and a verdict.
#[derive(Clone, Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// Claims (`J-4`) or how their ids begin (`S4`) [default: all].
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// List the claims, and measure nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Fewer runs and smaller networks: about three minutes on two cores instead of an hour.
    #[arg(long, help_heading = "Running")]
    pub(crate) quick: bool,
    /// How many runs at once [default: one per core].
    #[arg(short, long, value_name = "N", help_heading = "Running")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Where claims.html and claims.json go.
    #[arg(long, value_name = "DIR", default_value = "results/reproduce", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// One JSON document on standard output (what is in claims.json), and nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
