//! `--list` and `--rules`: what there is.

use std::io::Write;

use meshlock_check::suite::Entry;
use meshlock_properties::Rule;
use serde_json::json;

use super::job::expected_text;
use super::json::{self, Listed};
use meshlock_cli::style::{self, styled};

/// Lists standard models: the name and what is expected, and below it what the model shows.
pub(super) fn models(entries: &[Entry], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return json::print(&entries.iter().map(Listed::from).collect::<Vec<_>>());
    }
    let mut out = anstream::stdout().lock();
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    for entry in entries {
        let name = format!("{:<width$}", entry.name);
        writeln!(out, "{}  {}", styled(style::STRONG, name), styled(style::KNOWN, expected_text(&entry.expected)))?;
        writeln!(out, "    {}", entry.about)?;
    }
    Ok(out.flush()?)
}

pub(super) fn rules(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return json::print(&Rule::ALL.map(|rule| json!({ "name": rule.name(), "words": rule.words() })));
    }
    let mut out = anstream::stdout().lock();
    let width = Rule::ALL.iter().map(|rule| rule.name().len()).max().unwrap_or(0);
    for rule in Rule::ALL {
        writeln!(out, "{}  {}", styled(style::STRONG, format!("{:<width$}", rule.name())), rule.words())?;
    }
    Ok(out.flush()?)
}
