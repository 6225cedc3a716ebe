//! The arguments of `meshlock study`, in the order of its help.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use meshlock_study::shard::Shard;

use crate::document::setting;

const LONG_ABOUT: &str = "\
Run a study: many simulated runs of a scenario, averaged, compared and drawn.

A study file is a scenario file with a [study] part: axes that vary, replications, plots, comparisons. Every finished \
run is kept as a small file, named after its scenario, seed and code. The same command again runs only what is \
missing: after Ctrl-C, after a crash, or after an axis or `repeat` has grown.

The directory gets report.html, summary.csv and .json, runs.csv and .json, comparisons.csv, and a picture for every \
plot.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock study density.toml --dry-run
      what would be run
  meshlock study density.toml
      run it, or go on with it; results are in results/density
  meshlock study density.toml --repeat 30
      more replications; those that are there are kept
  meshlock study density.toml --set radio.range=150m --out results/density-150
      something else, somewhere else
  meshlock study density.toml --shard 2/8
      the second of eight shares, for a cluster; then once without --shard for the report
  meshlock study density.toml --json
      means and intervals for a script

\x1b[1;4mExit codes:\x1b[0m
    0  all runs are done
    1  a rule broke in a run of a protocol that should keep it; the others were run
    2  wrong arguments, a wrong file, a run that cannot be run, or a file that cannot be written
    3  a run was stopped by a storm, which counts for no mean; see [limits] of the scenario
  130  ended by Ctrl-C; finished runs are kept, and the same command goes on";

/// Run a study: many simulated runs of a scenario, averaged, compared and drawn.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// A scenario file with a `[study]` part.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where results go [default: results/NAME, after the file].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// List the points and runs, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Set a key of the scenario, such as radio.range=120m; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, help_heading = "Study")]
    pub(crate) set: Vec<(String, String)>,
    /// Replications of each point, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Study")]
    pub(crate) repeat: Option<u32>,

    /// How many runs at once [default: one per core].
    #[arg(short, long, value_name = "N", help_heading = "Running")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run only the i-th of n shares, from 1/n to n/n, and write run files only.
    #[arg(long, value_name = "I/N", default_value = "1/1", hide_default_value = true, help_heading = "Running")]
    pub(crate) shard: Shard,
    /// Say that there must be results to go on from. Without it a study goes on too, if there are any.
    #[arg(long, conflicts_with = "fresh", help_heading = "Running")]
    pub(crate) resume: bool,
    /// Throw away all results in the directory first.
    #[arg(long, conflicts_with = "shard", help_heading = "Running")]
    pub(crate) fresh: bool,

    /// One JSON document on standard output (what is in summary.json), and nothing else.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
