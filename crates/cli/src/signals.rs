//! The signals that end a command or are passed on to its child.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Signals that arrive instead of having their usual effect.
pub struct Signals(Vec<(Signal, unix::Signal)>);

/// Those that are passed on to a child.
const ALL: [Signal; 6] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

impl Signals {
    /// Listens from now on. What was ignored when we were started, as by `nohup`, stays ignored, also by a child.
    pub fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let wanted = ALL.into_iter().filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0);
        wanted
            .map(|signal| Ok((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?)))
            .collect::<io::Result<_>>()
            .map(Self)
    }

    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let mut arrived = self.0.iter_mut().filter_map(|(signal, stream)| match stream.poll_recv(context) {
                Poll::Ready(Some(())) => Some(*signal),
                Poll::Ready(None) | Poll::Pending => None,
            });
            arrived.next().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next one that asks us to end.
    pub async fn end(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if signal != Signal::USR1 && signal != Signal::USR2 {
                return signal;
            }
        }
    }
}

/// How a shell tells that a signal ended a program.
pub fn code(signal: Signal) -> u8 {
    u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX)
}

/// The signals that this process ignores, one bit each. Where the system does not tell, none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
