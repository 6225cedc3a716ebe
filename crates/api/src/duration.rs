//! Times such as `500ms`, `10s` or `2m` in flags, files and addresses. A bare number is seconds, as in `flock -w 10`.

use std::time::Duration;

/// Reads a time. The error names what is understood.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write a number and ms, s, m or h, such as 500ms or 1.5s");
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3_600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Writes a time shortly, for people: `350ms`, `12s`, `3m20s`.
pub fn display(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..10_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        10_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m{:02}s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{}h{:02}m", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, ms) in [("500ms", 500), ("10s", 10_000), ("10", 10_000), ("1.5s", 1_500), ("2m", 120_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "5 days", "NaN", "1e400s", "10sec"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_written_shortly() {
        let written = [350, 1_250, 12_000, 200_000, 3_660_000].map(|ms| display(Duration::from_millis(ms)));
        assert_eq!(written, ["350ms", "1.2s", "12s", "3m20s", "1h01m"]);
    }
}
