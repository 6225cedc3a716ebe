//! Files of edits: read for a run that is run again, kept for a run in which somebody takes part.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use meshlock_sim::edit::Edits;
use meshlock_sim::edit::file::{self, Header};

pub(super) fn read(path: &Path) -> anyhow::Result<(Header, Edits)> {
    let name = path.display();
    let input = File::open(path).with_context(|| format!("cannot read the edits {name}"))?;
    file::read(BufReader::new(input)).with_context(|| format!("in {name}"))
}

/// Keeps what is done in a file of its own, from the first edit on.
#[derive(Debug)]
pub(super) struct Keeper {
    header: Header,
    wanted: PathBuf,
    /// Where it is kept, once something was done.
    kept: Option<PathBuf>,
}

impl Keeper {
    /// In this file, or in one with a number if another run is kept there.
    pub(super) const fn new(header: Header, wanted: PathBuf) -> Self {
        Self { header, wanted, kept: None }
    }

    pub(super) fn kept(&self) -> Option<&Path> {
        self.kept.as_deref()
    }

    pub(super) fn keep(&mut self, edits: &Edits) -> io::Result<()> {
        let mut text = Vec::new();
        file::write(&mut text, &self.header, edits)?;
        if let Some(path) = &self.kept {
            return fs::write(path, text);
        }
        for number in 1.. {
            let path = numbered(&self.wanted, number);
            match File::create_new(&path) {
                Ok(mut created) => {
                    created.write_all(&text)?;
                    self.kept = Some(path);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

const MOST_NAMES: u32 = 10_000;

/// `docks.edits.jsonl`, `docks-2.edits.jsonl`, and so on.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if number == 1 {
        return path.to_owned();
    }
    let (stem, ending) = name.split_once('.').map_or((name.as_str(), String::new()), |(s, e)| (s, format!(".{e}")));
    path.with_file_name(format!("{stem}-{number}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_runs_are_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let wanted = place.path().join("docks.edits.jsonl");
        let header = Header { version: file::VERSION, scenario: "docks.toml".into(), settings: Vec::new(), seed: 1 };
        let mut first = Keeper::new(header.clone(), wanted.clone());
        assert_eq!(first.kept(), None);
        first.keep(&Edits::default()).unwrap();
        first.keep(&Edits::default()).unwrap();
        assert_eq!(first.kept(), Some(wanted.as_path()));
        let mut second = Keeper::new(header.clone(), wanted);
        second.keep(&Edits::default()).unwrap();
        let other = place.path().join("docks-2.edits.jsonl");
        assert_eq!(second.kept(), Some(other.as_path()));
        assert_eq!(read(&other).unwrap(), (header, Edits::default()));
        assert_eq!(numbered(Path::new("a/plain"), 3), Path::new("a/plain-3"));
    }
}
