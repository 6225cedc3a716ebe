//! What waits to be sent over one link, bounded in bytes.
//!
//! A neighbour that shows signs of life and takes nothing would otherwise cost memory without end. A queue that is full
//! stays full: what follows a lost frame must not arrive, so the link has to end.
//!
//! A frame that nobody waits for may be queued as one that *can wait*: it goes with the next frame, or after [`HOLD`]. So a
//! confirmation costs no packet of its own, and its receiver no wake-up, where there is more to say. Frames keep their order.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use super::Outgoing;

/// The most that waits for one neighbour, in bytes. A catalogue of 100,000 resources with the longest names and a first
/// message of each protocol take 30 MB.
pub const LONGEST_QUEUE: usize = 64 << 20;

/// How long a frame that can wait is held back at most: some delays of a local network. What a longer time saves, and what
/// it costs where links fail, is measured in `docs/protocols/reverse-link.md`.
const HOLD: Duration = Duration::from_millis(1);

/// What a frame costs besides its bytes.
const FRAME_COST: usize = 64;

/// Why a frame was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LONGEST_QUEUE} bytes wait for this neighbour, which takes them too slowly")]
pub struct QueueFull;

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Of what waits, and of what was taken and is not on its way yet.
    bytes: AtomicUsize,
    /// The receiver has something to do.
    wake: Notify,
    overflow: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<Outgoing>,
    /// They go now: not all of them can wait, or they have waited.
    is_due: bool,
    /// The receiver will look again by itself within [`HOLD`].
    has_alarm: bool,
    /// A frame did not fit.
    is_full: bool,
    /// All senders are gone.
    is_closed: bool,
    /// The link has ended.
    is_over: bool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue of frames, empty.
pub fn frame_queue() -> (FrameSender, FrameReceiver) {
    let shared = Arc::new(Shared::default());
    (FrameSender(Arc::new(Open(Arc::clone(&shared)))), FrameReceiver { shared, alarm: None })
}

/// Puts frames into the queue of a link.
#[derive(Clone, Debug)]
pub struct FrameSender(Arc<Open>);

/// As long as this lives, frames may follow.
#[derive(Debug)]
struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.waiting().is_closed = true;
        self.0.wake.notify_one();
    }
}

impl FrameSender {
    /// Queues a frame. Once the queue was full it takes no more, and its link ends. A link that ended already takes
    /// frames and loses them.
    pub fn send(&self, frame: Outgoing) -> Result<(), QueueFull> {
        self.add(frame, false)
    }

    /// The same for a frame that nobody waits for.
    pub fn send_later(&self, frame: Outgoing) -> Result<(), QueueFull> {
        self.add(frame, true)
    }

    fn add(&self, frame: Outgoing, can_wait: bool) -> Result<(), QueueFull> {
        let shared = &self.0.0;
        let mut waiting = shared.waiting();
        let cost = frame.len() + FRAME_COST;
        if waiting.is_full || shared.bytes.load(Ordering::Relaxed) + cost > LONGEST_QUEUE {
            waiting.is_full = true;
            shared.overflow.notify_one();
            return Err(QueueFull);
        }
        if waiting.is_over {
            return Ok(());
        }
        shared.bytes.fetch_add(cost, Ordering::Relaxed);
        waiting.frames.push_back(frame);
        let knows = waiting.is_due || (can_wait && waiting.has_alarm);
        waiting.is_due |= !can_wait;
        drop(waiting);
        if !knows {
            shared.wake.notify_one();
        }
        Ok(())
    }
}

/// Takes frames out of the queue of a link.
#[derive(Debug)]
pub struct FrameReceiver {
    shared: Arc<Shared>,
    /// Ends the waiting of frames that can wait. Not set anew for each of them.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Drop for FrameReceiver {
    fn drop(&mut self) {
        let mut waiting = self.shared.waiting();
        waiting.is_over = true;
        waiting.frames = VecDeque::new();
    }
}

