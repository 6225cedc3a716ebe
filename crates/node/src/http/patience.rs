//! How long a slow client may take.
//!
//! A connection that waits for its next request is cheap and may wait for minutes. One that has begun to send a header
//! must finish it soon, and one that does not read its answers is given up. Hyper's own limit cannot tell the first two
//! apart, so the clock sits in the stream below it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Between two requests.
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

/// Whether a request is being answered on a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(Arc<AtomicBool>);

impl Busy {
    /// From now until the result is dropped.
    pub(super) fn begin(&self) -> BusyUntilDrop {
        self.0.store(true, Ordering::Relaxed);
        BusyUntilDrop(Arc::clone(&self.0))
    }

    fn is_busy(&self) -> bool {
        // The stream and the answer live in one task, so nothing has to be ordered.
        self.0.load(Ordering::Relaxed)
    }
}

/// A request is being answered as long as this lives.
#[derive(Debug)]
pub(super) struct BusyUntilDrop(Arc<AtomicBool>);

impl Drop for BusyUntilDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Its own answer: the client may be quiet.
    ForAnswer,
    /// The first byte of a request.
    ForRequest,
    /// The rest of a header.
    ForHeader,
}

/// A stream that gives up on clients that are too slow.
#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    limits: Limits,
    busy: Busy,
    waiting: Waiting,
    /// The clock runs for what is waited for now.
    is_set: bool,
    reading: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, limits: Limits, busy: Busy) -> Self {
        let reading = Box::pin(sleep(limits.header));
        // A stranger gets less time for the first byte than a known client for its next request.
        Self { stream, limits, busy, waiting: Waiting::ForHeader, is_set: true, reading, writing: None }
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting != waiting {
            self.waiting = waiting;
            self.is_set = false;
        }
    }

    /// Nothing comes: is it the time to give up?
    fn silent(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        if !self.is_set {
            // Not before it is needed: most headers come in one piece.
            self.is_set = true;
            let is_between = self.waiting == Waiting::ForRequest;
            let patience = if is_between { self.limits.idle } else { self.limits.header };
            self.reading.as_mut().reset(Instant::now() + patience);
        }
        ready!(self.reading.as_mut().poll(context));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client sends nothing more"))
    }

    /// Something could not be written: is it the time to give up?
    fn stalled(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let patience = self.limits.stalled;
        let writing = self.writing.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(writing.as_mut().poll(context));
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answer"))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_read(context, buffer);
        if this.busy.is_busy() {
            this.wait(Waiting::ForAnswer);
            return result;
        }
        if result.is_ready() {
            this.wait(Waiting::ForHeader);
            return result;
        }
        if this.waiting == Waiting::ForAnswer {
            this.wait(Waiting::ForRequest);
        }
        this.silent(context).map(Err)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write(context, bytes) {
            Poll::Ready(result) => {
                this.writing = None;
                Poll::Ready(result)
            }
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
            Poll::Ready(result) => {
                this.writing = None;
                Poll::Ready(result)
            }
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
pub(super) struct Answering<B> {
    pub(super) body: B,
    pub(super) _busy: BusyUntilDrop,
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
