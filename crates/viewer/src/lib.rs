//! Shows any mesh in the browser: simulated, checked, recorded or live.
//!
//! Everything that is shown is a trace, whether it stands in a file, grows while a simulation runs, or comes from nodes
//! that are up. A [`Tape`] is such a trace in chunks, each with everything as it was at its beginning, so that the page
//! can jump to any moment of a trace of any size. The page is embedded; `page/app/types.d.ts` says what page and server
//! tell each other.
//!
//! | module | what it is |
//! |---|---|
//! | [`tape`] | a trace in chunks, from a file or a live writer |
//! | [`source`] | what is looked at, and what one may do there |
//! | [`explore`] | the states of a model, as a checker shows them |
//! | [`server`] | serves the page and what it asks for |

pub mod explore;
pub mod server;
pub mod source;
pub mod tape;

mod assets;
mod export;
mod guard;
mod line;
mod marks;
mod routes;
mod scene;

pub use explore::{Explore, Next, Overview, Place, Property};
pub use export::export;
pub use server::{ServeError, Server, Serving};
pub use source::{About, Action, Condition, Done, Playing, Refusal, Repair, Source};
pub use tape::{OpenError, Tape, TapeWriter};
