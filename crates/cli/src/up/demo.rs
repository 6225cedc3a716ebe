//! Busy clients: a robot at every node that works, charges, reads and redraws a map, passes a gate and joins meetings.

use std::sync::Arc;
use std::time::Duration;

use meshlock_api::{Mode, NewRequest, State, Urgency};
use meshlock_node::hub::Hub;
use meshlock_node::node::Node;
use tokio::task::{AbortHandle, JoinSet};

/// Robots at work, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Robots {
    tasks: JoinSet<()>,
    /// By robot: its node, and how it is ended.
    homes: Vec<(Arc<Hub>, AbortHandle)>,
    count: usize,
}

impl Robots {
    /// Puts a robot at a node.
    pub(super) fn add(&mut self, node: &Node) {
        self.count += 1;
        let number = self.count;
        let robot = Robot {
            hub: Arc::clone(node.hub()),
            name: format!("robot-{number}"),
            random: fastrand::Rng::with_seed(number as u64 - 1),
            charge: 100,
        };
        let end = self.tasks.spawn(robot.live());
        self.homes.push((Arc::clone(node.hub()), end));
    }

    /// The robots of a node end with it.
    pub(super) fn end_at(&mut self, hub: &Arc<Hub>) {
        self.homes.extract_if(.., |(home, _)| Arc::ptr_eq(home, hub)).for_each(|(_, end)| end.abort());
    }
}

struct Robot {
    hub: Arc<Hub>,
    name: String,
    random: fastrand::Rng,
    /// In percent.
    charge: i32,
}

impl Robot {
    async fn live(mut self) {
        loop {
            self.work(500..3_000).await;
            self.charge -= self.random.i32(5..25);
            if self.charge < 40 {
                // The emptier, the more urgent.
                self.hold(NewRequest { urgency: Some(Urgency::Priority((40 - self.charge) / 4)), ..wants("docks") })
                    .await;
                self.charge = 100;
                continue;
            }
            match self.random.u32(0..10) {
                0..4 => self.hold(wants("gate")).await,
                4..7 => self.hold(NewRequest { mode: Some(Mode::Read), ..wants("map") }).await,
                7 => self.hold(NewRequest { mode: Some(Mode::Write), ..wants("map") }).await,
                _ => {
                    let session = if self.random.bool() { "plan" } else { "review" };
                    self.hold(NewRequest { session: Some(session.into()), ..wants("room") }).await;
                }
            }
        }
    }

    async fn work(&mut self, ms: std::ops::Range<u64>) {
        tokio::time::sleep(Duration::from_millis(self.random.u64(ms))).await;
    }

    /// Takes something, uses it for a while and gives it back. What cannot be had is left alone.
    async fn hold(&mut self, request: NewRequest) {
        let request = NewRequest { owner: Some(self.name.clone()), lease_ms: Some(20_000), ..request };
        let Ok(asked) = self.hub.ask(request) else { return };
        let held = self.hub.wait(&asked.id, Duration::from_secs(60)).await;
        if held.is_ok_and(|info| info.state == State::Granted) {
            self.work(300..2_500).await;
        }
        let _ = self.hub.release(&asked.id);
    }
}

fn wants(resource: &str) -> NewRequest {
    NewRequest { resource: resource.into(), ..NewRequest::default() }
}
