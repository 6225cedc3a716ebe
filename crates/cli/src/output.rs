//! What all commands write in the same way: labelled lines, and documents for programs.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::style::{self, styled};
use crate::text::fold;

/// One JSON document on standard output.
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
