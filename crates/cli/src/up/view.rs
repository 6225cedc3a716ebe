//! The mesh of `meshlock up` as the page sees it, and what one may do there.

mod changes;
mod condition;
mod requests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshlock_core::NodeId;
use meshlock_node::hub::Hub;
use meshlock_node::local::{LocalMesh, Pair};
use meshlock_node::mesh::MeshError;
use meshlock_node::node::Stopped;
use meshlock_node::record::Recorder;
use meshlock_viewer::source::{Acting, Kind};
use meshlock_viewer::{About, Action, Condition, Done, Playing, Refusal, Source, Tape};
use tokio::sync::watch;

use super::demo::Robots;
use super::movement::{News, World};
use super::shape::Shape;
use crate::node::tapes::Tapes;

use self::requests::ByHand;
pub(super) use self::requests::wish;

/// A mesh of this process, with everything that is needed to look at it and to take part.
#[derive(Debug)]
pub(super) struct LiveMesh {
    title: String,
    tapes: Tapes,
    recorder: Option<Recorder>,
    shape: Shape,
    world: Option<Arc<dyn World>>,
    /// Gone once everything was stopped. Never locked for long.
    mesh: tokio::sync::Mutex<Option<LocalMesh>>,
    moving: Mutex<Moving>,
    by_hand: ByHand,
    robots: Mutex<Option<Robots>>,
    /// As it was last looked at.
    condition: Mutex<Condition>,
}

/// What is known of the world in which nodes move.
#[derive(Debug, Default)]
struct Moving {
    /// By number in the world: which node of the mesh that is. One that could not be started is none.
    seats: Vec<Option<usize>>,
    /// By numbers in the world.
    links: BTreeSet<Pair>,
}

/// What a [`LiveMesh`] is made of.
pub(super) struct Parts {
    pub(super) title: String,
    pub(super) mesh: LocalMesh,
    pub(super) tapes: Tapes,
    pub(super) recorder: Option<Recorder>,
    pub(super) shape: Shape,
    pub(super) world: Option<Arc<dyn World>>,
    pub(super) robots: Option<Robots>,
}

impl LiveMesh {
    /// Looks at a mesh that has been started with the links of its shape or world.
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { title, mesh, tapes, recorder, shape, world, robots } = parts;
        let moving = Moving { seats: (0..mesh.len()).map(Some).collect(), links: mesh.wanted_links() };
        let live = Arc::new(Self {
            title,
            tapes,
            recorder,
            shape,
            world,
            mesh: tokio::sync::Mutex::new(Some(mesh)),
            moving: Mutex::new(moving),
            by_hand: ByHand::default(),
            robots: Mutex::new(robots),
            condition: Mutex::default(),
        });
        tokio::spawn(requests::keep_alive(Arc::downgrade(&live)));
        live
    }

    /// Asks the nodes again and again how they are, for pages: without one, that would be most of what an idle mesh costs.
    pub(super) fn watch(self: &Arc<Self>) {
        tokio::spawn(condition::watch(Arc::downgrade(self)));
    }

    /// Does to the real nodes what happened in the world.
    pub(super) async fn hear(&self, news: Vec<News>) {
        for one in news {
            match one {
                News::Links(links) => {
                    self.lock_moving().links = links;
                    self.apply_links().await;
                }
                News::Moved(number, place) => {
                    let seat = self.lock_moving().seats.get(number).copied().flatten();
                    if let (Some(seat), Some(recorder)) = (seat, &self.recorder) {
                        recorder.moved(&name_of(seat), place);
                    }
                }
            }
        }
    }

    /// Lets the links of the world be those of the mesh.
    async fn apply_links(&self) {
        let links: BTreeSet<Pair> = {
            let moving = self.lock_moving();
            let seat = |number: usize| moving.seats.get(number).copied().flatten();
            let seated = |(a, b): &Pair| Some((seat(*a)?, seat(*b)?));
            moving.links.iter().filter_map(seated).collect()
        };
        tracing::debug!("{} links", links.len());
        if let Some(mesh) = &*self.mesh.lock().await {
            mesh.set_links(&links);
        }
    }

    /// Gives back what was taken by hand, lets robots rest, and stops all nodes.
    pub(super) async fn stop(&self) -> Vec<Result<Stopped, MeshError>> {
        drop(self.robots.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.by_hand.give_back(|_| true);
        let mesh = self.mesh.lock().await.take();
        match mesh {
            Some(mesh) => mesh.stop().await,
            None => Vec::new(),
        }
    }

    fn lock_moving(&self) -> MutexGuard<'_, Moving> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn up(&self, node: NodeId) -> Result<(usize, Arc<Hub>), Refusal> {
        let mesh = self.mesh.lock().await;
        let mesh = mesh.as_ref().ok_or_else(|| Refusal::new("the mesh is being stopped"))?;
        let index = mesh.index(node).ok_or_else(|| {
            let names: Vec<String> = (0..mesh.len()).filter(|index| mesh.node(*index).is_some()).map(name_of).collect();
            Refusal::new(format!("there is no node {node} in this mesh: its nodes are {}", names.join(", ")))
        })?;
        match mesh.hub(index) {
            Some(hub) => Ok((index, hub)),
            None if mesh.is_dead(index) => Err(Refusal::new(format!("{} is dead: start it again", name_of(index)))),
            None => Err(Refusal::new(format!("{} has left; it does not come back", name_of(index)))),
        }
    }

    fn can(&self) -> Vec<&'static str> {
        let mut can = vec!["request", "release", "link", "add", "remove", "kill", "restart"];
        if self.world.as_ref().is_some_and(|world| world.is_on_the_air()) {
            can.extend(["move", "range", "pace"]);
        }
        can
    }
}

