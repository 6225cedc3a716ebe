//! The longer texts of `meshlock sim --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Run a scenario once: nodes, radio, movement, clients; and measure it.

A scenario file and a seed decide a run completely, on every machine: the trace hash of the summary is the same exactly \
if the same events happened in the same order. All rules that the protocol promises are watched while it runs. A broken \
rule ends the run, but for printed texts, which are known to break rules: theirs are counted. A run that exceeds a limit \
of its scenario, in events or in messages in flight, is stopped as a storm.

With --view the run goes at the pace of a clock and is shown in the browser, where one can take part. Everything that was \
done is kept in a file of edits; scenario, seed and edits decide the run as completely.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
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
