//! What a node tells of itself and of its mesh: status, lists, metrics, events.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use meshlock_api::{Event, MeshStatus, Problem, RequestInfo, ResourceInfo};
use tokio::task::yield_now;
use tokio::time::timeout;

use super::{Hub, OnDrop, since_1970_ms};
use crate::machine::{Answers, Metrics, Ticket};
use crate::wire::About;

/// How many resources or requests are told about before others have their turn.
const AT_ONCE: usize = 1_000;

/// An alarm that is not heard again in this time is over. Those who are refused try again twice a minute.
const ALARM_LASTS: Duration = Duration::from_secs(300);

impl Hub {
    /// Who holds what and who waits, from all nodes that answer in time.
    pub async fn status(&self, resource: Option<&str>, patience: Duration) -> Result<MeshStatus, Problem> {
        let about = self.with(|machine, now| {
            machine.set_clock(now, since_1970_ms());
            machine.about(resource)
        })?;
        let answers = if patience.is_zero() { None } else { Some(self.answers(about.clone(), patience).await) };
        // In parts, so that no other caller waits long for the machine.
        let mut gathered = self.with(|machine, now| machine.gather(now, answers));
        while !self.with(|machine, now| machine.gather_more(now, &about, &mut gathered)) {
            yield_now().await;
        }
        Ok(MeshStatus { alarms: self.alarms(), ..gathered.assemble() })
    }

    pub(super) async fn answers(&self, about: About, patience: Duration) -> Answers {
        let number = self.with(|machine, _| machine.ask_everybody(about));
        let forget = OnDrop(|| self.with_if_sound(|machine, _| machine.forget_query(number)));
        let complete = poll_fn(|context| {
            if self.lock().machine.poll_query(number, context.waker()) { Poll::Ready(()) } else { Poll::Pending }
        });
        // Nodes that have not answered by then are not in the answer.
        let _ = timeout(patience, complete).await;
        let answers = self.with(|machine, _| machine.take_answers(number));
        drop(forget);
        answers
    }

    /// What an operator has to act on, in words.
    pub fn alarms(&self) -> Vec<String> {
        let mut inner = self.lock();
        inner.alarms.retain(|_, (heard, _)| heard.elapsed() < ALARM_LASTS);
        inner.alarms.values().map(|(_, words)| words.clone()).collect()
    }

    /// All resources that this node knows. In parts, so that no caller waits long for the machine.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        let mut all: Vec<ResourceInfo> = Vec::new();
        loop {
            let last = all.last().map(|info| info.name.clone());
            let next = self.with(|machine, _| machine.resource_infos_after(last.as_deref(), AT_ONCE));
            if next.is_empty() {
                return all;
            }
            all.extend(next);
        }
    }

    /// All requests that are queued or granted at this node. In parts, like the resources.
    pub fn requests(&self) -> Vec<RequestInfo> {
        let (mut all, mut last) = (Vec::new(), Ticket(0));
        while let Some((next, until)) = self.with(|machine, now| machine.request_infos_after(now, last, AT_ONCE)) {
            all.extend(next);
            last = until;
        }
        all
    }

    /// The text for Prometheus.
    pub fn metrics(&self) -> String {
        let mut metrics = Metrics::default();
        while !self.with(|machine, now| machine.measure(now, &mut metrics, AT_ONCE)) {}
        metrics.render()
    }

    /// Listens to what happens from now on.
    pub fn events(self: &Arc<Self>) -> EventStream {
        let last = self.with(|machine, _| machine.listen());
        EventStream { hub: Arc::clone(self), last }
    }
}

/// What happens at a node from some moment on.
#[derive(Debug)]
pub struct EventStream {
    hub: Arc<Hub>,
    last: u64,
}

impl EventStream {
    /// The next events, at least one.
    pub async fn next(&mut self) -> Vec<Event> {
        let events = poll_fn(|context| {
            let mut inner = self.hub.lock();
            let events = inner.machine.events_after(self.last);
            if events.is_empty() {
                inner.machine.wake_on_event(context.waker());
                return Poll::Pending;
            }
            Poll::Ready(events)
        })
        .await;
        self.last = events.last().map_or(self.last, |event| event.number);
        events
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.hub.with_if_sound(|machine, _| machine.stop_listening());
    }
}
