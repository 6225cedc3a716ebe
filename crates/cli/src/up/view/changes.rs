//! What is changed by hand on the page: links, nodes that come and go, places, the range of the radio.

use std::collections::BTreeSet;

use meshlock_core::NodeId;
use meshlock_node::local::LocalMesh;
use meshlock_node::record::Place;
use meshlock_trace::Position;
use meshlock_viewer::{Action, Done, Refusal};

use super::super::MOST_NODES;
use super::super::movement::World;
use super::{LiveMesh, name_of};

impl LiveMesh {
    /// Cuts a link or lets it be again.
    pub(super) async fn link(&self, (one, other): (NodeId, NodeId), up: bool) -> Result<Done, Refusal> {
        let ((a, _), (b, _)) = (self.up(one).await?, self.up(other).await?);
        let (low, high) = (a.min(b), a.max(b));
        let (first, second) = (name_of(low), name_of(high));
        if a == b {
            return Err(Refusal::new(format!("{first} cannot be linked with itself: name two nodes")));
        }
        if let Some(world) = &self.world {
            let between = (self.number(a)?, self.number(b)?);
            return self.change(&**world, Action::Link { between, up });
        }
        let mesh = self.mesh.lock().await;
        let mesh = running(mesh.as_ref())?;
        let mut links = mesh.wanted_links();
        let changed = if up {
            links.insert((low, high))
        } else {
            let before = links.len();
            links.retain(|pair| *pair != (low, high) && *pair != (high, low));
            links.len() < before
        };
        if !changed {
            let state = if up { "linked already" } else { "not linked" };
            return Err(Refusal::new(format!("{first} and {second} are {state}")));
        }
        mesh.set_links(&links);
        Ok(Done::default())
    }

    /// Starts one more node as a member of the mesh.
    pub(super) async fn add(&self, at: Option<Position>) -> Result<Done, Refusal> {
        let mut mesh = self.mesh.lock().await;
        let running = mesh.as_mut().ok_or_else(stopping)?;
        if running.len() >= usize::from(MOST_NODES) {
            return Err(Refusal::new(format!("{MOST_NODES} nodes are as many as one process should have")));
        }
        let present: Vec<usize> = (0..running.len()).filter(|index| running.node(*index).is_some()).collect();
        let friends = self.shape.friends(&present);
        // In a world the links follow from where it is.
        let (number, linked_with) = match &self.world {
            Some(world) => (self.change(&**world, Action::Add { at })?.node, BTreeSet::new()),
            None => (None, friends.clone()),
        };
        if let (Some(at), Some(_), Some(recorder)) = (at, number, &self.recorder) {
            recorder.moved(&name_of(running.len()), Place::at(at));
        }
        let added = running.add(&linked_with).await;
        let seat = added.as_ref().ok().copied();
        let id = seat.and_then(|seat| running.id(seat));
        if let (Some(seat), Some(robots)) = (seat, self.lock_robots().as_mut())
            && let Some(node) = running.node(seat)
        {
            robots.add(node);
        }
        drop(mesh);
        if let (Some(world), Some(number)) = (&self.world, number) {
            self.sit_down(number, seat);
            if seat.is_none() {
                // No node took the seat.
                let _ = world.change(Action::Remove { node: number });
            } else if !world.is_on_the_air() {
                for friend in friends.into_iter().filter_map(|friend| self.number(friend).ok()) {
                    let _ = world.change(Action::Link { between: (friend, number), up: true });
                }
            }
            self.apply_links().await;
        }
        added.map_err(|error| Refusal::new(format!("the node could not be started: {error}")))?;
        Ok(Done { node: id, ..Done::default() })
    }

    /// Stops a node cleanly, for good.
    pub(super) async fn remove(&self, node: NodeId) -> Result<Done, Refusal> {
        let (index, hub) = self.up(node).await?;
        let name = name_of(index);
        let (tokens, has_neighbours) = hub.with(|machine, _| (machine.still_needed_for(), machine.has_neighbours()));
        let tokens: Vec<&str> = tokens.iter().map(|token| shown(token)).collect();
        let stopping_node = {
            let mut mesh = self.mesh.lock().await;
            let mesh = mesh.as_mut().ok_or_else(stopping)?;
            if mesh.nodes().count() == 1 && (0..mesh.len()).all(|other| !mesh.is_dead(other)) {
                return Err(Refusal::new(format!("{name} is the last node: Ctrl-C in the terminal ends the mesh")));
            }
            if !tokens.is_empty() && !has_neighbours {
                return Err(Refusal::new(format!(
                    "{name} has what the others need ({}) and no neighbour that could take it: link it first",
                    tokens.join(", ")
                )));
            }
            mesh.take(index).ok_or_else(|| Refusal::new(format!("{name} is leaving already")))?
        };
        self.by_hand.give_back(|made| made.node == node);
        let ended = stopping_node.stop().await;
        match &self.world {
            Some(world) => {
                if let Ok(number) = self.number(index) {
                    let _ = world.change(Action::Remove { node: number });
                }
            }
            None => {
                if let Some(mesh) = &*self.mesh.lock().await {
                    let links = mesh.wanted_links();
                    mesh.set_links(&links.into_iter().filter(|(a, b)| *a != index && *b != index).collect());
                }
            }
        }
        if let Some(recorder) = &self.recorder {
            recorder.left(&name);
        }
        match ended {
            Ok(ended) if ended.kept.is_empty() => Ok(Done::default()),
            Ok(ended) => {
                let kept: Vec<&str> = ended.kept.iter().map(|name| shown(name)).collect();
                Err(Refusal::new(format!(
                    "{name} has left, but no neighbour took its tokens in time: {}. Requests for them wait indefinitely",
                    kept.join(", ")
                )))
            }
            Err(error) => Err(Refusal::new(format!("{name} has left, but not cleanly: {error}"))),
        }
    }

