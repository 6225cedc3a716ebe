//! Busy clients: two robots at every node. One works for a while and then uses the first resource of the mesh, the other
//! one of the rest.

use std::sync::Arc;
use std::time::Duration;

use meshlock_api::{Kind, NewRequest, ResourceInfo, State};
use meshlock_node::hub::Hub;
use meshlock_node::node::Node;
use tokio::task::{AbortHandle, JoinSet};

use super::view::wish;

/// Robots at work, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Robots {
    tasks: JoinSet<()>,
    /// By robot: its node, and how it is ended.
    homes: Vec<(Arc<Hub>, AbortHandle)>,
    count: u64,
}

impl Robots {
    /// Puts robots at a node.
    pub(super) fn add(&mut self, node: &Node) {
        for favours_first in [true, false] {
            let robot = Robot {
                hub: Arc::clone(node.hub()),
                name: format!("robot-{}", self.count + 1),
                random: fastrand::Rng::with_seed(self.count),
                favours_first,
            };
            self.count += 1;
            let end = self.tasks.spawn(robot.live());
            self.homes.push((Arc::clone(node.hub()), end));
        }
    }

    /// The robots of a node end with it.
    pub(super) fn end_at(&mut self, hub: &Arc<Hub>) {
        self.homes.extract_if(.., |(home, _)| Arc::ptr_eq(home, hub)).for_each(|(_, end)| end.abort());
    }
}

/// Before the first request, in milliseconds: something is to be seen within a second.
const FIRST: std::ops::Range<u64> = 0..600;
/// Between two requests.
const WORK: std::ops::Range<u64> = 200..900;
/// The first resource is the one that the page shows first. It is held so long that robots wait for it now and then, also
/// where there are only three. No hold is longer than the standing of `up`, so none needs a renewal.
const FAVOURITE: std::ops::Range<u64> = 1_500..2_500;
const OTHERS: std::ops::Range<u64> = 300..2_500;
/// How long a robot waits before it does something else.
const PATIENCE: Duration = Duration::from_secs(60);

struct Robot {
    hub: Arc<Hub>,
    name: String,
    random: fastrand::Rng,
    /// It uses the first resource; otherwise one of the others.
    favours_first: bool,
}

impl Robot {
    async fn live(mut self) {
        self.pause(FIRST).await;
        loop {
            match self.hub.resources().split_first() {
                None => self.pause(50..100).await, // they are being made
                Some((first, _)) if self.favours_first => self.hold(first, FAVOURITE).await,
                Some((_, others)) => {
                    if let Some(other) = self.random.choice(others) {
                        self.hold(other, OTHERS).await;
                    }
                }
            }
            self.pause(WORK).await;
        }
    }

    async fn pause(&mut self, ms: std::ops::Range<u64>) {
        tokio::time::sleep(Duration::from_millis(self.random.u64(ms))).await;
    }

    /// Takes something, uses it for a while and gives it back. What cannot be had is left alone.
    async fn hold(&mut self, resource: &ResourceInfo, ms: std::ops::Range<u64>) {
        let Some(request) = self.request(resource) else { return };
        let Ok(asked) = self.hub.ask(request) else { return };
        let held = self.hub.wait(&asked.id, PATIENCE).await;
        if held.is_ok_and(|info| info.state == State::Granted) {
            self.pause(ms).await;
        }
        let _ = self.hub.release(&asked.id);
    }

    /// A request that its kind allows: one or two units, mostly to read, one of two sessions.
    fn request(&mut self, ResourceInfo { name, definition, .. }: &ResourceInfo) -> Option<NewRequest> {
        let writes = self.random.u32(0..4) == 0;
        let units = match definition.kind {
            Kind::ReadersWriter if writes => definition.capacity,
            Kind::Semaphore => self.random.u32(1..=definition.capacity.min(2)),
            Kind::ReadersWriter | Kind::Mutex | Kind::Sessions => 1,
        };
        let session = match definition.kind {
            Kind::Sessions => Some(if self.random.bool() { "plan" } else { "review" }.to_owned()),
            Kind::ReadersWriter | Kind::Mutex | Kind::Semaphore => None,
        };
        let request = wish(name, definition, units, self.random.i32(0..10), session).ok()?;
        Some(NewRequest { owner: Some(self.name.clone()), lease_ms: Some(20_000), ..request })
    }
}
