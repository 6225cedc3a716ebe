//! The longer texts of `meshlock reproduce --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Measure what the papers claim: each claim beside our number and a verdict.

Every claim with a number in it, of the three papers behind the protocols, is measured by simulated runs of the text as \
printed and of the repaired one. Before the measurement it stands written what is to be expected; a finding that is not \
as expected means that something has changed.

The directory gets claims.html, a page with methods, verdicts and evidence, and claims.json.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
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
