//! One connection: lines out, lines in.
//!
//! Lines are written by the thread that has something to say, and read by a task. The socket does not belong to that
//! task: if the task is dropped with its runtime, the connection stays open, which is what the node looks at, and another
//! task goes on reading where it ended.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memchr;
use meshlock_api::stream::{Brief, ClientLine, NodeLine};
use meshlock_api::{Problem, RequestInfo};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::Requests;
use super::watched::Watched;

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// The longest line that is read.
const LONGEST: usize = 16 << 20;

/// A socket that never blocks.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(UnixStream),
    Tcp(std::net::TcpStream),
}

impl Socket {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => (&mut &*stream).write(bytes),
            Self::Tcp(stream) => (&mut &*stream).write(bytes),
        }
    }

    /// The same connection, to be read on the runtime that we are on.
    fn reader(&self) -> io::Result<Reader> {
        Ok(match self {
            Self::Unix(stream) => Reader::Unix(tokio::net::UnixStream::from_std(stream.try_clone()?)?),
            Self::Tcp(stream) => Reader::Tcp(tokio::net::TcpStream::from_std(stream.try_clone()?)?),
        })
    }

    fn close(&self) {
        // It may be closed already.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

enum Reader {
    Unix(tokio::net::UnixStream),
    Tcp(tokio::net::TcpStream),
}

/// The half of a socket that is written. Not an owned one: that would close the connection when it is dropped.
trait Writes: Send + Sync {
    /// Returns when it can be written, or is broken.
    fn takes_more(&self) -> impl Future<Output = ()> + Send;
}

impl Writes for tokio::net::unix::WriteHalf<'_> {
    async fn takes_more(&self) {
        let _ = self.writable().await;
    }
}

impl Writes for tokio::net::tcp::WriteHalf<'_> {
    async fn takes_more(&self) {
        let _ = self.writable().await;
    }
}

/// What a line was answered with.
pub(super) type Answer = Result<Option<RequestInfo>, Problem>;

/// Who waits for the answer to a line.
#[derive(Debug)]
pub(super) enum Asker {
    Call(oneshot::Sender<Answer>),
    Request(Arc<Watched>),
}

/// A connection to a node.
#[derive(Debug)]
pub(super) struct Conn {
    /// Later ones have larger numbers.
    pub(super) number: u64,
    socket: Socket,
    requests: Arc<Requests>,
    out: Mutex<Out>,
    /// The beginning of a line.
    rest: Mutex<Vec<u8>>,
    askers: Mutex<Askers>,
    reader: Mutex<Option<(u64, AbortHandle)>>,
    /// The socket takes no more at this moment.
    is_full: Notify,
    /// No task reads any more.
    pub(super) unread: Notify,
}

#[derive(Debug, Default)]
struct Out {
    lines: Vec<u8>,
    is_full: bool,
}

#[derive(Debug, Default)]
struct Askers {
    last: u64,
    waiting: BTreeMap<u64, Asker>,
    is_closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Conn {
    pub(super) fn new(number: u64, socket: Socket, requests: Arc<Requests>, read: Vec<u8>) -> Arc<Self> {
        let conn = Arc::new(Self {
            number,
            socket,
            requests,
            out: Mutex::default(),
            rest: Mutex::default(),
            askers: Mutex::default(),
            reader: Mutex::default(),
            is_full: Notify::new(),
            unread: Notify::new(),
        });
        conn.take(&read);
        conn
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.askers).is_closed
    }

    /// Sends a line; `false` if the connection is closed. Its number is given here.
    pub(super) fn say(&self, line: &mut ClientLine<'_>, asker: Option<Asker>) -> bool {
        // Held until the line is on its way, so that numbers and lines are in the same order.
        let mut askers = lock(&self.askers);
        if askers.is_closed {
            return false;
        }
        askers.last += 1;
        line.n = askers.last;
        if let Some(asker) = asker {
            askers.waiting.insert(line.n, asker);
        }
        let mut out = lock(&self.out);
        // Writing our own types into memory cannot fail.
        let _ = serde_json::to_writer(&mut out.lines, line);
        out.lines.push(b'\n');
        drop(askers);
        self.flush(&mut out);
        true
    }

