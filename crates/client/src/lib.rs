//! Locks without a lock server, for programs in Rust.
//!
//! ```no_run
//! # async fn example() -> Result<(), meshlock::Error> {
//! let client = meshlock::Client::connect().await?;
//! let guard = client.lock("dock-3").priority(7).await?;
//! println!("we are number {}", guard.fence());
//! guard.release().await?; // or drop it
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] talks to the node of this machine over its socket, or is one itself: [`Client::embedded`]. Both have
//! the same interface. What is granted is a [`Guard`]: it renews its lease in the background, gives back what it holds
//! when it is dropped, and tells when it is [lost](Guard::lost) all the same.
//!
//! | module | what it is |
//! |---|---|
//! | [`client`] | finding a node, and what can be asked of it |
//! | [`lock`] | what is wanted: units, urgency, session, patience |
//! | [`guard`] | what is held, and how long it is safe |
//! | [`events`] | what happens at the node, as it happens |
//! | [`error`] | what can go wrong, with the fix in words |
//!
//! Everything runs on `tokio`.

mod address;
mod backend;
pub mod client;
#[cfg(feature = "embedded")]
mod embedded;
pub mod error;
pub mod events;
pub mod guard;
mod http;
mod keeper;
pub mod lock;
mod trust;

pub use meshlock_api as api;
#[cfg(feature = "embedded")]
pub use meshlock_node as node;

pub use client::{Builder, Client, Query};
pub use error::Error;
pub use events::Events;
pub use guard::{Guard, Loss};
pub use lock::{Lock, new_id};
