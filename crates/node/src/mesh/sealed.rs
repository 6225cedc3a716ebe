//! Files for programs only: a first line that names kind and format, the content, and a SHA-256 over both.
//!
//! A file that is damaged is an error and never an empty one: forgetting is what these files are kept against.

use std::path::Path;

use ring::digest;

use super::MeshError;
use super::durable::{self, Readers};
use super::error::damaged;

/// What a file is, and in which format this version writes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) word: &'static str,
    pub(super) format: u32,
}

impl Kind {
    fn first_line(self) -> String {
        format!("meshlock {} {}\n", self.word, self.format)
    }

    /// The bytes of a file with this content.
    pub(super) fn seal(self, content: &[u8]) -> Vec<u8> {
        let mut out = self.first_line().into_bytes();
        out.extend_from_slice(content);
        let checksum = digest::digest(&digest::SHA256, &out);
        out.extend_from_slice(checksum.as_ref());
        out
    }

    /// Writes a file durably, for its owner only.
    pub(super) fn write(self, path: &Path, content: &[u8]) -> Result<(), MeshError> {
        durable::write(path, &self.seal(content), Readers::Owner)
    }

    /// The content of a file, if it is there.
    pub(super) fn read(self, path: &Path) -> Result<Option<Vec<u8>>, MeshError> {
        let Some(bytes) = durable::read(path)? else { return Ok(None) };
        self.open(path, &bytes).map(|content| Some(content.to_vec()))
    }

    /// The content of a file with these bytes.
    fn open<'a>(self, path: &Path, bytes: &'a [u8]) -> Result<&'a [u8], MeshError> {
        let cut = || damaged(path, "it is not whole");
        let length = bytes.len().checked_sub(digest::SHA256_OUTPUT_LEN).ok_or_else(cut)?;
        let (body, checksum) = bytes.split_at_checked(length).ok_or_else(cut)?;
        if digest::digest(&digest::SHA256, body).as_ref() != checksum {
            return Err(cut());
        }
        if let Some(content) = body.strip_prefix(self.first_line().as_bytes()) {
            return Ok(content);
        }
        let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let why = format!("it begins with {:?}", String::from_utf8_lossy(line));
        if line.starts_with(format!("meshlock {} ", self.word).as_bytes()) {
            return Err(MeshError::OtherFormat { path: path.to_owned(), why });
        }
        Err(damaged(path, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { word: "thing", format: 1 };

    #[test]
    fn content_comes_back_and_every_damage_is_told() {
        let path = Path::new("state/thing");
        let whole = KIND.seal(b"content");
        assert_eq!(KIND.open(path, &whole).unwrap(), b"content");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(matches!(KIND.open(path, &changed), Err(MeshError::Damaged { .. })), "byte {at}");
            assert!(matches!(KIND.open(path, &whole[..at]), Err(MeshError::Damaged { .. })), "cut at {at}");
        }
    }

    #[test]
    fn another_format_is_told_apart_from_another_file() {
        let path = Path::new("state/thing");
        let newer = Kind { format: 2, ..KIND }.seal(b"");
        let error = KIND.open(path, &newer).expect_err("newer").to_string();
        assert!(error.contains("another version") && error.contains("meshlock thing 2"), "{error}");
        let other = Kind { word: "other", ..KIND }.seal(b"");
        assert!(matches!(KIND.open(path, &other), Err(MeshError::Damaged { .. })));
    }
}
