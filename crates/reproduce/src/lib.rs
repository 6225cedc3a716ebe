//! Every quantitative claim of the three papers, beside our measurement.
//!
//! A claim says what was printed, as bounds on numbers, how it is measured here and what is to be expected; measuring it
//! gives numbers for each text, and these decide the verdict. All claims stand in three lists, one per paper.
//!
//! | module | what it is |
//! |---|---|
//! | [`claim`] | claims and findings |
//! | [`verdict`] | from numbers to words |
//! | [`lab`] | runs scenarios, in parallel |
//! | [`page`] | all findings as a table and as a page |
//! | [`jiang`] | J-1 to J-16: prioritized h-out-of-k |
//! | [`psar`] | P-1 to P-13: the report on flooding |
//! | [`swaroop`] | S4-1 to S4-16: group mutual exclusion |

pub mod claim;
pub mod jiang;
pub mod lab;
pub mod page;
mod prelude;
pub mod psar;
mod scenarios;
mod show;
pub mod swaroop;
pub mod verdict;
mod watching;

pub use claim::{Check, Claim, Evidence, Finding};
pub use lab::{Effort, Lab};
pub use verdict::{Column, Conclusion, Demand, Fact, Text, Verdict};

pub fn claims() -> Vec<Claim> {
    [jiang::CLAIMS, psar::CLAIMS, swaroop::CLAIMS].concat()
}
