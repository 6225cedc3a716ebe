//! The printed texts, line by line. They are wrong in known ways and must never run on a network.

pub mod flood;
pub mod group;
pub mod reverse_link;
