//! From a description to nodes of the right type.

use meshlock_core::group::Level;
use meshlock_core::relay::Relayed;
use meshlock_core::repairs::{Defect, Repairs};
use meshlock_core::{Delay, NodeId, Protocol, Units, flood, group, relay, reverse_link};
use serde::Serialize;

use super::{Spec, SpecError, Subject, Variant};
use crate::model::{Medium, Model};

/// Something to be done with a model, whatever its protocol.
pub trait Visitor {
    /// What comes out.
    type Output;

    /// Does it.
    fn visit<P>(self, model: Model<P>) -> Self::Output
    where
        P: Protocol + Send + 'static,
        P::Message: Serialize + Send;
}

/// Delays mean nothing to the checker.
const RETRY: Delay = Delay { least_ms: 1000, most_ms: 2000 };

impl Spec {
    /// Builds the model and hands it to `visitor`.
    pub fn with_model<V: Visitor>(&self, visitor: V) -> Result<V::Output, SpecError> {
        let has_readings = matches!(self.subject, Subject::ReverseLink | Subject::Flood);
        if !self.readings.is_empty() && (self.variant == Variant::Repaired || !has_readings) {
            return Err(SpecError::NoOtherReadings(self.subject));
        }
        match (self.subject, &self.variant) {
            (Subject::ReverseLink, Variant::Repaired) => {
                let model = Model::settled(self.reverse_link(), self.topology.clone(), self.down.clone());
                Ok(visitor.visit(self.finish(model.map_err(crate::ModelError::from)?)))
            }
            (Subject::ReverseLink, Variant::Published { repairs }) => {
                let model = Model::new(self.reverse_link_published(repairs)?, self.topology.clone());
                Ok(visitor.visit(self.finish(model)))
            }
            (
                Subject::Flood
                | Subject::Raymond
                | Subject::SuzukiKasami
                | Subject::RicartAgrawala
                | Subject::Lamport
                | Subject::NaimiTrehel,
                _,
            ) if self.capacity != 1 => Err(SpecError::OneUnitOnly(self.subject)),
            (subject, Variant::Published { .. }) if subject.is_baseline() => Err(SpecError::OneTextOnly(subject)),
            (Subject::Central, _) => Ok(visitor.visit(self.baseline(self.central()))),
            (Subject::Raymond, _) => Ok(visitor.visit(self.baseline(self.raymond()))),
            (Subject::SuzukiKasami, _) => Ok(visitor.visit(self.baseline(self.suzuki_kasami()))),
            (Subject::RicartAgrawala, _) => Ok(visitor.visit(self.baseline(self.ricart_agrawala()))),
            (Subject::Lamport, _) => Ok(visitor.visit(self.baseline(self.lamport()))),
            (Subject::NaimiTrehel, _) => Ok(visitor.visit(self.baseline(self.naimi_trehel()))),
            (Subject::Raynal, _) => Ok(visitor.visit(self.baseline(self.raynal()))),
            (Subject::Flood, Variant::Repaired) => {
                let model = Model::settled(self.flood(), self.topology.clone(), self.down.clone());
                Ok(visitor.visit(self.finish(model.map_err(crate::ModelError::from)?)))
            }
            (Subject::Flood, Variant::Published { repairs }) => {
                let nodes = self.flood_published(repairs)?;
                let model = Model::settled(nodes, self.topology.clone(), self.down.clone());
                Ok(visitor.visit(self.finish(model.map_err(crate::ModelError::from)?)))
            }
            (Subject::Group, Variant::Repaired) => {
                let model = Model::new(self.group(), self.topology.clone());
                Ok(visitor.visit(self.finish(model)))
            }
            (Subject::Group, Variant::Published { repairs }) => {
                let model = Model::new(self.group_published(repairs)?, self.topology.clone());
                Ok(visitor.visit(self.finish(model)))
            }
            (Subject::GroupOverRelay, Variant::Published { .. }) => Err(SpecError::PublishedOverRelay),
            (Subject::GroupOverRelay, Variant::Repaired) => {
                let nodes = self.group().into_iter().map(|node| Relayed::new(node, relay::Config::default())).collect();
                let model = Model::settled(nodes, self.topology.clone(), self.down.clone());
                Ok(visitor.visit(self.finish(model.map_err(crate::ModelError::from)?)))
            }
        }
    }

