//! What is to be sent on a stream.
//!
//! Lines are written to the socket by the thread on which the event was handled, so that no other task has to wake up for
//! it. Only if the client reads too slowly for its socket to take everything, the connection's own task sends the rest.
//!
//! An answer which only says that a request waits is held back for [`HOLD`] at most: where locks go from hand to hand, the grant
//! comes within that time, and both are one write here and one wake-up there.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meshlock_api::stream::NodeLine;
use meshlock_api::{Problem, State};
use meshlock_serve::{Presence, WriteHalf};
use tokio::sync::Notify;

use crate::hub::StreamUser;
use crate::machine::Detail;

/// How much may wait for a client that reads slowly.
pub(super) const MOST_UNREAD: usize = 4 << 20;
/// How long a line that can wait is held back at most.
pub(super) const HOLD: Duration = Duration::from_millis(1);
/// A buffer that has become larger is let go when it is empty.
const KEPT: usize = 16 << 10;

/// The sending half of a stream.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) socket: WriteHalf,
    presence: Presence,
    /// How much its client prefers to hear.
    pub(super) detail: Detail,
    waiting: Mutex<Waiting>,
    /// The connection's task has something to do: see [`Trouble`].
    pub(super) attention: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    /// An empty buffer with room, to be filled while the other is being written.
    spare: Vec<u8>,
    /// A thread writes at this moment, and will write what is added meanwhile.
    is_writing: bool,
    /// Lines go now: not all of them can wait, or they have waited.
    is_due: bool,
    trouble: Option<Trouble>,
}

/// Why lines cannot be sent at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The client has to read first.
    Full,
    /// The client has left more unread than can be kept.
    TooMuch,
    /// The connection is broken.
    Broken,
}

impl Outlet {
    pub(super) fn new(socket: WriteHalf, presence: Presence, detail: Detail) -> Self {
        Self { socket, presence, detail, waiting: Mutex::default(), attention: Notify::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line.
    pub(super) fn say(&self, line: &NodeLine<'_>) {
        self.add(line, false);
    }

    fn add(&self, line: &NodeLine<'_>, can_wait: bool) {
        let mut waiting = self.waiting();
        waiting.is_due |= !can_wait;
        if waiting.lines.len() >= MOST_UNREAD {
            waiting.trouble = Some(Trouble::TooMuch);
            self.attention.notify_one();
            return;
        }
        // Only a type that cannot be written as JSON could fail here, and ours can.
        let _ = serde_json::to_writer(&mut waiting.lines, line);
        waiting.lines.push(b'\n');
        // One that asks for a lot at once hears of it while it asks.
        waiting.is_due |= waiting.lines.len() > KEPT;
    }

    /// The answer to line `n`.
    pub(super) fn answer(&self, n: u64, line: NodeLine<'_>) {
        let state = line.request.as_ref().map(|info| info.state).or(line.brief.as_ref().map(|brief| brief.state));
        self.add(&NodeLine { n: Some(n), ..line }, state == Some(State::Queued));
    }

    pub(super) fn refuse(&self, n: Option<u64>, problem: &Problem) {
        self.say(&NodeLine { n, problem: Some(Cow::Borrowed(problem)), ..NodeLine::default() });
    }

    /// Something came from the client; whether its stream must not be closed for a newcomer.
    pub(super) fn heard(&self, is_used: bool) {
        self.presence.heard(is_used);
    }

    /// Whether lines wait that have to go within [`HOLD`].
    pub(super) fn holds(&self) -> bool {
        let waiting = self.waiting();
        !waiting.is_due && !waiting.lines.is_empty()
    }

    /// Sends what was held back, too.
    pub(super) fn flush_all(&self) {
        let mut waiting = self.waiting();
        waiting.is_due = !waiting.lines.is_empty();
        drop(waiting);
        self.flush();
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.waiting().trouble
    }

    /// The client has read something.
    pub(super) fn go_on(&self) {
        let mut waiting = self.waiting();
        if waiting.trouble == Some(Trouble::Full) {
            waiting.trouble = None;
        }
        drop(waiting);
        self.flush();
    }

    /// Writes as much as the socket takes; what is left, and why.
    fn write(&self, lines: &[u8]) -> (usize, Option<Trouble>) {
        let mut written = 0;
        while let Some(rest) = lines.get(written..).filter(|rest| !rest.is_empty()) {
            match self.socket.try_write(rest) {
                Ok(0) => return (written, Some(Trouble::Broken)),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return (written, Some(Trouble::Full)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return (written, Some(Trouble::Broken)),
            }
        }
        (written, None)
    }
}

impl StreamUser for Outlet {
    fn detail(&self) -> Detail {
        self.detail
    }

    fn tell(&self, line: &NodeLine<'_>, is_used: bool) {
        self.say(line);
        self.presence.set_busy(is_used);
    }

    fn flush(&self) {
        let mut waiting = self.waiting();
        if waiting.is_writing {
            return;
        }
        while waiting.trouble.is_none() && waiting.is_due && !waiting.lines.is_empty() {
            waiting.is_writing = true;
            waiting.is_due = false;
            let spare = std::mem::take(&mut waiting.spare);
            let mut lines = std::mem::replace(&mut waiting.lines, spare);
            // Not held while the system is busy: the next event may have something for this client, too.
            drop(waiting);
            let (written, trouble) = self.write(&lines);
            waiting = self.waiting();
            waiting.is_writing = false;
            if let Some(trouble) = trouble {
                lines.drain(..written);
                lines.append(&mut waiting.lines);
                waiting.lines = lines;
                waiting.is_due = true;
                waiting.trouble = waiting.trouble.or(Some(trouble));
                self.attention.notify_one();
            } else if lines.capacity() <= KEPT {
                lines.clear();
                waiting.spare = lines;
            }
        }
    }
}
