//! The five messages of the paper, each with its sender's height.

use meshlock_core::reverse_link::Height;
use meshlock_core::vocabulary::{Rank, Units};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Message {
    /// The paper's `ht`: the sender's height when it sent this.
    pub height: Height,
    #[serde(flatten)]
    pub body: Body,
}

/// What a message says. REQUEST and UPDATE speak for their sender, so its id is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// TOKEN(t): the token with t free units.
    Token(Units),
    /// REQUEST(S): the sender wants the token, with this priority.
    Request(Rank),
    /// RELEASE(r): so many units come back.
    Release(Units),
    /// UPDATE(S): the sender's request now has this priority.
    Update(Rank),
    /// LINK: nothing but the height.
    Link,
}

impl Body {
    /// The word under which it is counted.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Request(_) => "request",
            Self::Release(_) => "release",
            Self::Update(_) => "update",
            Self::Link => "link",
        }
    }
}