    /// Kills a node, as `kill -9` would.
    pub(super) async fn kill(&self, node: NodeId) -> Result<Done, Refusal> {
        let (index, hub) = self.up(node).await?;
        let name = name_of(index);
        let mut mesh = self.mesh.lock().await;
        let mesh = mesh.as_mut().ok_or_else(stopping)?;
        if let Some(robots) = self.lock_robots().as_mut() {
            robots.end_at(&hub);
        }
        if !mesh.kill(index).await {
            return Err(Refusal::new(format!("{name} is leaving already")));
        }
        self.by_hand.forget(&hub);
        if let Some(recorder) = &self.recorder {
            recorder.crashed(&name);
        }
        Ok(Done::default())
    }

    /// Starts a node again that was killed, as its next incarnation.
    pub(super) async fn restart(&self, node: NodeId) -> Result<Done, Refusal> {
        let mut mesh = self.mesh.lock().await;
        let mesh = mesh.as_mut().ok_or_else(stopping)?;
        let index = mesh.index(node).ok_or_else(|| Refusal::new(format!("there is no node {node} in this mesh")))?;
        let started = mesh.restart(index).await;
        match started {
            Ok(true) => {}
            Ok(false) => return Err(Refusal::new(format!("{} was not killed", name_of(index)))),
            Err(error) => return Err(Refusal::new(format!("{} could not be started: {error}", name_of(index)))),
        }
        if let (Some(robots), Some(node)) = (self.lock_robots().as_mut(), mesh.node(index)) {
            robots.add(node);
        }
        Ok(Done { node: mesh.id(index), ..Done::default() })
    }

    /// Puts a node somewhere else, where it stays.
    pub(super) async fn move_to(&self, node: NodeId, to: Position) -> Result<Done, Refusal> {
        let (index, _) = self.up(node).await?;
        let world = self.on_the_air()?;
        let node = self.number(index)?;
        self.change(world, Action::Move { node, to })
    }

    /// Changes the range of the radio.
    pub(super) fn set_range(&self, metres: f64) -> Result<Done, Refusal> {
        let done = self.change(self.on_the_air()?, Action::Range { metres });
        self.tapes.tell();
        done
    }

    /// Changes how fast nodes move.
    pub(super) fn set_pace(&self, factor: f64) -> Result<Done, Refusal> {
        let done = self.change(self.on_the_air()?, Action::Pace { factor });
        self.tapes.tell();
        done
    }

    fn on_the_air(&self) -> Result<&dyn World, Refusal> {
        let world = self.world.as_deref().filter(|world| world.is_on_the_air());
        let words = "these nodes have no places: start with --scenario and a scenario with a radio";
        world.ok_or_else(|| Refusal::new(words))
    }

    fn change(&self, world: &dyn World, action: Action) -> Result<Done, Refusal> {
        world.change(action).map_err(|error| Refusal::new(self.with_names(&error.0)))
    }

    /// A node of the world is this one of the mesh.
    fn sit_down(&self, number: NodeId, seat: Option<usize>) {
        let mut moving = self.lock_moving();
        moving.seats.resize(number.0 as usize, None);
        moving.seats.push(seat);
    }

    fn number(&self, index: usize) -> Result<NodeId, Refusal> {
        let number = self.lock_moving().seats.iter().position(|seat| *seat == Some(index));
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.map(NodeId).ok_or_else(|| Refusal::new(format!("{} is nowhere", name_of(index))))
    }

    /// The world knows nodes by numbers, people by names: `nodes 0 and 2` are `n0 and n2`.
    fn with_names(&self, words: &str) -> String {
        let seats = self.lock_moving().seats.clone();
        let mut out: Vec<String> = Vec::new();
        let mut names_follow = false;
        for word in words.split(' ') {
            let digits = word.trim_end_matches([',', ':', '.', ';']);
            match digits.parse::<usize>() {
                Ok(number) if names_follow => {
                    let index = seats.get(number).copied().flatten().unwrap_or(number);
                    if matches!(out.last().map(String::as_str), Some("node" | "nodes")) {
                        out.pop();
                    }
                    out.push(format!("{}{}", name_of(index), word.get(digits.len()..).unwrap_or_default()));
                }
                Ok(_) | Err(_) => {
                    names_follow = matches!(word, "node" | "nodes") || (names_follow && word == "and");
                    out.push(word.to_owned());
                }
            }
        }
        out.join(" ")
    }

    fn lock_robots(&self) -> std::sync::MutexGuard<'_, Option<super::Robots>> {
        self.robots.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn running(mesh: Option<&LocalMesh>) -> Result<&LocalMesh, Refusal> {
    mesh.ok_or_else(stopping)
}

fn stopping() -> Refusal {
    Refusal::new("the mesh is being stopped")
}

/// What people call a resource.
fn shown(resource: &str) -> &str {
    if resource == "meshlock:registry" { "the right to make resources" } else { resource }
}
