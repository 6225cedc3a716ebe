#![cfg_attr(any(feature = "embedded", not(doctest)), doc = include_str!("../README.md"))]
//!
//! # Modules
//!
//! | module | what it is |
//! |---|---|
//! | [`client`] | finding a node, and what can be asked of it |
//! | [`lock`] | what is wanted: units, urgency, session, timeout |
//! | [`lock_all`] | several resources, all or none |
//! | [`guard`] | what is held, and how long it is safe |
//! | [`blocking`] | the same for programs without async |
//! | [`events`] | what happens at the node, as it happens |
//! | [`error`] | what can go wrong, with the fix in words |
//! | [`api`] | what nodes answer, as types |

#![warn(missing_docs)]

mod address;
mod backend;
pub mod blocking;
pub mod client;
#[cfg(feature = "embedded")]
mod embedded;
pub mod error;
pub mod events;
pub mod guard;
mod http;
mod keeper;
pub mod lock;
pub mod lock_all;
#[cfg(feature = "embedded")]
mod node;
mod stream;
mod trust;

pub use meshlock_api as api;

pub use client::{Builder, Client, Query};
pub use error::Error;
pub use events::Events;
pub use guard::{Guard, Loss};
pub use lock::{Lock, new_id};
pub use lock_all::{GuardAll, LockAll, Part};
#[cfg(feature = "embedded")]
pub use node::{Node, NodeBuilder, Stopped};
pub use stream::Anchor;
