//! The client library of meshlock.
pub use meshlock_api as api;
