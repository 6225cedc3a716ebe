//! Tapes for the page, one for each resource, filled by a recorder while things happen.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshlock_node::record::Outlet;
use meshlock_viewer::Tape;
use meshlock_viewer::source::TapeName;
use tokio::sync::watch;

/// The most that is kept of one resource.
const LARGEST: usize = 64 * MEGABYTE;
/// What is divided among the resources.
const TO_SHARE: usize = 192 * MEGABYTE;
/// Even the last of as many resources as can be recorded gets so much: with [`TO_SHARE`] that makes 256 MB in all.
const SMALLEST: usize = MEGABYTE / 4;
const MEGABYTE: usize = 1 << 20;

/// Tapes that a recorder fills. Clones have the same tapes.
#[derive(Clone, Debug)]
pub(crate) struct Tapes {
    shelf: Arc<Mutex<Shelf>>,
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct Shelf {
    tapes: Vec<(String, Arc<Tape>)>,
    /// How many resources are known to come.
    expected: usize,
    left: usize,
}

impl Tapes {
    /// No tapes yet, but for so many resources there will be some.
    pub(crate) fn new(expected: usize) -> Self {
        let shelf = Shelf { tapes: Vec::new(), expected, left: TO_SHARE };
        Self { shelf: Arc::new(Mutex::new(shelf)), changes: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they are called, in the order in which they came.
    pub(crate) fn names(&self) -> Vec<TapeName> {
        self.lock().tapes.iter().map(|(name, _)| TapeName { name: name.clone() }).collect()
    }

    pub(crate) fn name(&self, tape: usize) -> Option<String> {
        self.lock().tapes.get(tape).map(|(name, _)| name.clone())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Tape>> {
        self.lock().tapes.iter().map(|(_, tape)| Arc::clone(tape)).collect()
    }

    /// Changes when there are more of them, or when [`Self::tell`] was called.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Tells those who look that there is something new to know.
    pub(crate) fn tell(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl Shelf {
    /// How much is kept of the next resource: those that were expected share equally, others get a part of the rest.
    fn next_share(&mut self) -> usize {
        let share = match self.expected.checked_sub(self.tapes.len()) {
            Some(to_come) if to_come > 0 => self.left / (to_come + 1),
            Some(_) | None => self.left / 3,
        };
        let share = share.min(LARGEST);
        self.left -= share;
        share.max(SMALLEST)
    }
}

impl Outlet for Tapes {
    fn open(&mut self, resource: &str) -> io::Result<Option<Box<dyn Write + Send>>> {
        // The mesh's own lock, under which resources are made, is of no interest to those who use them.
        if resource.starts_with("meshlock:") {
            return Ok(None);
        }
        let mut shelf = self.lock();
        let (tape, writer) = Tape::written(shelf.next_share());
        shelf.tapes.push((resource.to_owned(), tape));
        drop(shelf);
        self.tell();
        Ok(Some(Box::new(writer)))
    }

    fn name(&self, resource: &str) -> String {
        format!("the page's tape of {resource:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(expected: usize, resources: usize) -> Vec<usize> {
        let mut tapes = Tapes::new(expected);
        let share = |number: usize| {
            let before = tapes.lock().left;
            tapes.open(&format!("r{number}")).expect("in memory");
            (before - tapes.lock().left).max(SMALLEST)
        };
        (0..resources).map(share).collect()
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for expected in [0, 1, 4, 100, 256, 1_000] {
            let shares = shares(expected, 256);
            assert!(shares.iter().all(|share| *share <= LARGEST), "{expected}");
            assert!(shares.iter().sum::<usize>() <= 256 * MEGABYTE, "{expected}");
        }
        let four = shares(4, 4);
        assert!(four.iter().all(|share| *share > 30 * MEGABYTE), "{four:?}");
    }

    #[test]
    fn the_registry_is_not_shown_and_tapes_keep_their_places() {
        let mut tapes = Tapes::new(2);
        let changes = tapes.changes();
        assert!(tapes.open("meshlock:registry").expect("fine").is_none());
        assert!(!changes.has_changed().expect("open"));
        for name in ["gate", "docks"] {
            assert!(tapes.open(name).expect("fine").is_some());
        }
        assert!(changes.has_changed().expect("open"));
        assert_eq!((tapes.name(0).as_deref(), tapes.name(1).as_deref()), (Some("gate"), Some("docks")));
        assert_eq!((tapes.name(2), tapes.all().len(), tapes.names().len()), (None, 2, 2));
    }
}
