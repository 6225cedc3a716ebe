//! The configuration of a node: flags, then the environment, then `meshlock.toml`, then defaults.
//!
//! [`Settings`] is what one of these says, everything optional; [`NodeConfig`] is what follows from all of them. The
//! list of keys, with defaults and meanings, is [`keys::KEYS`]; `docs/configuration.md` is made of it.

mod environment;
pub mod keys;
mod node;
mod resource;
mod settings;
pub mod socket;
mod time;
pub mod token;

pub use node::{LogFormat, NodeConfig, PORT, Problems, check_peer};
pub use resource::{OrderName, ResourceSettings};
pub use settings::{ApiSettings, MeshSettings, NodeSettings, Settings, SettingsError};
pub use time::Time;

/// The configuration file in a mesh directory.
pub const CONFIG_FILE: &str = "meshlock.toml";
