//! The command under the lock, in a process group of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use meshlock::Anchor;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpid};
use tokio::sync::mpsc;

/// A running command and all that it started.
pub(super) struct Child {
    pub(super) group: Pid,
    happened: mpsc::UnboundedReceiver<Happened>,
}

/// What can happen to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// With this exit code.
    Ended(u8),
    /// By this signal, such as that of Ctrl-Z.
    Stopped(Signal),
}

impl Child {
    /// Starts the command, which inherits the anchor.
    pub(super) fn start(command: &mut Command, anchor: Option<Anchor>) -> io::Result<Self> {
        if let Some(anchor) = &anchor {
            // No other thread starts a program at this moment, so that only this one inherits it.
            fcntl_setfd(anchor, FdFlags::empty())?;
        }
        let child = command.process_group(0).spawn();
        drop(anchor); // it is the command's alone
        let child = child?;
        let group = Pid::from_child(&child);
        let (sender, happened) = mpsc::unbounded_channel();
        thread::Builder::new().name("child".into()).spawn(move || {
            loop {
                let status = match waitpid(Some(group), WaitOptions::UNTRACED) {
                    Ok(Some((_, status))) => status,
                    Err(Errno::INTR) | Ok(None) => continue,
                    Err(_) => return,
                };
                let ends = [status.exit_status(), status.terminating_signal().map(|signal| 128 + signal)];
                let happened = match (ends, status.stopping_signal().and_then(Signal::from_named_raw)) {
                    ([Some(code), _] | [None, Some(code)], _) => Happened::Ended(u8::try_from(code).unwrap_or(u8::MAX)),
                    ([None, None], Some(signal)) => Happened::Stopped(signal),
                    ([None, None], None) => continue,
                };
                if sender.send(happened).is_err() || matches!(happened, Happened::Ended(_)) {
                    return;
                }
            }
        })?;
        Ok(Self { group, happened })
    }

    /// What happens next; `None` if the system no longer knows the command.
    pub(super) async fn next(&mut self) -> Option<Happened> {
        self.happened.recv().await
    }

    /// To the command and all that it started. Who is no longer there needs no signal.
    pub(super) fn send(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }

    /// Whether the command, or something that it started, is still there.
    pub(super) fn is_there(&self) -> bool {
        test_kill_process_group(self.group).is_ok()
    }
}
