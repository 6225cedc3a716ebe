//! The arguments of `meshlock sim`, in the order of its help.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::document::setting;
use meshlock_cli::view::USUAL;

const LONG_ABOUT: &str = "\
Run a scenario once: nodes, radio, movement, clients; and measure it.

A scenario file and a seed decide a run completely, on every machine: the trace hash of the summary is the same exactly \
if the same events happened in the same order. All rules that the protocol promises are watched while it runs. A broken \
rule ends the run, but for printed texts, which are known to break rules: theirs are counted. A run that exceeds a limit \
of its scenario, in events or in messages in flight, is stopped as a storm.

With --view the run goes at the pace of a clock and is shown in the browser, where one can take part. Everything that was \
done is kept in a file of edits; scenario, seed and edits decide the run as completely.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock sim
      the reference scenario: 100 moving nodes with one lock
  meshlock sim --set protocol.name=flood --seed 7
      the same with another protocol and another seed
  meshlock sim --set nodes=20 --set duration=10s --trace run.trace.jsonl
      fewer nodes for a shorter time, recorded
  meshlock sim docks.toml
      a scenario of your own
  meshlock sim docks.toml --set variant=literal
      one of the variants of a study
  meshlock sim docks.toml --json
      all measures for a script
  meshlock sim docks.toml --view --open
      watch it in the browser and take part: move nodes, cut links, ask by hand; Ctrl-C ends it
  meshlock sim docks.toml --edits docks.edits.jsonl
      run it again exactly, with all that was done
  meshlock sim --keys
      what a scenario file can say

\x1b[1;4mExit codes:\x1b[0m
    0  the run is done; with --view: ended by Ctrl-C
    1  a rule broke in a protocol that should keep it; the command that shows it again is told
    2  wrong arguments, a wrong file, a scenario that cannot be run, an edit that cannot be made,
       or a trace that cannot be written
    3  stopped by a storm: more events or messages in flight than [limits] of the scenario allows
  130  ended by Ctrl-C, with a summary of what was measured until then";

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
    /// Apply the edits of this file: replays a run that was changed by hand.
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
    /// Replace the trace if it is there already.
    #[arg(long, requires = "trace", help_heading = "Output")]
    pub(crate) force: bool,
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
