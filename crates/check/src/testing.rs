//! Small protocols, right and wrong, to try the checker itself.

mod desk;
mod echo;
mod hello;

pub(crate) use desk::{Desk, DeskBug};
pub(crate) use echo::Echo;
pub(crate) use hello::Hello;

use crate::explore::{Explorer, Options};
use crate::model::Model;
use crate::report::{Outcome, Silent};
use meshlock_core::Protocol;

/// Explores with default options.
pub(crate) fn explore<P: Protocol>(model: Model<P>) -> Outcome<P> {
    explore_with(model, Options::default())
}

/// Explores with these options.
pub(crate) fn explore_with<P: Protocol>(model: Model<P>, options: Options) -> Outcome<P> {
    Explorer::new(model).options(options).run(&mut Silent).unwrap()
}
