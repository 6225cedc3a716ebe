//! The word that clients over TCP must present.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::mesh::durable::{self, Readers};
use crate::mesh::{MeshError, secret};

/// Reads the word from its file, which must not be readable by every user. If the file does not exist it is made, for its owner only, with a random word.
pub fn read_or_make(path: &Path) -> Result<String, MeshError> {
    secret::check(path)?;
    let Some(bytes) = durable::read(path)? else {
        let mut random = [0; 32];
        SystemRandom::new().fill(&mut random).map_err(|_| MeshError::Keys("no random numbers".to_owned()))?;
        let word = URL_SAFE_NO_PAD.encode(random);
        durable::write(path, format!("{word}\n").as_bytes(), Readers::Owner)?;
        return Ok(word);
    };
    let text = String::from_utf8_lossy(&bytes);
    let word = text.trim();
    if word.len() < SHORTEST || !word.chars().all(|c| c.is_ascii_graphic()) {
        return Err(MeshError::Damaged {
            path: path.to_owned(),
            why: format!("a token has at least {SHORTEST} visible characters; remove the file to get a new one"),
        });
    }
    Ok(word.to_owned())
}

const SHORTEST: usize = 16;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_word_is_made_once_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        let word = read_or_make(&path).unwrap();
        assert_eq!(read_or_make(&path).unwrap(), word);
        assert_eq!(word.len(), 43);
        fs::write(&path, "short\n").unwrap();
        assert!(read_or_make(&path).expect_err("short").to_string().contains("remove the file"));
    }
}
