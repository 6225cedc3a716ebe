//! Messages as the protocol's own type writes them, without the node's wrapping.

use std::hash::{Hash, Hasher};

use meshlock_core::Effect;
use serde::{Serialize, Serializer};

use crate::wire::Payload;

/// A message in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said(pub(super) Payload);

impl Serialize for Said {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Payload::ReverseLink(message) => message.serialize(serializer),
            Payload::Flood(message) => message.serialize(serializer),
            Payload::Group(message) => message.serialize(serializer),
        }
    }
}

impl Hash for Said {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Payload::ReverseLink(message) => message.hash(state),
            Payload::Flood(message) => message.hash(state),
            Payload::Group(message) => message.hash(state),
        }
    }
}

/// An effect as it stands in a trace.
pub(super) fn said(effect: &Effect<Payload>) -> Effect<Said> {
    match effect.clone() {
        Effect::Send { to, message } => Effect::Send { to, message: Said(message) },
        Effect::Multicast { to, message } => Effect::Multicast { to, message: Said(message) },
        Effect::Broadcast { message } => Effect::Broadcast { message: Said(message) },
        Effect::Granted { grant } => Effect::Granted { grant },
        Effect::Arm { timer, after } => Effect::Arm { timer, after },
        Effect::Reject { from, reason } => Effect::Reject { from, reason },
    }
}
