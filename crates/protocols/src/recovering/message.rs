//! What travels between members.

use std::sync::Arc;

use meshlock_core::NodeId;
use meshlock_core::counters::CounterVisitor;
use meshlock_core::recovery::{Census, Report, Resource};
use serde::Serialize;

/// A frame, and which incarnation of its sender sent it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Message {
    pub from: NodeId,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// Who came and who is gone: first on every link, and ahead of everything else after it grew.
    Census(Census),
    /// What a node had when its census grew.
    Report(#[serde(serialize_with = "report")] Arc<Report>),
    /// Of the protocol of a resource.
    Inner { resource: Resource, message: Box<crate::Message> },
}

fn report<S: serde::Serializer>(report: &Arc<Report>, serializer: S) -> Result<S::Ok, S::Error> {
    report.as_ref().serialize(serializer)
}

impl Message {
    pub(super) fn visit_counters(&mut self, visitor: &mut dyn CounterVisitor) {
        match &mut self.body {
            Body::Census(_) => {}
            Body::Report(report) => Arc::make_mut(report).visit_counters(visitor),
            Body::Inner { message, .. } => {
                <crate::Node as meshlock_core::Protocol>::visit_message_counters(message, visitor);
            }
        }
    }
}
