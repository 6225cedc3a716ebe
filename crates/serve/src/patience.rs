//! How long a slow client may take.
//!
//! A connection that waits for its next request is cheap and may wait for minutes. One that has begun to send a header
//! must finish it soon, and one that does not read its answers is given up. Hyper's own limit cannot tell the first two
//! apart, so the clock sits in the stream below it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long a client may take for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the first byte of a header to its last; also from the beginning of a connection to its first byte.
    pub header: Duration,
    /// For the body of a request, after its header.
    pub body: Duration,
    /// Between two requests; looked at once in that time, so that it can be twice as long.
    pub idle: Duration,
    /// For taking nothing of an answer that is ready.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let ten = Duration::from_secs(10);
        Self { header: ten, body: ten, idle: Duration::from_secs(300), stalled: Duration::from_secs(30) }
    }
}

/// Whether a request is being answered on a connection, and when something was last heard there.
///
/// The stream and the answer live in one task, and who looks from elsewhere may as well see what was so a moment ago: so
/// nothing has to be ordered.
#[derive(Clone, Debug)]
pub(crate) struct Busy(Arc<Flags>);

/// From when moments are counted.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Default for Busy {
    fn default() -> Self {
        let new = Self(Arc::default());
        new.0.heard();
        new
    }
}

#[derive(Debug, Default)]
struct Flags {
    is_busy: AtomicBool,
    /// A request has come since this was asked last.
    has_begun: AtomicBool,
    /// Microseconds.
    last_heard: AtomicU64,
    /// The peer was gone before it had read everything.
    is_broken: AtomicBool,
}

impl Flags {
    fn heard(&self) {
        let now = u64::try_from(BEGINNING.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_heard.store(now, Ordering::Relaxed);
    }
}

impl Busy {
    /// From now until the result is dropped.
    pub(crate) fn begin(&self) -> BusyUntilDrop {
        self.0.is_busy.store(true, Ordering::Relaxed);
        self.0.has_begun.store(true, Ordering::Relaxed);
        BusyUntilDrop(Arc::clone(&self.0))
    }

    /// Something came from the peer.
    pub(crate) fn heard(&self) {
        self.0.heard();
    }

    /// For a connection that is no longer HTTP.
    pub(crate) fn set(&self, is_busy: bool) {
        self.0.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// When something came from the peer, or was sent to it to the end; later moments are larger.
    pub(crate) fn last_heard(&self) -> u64 {
        self.0.last_heard.load(Ordering::Relaxed)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.0.is_busy.load(Ordering::Relaxed)
    }

    /// Whether the connection broke: the peer closed it before it had read everything, or reads no more.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.is_broken.load(Ordering::Relaxed)
    }

    fn breaks(&self) {
        self.0.is_broken.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.has_begun.swap(false, Ordering::Relaxed)
    }
}

/// A request is being answered as long as this lives.
#[derive(Debug)]
pub(crate) struct BusyUntilDrop(Arc<Flags>);

impl Drop for BusyUntilDrop {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Relaxed);
        self.0.heard();
    }
}

/// What the clock of a connection is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// The end of a header.
    Header,
    /// Now and then a look whether anything has happened. It runs on over any number of requests, because setting a
    /// clock costs more than most requests; so an idle connection lives for one to two times its limit.
    Idle,
}

/// A stream that gives up on clients that are too slow.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    limits: Limits,
    busy: Busy,
    /// Bytes have come that are not a whole request yet, or the very first are missing.
    is_in_header: bool,
    /// Something has happened since the clock was set.
    is_active: bool,
    clock: Clock,
    reading: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, limits: Limits, busy: Busy) -> Self {
        // A stranger gets less time for the first byte than a known client for its next request.
        let (clock, reading) = (Clock::Header, Box::pin(sleep(limits.header)));
        Self { stream, limits, busy, is_in_header: true, is_active: false, clock, reading, writing: None }
    }

    pub(crate) fn into_inner(self) -> S {
        self.stream
    }

    fn set(&mut self, clock: Clock) {
        let patience = match clock {
            Clock::Header => self.limits.header,
            Clock::Idle => self.limits.idle,
        };
        self.clock = clock;
        self.is_active = false;
        self.reading.as_mut().reset(Instant::now() + patience);
    }

    /// Nothing comes: is it the time to give up?
    fn silent(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let clock = if self.is_in_header { Clock::Header } else { Clock::Idle };
        if self.clock != clock {
            self.set(clock);
        }
        // The clock has to be heard also during an answer: hyper does not read again just because that is complete.
        loop {
            ready!(self.reading.as_mut().poll(context));
            if clock == Clock::Header || !self.is_active && !self.busy.is_busy() {
                let message = "the client sends nothing more";
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            self.set(Clock::Idle);
        }
    }

    /// Something could not be written: is it the time to give up?
    fn stalled(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let patience = self.limits.stalled;
        let writing = self.writing.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(writing.as_mut().poll(context));
        self.busy.breaks();
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer"))
    }

    fn wrote(&mut self, result: io::Result<usize>) -> io::Result<usize> {
        self.writing = None;
        if result.is_err() {
            self.busy.breaks();
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.busy.has_begun() {
            this.is_in_header = false;
            this.is_active = true;
        }
        let result = Pin::new(&mut this.stream).poll_read(context, buffer);
        if result.is_ready() {
            this.busy.0.heard();
            if matches!(result, Poll::Ready(Err(_))) {
                // Reset instead of closed: the peer left something unread. Hyper takes both for an ordinary end.
                this.busy.breaks();
            }
            this.is_in_header |= !this.busy.is_busy();
            return result;
        }
        this.silent(context).map(Err)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write(context, bytes) {
            Poll::Ready(result) => Poll::Ready(this.wrote(result)),
            Poll::Pending => this.stalled(context).map(Err),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write_vectored(context, bytes) {
            Poll::Ready(result) => Poll::Ready(this.wrote(result)),
            Poll::Pending => this.stalled(context).map(Err),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// The body of an answer; the connection is busy until it is sent.
#[derive(Debug)]
pub(crate) struct Answering<B> {
    pub(crate) body: B,
    pub(crate) _busy: BusyUntilDrop,
}

impl<B: Body + Unpin> Body for Answering<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
