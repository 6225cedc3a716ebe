//! What was computed before in an exploration: equal nodes are kept once, and no node hears a word twice at one time.
//!
//! Worlds differ in which nodes they combine, and there are far fewer nodes than worlds.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use meshlock_core::recovery::voters::Time;

use super::world::{Actor, Air, Outcome};

/// By hashes of 64 bits, which tell states apart as well.
#[derive(Clone, Default)]
pub(super) struct Memory(Rc<RefCell<Tables>>);

#[derive(Default)]
struct Tables {
    actors: HashMap<u64, Actor, FixedState>,
    airs: HashMap<u64, Air, FixedState>,
    outcomes: HashMap<Heard, Outcome, FixedState>,
}

/// Which node, when, and which word.
pub(super) type Heard = (u64, Time, u64);

impl Memory {
    /// Another exploration begins, perhaps with another bug.
    pub(super) fn forget(&self) {
        *self.0.borrow_mut() = Tables::default();
    }

    pub(super) fn actor(&self, actor: Actor) -> Actor {
        self.0.borrow_mut().actors.entry(actor.hash()).or_insert(actor).clone()
    }

    /// The ones that are equal.
    pub(super) fn air(&self, air: Air) -> Air {
        self.0.borrow_mut().airs.entry(air.hash()).or_insert(air).clone()
    }

    pub(super) fn outcome(&self, heard: Heard, compute: impl FnOnce() -> Outcome) -> Outcome {
        let known = self.0.borrow().outcomes.get(&heard).cloned();
        known.unwrap_or_else(|| {
            let outcome = compute();
            self.0.borrow_mut().outcomes.insert(heard, outcome.clone());
            outcome
        })
    }
}