/// What the nodes of `meshlock up` are called, as those of a simulation are.
pub(super) fn name_of(index: usize) -> String {
    format!("n{index}")
}

impl Source for LiveMesh {
    fn about(&self) -> About {
        let mut notes = vec![
            "These are real nodes on this machine. What you ask for here is held until you release it here; what other \
             programs hold is theirs."
                .to_owned(),
        ];
        if self.robots.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            notes.push("Quiet? Ask for something at a node, or start again with --demo for busy clients.".to_owned());
        }
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Kind::Mesh,
            title: self.title.clone(),
            tapes: self.tapes.names(),
            can: self.can(),
            notes,
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        self.tapes.all()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.tapes.changes()
    }

    /// Where nodes have places: the range, and how fast they move. Time is real, so it neither stops nor hurries.
    fn playing(&self) -> Option<Playing> {
        let world = self.world.as_ref().filter(|world| world.is_on_the_air())?;
        Some(Playing {
            paused: false,
            speed: 1.0,
            // Tapes tell how far they go. A moment that never rests would be news all the time.
            now: 0,
            over: false,
            range: world.range(),
            pace: world.pace(),
            replay: None,
        })
    }

    fn condition(&self) -> Condition {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn act(&self, action: Action) -> Acting<'_> {
        Box::pin(self.do_it(action))
    }
}

impl LiveMesh {
    async fn do_it(&self, action: Action) -> Result<Done, Refusal> {
        match action {
            Action::Request { tape, node, units, priority, session } => {
                self.request(tape, node, units, priority, session).await
            }
            Action::Release { tape, node, request } => self.release(tape, node, request).await,
            Action::Link { between, up } => self.link(between, up).await,
            Action::Add { at } => self.add(at).await,
            Action::Remove { node } => self.remove(node).await,
            Action::Kill { node } => self.kill(node).await,
            Action::Restart { node } => self.restart(node).await,
            Action::Move { node, to } => self.move_to(node, to).await,
            Action::Range { metres } => self.set_range(metres),
            Action::Pace { factor } => self.set_pace(factor),
            Action::Play | Action::Pause | Action::Step { .. } | Action::Speed { .. } => Err(Refusal::new(
                "these are real nodes: their time neither stops nor hurries; simulate with `meshlock sim`",
            )),
        }
    }
}
