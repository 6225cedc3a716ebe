//! Small protocols, right and wrong, to try the checker itself.

mod desk;
mod echo;
mod hello;

pub use desk::{Desk, DeskBug, DeskMessage};
pub use echo::{Echo, EchoMessage};
pub use hello::{Hello, HelloMessage};
