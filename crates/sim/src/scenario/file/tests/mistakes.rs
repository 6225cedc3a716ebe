//! Every mistake with the exact words in which it is told.
//!
//! A case is what is wrong, the scenario with ` / ` between its lines, what is set, and what is told with its help. The
//! words point at what stands between `^` and `^`, at the setting, or at the file as a whole.

mod crashes;
mod networks;
mod protocols;
mod studies;
mod values;

use super::super::{Document, FileError};

/// The first mistake of a scenario, after some keys were set.
fn mistake(text: &str, sets: &[(&str, &str)]) -> Result<(), FileError> {
    let mut document = Document::parse("demo.toml", text)?;
    for (key, value) in sets {
        document.set(key, value)?;
    }
    document.study()?;
    document.resolve().map(drop)
}

/// Where it is told to be, below the message.
fn place(marked: &str, sets: &[(&str, &str)]) -> String {
    if let Some((key, value)) = sets.first() {
        return format!(" --> --set {key}={value}");
    }
    let Some((number, line)) = (1..).zip(marked.lines()).find(|(_, line)| line.contains('^')) else {
        return " --> demo.toml".to_owned();
    };
    let parts: Vec<&str> = line.split('^').collect();
    let (before, width) = (parts[0].len(), parts[1].len());
    let carets = " ".repeat(before) + &"^".repeat(width);
    format!(" --> demo.toml:{number}:{}\n  |\n{number} | {}\n  | {carets}", before + 1, parts.concat())
}

#[test]
fn every_mistake_is_told_in_these_words() {
    let cases = [values::CASES, protocols::CASES, networks::CASES, crashes::CASES, studies::CASES];
    let cases: Vec<&str> = cases.iter().flat_map(|cases| cases.trim().split("\n\n")).collect();
    assert_eq!(cases.len(), 84);
    for case in cases {
        let mut lines = case.lines().skip(1).peekable();
        let marked = lines.next().unwrap().replace(" / ", "\n") + "\n";
        let mut sets = Vec::new();
        while let Some(set) = lines.peek().and_then(|line| line.strip_prefix("--set ")) {
            sets.push(set.split_once('=').unwrap());
            lines.next();
        }
        let message = lines.next().unwrap();
        let help: String = lines.map(|help| format!("\n  = {help}")).collect();
        let told = mistake(&marked.replace('^', ""), &sets).unwrap_err().to_string();
        assert_eq!(told, format!("{message}\n{}{help}", place(&marked, &sets)), "{case}");
    }
}
