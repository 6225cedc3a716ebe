//! Nodes that move about at the speed of real time, and links that come and go with them.
//!
//! Where they go is decided by a [`World`]; `meshlock-lab` has a simulator for that. Here its news are applied to the
//! real nodes, and a change that is wanted on the page is one of the world first.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use meshlock_node::local::Pair;
use meshlock_node::record::Place;
use meshlock_viewer::{Action, Done, Refusal};
use tokio::sync::mpsc;

/// A world with everything as it is at the beginning.
#[derive(Debug)]
pub struct Movement {
    /// The title of the page.
    pub name: String,
    /// How many nodes there are, at most [`super::MOST_NODES`].
    pub nodes: u16,
    /// The links at the beginning.
    pub first_links: BTreeSet<Pair>,
    /// The place of each node at the beginning; nothing on wires.
    pub first_places: Vec<Option<Place>>,
    pub world: Arc<dyn World>,
    /// What happens in it; closed when it has ended.
    pub news: mpsc::UnboundedReceiver<News>,
}

/// The world in which nodes move. It knows them by numbers of its own, from 0 on.
pub trait World: Debug + Send + Sync {
    /// Whether nodes have places there, and with them a range and a pace.
    fn is_on_the_air(&self) -> bool;

    /// The range of the radio in metres, where there is one.
    fn range(&self) -> Option<f64>;

    /// How many times as fast as planned nodes move.
    fn pace(&self) -> f64;

    /// Moves, links, adds or removes nodes, or sets range or pace. Returns within milliseconds.
    fn change(&self, action: Action) -> Result<Done, Refusal>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum News {
    Links(BTreeSet<Pair>),
    /// A node is somewhere else, or moves otherwise.
    Moved(usize, Place),
}

impl Movement {
    /// What happens next; nothing when the world has ended. Changes of links at one moment come as one.
    pub(super) async fn next(&mut self) -> Option<Vec<News>> {
        let mut all = vec![self.news.recv().await?];
        while let Ok(newer) = self.news.try_recv() {
            if matches!((all.last(), &newer), (Some(News::Links(_)), News::Links(_))) {
                all.pop();
            }
            all.push(newer);
        }
        Some(all)
    }
}