    /// Everything about the model that does not depend on the protocol's type.
    pub(super) fn finish<P: Protocol>(&self, model: Model<P>) -> Model<P> {
        Model {
            medium: if self.subject.is_any_to_any() { Medium::AnyToAny } else { Medium::Links },
            down: self.down.clone(),
            changeable: self.changeable.clone(),
            keep_connected: self.keep_connected,
            failing: self.failing,
            fifo: self.fifo,
            workload: self.workload.clone(),
            budgets: self.budgets.clone(),
            timers: self.timers,
            setting: self.setting(),
            rules: self.watched(),
            max_level: self.max_level,
            max_channel: self.max_channel,
            clock_reach: self.clock_reach(),
            ..model
        }
    }

    pub(super) fn ids(&self) -> Vec<NodeId> {
        (0..).map(NodeId).take(self.topology.len()).collect()
    }

    fn reverse_link(&self) -> Vec<reverse_link::Node> {
        let node = |id| {
            reverse_link::Node::new(reverse_link::Config {
                id,
                starts_with_token: id == NodeId(0),
                capacity: Units(self.capacity),
                order: self.order,
                joins: self.joins,
                planted: self.seeds.reverse_link,
            })
        };
        self.ids().into_iter().map(node).collect()
    }

    fn reverse_link_published(&self, names: &[String]) -> Result<Vec<reverse_link::published::Node>, SpecError> {
        use reverse_link::published::{Config, network};
        let repairs = self.repairs(names)?;
        let config = Config { capacity: Units(self.capacity), epsilon: self.epsilon, repairs };
        let up = self.topology.links().iter().filter(|link| !self.down.contains(link));
        let edges: Vec<_> = up.map(|link| (link.low().0, link.high().0)).collect();
        let readings = self.other_readings()?;
        let nodes = network(u32::try_from(self.topology.len()).unwrap_or(u32::MAX), &edges, NodeId(0), config);
        Ok(nodes.into_iter().map(|node| node.read_as(readings)).collect())
    }

    fn flood(&self) -> Vec<flood::Node> {
        let node = |id| {
            flood::Node::new(flood::Config {
                id,
                starts_with_token: id == NodeId(0),
                retry: RETRY,
                planted: self.seeds.flood,
            })
        };
        self.ids().into_iter().map(node).collect()
    }

    fn flood_published(&self, names: &[String]) -> Result<Vec<flood::published::Node>, SpecError> {
        use flood::published::{Config, Node};
        let repairs = self.repairs(names)?;
        let readings = self.other_readings()?;
        let node = |id| Node::new(Config { id, stations: self.ids(), repairs }).read_as(readings);
        Ok(self.ids().into_iter().map(node).collect())
    }

    fn group(&self) -> Vec<group::Node> {
        let node = |id| {
            let config = group::Config::among(self.ids(), id, Level(self.levels), self.repeats.then_some(RETRY));
            group::Node::new(group::Config { planted: self.seeds.group, ..config })
        };
        self.ids().into_iter().map(node).collect()
    }

    fn group_published(&self, names: &[String]) -> Result<Vec<group::published::Node>, SpecError> {
        use group::published::{Config, Node};
        let repairs = self.repairs(names)?;
        let node = |id| Node::new(Config { id, members: self.ids(), levels: Level(self.levels), repairs });
        Ok(self.ids().into_iter().map(node).collect())
    }

    /// The defects of these names, whatever their case.
    fn repairs<D: Defect>(&self, names: &[String]) -> Result<Repairs<D>, SpecError> {
        let subject = self.subject;
        named(names).map_err(|(name, known)| SpecError::NoSuchRepair { subject, name, known })
    }

    fn other_readings<D: Defect>(&self) -> Result<Repairs<D>, SpecError> {
        let subject = self.subject;
        named(&self.readings).map_err(|(name, known)| SpecError::NoSuchReading { subject, name, known })
    }
}

/// The set of these names; otherwise the one that is wrong, and all that there are.
fn named<D: Defect>(names: &[String]) -> Result<Repairs<D>, (String, String)> {
    let known = || D::ALL.iter().map(|defect| defect.name()).collect::<Vec<_>>().join(", ");
    names.iter().map(|name| D::named(name).ok_or_else(|| (name.clone(), known()))).collect()
}
