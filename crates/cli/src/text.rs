//! Numbers, times and long lines, as people read them.

use std::time::Duration;

use meshlock_api::Reason;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 state`, `2 states`.
pub fn several(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `0.02s`, `14.1s`, `2m05s`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 9.995 {
        format!("{seconds:.2}s")
    } else if seconds < 59.95 {
        format!("{seconds:.1}s")
    } else {
        let seconds = seconds.round() as u64;
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    }
}

/// `12.3 MiB`.
pub fn memory(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if size < 1023.5 {
            return if size < 10.0 && unit != "B" { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") };
        }
        size /= 1024.0;
    }
    format!("{size:.1} GiB")
}

/// `245k/s`.
pub fn rate(per_second: f64) -> String {
    if per_second >= 1e6 {
        format!("{:.1}M/s", per_second / 1e6)
    } else if per_second >= 1e4 {
        format!("{:.0}k/s", per_second / 1e3)
    } else {
        format!("{per_second:.0}/s")
    }
}

/// Folds a line at spaces so that no part is wider than `width`, where words allow it. The parts after the first are
/// indented by `indent`.
pub fn fold(line: &str, width: usize, indent: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > width {
        let own = rest.chars().take_while(|c| *c == ' ').count();
        let spaces =
            rest.char_indices().enumerate().filter(|(_, (_, c))| *c == ' ').map(|(place, (at, _))| (place, at));
        let good: Vec<(usize, usize)> = spaces.filter(|(place, _)| *place > own).collect();
        let within = good.iter().rev().find(|(place, _)| *place <= width);
        let Some(&(_, at)) = within.or_else(|| good.first()) else { break };
        let tail = format!("{:indent$}{}", "", &rest[at + 1..]);
        rest.truncate(at);
        parts.push(std::mem::replace(&mut rest, tail));
    }
    parts.push(rest);
    parts
}

/// An error and its causes. Some errors name their cause themselves; it is not told twice.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    // The library names no flags.
    let refused = error.chain().find_map(|cause| cause.downcast_ref::<meshlock::Error>());
    if matches!(refused, Some(meshlock::Error::Refused(problem)) if problem.reason == Reason::Unauthorized) {
        text.push_str("; give --token-file FILE, or set MESHLOCK_TOKEN_FILE");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_for_want_of_a_token_is_told_the_flag() {
        let problem = meshlock_api::Problem::new(Reason::Unauthorized, "no token");
        let text = with_causes(&anyhow::Error::new(meshlock::Error::Refused(problem)));
        assert!(text.contains("--token-file") && text.contains("MESHLOCK_TOKEN_FILE"), "{text}");
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = || std::io::Error::other("disk full");
        assert_eq!(with_causes(&anyhow::Error::new(cause()).context("cannot write")), "cannot write: disk full");
        let both = anyhow::Error::new(cause()).context("cannot write: disk full").context("no trace");
        assert_eq!(with_causes(&both), "no trace: cannot write: disk full");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn times_are_short() {
        for (millis, text) in [(4, "0.00s"), (9_994, "9.99s"), (9_996, "10.0s"), (59_960, "1m00s"), (125_000, "2m05s")]
        {
            assert_eq!(time(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn memory_is_in_the_unit_that_fits() {
        for (bytes, text) in [(12, "12 B"), (2048, "2.0 KiB"), (300 << 20, "300 MiB"), (3 << 29, "1.5 GiB")] {
            assert_eq!(memory(bytes), text);
        }
    }

    #[test]
    fn long_lines_are_folded_between_words() {
        assert_eq!(fold("one two three", 20, 2), ["one two three"]);
        assert_eq!(fold("  one two three four", 10, 4), ["  one two", "    three", "    four"]);
        assert_eq!(fold("    extraordinarily", 10, 4), ["    extraordinarily"]);
        assert_eq!(fold("a extraordinarily b", 6, 2), ["a", "  extraordinarily", "  b"]);
        assert_eq!(fold("ä ö ü", 3, 0), ["ä ö", "ü"]);
    }
}
