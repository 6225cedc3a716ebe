//! The longer texts of `meshlock study --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Run a study: many simulated runs of a scenario, averaged, compared and drawn.

A study file is a scenario file with a [study] part: axes that vary, replications, plots, comparisons. Every finished \
run is kept as a small file, named after its scenario, seed and code. The same command again runs only what is \
missing: after Ctrl-C, after a crash, or after an axis or `repeat` has grown.

The directory gets report.html, summary.csv and .json, runs.csv and .json, comparisons.csv, and a picture for every \
plot.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
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
