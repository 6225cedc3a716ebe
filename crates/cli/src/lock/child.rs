//! The command under the lock, in a process group of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::sync::mpsc;

use crate::signals::code;

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
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let (sender, happened) = mpsc::unbounded_channel();
        thread::Builder::new().name("child".into()).spawn(move || {
            loop {
                let happened = match waitpid(group, Some(WaitPidFlag::WUNTRACED)) {
                    Ok(WaitStatus::Exited(_, code)) => Happened::Ended(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
                    Ok(WaitStatus::Signaled(_, signal, _)) => Happened::Ended(code(signal)),
                    Ok(WaitStatus::Stopped(_, signal)) => Happened::Stopped(signal),
                    Err(Errno::EINTR) | Ok(_) => continue,
                    Err(_) => return,
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
        let _ = killpg(self.group, signal);
    }

    /// Whether the command, or something that it started, is still there.
    pub(super) fn is_there(&self) -> bool {
        killpg(self.group, None).is_ok()
    }
}
