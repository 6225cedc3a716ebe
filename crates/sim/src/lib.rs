//! A deterministic simulator of the same protocol code that nodes run: radio, mobility, traffic, measures.
//!
//! A [`scenario`] and a seed decide a run completely, on every machine and at every optimisation level. The world is a
//! value: it can be cloned, and two clones go on in the same way.
//!
//! | module | what it is |
//! |---|---|
//! | [`scenario`] | everything that decides a run, and how it is read from a file |
//! | [`mod@run`] | from a scenario and a seed to an outcome |
//! | [`world`], [`observe`] | the run at one moment, and its observers |
//! | [`record`] | a run as a trace |
//! | [`edit`], [`live`] | changes that a user makes in a live run, and a run paced by a clock |
//! | [`outcome`] | what a run leaves behind, not averaged |
//! | [`measures`] | named numbers of a run |
//! | [`mobility`], [`import`] | how nodes move: models, and recorded traces |
//! | [`geometry`] | legs, and the exact moments at which links come and go |
//! | [`distribution`], [`random`], [`time`] | distributions, random streams, simulated time |

mod agenda;
pub mod build;
mod clients;
pub mod distribution;
pub mod edit;
mod frames;
pub mod geometry;
pub mod import;
pub mod links;
pub mod live;
pub mod measures;
pub mod mobility;
pub mod observe;
pub mod outcome;
pub mod random;
mod reach;
pub mod record;
pub mod run;
pub mod scenario;
mod tally;
pub mod time;
mod topology;
mod watch;
pub mod world;

/// The version of the package, and a fingerprint of the sources of this crate and of all crates of ours it is built from:
/// equal versions give equal runs.
pub const CODE_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("MESHLOCK_SOURCES"));

#[cfg(test)]
mod tests {
    #[test]
    fn the_fingerprint_covers_all_that_decides_a_measure() {
        // Also when this crate gets another dependency: the list is read from the manifests.
        assert_eq!(env!("MESHLOCK_MEASURING"), "core properties protocols sim statistics trace");
    }
}
