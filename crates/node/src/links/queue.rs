//! What waits to be sent over one link, bounded in bytes.
//!
//! A neighbour that shows signs of life and takes nothing would otherwise cost memory without end. A queue that is full
//! stays full: what follows a lost frame must not arrive, so the link has to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

use super::Outgoing;

/// The most that waits for one neighbour, in bytes. A catalogue of 100,000 resources with the longest names and a first
/// message of each protocol take 30 MB.
pub const LONGEST_QUEUE: usize = 64 << 20;

/// What a frame costs besides its bytes.
const FRAME_COST: usize = 64;

/// Why a frame was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LONGEST_QUEUE} bytes wait for this neighbour, which takes them too slowly")]
pub struct QueueFull;

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicUsize,
    full: AtomicBool,
    overflow: Notify,
}

/// A queue of frames, empty.
pub fn frame_queue() -> (FrameSender, FrameReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    (FrameSender { frames: sender, shared: Arc::clone(&shared) }, FrameReceiver { frames: receiver, shared })
}

/// Puts frames into the queue of a link.
#[derive(Clone, Debug)]
pub struct FrameSender {
    frames: mpsc::UnboundedSender<Outgoing>,
    shared: Arc<Shared>,
}

impl FrameSender {
    /// Queues a frame. Once the queue was full it takes no more, and its link ends. A link that ended already takes
    /// frames and loses them.
    pub fn send(&self, frame: Outgoing) -> Result<(), QueueFull> {
        let cost = frame.len() + FRAME_COST;
        let waits = self.shared.bytes.fetch_add(cost, Ordering::Relaxed) + cost;
        if waits > LONGEST_QUEUE || self.shared.full.load(Ordering::Relaxed) {
            self.shared.full.store(true, Ordering::Relaxed);
            self.shared.overflow.notify_one();
            return Err(QueueFull);
        }
        let _ = self.frames.send(frame);
        Ok(())
    }
}

/// Takes frames out of the queue of a link.
#[derive(Debug)]
pub struct FrameReceiver {
    frames: mpsc::UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
}

impl FrameReceiver {
    /// Adds up to `most` frames to `into` once there are some, and returns how many; none when all senders are gone.
    pub(crate) async fn take(&mut self, into: &mut Vec<Outgoing>, most: usize) -> usize {
        self.frames.recv_many(into, most).await
    }

    /// What waits now.
    #[cfg(test)]
    pub(crate) fn waiting(&mut self) -> Vec<Outgoing> {
        std::iter::from_fn(|| self.frames.try_recv().ok()).collect()
    }

    /// A frame that was taken is on its way: there is room for others.
    pub(super) fn sent(&self, frame: &Outgoing) {
        self.shared.bytes.fetch_sub(frame.len() + FRAME_COST, Ordering::Relaxed);
    }

    /// Waits until the queue has been full. Does not borrow the queue, which is emptied meanwhile.
    pub(super) fn overflow(&self) -> impl Future<Output = QueueFull> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.overflow.notified().await;
            QueueFull
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_queue_holds_its_limit_and_not_a_byte_more() {
        let (sender, mut receiver) = frame_queue();
        let frame: Outgoing = vec![0; (1 << 20) - FRAME_COST].into();
        for _ in 0..64 {
            sender.send(frame.clone()).unwrap();
        }
        let mut taken = Vec::new();
        assert_eq!(receiver.take(&mut taken, 10).await, 10);
        receiver.sent(&frame);
        sender.send(frame.clone()).unwrap();
        assert_eq!(sender.send(Outgoing::from([])), Err(QueueFull), "a frame costs something even if it is empty");
        assert_eq!(receiver.overflow().await, QueueFull);
        for _ in 0..10 {
            receiver.sent(&frame);
        }
        assert_eq!(sender.send(frame), Err(QueueFull), "a frame is missing, so nothing may follow");
    }
}
