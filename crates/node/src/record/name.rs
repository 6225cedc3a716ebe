//! The files of a recording: one for each resource.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The longest part of a file name that is made of a resource's name; file systems know names of up to 255 bytes.
const LONGEST: usize = 160;

/// The file of one resource: `run.jsonl` becomes `run.dock.jsonl`.
pub(super) fn file_of(path: &Path, resource: &str) -> PathBuf {
    let (stem, ending) = split(path);
    path.with_file_name(format!("{stem}.{}{ending}", encoded(resource)))
}

/// A name under which nothing is recorded yet: this one, or with a number. Recordings of before stay as they are, also
/// where a supervisor starts the same command again.
pub fn unused(path: &Path) -> io::Result<PathBuf> {
    let (stem, ending) = split(path);
    let dir = path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
    let mut taken = BTreeSet::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // The file of a resource is STEM.RESOURCE.ENDING, and a stem with a number is STEM-2.
        if let Some(rest) = name.strip_suffix(ending).and_then(|name| name.strip_prefix(&stem)) {
            let number = rest.split('.').next().unwrap_or_default();
            let of_resource = rest.len() > number.len();
            match number.strip_prefix('-').map(str::parse) {
                Some(Ok(number)) if of_resource => drop(taken.insert(number)),
                None if number.is_empty() && of_resource => drop(taken.insert(1u64)),
                Some(_) | None => {}
            }
        }
    }
    match (1..).find(|number| !taken.contains(number)) {
        Some(1) | None => Ok(path.to_owned()),
        Some(number) => Ok(path.with_file_name(format!("{stem}-{number}{ending}"))),
    }
}

/// `run.jsonl` is `run` and `.jsonl`.
fn split(path: &Path) -> (String, &'static str) {
    let whole = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ending = [".trace.jsonl", ".jsonl"].into_iter().find(|ending| whole.ends_with(ending) && whole != *ending);
    let ending = ending.unwrap_or_default();
    (whole.strip_suffix(ending).unwrap_or(&whole).to_owned(), ending)
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
    fn recordings_of_before_stay() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("run.jsonl");
        let next = || unused(&path).expect("readable").file_name().expect("a name").to_owned();
        let put = |name: &str| std::fs::write(place.path().join(name), "").expect("writable");
        assert_eq!(next(), "run.jsonl");
        for other in ["run.jsonl", "runs.dock.jsonl", "run.dock.txt", "run-x.dock.jsonl", "run-3.dock.jsonl"] {
            put(other);
            assert_eq!(next(), "run.jsonl", "{other}");
        }
        put("run.dock.jsonl");
        assert_eq!(next(), "run-2.jsonl");
        put("run-2.meshlock%3Aregistry.jsonl");
        assert_eq!(next(), "run-4.jsonl");
        assert!(unused(&place.path().join("missing/run.jsonl")).is_err());
    }

    #[test]
    fn long_names_stay_apart() {
        let (a, b) = (encoded(&":".repeat(127)), encoded(&":".repeat(128)));
        assert!(a.len() < 200 && b.len() < 200);
        assert_ne!(a, b);
    }
}
