//! The longer texts of `meshlock mesh --help`.

/// What the command is.
pub(super) const LONG_ABOUT: &str = "\
Who takes part: found a mesh, invite nodes, join, list, remove.

A mesh admits only members. Its founder keeps the key that signs them: `invite` prints one line for a new node, and \
`join` makes that node a member. Locks do not need the founder; it has to be up only to invite or remove nodes.

A node that has no mesh founds one of its own, named local, when it starts, so you need none of this to try meshlock on \
one machine.";

/// What stands below the short help.
pub(super) const MORE: &str = "`--help` has examples.";

/// How it is used, and how it ends.
pub(super) const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh init hall
      found a mesh on this machine
  meshlock mesh invite robot-7 | ssh robot-7 meshlock mesh join -
      make another machine a member
  meshlock mesh members
      list admitted and removed members
  meshlock mesh remove robot-7
      expel a stolen machine

\x1b[1;4mExit codes:\x1b[0m
    0  done
    2  wrong arguments, or the operation failed; no file was overwritten";

/// `init`.
pub(super) const INIT: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh init hall
      this node gets the name of this host
  meshlock mesh init hall --node gate
      it gets another name
  meshlock mesh init yard --force
      the old mesh of this directory is moved into before-1, before-2 and so on";

/// `invite`.
pub(super) const INVITE: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh invite robot-7
      for a node on the same local network, where members find each other
  meshlock mesh invite robot-7 --peer 10.0.0.1:7411 --peer gate.example:7411
      for one elsewhere
  meshlock mesh invite robot-7 | ssh robot-7 meshlock mesh join -
      in one step, without displaying the secret

An invitation makes one node. It carries the [mesh] and [resources] sections of meshlock.toml.";

/// `join`.
pub(super) const JOIN: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh join - < robot-7.invitation
      from a file; remove it afterwards
  meshlock mesh join meshlock-invite-v1:...
      as an argument; other users of this machine can see it while the command runs
  meshlock mesh join - --force < robot-7.invitation
      the old mesh of this directory is moved into before-1, before-2 and so on";

/// `members`.
pub(super) const MEMBERS: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh members
  meshlock mesh members --json
      for a script";

/// `remove`.
pub(super) const REMOVE: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh remove robot-7
  meshlock mesh invite robot-7
      afterwards: the same machine again, as a new member

A removal is a signed statement that members pass on. A member that has received it closes its links to the removed \
node; one that is out of reach receives it from the next member it meets. The removed node has one second to release \
what it holds. Out of reach it cannot, so stop it cleanly first if you can.";

/// `resources`.
pub(super) const RESOURCES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh resources
  meshlock mesh resources --json
      for a script

Resources that were created at run time are known to running nodes only.";
