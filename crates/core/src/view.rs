//! What a property, a trace or a viewer may see of a node, in the same words for all protocols.

use alloc::vec::Vec;

use crate::reverse_link::Height;
use crate::slots::Slots;
use crate::vocabulary::{Grant, GrantId, NodeId, Rank, RequestId, Session, Units};

/// One node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct View {
    /// The protocol's own word for the state of this node, such as `ES`, `HS` or `holder`.
    pub role: alloc::string::String,
    /// Its height, where the protocol has heights.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub height: Option<Height>,
    /// The token, if it is here.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub token: Option<TokenView>,
    /// It gave the token away and keeps a copy until it knows that it arrived.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::ops::Not::not"))]
    pub keeps_copy: bool,
    /// This protocol has no token: a node enters by the permission of the others.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::ops::Not::not"))]
    pub by_permission: bool,
    /// The neighbours it knows to be up.
    pub neighbours: Vec<NodeId>,
    /// Where its outstanding request is.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub asked: Option<NodeId>,
    /// The claims it knows, most urgent first.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub queue: Vec<Claimant>,
    /// Local requests that are not answered yet.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub waiting: Vec<Waiting>,
    /// Local grants in use.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub holding: Vec<Grant>,
    /// Released units this node still has to bring to the token.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub returning: Vec<Returning>,
    /// The units of the resource as far as it knows, where they can change.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub capacity: Option<Units>,
    /// It is about to go.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::ops::Not::not"))]
    pub leaving: bool,
    /// In a group protocol: the captain it follows.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub captain: Option<NodeId>,
    /// In a group protocol: its count of followers (may be negative while completes run ahead of the token).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub followers: Option<i64>,
}

/// The token as seen from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct TokenView {
    /// How often it was given away; `None` where the protocol does not count.
    pub pass: Option<u64>,
    /// Units that may be granted.
    pub free: Units,
    /// The units of the resource as it says, where they can change.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub capacity: Option<Units>,
    /// The grants it knows of, where it keeps a ledger; otherwise `None`.
    pub ledger: Option<Vec<LedgerView>>,
    /// The session that is open.
    pub session: Option<Session>,
    /// The requests it carries, in order of service, where the queue travels with it.
    pub queue: Vec<Claimant>,
    /// The followers it says are inside (group protocol).
    pub followers: Option<i64>,
}

/// One entry of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LedgerView {
    /// The grant in use.
    pub grant: GrantId,
    /// The units it uses.
    pub units: Units,
    /// The session it attends, if any.
    pub session: Option<Session>,
    /// Which units, where they are numbered.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Slots::is_empty"))]
    pub slots: Slots,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claimant {
    /// The request or node it stands for.
    pub origin: Origin,
    /// Its urgency; higher is served first.
    pub rank: Rank,
    /// The units it asks for.
    pub units: Units,
    /// The session it wants to attend, if any.
    pub session: Option<Session>,
}

/// What an entry of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Origin {
    /// A request of this node.
    Local(RequestId),
    /// A neighbour, on its own behalf or another's (in protocols whose queue travels: any node).
    Node(NodeId),
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Waiting {
    /// Its number.
    pub request: RequestId,
    /// Its urgency; higher is served first.
    pub rank: Rank,
    /// The units it asks for.
    pub units: Units,
    /// The session it wants to attend, if any.
    pub session: Option<Session>,
}

/// Released units on their way to the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Returning {
    /// The released grant, where releases name it. Copies of one release count once.
    pub grant: Option<GrantId>,
    /// The released units; zero where the ledger knows them.
    pub units: Units,
}
