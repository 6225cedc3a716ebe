//! What is below QUIC: a socket that asks the system once for all that has arrived, and timers that ring together.
//!
//! Quinn's own asks until the system says that nothing is left, so every second call brings nothing, and most packets here
//! come alone. A call that brings fewer packets than there is room for says as much.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::timer::Timer;

/// Tokio, with sockets and timers of ours.
#[derive(Debug)]
pub(super) struct AskingOnce;

impl Runtime for AskingOnce {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer::new(at))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Arc::new(Socket { state, io: UdpSocket::from_std(socket)? }))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

#[derive(Debug)]
struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.io.try_io(Interest::WRITABLE, || self.state.send((&self.io).into(), transmit))
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_recv_ready(context))?;
            let mut received = None;
            // In the same step as the call: what comes after it makes the socket ready again, and that must stand.
            let _ = self.io.try_io(Interest::READABLE, || {
                let count = self.state.recv((&self.io).into(), buffers, meta)?;
                received = Some(count);
                if count < buffers.len() { Err(io::Error::from(ErrorKind::WouldBlock)) } else { Ok(()) }
            });
            // An error is about a packet that was sent before, or there was nothing.
            if let Some(count) = received {
                return Poll::Ready(Ok(count));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// One of several that wait until the socket takes more.
struct Writable {
    socket: Arc<Socket>,
    waiting: Option<Waiting>,
}

impl std::fmt::Debug for Writable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writable").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl UdpPoller for Writable {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = Arc::clone(&self.socket);
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(async move { socket.io.writable().await }));
        let result = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        Poll::Ready(result)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use super::*;

    /// A socket of ours, and one that sends to it.
    fn sockets() -> (Arc<dyn AsyncUdpSocket>, std::net::UdpSocket) {
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_nonblocking(true).unwrap();
        let receiver = AskingOnce.wrap_udp_socket(receiver).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        (receiver, sender)
    }

    /// The bytes of one call.
    fn receive(socket: &dyn AsyncUdpSocket, context: &mut Context<'_>, room: usize) -> Poll<Vec<u8>> {
        let mut bytes = vec![[0; 2_048]; room];
        let mut buffers: Vec<IoSliceMut<'_>> = bytes.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let mut meta = vec![RecvMeta::default(); room];
        let count = ready!(socket.poll_recv(context, &mut buffers, &mut meta)).unwrap();
        Poll::Ready((0..count).flat_map(|index| bytes[index][..meta[index].len].to_vec()).collect())
    }

    #[tokio::test]
    async fn all_that_was_sent_arrives_however_much_comes_at_once() {
        let (receiver, sender) = sockets();
        for (burst, room) in [(1, 4), (3, 4), (4, 4), (9, 4), (1, 1), (5, 1)] {
            for number in 0..burst {
                sender.send(&[number]).unwrap();
            }
            let mut received = Vec::new();
            while received.len() < usize::from(burst) {
                received.extend(poll_fn(|context| receive(&*receiver, context, room)).await);
            }
            assert_eq!(received, (0..burst).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn after_fewer_packets_than_there_is_room_for_the_system_is_not_asked_again() {
        let (receiver, sender) = sockets();
        sender.send(b"a").unwrap();
        assert_eq!(poll_fn(|context| receive(&*receiver, context, 4)).await, b"a");
        // It is there, but nobody has told us yet: that takes a pause of this test's runtime.
        sender.send(b"b").unwrap();
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(receive(&*receiver, &mut nobody, 4).is_pending());
        assert_eq!(poll_fn(|context| receive(&*receiver, context, 4)).await, b"b");
    }
}
