//! The longer texts of `meshlock lock --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Hold a resource while a command runs.

Waits until the resource is granted, runs the command, and gives the resource back when it ends. The command is run as \
it is, without a shell; it has standard input, and its exit code is passed on. Signals are passed on to it and to all \
that it starts.

The grant is renewed while the command runs. It can be lost all the same: this program was stopped for longer than the \
lease, or its node is gone. Then others may be let in, so the command is stopped (see --on-loss). Pass MESHLOCK_FENCE \
to what you guard if that can refuse a number smaller than one it has seen: this is the only protection against a \
command that is itself too slow to stop.

The command's environment has MESHLOCK_NAME, MESHLOCK_REQUEST, MESHLOCK_UNITS, MESHLOCK_SESSION, MESHLOCK_FENCE, \
MESHLOCK_EXPIRES_IN_MS (when it began) and MESHLOCK_HELD=1.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock lock backup -- rsync -a /data /backup
      one backup at a time, in the whole mesh
  meshlock lock gpu --units 2 -p 5 -- ./train
      two units at once, before those with a lower priority
  meshlock lock dock-3 --try -- ./unload || echo busy
      only if it is free
  meshlock lock map -s -w 10s -- ./plan
      as one of many readers, waiting at most 10 seconds
  meshlock lock report -c './make | ./send'
      a pipeline, by the shell
  meshlock lock press --on-loss 'run:./lift-the-head' -- ./press
      leave the place in an orderly way when it is lost
  meshlock lock door
      hold it until Ctrl-C

\x1b[1;4mExit codes:\x1b[0m
        the command's own, but
  123  it was lost while the command ran (with --on-loss continue or run: only if the command ended with 0)
  124  not obtained in time; -E changes this
  125  meshlock failed: no node, a wrong argument, a refusal
  126  the command cannot be executed
  127  the command was not found
128+n  the command, or the waiting, was ended by signal n";
