//! Simulation studies: many runs of a scenario, varied along axes, repeated, averaged, compared and drawn.
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | from the `[study]` part of a file to points |
//! | [`identity`] | how a run is recognised: scenario, seed, code |
//! | [`store`], [`record`] | finished runs as files, one each |
//! | [`conduct`](mod@conduct) | runs what is missing, on all cores; adds replications where an interval is too wide |
//! | [`shard`] | a share of a study |
//! | [`subject`] | what a study needs of a simulator |
//! | [`mod@estimate`] | how sure a mean is |

pub mod conduct;
pub mod estimate;
pub mod identity;
pub mod plan;
pub mod record;
pub mod shard;
pub mod store;
pub mod subject;
#[cfg(test)]
mod testing;
