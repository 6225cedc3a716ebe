//! The trace format.
