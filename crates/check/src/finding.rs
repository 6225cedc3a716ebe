//! What can be wrong: a broken rule, or a node that does what no node may do.

use meshlock_core::{Misuse, NodeId, Rejection};
use meshlock_properties::{Rule, Violation};

/// What findings are called that are no broken rule.
pub const PROTOCOL: &str = "protocol";

/// What every node does without a rule.
pub const PROTOCOL_WORDS: &str =
    "no node rejects what another one sends, sends where it has no link, or refuses what is no caller's doing";

/// Something that must not happen, happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// A message was rejected, though every peer here runs the protocol.
    #[error("node {node} rejects a message from node {from}: {reason}")]
    Rejected {
        /// Who rejects.
        node: NodeId,
        /// Who sent.
        from: NodeId,
        /// Why.
        reason: Rejection,
    },
    /// A message to a node that the sender has no link to.
    #[error("node {node} sends {kind} to node {to}, to which it has no link")]
    StraySend {
        /// Who sends.
        node: NodeId,
        /// To whom.
        to: NodeId,
        /// What kind of message.
        kind: &'static str,
    },
    /// A message to itself.
    #[error("node {node} sends {kind} to itself")]
    SelfSend {
        /// Who.
        node: NodeId,
        /// What kind of message.
        kind: &'static str,
    },
    /// A node refused an event that is no caller's doing.
    #[error("node {node} calls {event} a caller's mistake: {misuse}")]
    Refused {
        /// Who.
        node: NodeId,
        /// What happened to it.
        event: &'static str,
        /// What it said.
        misuse: Misuse,
    },
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

    /// What that rule says.
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
