//! The nodes of the baselines. They know each other from the start and live on no links.

use meshlock_core::baselines::{central, lamport, naimi_trehel, raymond, raynal, ricart_agrawala, suzuki_kasami};
use meshlock_core::{NodeId, Protocol, Units};

use super::Spec;
use crate::model::Model;

impl Spec {
    /// The model of these nodes.
    pub(super) fn baseline<P: Protocol>(&self, node: impl Fn(NodeId) -> P) -> Model<P> {
        self.finish(Model::new(self.ids().into_iter().map(node).collect(), self.topology.clone()))
    }

    pub(super) fn central(&self) -> impl Fn(NodeId) -> central::Node {
        |id| {
            central::Node::new(central::Config {
                id,
                members: self.ids(),
                capacity: Units(self.capacity),
                order: self.order,
                joins: self.joins,
                planted: self.seeds.central,
            })
        }
    }

    /// On a binary tree.
    pub(super) fn raymond(&self) -> impl Fn(NodeId) -> raymond::Node {
        |id| {
            let config = raymond::Config::new(id, self.ids());
            raymond::Node::new(raymond::Config { planted: self.seeds.raymond, ..config })
        }
    }

    pub(super) fn suzuki_kasami(&self) -> impl Fn(NodeId) -> suzuki_kasami::Node {
        |id| {
            suzuki_kasami::Node::new(suzuki_kasami::Config {
                id,
                members: self.ids(),
                planted: self.seeds.suzuki_kasami,
            })
        }
    }

    pub(super) fn ricart_agrawala(&self) -> impl Fn(NodeId) -> ricart_agrawala::Node {
        |id| {
            ricart_agrawala::Node::new(ricart_agrawala::Config {
                id,
                members: self.ids(),
                planted: self.seeds.ricart_agrawala,
            })
        }
    }

    pub(super) fn lamport(&self) -> impl Fn(NodeId) -> lamport::Node {
        |id| lamport::Node::new(lamport::Config { id, members: self.ids(), planted: self.seeds.lamport })
    }

    pub(super) fn naimi_trehel(&self) -> impl Fn(NodeId) -> naimi_trehel::Node {
        |id| naimi_trehel::Node::new(naimi_trehel::Config { id, members: self.ids(), planted: self.seeds.naimi_trehel })
    }

    pub(super) fn raynal(&self) -> impl Fn(NodeId) -> raynal::Node {
        |id| {
            let (members, capacity) = (self.ids(), Units(self.capacity));
            raynal::Node::new(raynal::Config { id, members, capacity, planted: self.seeds.raynal })
        }
    }
}
