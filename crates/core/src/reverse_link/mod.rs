//! Prioritized h-out-of-k over a reverse-link graph (Jiang), and what we run instead of the printed text.

mod height;
pub mod published;

pub use height::Height;
