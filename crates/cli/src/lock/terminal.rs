//! Who may read from the terminal: the command while it runs, we before and after.

use std::io::{self, IsTerminal};

use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{FileType, fstat};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// A terminal that the command gets.
pub(super) struct Terminal;

impl Terminal {
    /// There is one if we read from it. In a pipeline the others need it too, so it stays with all of them.
    pub(super) fn find() -> Option<Self> {
        let in_pipeline = fstat(io::stdout()).is_ok_and(|file| FileType::from_raw_mode(file.st_mode) == FileType::Fifo);
        (io::stdin().is_terminal() && !in_pipeline).then_some(Self)
    }

    /// Whether this group is the one that reads from it.
    pub(super) fn belongs_to(&self, group: Pid) -> bool {
        tcgetpgrp(io::stdin()).is_ok_and(|owner| owner == group)
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

/// A process of a background group is stopped for this, unless it blocks the signal.
fn set_owner(group: Pid) {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTTOU);
    let blocked = signals.thread_block();
    // If it does not work, the command has no terminal; it is still worth running.
    let _ = tcsetpgrp(io::stdin(), group);
    if blocked.is_ok() {
        let _ = signals.thread_unblock();
    }
}
