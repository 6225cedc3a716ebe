//! All integration tests of this crate in one program: each program is linked with everything.

mod bundles;
mod mutants;
mod stepping;
mod suite;
mod voters;
