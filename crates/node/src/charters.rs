//! The mesh's charter as neighbours tell each other of it: believed if it is signed, stored, and only then passed on.
//!
//! A node goes by the charter that its disk had when it was started. So one that arrives counts from the next start on, and
//! one that was told but not stored would be forgotten by then: it is not passed on.

use crate::mesh::{Charter, Identity, MeshError};

/// What stands before a charter among the statements of the authority. Neighbours of a version that knows no charters here
/// take it for a damaged removal, and ignore it.
const MARK: &[u8] = b"meshlock charter\0";

/// The charter that is stored, and a newer one that is not yet.
#[derive(Debug, Default)]
pub(crate) struct Charters {
    stored: Option<Charter>,
    unstored: Option<Charter>,
}

impl Charters {
    pub(crate) fn new(stored: Option<Charter>) -> Self {
        Self { stored, unstored: None }
    }

    /// The charter in a statement of a neighbour, if it is one.
    pub(crate) fn in_statement(bytes: &[u8]) -> Option<&[u8]> {
        bytes.strip_prefix(MARK)
    }

    /// What neighbours are told.
    pub(crate) fn statement(&self) -> Option<Vec<u8>> {
        self.stored.as_ref().map(|charter| [MARK, charter.to_bytes()].concat())
    }

    /// The number of the stored one; 0 for none.
    pub(crate) fn number(&self) -> u32 {
        self.stored.as_ref().map_or(0, Charter::number)
    }

    /// Keeps a charter for [`to_store`](Self::to_store) if it is signed, newer than what is known, and one that members may
    /// take up one by one.
    pub(crate) fn hear(&mut self, bytes: &[u8], identity: &Identity) -> Result<(), MeshError> {
        let known: Vec<&Charter> = self.stored.iter().chain(&self.unstored).collect();
        if known.iter().any(|known| known.to_bytes() == bytes) {
            return Ok(());
        }
        let charter = Charter::verify(bytes, identity)?;
        if known.iter().all(|known| charter.newer_than(known)) {
            charter.may_follow(self.stored.as_ref())?;
            self.unstored = Some(charter);
        }
        Ok(())
    }

    /// What is to be stored.
    pub(crate) fn to_store(&self) -> Option<&Charter> {
        self.unstored.as_ref()
    }

    /// A charter is on disk. Whether it is news.
    pub(crate) fn is_stored(&mut self, charter: Charter) -> bool {
        if self.unstored.as_ref().is_some_and(|unstored| !unstored.newer_than(&charter)) {
            self.unstored = None;
        }
        let is_news = self.stored.as_ref().is_none_or(|stored| charter.newer_than(stored));
        if is_news {
            self.stored = Some(charter);
        }
        is_news
    }
}
