//! What to do if an answer was not read.
//!
//! An answer is written into a buffer of the system, and that says nothing about its reader. A peer that is killed before
//! it has read what is in there leaves a trace, though: its system resets the connection instead of closing it, and
//! writing to it fails.

use std::sync::{Arc, Mutex, PoisonError};

type Deed = Box<dyn FnOnce() + Send>;

/// The last answer on a connection. Every request has it among its extensions.
#[derive(Clone, Default)]
pub struct Delivery(Arc<Mutex<Option<Deed>>>);

impl Delivery {
    /// Does this if the connection breaks before the peer has read the answer to the present request.
    pub fn unless_read(&self, deed: impl FnOnce() + Send + 'static) {
        *self.deed() = Some(Box::new(deed));
    }

    pub(crate) fn arrived(&self) {
        *self.deed() = None;
    }

    pub(crate) fn failed(&self) {
        let deed = self.deed().take();
        if let Some(deed) = deed {
            deed();
        }
    }

    fn deed(&self) -> std::sync::MutexGuard<'_, Option<Deed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delivery")
    }
}
