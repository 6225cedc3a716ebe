//! The longer texts of `meshlock check --help`.

pub(super) const LONG_ABOUT: &str = "\
Explore protocols: every state of a small network, or long random walks on a larger one.

Without a name, all standard models are run. The published texts are expected to break a rule, after a known \
number of steps; the repaired ones are expected to hold, with a known number of different states.

With the name of a protocol, a model of your own is built from the options below. A broken rule is shown as the \
shortest run that breaks it, and written as a trace file. With --view one steps through the states of a model in \
the browser.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock check
      all standard models, as a table
  meshlock check --list
      what they are, what they show and what is expected of them
  meshlock check reverse-link/p1
      one of them, with the run that breaks a rule
  meshlock check reverse-link/p1 --view
      the same model in the browser: step by step, with examples and the run that breaks a rule
  meshlock check reverse-link/ flood/ --json
      all standard models of two protocols, for a script
  meshlock check reverse-link --variant published --topology line:3 --rule nobody-waits
      a printed text on three nodes in a line, one request each
  meshlock check reverse-link --topology pair --k 2 --demand 1@0 --demand 2@5
      one or two units of two, and two priorities
  meshlock check reverse-link --topology triangle --link-changes 1 --harsh
      a link fails with what is on it, or comes back
  meshlock check flood --topology line:3 --node 0=- --node 2=1@0,1@0 --losses 1
      nothing at node 0, two requests at node 2, and a message is lost
  meshlock check group --topology complete:3 --demand 1@1/1 --demand 1@2/2
      two sessions, one of them more urgent
  meshlock check reverse-link --topology grid:4x4 --link-changes 1 --harsh --walks 50
      random walks on 16 nodes; in walks a count of trouble above 0 means: now and then

\x1b[1;4mExit codes:\x1b[0m
    0  one model: all rules hold; several: everything is as expected
    1  one model: a rule is broken, even if it is known to be; several: something is not as expected
       (a verdict, the length of a run, or the number of different states)
    2  wrong arguments, or a file that cannot be written
    3  nothing is wrong so far, but a limit ended the search early
  130  ended by Ctrl-C, with a summary of what was done (with --view: 0)

Colours are used on a terminal, unless NO_COLOR is set.";
