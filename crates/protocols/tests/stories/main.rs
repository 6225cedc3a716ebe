//! Stories: what happens on small networks, step by step, in the words of the protocols' pages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod baselines;
mod capacity;
mod flood;
mod group;
mod hostile_peers;
mod leaving;
mod open_group;
mod relay;
mod reverse_link;
mod reverse_link_published;
mod saved_nodes;
mod story;
