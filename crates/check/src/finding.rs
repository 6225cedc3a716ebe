//! What can be wrong: a broken rule, or a node that does what no node may do.

use meshlock_core::{Misuse, NodeId, Rejection};
use meshlock_properties::{Rule, Violation};

/// The name of findings that are no broken rule.
pub const PROTOCOL: &str = "protocol";

/// What every node must do, besides the rules.
pub const PROTOCOL_WORDS: &str =
    "no node rejects another's message, sends where it has no link, or refuses an event that no caller made";

/// Something that must not happen, happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// A message was rejected, though every peer here runs the protocol.
    #[error("node {node} rejects a message from node {from}: {reason}")]
    Rejected { node: NodeId, from: NodeId, reason: Rejection },
    /// A message to a node that the sender has no link to.
    #[error("node {node} sends {kind} to node {to}, to which it has no link")]
    StraySend { node: NodeId, to: NodeId, kind: &'static str },
    #[error("node {node} sends {kind} to itself")]
    SelfSend { node: NodeId, kind: &'static str },
    /// A node refused an event that no caller made.
    #[error("node {node} calls {event} a caller's mistake: {misuse}")]
    Refused { node: NodeId, event: &'static str, misuse: Misuse },
}

impl Finding {
    /// The broken rule, if it is one.
    pub const fn rule(&self) -> Option<Rule> {
        match self {
            Self::Rule(violation) => Some(violation.rule),
            Self::Rejected { .. } | Self::StraySend { .. } | Self::SelfSend { .. } | Self::Refused { .. } => None,
        }
    }

    /// The name of the broken rule; `protocol` if it is none.
    pub fn rule_name(&self) -> &'static str {
        self.rule().map_or(PROTOCOL, Rule::name)
    }

    pub fn rule_words(&self) -> &'static str {
        self.rule().map_or(PROTOCOL_WORDS, Rule::words)
    }

    /// The node at which it shows, if at one.
    pub const fn node(&self) -> Option<NodeId> {
        match self {
            Self::Rule(violation) => violation.node,
            Self::Rejected { node, .. }
            | Self::StraySend { node, .. }
            | Self::SelfSend { node, .. }
            | Self::Refused { node, .. } => Some(*node),
        }
    }

    pub(crate) fn endless(node: Option<NodeId>, what: String) -> Self {
        Self::Rule(Violation { rule: Rule::MessagesEnd, node, what })
    }
}
