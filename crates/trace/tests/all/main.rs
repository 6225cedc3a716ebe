//! All integration tests of this crate in one program: each program is linked with everything.

mod damage;
mod document;
mod round_trip;
mod support;
