//! The longer texts of `meshlock node --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Run a node: take part in a mesh and serve clients on this machine.

Without any configuration it founds a mesh of its own, with itself as only member, and serves clients on a Unix socket. \
Members of one mesh on the same local network find each other by themselves; elsewhere give --peer. What the flags do \
not say is taken from the environment (MESHLOCK_...), then from meshlock.toml, then from the defaults; \
docs/configuration.md lists them all.

Ctrl-C or SIGTERM stops it cleanly: clients are told, tokens go to neighbours, the rest is saved for the next start. A \
second one stops it at once; it then comes back as a new node, and what it held is lost to the mesh.";

/// How it is used.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock node
      alone, or with the members of its mesh that are found on the local network
  meshlock node --peer 10.0.0.7:7411
      connect to a node that beacons do not reach
  meshlock node --loss-after 300ms --log debug
      notice lost links quickly, tell more
  meshlock node --dir /etc/meshlock --check-config
      is the configuration right?
  meshlock node --tcp 127.0.0.1:7480 --token-file api-token
      serve clients over TCP as well; they present the word in the file
  meshlock node --record run.jsonl
      record everything, with the rules watched
  meshlock node --view
      show in the browser what this node sees, on http://127.0.0.1:8460; nothing can be done there
  meshlock node --view 0.0.0.0:8460 --token-file api-token
      the same for other machines, which need the word in the file; it is not encrypted

\x1b[1;4mExit codes:\x1b[0m
    0  stopped cleanly
    2  wrong configuration, or the node could not start
  130  stopped at once by a second Ctrl-C";
