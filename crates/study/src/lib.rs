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
//! | [`summary`] | means with intervals, paired comparisons |
//! | [`figure`], [`methods`], [`page`], [`files`] | plots, the text on methods, the report, and all files made of the runs |

pub mod conduct;
mod csv;
pub mod figure;
pub mod files;
pub mod identity;
mod measure;
pub mod methods;
pub mod page;
#[cfg(feature = "parquet")]
mod parquet;
pub mod plan;
pub mod record;
pub mod shard;
pub mod store;
pub mod subject;
pub mod summary;
#[cfg(test)]
mod testing;
