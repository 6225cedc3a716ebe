//! The words that every claim is measured and told with.

pub(crate) use crate::claim::{Check, Evidence, Finding, check};
pub(crate) use crate::lab::{Lab, Sample, Samples};
pub(crate) use crate::show::{
    captioned, count, dashed, drawn, exact_point, figure, line, log_scale, mean, note, number, point, scale, table,
    words,
};
pub(crate) use crate::verdict::{Column, Fact, Runs, told};
pub(crate) use crate::watching::{received, sent, watch};
