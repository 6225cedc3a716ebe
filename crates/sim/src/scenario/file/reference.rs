//! The reference of all keys in Markdown, for `docs/scenario-format.md`.

use super::keys::{self, Given, Key, SECTIONS};

/// One table per section.
pub fn reference_table() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let title = match (section.path, section.repeated) {
            ("", _) => "Top of the file".to_owned(),
            (path, true) => format!("`[[{path}]]`"),
            (path, false) => format!("`[{path}]`"),
        };
        text.push_str(&format!("\n### {title}\n\n{}.\n", section.about));
        if section.path == "traffic.class" || keys::keys_of(section.path).next().is_none() {
            continue;
        }
        text.push_str("\n| key | value | default | what it says |\n|---|---|---|---|\n");
        for key in keys::keys_of(section.path) {
            text.push_str(&row(key));
        }
    }
    text
}

fn row(key: &Key) -> String {
    let default = match key.given {
        Given::Default(text) => format!("`{text}`"),
        Given::Depends(words) => words.to_owned(),
        Given::Optional => "none".to_owned(),
        Given::Needed => "must be given".to_owned(),
    };
    let limits = told(&key.kind.limits());
    let needs = key.kind.needs();
    let only = if key.only.is_empty() { String::new() } else { format!(". Only for {}", key.only) };
    format!("| `{}` | {needs}{limits} | {default} | {}{only} |\n", key.name(), key.about)
}

/// Limits without those that only keep numbers in the machine's range: they say nothing to a reader.
fn told(limits: &str) -> String {
    let (low, high) = limits.split_once(" and at most ").unwrap_or((limits, ""));
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    match (digits(low) < 7, (1..7).contains(&digits(high)) || high.contains('.')) {
        (true, true) => format!(", {low} and at most {high}"),
        (true, false) if !low.is_empty() => format!(", {low}"),
        (true | false, true | false) => String::new(),
    }
}
