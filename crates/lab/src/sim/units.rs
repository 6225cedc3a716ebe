//! Numbers with units for people: three digits, and the unit that fits.

use meshlock_cli::text::count;

/// Three digits, all digits before the point, no idle zeros: `0.0123`, `12.3`, `1,235`.
pub(super) fn three(value: f64) -> String {
    if value.abs() >= 999.5 && value < 1e15 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(value.abs().round() as u64));
    }
    // The exponent after rounding to three digits: 9.996 is 10.0.
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or(0);
    let decimals = usize::try_from((2 - exponent).clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time: `12.3 ms`.
pub(super) fn seconds(value: f64) -> String {
    in_unit(value, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
}

/// A size: `1.23 kB`.
pub(super) fn bytes(value: f64) -> String {
    in_unit(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A share: `12.3 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", three(100.0 * share))
}

/// In the first unit of which there is one; in the last if there is none, but zero in the plain one.
fn in_unit(value: f64, units: &[(f64, &str)]) -> String {
    let plain = units.iter().find(|(size, _)| *size == 1.0 && value == 0.0);
    let fitting = units.iter().find(|(size, _)| value.abs() >= *size * 0.9995);
    match plain.or(fitting).or(units.last()) {
        Some((size, unit)) => format!("{} {unit}", three(value / size)),
        None => three(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_fitting_units() {
        for (value, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (9.996, "10"),
            (0.012_345, "0.0123"),
            (-1.5, "-1.5"),
            (999.4, "999"),
            (1234.5, "1,235"),
            (-123_456.0, "-123,456"),
        ] {
            assert_eq!(three(value), text);
        }
        for (value, text) in
            [(0.0, "0 s"), (0.0123, "12.3 ms"), (0.000_999_9, "1 ms"), (75.0, "75 s"), (3e-10, "0.3 ns")]
        {
            assert_eq!(seconds(value), text);
        }
        for (value, text) in [(0.0, "0 B"), (200.0, "200 B"), (12_345.0, "12.3 kB"), (4.5e6, "4.5 MB")] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(percent(0.123_4), "12.3 %");
    }
}
