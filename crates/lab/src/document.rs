//! Scenario files as commands take them: read, changed by `--set`, and what is wrong with them.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use meshlock_sim::scenario::file::{Document, FileError};

/// A scenario file with its text, changed by settings.
pub(crate) fn read(path: &Path, settings: &[(String, String)]) -> anyhow::Result<(Document, String)> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut document = Document::parse(&path.display().to_string(), &text).map_err(file_error)?;
    apply(&mut document, settings)?;
    Ok((document, text))
}

pub(crate) fn apply(document: &mut Document, settings: &[(String, String)]) -> anyhow::Result<()> {
    settings.iter().try_for_each(|(key, value)| document.set(key, value).map_err(file_error))
}

/// What is wrong with a file, with the line and what would be right.
pub(crate) fn file_error(error: FileError) -> anyhow::Error {
    anyhow!(error.to_string().trim_end().to_owned())
}

/// `KEY=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("a setting is written KEY=VALUE, such as radio.range=120m".to_owned()),
    }
}
