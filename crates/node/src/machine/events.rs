//! What happened, for those who watch. The last thousand are remembered; who reads slower misses some and can tell.

use std::collections::VecDeque;
use std::task::Waker;

use meshlock_api::{Event, What};

use super::Now;

const REMEMBERED: usize = 1_024;

/// The latest events of this node.
#[derive(Debug)]
pub(crate) struct Events {
    began_unix_ms: u64,
    last: u64,
    latest: VecDeque<Event>,
    listeners: usize,
    wakers: Vec<Waker>,
    /// To be woken when the event has been applied.
    pub(super) woken: Vec<Waker>,
}

impl Events {
    pub(crate) fn new(began_unix_ms: u64) -> Self {
        Self { began_unix_ms, last: 0, latest: VecDeque::new(), listeners: 0, wakers: Vec::new(), woken: Vec::new() }
    }

    pub(crate) fn anybody_listens(&self) -> bool {
        self.listeners > 0
    }

    /// Notes what happened, if there is a listener.
    pub(crate) fn tell(&mut self, now: Now, what: impl FnOnce() -> What) {
        self.last += 1;
        if self.listeners == 0 {
            return;
        }
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        let at_ms = self.began_unix_ms + now.ms_since(Now::default());
        self.latest.push_back(Event { number: self.last, at_ms, what: what() });
        self.woken.append(&mut self.wakers);
    }

    pub(crate) fn after(&self, number: u64) -> Vec<Event> {
        let start = self.latest.partition_point(|event| event.number <= number);
        self.latest.range(start..).cloned().collect()
    }

    /// One more listener, for everything after this number.
    pub(crate) fn listen(&mut self) -> u64 {
        self.listeners += 1;
        self.last
    }

    /// One listener less.
    pub(crate) fn stop_listening(&mut self) {
        self.listeners = self.listeners.saturating_sub(1);
        if self.listeners == 0 {
            self.latest.clear();
        }
    }

    pub(crate) fn wake_on_next(&mut self, waker: &Waker) {
        if !self.wakers.iter().any(|known| known.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

impl super::Machine {
    /// One more listener: events after the returned number are remembered for it.
    pub fn listen(&mut self) -> u64 {
        self.events.listen()
    }

    /// One listener less.
    pub fn stop_listening(&mut self) {
        self.events.stop_listening();
    }

    /// Wakes when something happens.
    pub fn wake_on_event(&mut self, waker: &Waker) {
        self.events.wake_on_next(waker);
    }
}