impl FrameReceiver {
    /// Adds up to `most` frames to `into` once there are some to be sent, and returns how many; none when all senders are
    /// gone and nothing is left. Dropped before it is ready, it has taken nothing.
    pub(crate) async fn take(&mut self, into: &mut Vec<Outgoing>, most: usize) -> usize {
        loop {
            let alarm_is_new = {
                let mut waiting = self.shared.waiting();
                if waiting.is_due || waiting.is_closed {
                    let count = waiting.frames.len().min(most);
                    into.extend(waiting.frames.drain(..count));
                    waiting.is_due = !waiting.frames.is_empty();
                    return count;
                }
                let needs_alarm = waiting.has_alarm || !waiting.frames.is_empty();
                needs_alarm.then(|| !std::mem::replace(&mut waiting.has_alarm, true))
            };
            let Some(is_new) = alarm_is_new else {
                self.shared.wake.notified().await;
                continue;
            };
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(HOLD)));
            if is_new {
                alarm.as_mut().reset(Instant::now() + HOLD);
            }
            tokio::select! {
                biased;
                () = self.shared.wake.notified() => {}
                () = alarm.as_mut() => {
                    let mut waiting = self.shared.waiting();
                    waiting.has_alarm = false;
                    waiting.is_due = !waiting.frames.is_empty();
                }
            }
        }
    }

    /// What waits now.
    #[cfg(test)]
    pub(crate) fn waiting(&mut self) -> Vec<Outgoing> {
        let mut waiting = self.shared.waiting();
        waiting.is_due = false;
        waiting.frames.drain(..).collect()
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
    use std::task::{Context, Poll, Waker};

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
        sender.send_later(frame.clone()).unwrap();
        assert_eq!(sender.send(Outgoing::from([])), Err(QueueFull), "a frame costs something even if it is empty");
        assert_eq!(receiver.overflow().await, QueueFull);
        for _ in 0..10 {
            receiver.sent(&frame);
        }
        assert_eq!(sender.send(frame.clone()), Err(QueueFull), "a frame is missing, so nothing may follow");
        assert_eq!(sender.send_later(frame), Err(QueueFull));
    }

    fn frame(number: u8) -> Outgoing {
        Outgoing::from([number])
    }

    /// What is there to be sent at this moment. No timer rings meanwhile: that takes a pause of the test's runtime.
    fn now(receiver: &mut FrameReceiver) -> Vec<Outgoing> {
        let mut taken = Vec::new();
        let mut taking = Box::pin(receiver.take(&mut taken, 100));
        let polled = taking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(taking);
        assert!(matches!((polled, taken.len()), (Poll::Pending, 0) | (Poll::Ready(1..), 1..)));
        taken
    }

    #[tokio::test]
    async fn what_can_wait_goes_with_the_next_frame_and_in_order() {
        let (sender, mut receiver) = frame_queue();
        sender.send_later(frame(1)).unwrap();
        sender.send_later(frame(2)).unwrap();
        assert!(now(&mut receiver).is_empty());
        sender.send(frame(3)).unwrap();
        sender.send_later(frame(4)).unwrap();
        assert_eq!(now(&mut receiver), [frame(1), frame(2), frame(3), frame(4)]);
        assert!(now(&mut receiver).is_empty());
    }

    #[tokio::test]
    async fn what_can_wait_goes_by_itself_in_the_end() {
        let (sender, mut receiver) = frame_queue();
        let mut taken = Vec::new();
        for number in 0..3 {
            sender.send_later(frame(number)).unwrap();
            assert_eq!(receiver.take(&mut taken, 100).await, 1);
        }
        // Also one that comes while the alarm of another is still set.
        sender.send_later(frame(3)).unwrap();
        assert!(now(&mut receiver).is_empty());
        sender.send(frame(4)).unwrap();
        assert_eq!(now(&mut receiver), [frame(3), frame(4)]);
        sender.send_later(frame(5)).unwrap();
        assert_eq!(receiver.take(&mut taken, 100).await, 1);
        assert_eq!(taken, [0, 1, 2, 5].map(frame));
    }

    #[tokio::test]
    async fn one_that_is_woken_for_a_frame_gets_it() {
        let (sender, mut receiver) = frame_queue();
        let taking = tokio::spawn(async move {
            let mut taken = Vec::new();
            while receiver.take(&mut taken, 2).await > 0 {}
            taken
        });
        for number in 0..50 {
            if number % 3 == 0 {
                sender.send(frame(number)).unwrap();
            } else {
                sender.send_later(frame(number)).unwrap();
            }
            if number % 4 == 0 {
                tokio::task::yield_now().await;
            }
        }
        drop(sender);
        assert_eq!(taking.await.unwrap(), (0..50).map(frame).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_waits_when_the_sender_goes_is_still_sent() {
        let (sender, mut receiver) = frame_queue();
        sender.send_later(frame(1)).unwrap();
        drop(sender);
        let mut taken = Vec::new();
        assert_eq!(receiver.take(&mut taken, 100).await, 1);
        assert_eq!(receiver.take(&mut taken, 100).await, 0);
        assert_eq!(taken, [frame(1)]);
    }

    #[test]
    fn a_link_that_ended_keeps_nothing() {
        let (sender, receiver) = frame_queue();
        sender.send(frame(1)).unwrap();
        drop(receiver);
        for _ in 0..65 {
            sender.send(vec![0; 1 << 20].into()).unwrap();
        }
        assert!(sender.0.0.waiting().frames.is_empty());
    }
}
