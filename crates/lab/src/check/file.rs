//! Where traces are written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use meshlock_cli::output;

use super::args::Output;
use super::job::Done;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Traces {
    None,
    File(PathBuf),
    /// Into this directory, under the name of the model.
    Directory(PathBuf),
}

impl Traces {
    /// What the options say; a single model has its trace written unless they say otherwise.
    pub(super) fn of(output: &Output, single: bool) -> anyhow::Result<Self> {
        match (&output.trace, &output.traces) {
            (Some(_), _) if !single => {
                anyhow::bail!("--trace names one file, but several models are run: use --traces DIR")
            }
            (Some(file), _) => Ok(Self::File(file.clone())),
            (None, Some(directory)) => Ok(Self::Directory(directory.clone())),
            (None, None) if single && !output.no_trace => Ok(Self::Directory(PathBuf::new())),
            (None, None) => Ok(Self::None),
        }
    }

    pub(super) fn wanted(&self) -> bool {
        *self != Self::None
    }

    /// Writes the trace of a model that breaks a rule, and notes where, or why not. Another one that is there is
    /// replaced only by force.
    pub(super) fn write(&self, done: &mut Done, force: bool) {
        match self.try_write(done, force) {
            Ok(path) => done.trace = path.map(|path| path.display().to_string()),
            Err(error) => done.trace_error = Some(format!("{error:#}")),
        }
    }

    fn try_write(&self, done: &Done, force: bool) -> anyhow::Result<Option<PathBuf>> {
        let Some(shown) = &done.report.broken else { return Ok(None) };
        let path = match self {
            Self::None => return Ok(None),
            Self::File(file) => file.clone(),
            Self::Directory(directory) => {
                if directory != Path::new("") {
                    fs::create_dir_all(directory)
                        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
                }
                directory.join(file_name(&done.job.name))
            }
        };
        output::write(&path, shown.trace.as_bytes(), force)?;
        Ok(Some(path))
    }
}

fn file_name(model: &str) -> String {
    format!("{}.trace.jsonl", model.replace('/', "-"))
}
