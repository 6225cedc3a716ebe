//! What all commands write in the same way: labelled lines, documents for programs, and files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail};
use meshlock_report::table::{Cell, Column, Table};
use serde::Serialize;

use crate::style::{self, styled};
use crate::text::fold;

pub fn json<T: Serialize + ?Sized>(document: &T) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// A label and a text, folded beside it.
pub fn labelled(out: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
    let label = format!("  {label:<9} ");
    let indent = label.chars().count();
    let mut parts = fold(&format!("{label}{text}"), width(), indent).into_iter();
    if let Some(first) = parts.next() {
        writeln!(out, "{}{}", styled(style::FAINT, &label), first.get(label.len()..).unwrap_or_default())?;
    }
    for part in parts {
        writeln!(out, "{part}")?;
    }
    Ok(())
}

/// The word that stands in files and documents.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// A table, with one line end at its end. The names of its columns are divided by ` | `; those of numbers end in `#`.
pub(crate) fn table(columns: &str, rows: Vec<Vec<Cell>>, width: usize) -> String {
    let column = |name: &str| Column { name: name.trim_end_matches('#').to_owned(), numeric: name.ends_with('#') };
    let table = Table { columns: columns.split(" | ").map(column).collect(), rows };
    format!("{}\n", table.text(width).trim_end())
}

/// A file to write into. One that is there already is replaced only with `--force`.
pub fn create(path: &Path, force: bool) -> anyhow::Result<File> {
    refuse_existing(path, force)?;
    let mut options = OpenOptions::new();
    options.write(true);
    // Another process may have made it in the meantime.
    if force || path.exists() {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a whole file. One that is there already is replaced only with `--force`, unless it says the same.
pub fn write(path: &Path, text: &[u8], force: bool) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    create(path, force)?.write_all(text).with_context(|| format!("cannot write {}", path.display()))
}

/// An error if something of this name is there and must stay as it is.
pub fn refuse_existing(path: &Path, force: bool) -> anyhow::Result<()> {
    // A pipe or a terminal loses nothing.
    if !force && path.symlink_metadata().is_ok() && !path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        bail!("{} is there already: choose another name, or give --force to replace it", path.display());
    }
    Ok(())
}

/// Lines are folded on a terminal only; a file keeps them whole.
pub fn width() -> usize {
    let terminal = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(usize::MAX, |(terminal_size::Width(columns), _)| usize::from(columns).max(40))
}

/// The columns of a table: those of the terminal, or as many as are comfortable to read.
pub fn table_width() -> usize {
    width().min(COMFORTABLE)
}

const COMFORTABLE: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_never_replaced_without_force() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("run.jsonl");
        write(&path, b"first", false).expect("new");
        write(&path, b"first", false).expect("the same");
        let error = write(&path, b"second", false).expect_err("refused").to_string();
        assert!(error.contains("run.jsonl is there already") && error.contains("--force"), "{error}");
        assert!(create(&path, false).is_err());
        assert_eq!(fs::read(&path).expect("as it was"), b"first");
        write(&path, b"2nd", true).expect("wanted");
        assert_eq!(fs::read(&path).expect("replaced"), b"2nd");
        create(Path::new("/dev/null"), false).expect("nothing to lose");
    }
}
