//! Where traces go: into files, to a live view, or to both.

use std::fmt;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::disk::{Disk, Written};
use super::name;

/// A place where traces can go, one for each resource.
pub trait Outlet: fmt::Debug + Send {
    /// Begins the trace of a resource; `None` if it is not wanted here. Whole lines will be written, and flushed every
    /// second. Called by a node in the middle of its work, so it must neither wait nor ask a node anything.
    fn open(&mut self, resource: &str) -> io::Result<Option<Box<dyn Write + Send>>>;

    /// What the trace of a resource is called here, for people who are told that it cannot be written.
    fn name(&self, resource: &str) -> String;

    /// Hears when everything that was flushed is where it belongs; `None` if it is as soon as it is flushed.
    fn written(&self) -> Option<Written> {
        None
    }
}

/// Files beside each other: given `run.jsonl`, the file of resource `dock` is `run.dock.jsonl`. They are written in the
/// background. If the disk is so slow that 64 MiB wait to be written, recording ends there and the node goes on.
#[derive(Clone, Debug)]
pub struct Files {
    path: PathBuf,
    disk: Disk,
}

impl Files {
    /// Files beside `path`. They are made when something happens; a directory that does not exist is an error now.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let text = format!("the folder {} of the recording does not exist; make it first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        if path.file_name().is_none() {
            let text = format!("{} is no name for a file; give one such as run.jsonl", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Self { path: path.to_owned(), disk: Disk::start()? })
    }
}

impl Outlet for Files {
    fn open(&mut self, resource: &str) -> io::Result<Option<Box<dyn Write + Send>>> {
        Ok(Some(Box::new(self.disk.create(&name::file_of(&self.path, resource)))))
    }

    fn written(&self) -> Option<Written> {
        Some(self.disk.written())
    }

    fn name(&self, resource: &str) -> String {
        name::file_of(&self.path, resource).display().to_string()
    }
}

/// The outputs of one trace. One that fails is left out from then on, and the others go on.
pub(super) struct Outputs {
    open: Vec<(String, Box<dyn Write + Send>)>,
    troubles: Troubles,
}

/// What went wrong and has not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles(Arc<Mutex<Vec<String>>>);

impl Troubles {
    fn add(&self, name: &str, error: &io::Error) {
        let text = format!("{name} cannot be written, so recording ends there; the node goes on: {error}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(super) fn take(&self) -> Vec<String> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Outputs {
    /// Begins the trace of a resource wherever it is wanted.
    pub(super) fn open(outlets: &mut [Box<dyn Outlet>], resource: &str) -> Self {
        let mut outputs = Self { open: Vec::new(), troubles: Troubles::default() };
        for outlet in outlets {
            match outlet.open(resource) {
                Ok(Some(output)) => outputs.open.push((outlet.name(resource), output)),
                Ok(None) => {}
                Err(error) => outputs.troubles.add(&outlet.name(resource), &error),
            }
        }
        outputs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn troubles(&self) -> Troubles {
        self.troubles.clone()
    }

    fn each(&mut self, mut act: impl FnMut(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
        let troubles = &self.troubles;
        self.open.retain_mut(|(name, output)| match act(output.as_mut()) {
            Ok(()) => true,
            Err(error) => {
                troubles.add(name, &error);
                false
            }
        });
        if self.open.is_empty() { Err(io::Error::other("nothing is left to write to")) } else { Ok(()) }
    }
}

impl Write for Outputs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.each(|output| output.write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|output| output.flush())
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.open.iter().map(|(name, _)| name)).finish()
    }
}
