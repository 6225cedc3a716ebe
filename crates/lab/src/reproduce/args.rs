//! The arguments of `meshlock reproduce`, in the order of its help.

use std::num::NonZeroUsize;
use std::path::PathBuf;

const LONG_ABOUT: &str = "\
Measure what the papers claim: each claim beside our number and a verdict.

Every claim with a number in it, of the three papers behind the protocols, is measured by simulated runs of the text as \
printed and of the repaired one. Before the measurement it stands written what is to be expected; a finding that is not \
as expected means that something has changed.

The directory gets claims.html, a page with methods, verdicts and evidence, and claims.json.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock reproduce --quick
      all claims, with little effort
  meshlock reproduce
      all claims, as the published page has them
  meshlock reproduce --list
      what is claimed, how it is measured and what is expected
  meshlock reproduce J-4 S4 --quick
      one claim, and all whose ids begin with S4
  meshlock reproduce --jobs 8 --out page
      on eight cores, into another directory

\x1b[1;4mExit codes:\x1b[0m
    0  everything is as expected
    1  something is not as expected; which is told
    2  wrong arguments, a claim that cannot be measured, or a file that cannot be written
  130  ended by Ctrl-C; what was measured until then is written";

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
    /// Replace what was measured before.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// One JSON document on standard output (what is in claims.json), and nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
