//! The longer texts of `meshlock mesh --help`.

pub(super) const LONG_ABOUT: &str = "\
Who takes part, and how the mesh recovers: found a mesh, invite nodes, join, list, remove.

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
  meshlock mesh remove robot-7 --gone
      it was scrapped: what it held is made anew

\x1b[1;4mExit codes:\x1b[0m
    0  done
    2  wrong arguments, or the operation failed; no file was overwritten";

pub(super) const INIT: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh init hall
      this node gets the name of this host
  meshlock mesh init hall --node gate
      it gets another name
  meshlock mesh init hall --recovery restart
      for robots that lose sight of each other: the side with a lock goes on with it
  meshlock mesh init hall --standing 20s --voters ann,bob,cy
      for a cluster: these three decide who is gone
  meshlock mesh init yard --force
      the old mesh of this directory is moved into before-1, before-2 and so on

Recovery, standing and voters may stand in [mesh] of meshlock.toml as well, if the file is there first. They are signed \
and go to every member with its invitation.";

pub(super) const INVITE: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh invite robot-7
      for a node on the same local network, where members find each other
  meshlock mesh invite robot-7 -o robot-7.invitation
      into a new file that only you can read, to carry it over
  meshlock mesh invite robot-7 --peer 10.0.0.1:7411 --peer gate.example:7411
      for one elsewhere
  meshlock mesh invite robot-7 | ssh robot-7 meshlock mesh join -
      in one step, without displaying the secret

An invitation makes one node. It carries the [mesh] and [resources] sections of meshlock.toml, and how the mesh recovers. \
Its number tells the node who was invited before it: with recovery by restart, all of those are waited for when \
something was lost, so remove with --gone whom you invited and do not want any more.";

pub(super) const JOIN: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh join robot-7.invitation
      from a file; remove it afterwards
  meshlock mesh join meshlock-invite-v2:...
      as an argument; other users of this machine can see it while the command runs
  meshlock mesh join robot-7.invitation --force
      the old mesh of this directory is moved into before-1, before-2 and so on";

pub(super) const MEMBERS: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh members
  meshlock mesh members --json
      for a script";

pub(super) const RECOVERY: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh recovery
      how this mesh recovers
  meshlock mesh recovery restart
      for a mesh that was founded by an older version, which recovers nothing

none     what was in a node that crashed is lost
restart  it is made anew when the node is started again, or when it is removed with --gone
voters   by itself: a majority of voters declares gone who is silent for longer than the standing

Run the same version of meshlock on all members first. A decision is signed and told from member to member. A node takes \
it up when it is started again. A mesh without recovery can get restart; voters are chosen when a mesh is founded, and \
their standing stays as it is: members hear of a change one after the other, and those who have not heard would act by \
other rules.";

pub(super) const VOTERS: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh voters
      who votes, and who could
  meshlock mesh voters ann bob dora
      these three from now on: cy is replaced by dora
  meshlock mesh voters --force --lost bob,cy
      two of three voters burned down: the others choose who votes, and bob and cy are removed

A majority of the voters declares gone who is silent. So one of three, or two of five, may be lost. A voter whose disk was
lost must be replaced, also by itself under its new disk. A majority of the present voters must be running: it hands over
what it knows. The nodes of the new voters must have been running with the node of this directory.

If a majority is lost for good, nobody is served until --force. It needs every other member instead: each gives up the former
voters and tells what it knows. So name all that are lost, and start all others. Where the founder is lost too, put the copy of
authority.toml into the directory of another member. If a lost one still runs somewhere, two clients may hold one lock.";

pub(super) const REMOVE: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh remove robot-7
  meshlock mesh remove robot-7 --gone
      it was scrapped or erased: the tokens in it and what its clients held are made anew
  meshlock mesh remove robot-7 --gone --number 3
      the one that was removed earlier, not the one that has its name now
  meshlock mesh invite robot-7
      afterwards: the same machine again, as a new member

A removal is a signed statement that members pass on. A member that has received it closes its links to the removed \
node; one that is out of reach receives it from the next member it meets. The removed node has one second to release \
what it holds. Out of reach it cannot, so stop it cleanly first if you can.

A member that votes is replaced as a voter first, by one that could vote; the node of this directory must run for that. \
If only two members are left, one of them votes.

With --gone you give your word that the node has stopped and will never run again with these files. If it does run, two \
nodes may hold the same lock. The machine itself may come back by a new invitation. Repeat the command with --gone for a \
member that was removed without it.";

pub(super) const RESOURCES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock mesh resources
  meshlock mesh resources --json
      for a script

Resources that were created at run time are known to running nodes only.";
