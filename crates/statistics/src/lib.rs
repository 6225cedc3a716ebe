//! Statistics a referee accepts: t intervals, paired differences, warm-up removal.
//!
//! Pure functions of slices; nothing is read, printed or drawn. No input makes them panic. What cannot be computed is
//! `NaN` (a value) or infinite (a half width): a sample that is no finite number makes the whole result unknown instead
//! of being left out silently. Each item says what it returns for too few samples.
//!
//! | question | answer |
//! |---|---|
//! | how large is it, and how sure is that? | [`Estimate`], [`enough`] |
//! | how large is it, where a few are huge? | [`Median`] |
//! | how is it distributed? | [`percentile`], [`percentile_of_sorted`] |
//! | how much of the beginning must go? | [`mser5`] |
//! | is one better than the other? | [`paired`], [`holm`] |
//! | does it depend on that? | [`line()`] |
//! | how often does it happen? | [`proportion`] |
//! | is it shared fairly? | [`jain`] |

mod compare;
mod estimate;
mod fairness;
mod line;
mod median;
mod percentile;
mod proportion;
mod student;
mod warmup;

pub use compare::{Comparison, holm, paired};
pub use estimate::{Estimate, enough};
pub use fairness::jain;
pub use line::{Line, line};
pub use median::Median;
pub use percentile::{percentile, percentile_of_sorted};
pub use proportion::{Proportion, proportion};
pub use student::{t_quantile, two_sided_p};
pub use warmup::{Truncation, mser5};
