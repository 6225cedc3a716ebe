//! The longer texts of `meshlock bench lock --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Measure locks on this machine, each figure beside the floor it is compared with.

Everything runs in this one process: real nodes with keys, links on the loopback interface and client sockets in a \
temporary directory. A floor is what the machine itself needs for the least that must happen, such as a bare round trip \
on a socket. Use a release build on a machine that does nothing else.";

/// How it is used.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock bench lock
      about a minute; tables
  meshlock bench lock --transport tcp
      links over TCP with TLS instead of QUIC
  meshlock bench lock --seconds 10 --json > bench.json
      more exact, for programs

\x1b[1;4mExit codes:\x1b[0m
    0  measured; also when a goal is missed
    2  wrong arguments, or something could not be measured
  130  stopped by Ctrl-C";
