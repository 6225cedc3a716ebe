//! Traces as text: laid out as a table, compared without regard to white space, with a readable difference.

/// Compares the expected text with the lines of a story.
pub(super) fn compare(expected: &str, found: &[String]) -> Result<(), String> {
    let expected: Vec<String> = expected.lines().map(normal).filter(|line| !line.is_empty()).collect();
    let found: Vec<String> = found.iter().map(|line| normal(line)).collect();
    if expected == found {
        return Ok(());
    }
    let same_start = expected.iter().zip(&found).take_while(|(e, f)| e == f).count();
    let rest = |lines: &[String]| lines.len() - same_start;
    let same_end = expected.iter().rev().zip(found.iter().rev()).take_while(|(e, f)| e == f).count();
    let same_end = same_end.min(rest(&expected)).min(rest(&found));
    let mut text = String::new();
    let mut add = |mark: &str, lines: &[String]| {
        for line in lines {
            text += &format!("{mark} {line}\n");
        }
    };
    add(" ", &expected[..same_start]);
    add("- expected:", &expected[same_start..expected.len() - same_end]);
    add("+ found:   ", &found[same_start..found.len() - same_end]);
    add(" ", &expected[expected.len() - same_end..]);
    Err(format!("{text}\nthe whole trace that was found:\n{}", table(&found)))
}

/// Lines in columns, ready to be put into a test.
pub(super) fn table(lines: &[String]) -> String {
    let split: Vec<_> = lines.iter().map(|line| columns(line)).collect();
    let width = |column: fn(&(String, String, String)) -> &String| split.iter().map(|c| column(c).len()).max();
    let (names, events) = (width(|c| &c.0).unwrap_or(0), width(|c| &c.1).unwrap_or(0));
    split
        .iter()
        .map(|(name, event, effects)| format!("        {name:names$}  {event:events$} -> {effects}\n"))
        .collect()
}

fn columns(line: &str) -> (String, String, String) {
    let (head, effects) = line.split_once(" -> ").unwrap_or((line, ""));
    let (name, event) = head.split_once(' ').unwrap_or((head, ""));
    (name.to_string(), event.to_string(), effects.to_string())
}

fn normal(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
