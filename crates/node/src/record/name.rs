//! The files of a recording: one for each resource.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The longest part of a file name that is made of a resource's name; file systems know names of up to 255 bytes.
const LONGEST: usize = 160;

/// The file of one resource: `run.jsonl` becomes `run.dock.jsonl`.
pub(super) fn file_of(path: &Path, resource: &str) -> PathBuf {
    let whole = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ending = [".trace.jsonl", ".jsonl"].into_iter().find(|ending| whole.ends_with(ending) && whole != *ending);
    let ending = ending.unwrap_or_default();
    let stem = whole.strip_suffix(ending).unwrap_or(&whole);
    path.with_file_name(format!("{stem}.{}{ending}", encoded(resource)))
}

/// Percent-encodes what cannot stand in a file name everywhere.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.@+=,".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    if text.len() <= LONGEST {
        return text;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    text.truncate(LONGEST);
    format!("{text}-{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_a_file_beside_the_others() {
        let file = |path: &str, resource: &str| file_of(Path::new(path), resource).display().to_string();
        assert_eq!(file("logs/run.jsonl", "dock"), "logs/run.dock.jsonl");
        assert_eq!(file("run.trace.jsonl", "dock.2"), "run.dock.2.trace.jsonl");
        assert_eq!(file("run", "dock"), "run.dock");
        assert_eq!(file("run.jsonl", "meshlock:registry"), "run.meshlock%3Aregistry.jsonl");
        assert_eq!(file("run.jsonl", ".."), "run....jsonl");
    }

    #[test]
    fn long_names_stay_apart() {
        let (a, b) = (encoded(&":".repeat(127)), encoded(&":".repeat(128)));
        assert!(a.len() < 200 && b.len() < 200);
        assert_ne!(a, b);
    }
}
