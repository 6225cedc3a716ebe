//! Who may read from the terminal: the command while it runs, we before and after.

use std::io;
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::{Pid, getpgrp, isatty, tcgetpgrp, tcsetpgrp};

/// A terminal that the command gets.
pub(super) struct Terminal;

impl Terminal {
    /// There is one if we read from it. In a pipeline the others need it too, so it stays with all of them.
    pub(super) fn find() -> Option<Self> {
        let is_pipe = |mode| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFIFO;
        let in_pipeline = fstat(io::stdout().as_fd()).is_ok_and(|file| is_pipe(file.st_mode));
        (isatty(io::stdin().as_fd()).unwrap_or(false) && !in_pipeline).then_some(Self)
    }

    /// Whether this group is the one that reads from it.
    pub(super) fn belongs_to(&self, group: Pid) -> bool {
        tcgetpgrp(io::stdin().as_fd()).is_ok_and(|owner| owner == group)
    }

    /// Hands it to the group, if it is ours to give.
    pub(super) fn give(&self, group: Pid) {
        if self.belongs_to(getpgrp()) {
            set_owner(group);
        }
    }

    /// Takes it back from the group.
    pub(super) fn take_back(&self, group: Pid) {
        if self.belongs_to(group) {
            set_owner(getpgrp());
        }
    }
}

/// Whoever is not the owner is stopped for this, unless it blocks the signal.
fn set_owner(group: Pid) {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTTOU);
    let blocked = signals.thread_block();
    // If it does not work, the command has no terminal; it is still worth running.
    let _ = tcsetpgrp(io::stdin().as_fd(), group);
    if blocked.is_ok() {
        let _ = signals.thread_unblock();
    }
}
