//! Why something was refused.

use serde::{Deserialize, Serialize};

/// The answer to what was refused: one sentence for people, one word for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[error("{message}")]
pub struct Problem {
    /// The word.
    pub reason: Reason,
    /// The sentence; it names the fix where there is one.
    pub message: String,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The question makes no sense: bad JSON, a bad name, a number out of range. HTTP 400.
    BadRequest,
    /// The bearer token is missing or wrong. HTTP 401.
    Unauthorized,
    /// No such request or resource. HTTP 404.
    Unknown,
    /// It can never be granted as it is: too many units, another definition, an id used for something else. HTTP 409.
    Conflict,
    /// The request is over: lost, expired or given back. HTTP 410.
    Gone,
    /// The body is too large. HTTP 413.
    TooLarge,
    /// The node is shutting down, or has too much to do. HTTP 503.
    Unavailable,
}

impl Reason {
    /// The status code of HTTP.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Unknown => 404,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::Unavailable => 503,
        }
    }
}

impl Problem {
    /// A refusal with its sentence.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// The question makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// No such thing.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Reason::Unknown, message)
    }

    /// It can never be granted as it is.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Reason::Conflict, message)
    }

    /// The request is over.
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(Reason::Gone, message)
    }
}
