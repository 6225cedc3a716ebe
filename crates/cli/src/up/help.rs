//! The longer texts of `meshlock up --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Start a whole mesh of real nodes on this machine, to try everything.

Every node has keys, links and a client socket of its own, as if it were alone on a machine; only the process is shared. \
The links are real (QUIC on the loopback interface), and which of them may be is decided by --topology or moves with \
--scenario. A page in the browser shows everything as it happens; there one can also ask for locks and release them, cut \
links, add and remove nodes, and with --scenario move them about. Whoever can reach the page can do that, so beyond this \
machine it is served only with a token (token-file of [api] in --config). Ctrl-C stops everything and removes all files.";

/// How it is used.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock up
      five nodes in a ring; open the page that it names, or try the commands that it prints
  meshlock up --demo --open
      with busy clients, shown in the browser
  meshlock up --nodes 12 --topology line
      twelve nodes in a line
  meshlock up --topology grid:3x4
      twelve nodes in a grid
  meshlock up --scenario scenarios/charging-docks.toml --demo
      links come and go as robots move about a hall; on the page you can drag them
  meshlock up --record run.jsonl
      record everything, with the rules watched; look at it with `meshlock trace audit run.docks.jsonl`

\x1b[1;4mExit codes:\x1b[0m
    0  stopped by Ctrl-C
    2  wrong arguments, or a node could not start
  130  stopped at once by a second Ctrl-C";