    fn flush(&self, out: &mut Out) {
        let mut written = 0;
        while !out.is_full && written < out.lines.len() {
            match self.socket.write(out.lines.get(written..).unwrap_or_default()) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    out.is_full = true;
                    self.is_full.notify_one();
                }
                // The reader sees the end as well.
                Err(_) => written = out.lines.len(),
            }
        }
        out.lines.drain(..written);
    }

    /// Reads on the runtime that we are on, unless a task does.
    pub(super) fn ensure_read(self: &Arc<Self>) {
        if lock(&self.reader).is_none() {
            self.read_here();
        }
    }

    /// Reads on the runtime that we are on from now on: the one before may not run any more.
    pub(super) fn read_here(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut reader = lock(&self.reader);
        let number = reader.as_ref().map_or(0, |(number, _)| number + 1);
        if let Some((_, before)) = reader.take() {
            before.abort();
        }
        let reading = Reading { conn: Arc::clone(self), number };
        let _context = runtime.enter();
        let task = match self.socket.reader() {
            Ok(Reader::Unix(mut stream)) => runtime.spawn(async move {
                let (reads, writes) = stream.split();
                reading.run(reads, writes).await;
            }),
            Ok(Reader::Tcp(mut stream)) => runtime.spawn(async move {
                let (reads, writes) = stream.split();
                reading.run(reads, writes).await;
            }),
            Err(_) => return,
        };
        *reader = Some((number, task.abort_handle()));
    }

    fn take(&self, mut bytes: &[u8]) {
        let mut rest = lock(&self.rest);
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, after) = (bytes.get(..end).unwrap_or_default(), bytes.get(end + 1..).unwrap_or_default());
            bytes = after;
            if rest.is_empty() {
                self.hear(line);
            } else {
                rest.extend_from_slice(line);
                self.hear(&rest);
                rest.clear();
            }
        }
        rest.extend_from_slice(bytes);
        if rest.len() > LONGEST {
            self.close();
        }
    }

    fn hear(&self, line: &[u8]) {
        // A line that a later version of the node may send is passed over.
        let Ok(line) = std::str::from_utf8(line) else { return };
        let Ok(line) = serde_json::from_str::<NodeLine<'_>>(line) else { return };
        let info = line.request.map(std::borrow::Cow::into_owned).or_else(|| line.brief.map(Brief::into_info));
        let problem = line.problem.map(std::borrow::Cow::into_owned);
        let Some(n) = line.n else {
            if let Some(info) = info
                && let Some(watched) = self.requests.find(&info.id)
            {
                watched.hear(self.number, info);
            }
            return;
        };
        let asker = lock(&self.askers).waiting.remove(&n);
        match (asker, info, problem) {
            (Some(Asker::Request(watched)), Some(info), _) => watched.hear(self.number, info),
            (Some(Asker::Request(watched)), None, Some(problem)) => watched.refused(problem),
            (Some(Asker::Request(_)) | None, ..) => {}
            // Who asked may have gone.
            (Some(Asker::Call(sender)), info, problem) => drop(sender.send(problem.map_or(Ok(info), Err))),
        }
    }

    /// Ends the connection, and tells all who wait for something.
    pub(super) fn close(&self) {
        let mut askers = lock(&self.askers);
        if std::mem::replace(&mut askers.is_closed, true) {
            return;
        }
        askers.waiting.clear();
        drop(askers);
        self.socket.close();
        self.requests.cut_off(self.number);
    }
}

/// A task reads as long as this lives, also if it is dropped with its runtime.
struct Reading {
    conn: Arc<Conn>,
    number: u64,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut reader = lock(&self.conn.reader);
        if reader.as_ref().is_some_and(|(number, _)| *number == self.number) {
            *reader = None;
        }
        drop(reader);
        self.conn.unread.notify_waiters();
    }
}

impl Reading {
    /// Reads until the end of the connection, and writes what could not be written at once.
    async fn run(self, mut reads: impl AsyncRead + Unpin + Send, writes: impl Writes) {
        let conn = &self.conn;
        let mut chunk = vec![0; CHUNK];
        loop {
            let is_full = lock(&conn.out).is_full;
            tokio::select! {
                biased;
                count = reads.read(&mut chunk) => match count {
                    Ok(0) | Err(_) => return conn.close(),
                    Ok(count) => conn.take(chunk.get(..count).unwrap_or_default()),
                },
                () = writes.takes_more(), if is_full => {
                    let mut out = lock(&conn.out);
                    out.is_full = false;
                    conn.flush(&mut out);
                }
                () = conn.is_full.notified(), if !is_full => {}
            }
        }
    }
}
