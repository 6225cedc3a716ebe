//! The directory of a study: finished runs, and everything that is made of them.
//!
//! | file | what it is |
//! |---|---|
//! | `study.json` | which study this is, and the code it is run by |
//! | `runs/HASH.json` | one finished run each |
//! | everything else | made anew from the runs each time |
//!
//! Files appear complete or not at all: they are written under another name first. Two processes may therefore share a
//! directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::identity::is_hash;
use crate::plan::Plan;
use crate::record::{FORMAT, RunRecord};

#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Finished runs by their names.
    pub records: BTreeMap<String, RunRecord>,
    /// Run files that cannot be used, and why.
    pub corrupt: Vec<(PathBuf, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// Use what is there; begin if nothing is.
    #[default]
    GoOn,
    /// Use what is there; it is an error if nothing is.
    Resume,
    Fresh,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {what} {}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot make {name}: {why}")]
    Format { name: &'static str, why: String },
    #[error("nothing to resume: {} has no results yet\nstart the study without --resume, or name its directory with --out", .0.display())]
    NothingThere(PathBuf),
    /// The directory has files in it that are not ours.
    #[error("{} is not empty and holds no study\nchoose another directory with --out", .0.display())]
    NotOurs(PathBuf),
    /// The results of another study would be overwritten.
    #[error("{} holds the study `{theirs}`, not `{ours}`\nchoose another directory with --out, or throw its results away with --fresh", directory.display())]
    OtherStudy { directory: PathBuf, theirs: String, ours: String },
    /// Results of different code must not be averaged together.
    #[error("{} has results of meshlock {theirs}, this is {ours}: they are never mixed\nchoose another directory with --out, throw the old results away with --fresh, or run the version that made them", directory.display())]
    OtherCode { directory: PathBuf, theirs: String, ours: String },
}

/// `study.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Label {
    format: u32,
    study: String,
    code_version: String,
}

impl Store {
    /// Opens the directory of a study, and makes it if it is not there.
    pub fn open(directory: &Path, plan: &Plan, begin: Begin) -> Result<Self, StoreError> {
        let store = Self { directory: directory.to_owned() };
        let label_file = directory.join(LABEL);
        let label = match fs::read(&label_file) {
            Ok(text) => Some(serde_json::from_slice::<Label>(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(StoreError::File { what: "read", path: label_file, source }),
        };
        match (label, begin) {
            (None, Begin::Resume) => return Err(StoreError::NothingThere(directory.to_owned())),
            (None, Begin::GoOn | Begin::Fresh) => store.claim(plan)?,
            (Some(_), Begin::Fresh) => {
                store.clear()?;
                store.claim(plan)?;
            }
            (Some(Ok(label)), Begin::GoOn | Begin::Resume) => {
                if label.study != plan.name {
                    let (theirs, ours) = (label.study, plan.name.clone());
                    return Err(StoreError::OtherStudy { directory: directory.to_owned(), theirs, ours });
                }
                store.same_code(&label.code_version, plan)?;
            }
            // What it says is written again; the run files say themselves which code they are of.
            (Some(Err(_)), Begin::GoOn | Begin::Resume) => store.claim(plan)?,
        }
        Ok(store)
    }

    /// Looks at a directory that may not be there, and changes nothing.
    pub fn peek(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    pub fn load(&self, plan: &Plan) -> Result<Found, StoreError> {
        let mut found = Found::default();
        for path in self.run_files()? {
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
            let text =
                fs::read(&path).map_err(|source| StoreError::File { what: "read", path: path.clone(), source })?;
            match serde_json::from_slice::<RunRecord>(&text) {
                Ok(record) if record.format != FORMAT => {
                    found.corrupt.push((path, format!("its format is {}, not {FORMAT}", record.format)));
                }
                Ok(record) => {
                    self.same_code(&record.code_version, plan)?;
                    found.records.insert(name, record);
                }
                Err(error) => found.corrupt.push((path, error.to_string())),
            }
        }
        Ok(found)
    }

    pub fn keep(&self, hash: &str, record: &RunRecord) -> Result<(), StoreError> {
        self.write(&format!("{RUNS}/{hash}.json"), &pretty(record))
    }

    /// Writes a file below the directory, complete or not at all.
    pub fn write(&self, name: &str, content: &str) -> Result<(), StoreError> {
        self.write_bytes(name, content.as_bytes())
    }

    pub fn write_bytes(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::File { what, path, source }
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed("make the directory", parent))?;
        }
        // Its own name for every process, so that two never write into one file.
        let mut temporary = path.clone().into_os_string();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(temporary);
        fs::write(&temporary, content).map_err(failed("write", &temporary))?;
        fs::rename(&temporary, &path).map_err(failed("write", &path))
    }

    /// Removes a directory of our own below this one.
    pub(crate) fn remove_directory(&self, name: &str) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::File { what: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes an empty directory the study's.
    fn claim(&self, plan: &Plan) -> Result<(), StoreError> {
        let foreign = |entry: io::Result<fs::DirEntry>| {
            // Runs may be copied here before the study is first started, and another shard may be just as far.
            entry
                .is_ok_and(|entry| entry.file_name() != RUNS && !entry.file_name().to_string_lossy().starts_with(LABEL))
        };
        if fs::read_dir(&self.directory).is_ok_and(|mut entries| entries.any(foreign)) {
            return Err(StoreError::NotOurs(self.directory.clone()));
        }
        let label = Label { format: FORMAT, study: plan.name.clone(), code_version: plan.code_version.clone() };
        self.write(LABEL, &pretty(&label))
    }

    fn clear(&self) -> Result<(), StoreError> {
        for name in [RUNS, PLOTS] {
            self.remove_directory(name)?;
        }
        for name in std::iter::once(&LABEL).chain(&MADE) {
            let path = self.directory.join(name);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::File { what: "remove", path, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn same_code(&self, theirs: &str, plan: &Plan) -> Result<(), StoreError> {
        if theirs == plan.code_version {
            return Ok(());
        }
        let (theirs, ours) = (theirs.to_owned(), plan.code_version.clone());
        Err(StoreError::OtherCode { directory: self.directory.clone(), theirs, ours })
    }

    /// All run files, in the order of their names.
    fn run_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let runs = self.directory.join(RUNS);
        let failed = |source| StoreError::File { what: "read the directory", path: runs.clone(), source };
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut files =
            entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>, StoreError>>()?;
        let is_run = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "json")
                && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_hash)
        };
        files.retain(is_run);
        files.sort();
        Ok(files)
    }
}

pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    // Everything we write has text for its keys, so this does not fail; an empty file would be reported as corrupt.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

const LABEL: &str = "study.json";
const RUNS: &str = "runs";
/// Where pictures are.
pub(crate) const PLOTS: &str = "plots";
/// Files that are made anew from the runs each time.
const MADE: [&str; 8] = [
    "runs.csv",
    "runs.json",
    "runs.parquet",
    "summary.csv",
    "summary.json",
    "comparisons.csv",
    "report.html",
    "comparisons.json",
];

#[cfg(test)]
mod tests;
