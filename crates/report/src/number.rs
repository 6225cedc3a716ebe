//! Numbers as people write them: few digits, the digits that matter, a true minus sign.

/// What stands in the place of a number that is not one.
pub(crate) const MISSING: &str = "–";

/// A number with four significant digits; whole numbers in full.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { fixed(value, 0) } else { significant(value, 4) }
}

/// A number with so many significant digits at most; a power of ten is split off where zeros would pile up.
pub(crate) fn significant(value: f64, digits: u8) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let precision = i32::from(digits.max(1)) - 1;
    let (mantissa, exponent) = split(value, precision);
    if (-4..9).contains(&exponent) {
        return trim(fixed(value, precision - exponent));
    }
    format!("{}×10{}", trim(minus(mantissa)), superscript(exponent))
}

/// A mean with the half width of its interval, which decides how many digits of the mean mean anything: `12.3 ± 0.4`.
pub(crate) fn estimate(mean: f64, half_width: f64) -> String {
    if !mean.is_finite() {
        return MISSING.to_owned();
    }
    if !half_width.is_finite() {
        return format!("{} ± ?", number(mean));
    }
    let half_width = half_width.abs();
    if half_width == 0.0 {
        return format!("{} ± 0", number(mean));
    }
    // One digit of the half width; two where it starts with 1, or rounding could change it by a third.
    let (leading, exponent) = split(half_width, 0);
    let last = if leading.starts_with('1') { exponent - 1 } else { exponent };
    let (_, largest) = split(mean.abs().max(half_width), 0);
    if (-4..9).contains(&largest) {
        return format!("{} ± {}", fixed(mean, -last), fixed(half_width, -last));
    }
    let shift = power_of_ten(-largest);
    let (mean, half_width) = (fixed(mean * shift, largest - last), fixed(half_width * shift, largest - last));
    format!("({mean} ± {half_width})×10{}", superscript(largest))
}

/// A number with so many decimals, none if negative.
pub(crate) fn fixed(value: f64, decimals: i32) -> String {
    let decimals = usize::try_from(decimals.clamp(0, 40)).unwrap_or(0);
    minus(format!("{value:.decimals$}"))
}

/// The power of ten of a number's first digit.
pub(crate) fn exponent(value: f64) -> i32 {
    split(value, 17).1
}

/// Ten to the power of `exponent`, the same on every machine.
pub(crate) fn power_of_ten(exponent: i32) -> f64 {
    libm::exp10(f64::from(exponent))
}

/// An exponent in small raised digits.
pub(crate) fn superscript(exponent: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |digit: char| digit.to_digit(10).and_then(|at| RAISED.get(at as usize).copied()).unwrap_or('⁻');
    exponent.to_string().chars().map(raise).collect()
}

/// Mantissa, rounded to so many decimals, and exponent.
fn split(value: f64, decimals: i32) -> (String, i32) {
    let decimals = usize::try_from(decimals).unwrap_or(0);
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

/// Without zeros at the end of the decimals.
fn trim(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// With a minus sign as wide as a plus sign, and none on zero.
fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().any(|digit| ('1'..='9').contains(&digit)) => format!("−{rest}"),
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_idle_zeros() {
        let cases = [
            (0.0, "0"),
            (12.0, "12"),
            (1_234_567.0, "1234567"),
            (0.5, "0.5"),
            (12.345_678, "12.35"),
            (123_456.7, "123457"),
            (-3.25, "−3.25"),
            (0.000_123_4, "0.0001234"),
            (0.000_012_34, "1.234×10⁻⁵"),
            (1.5e17, "1.5×10¹⁷"),
            (9.999_96, "10"),
            (f64::NAN, MISSING),
            (f64::NEG_INFINITY, MISSING),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn the_half_width_decides_the_digits_of_the_mean() {
        let cases = [
            (12.345, 0.41, "12.3 ± 0.4"),
            (12.345, 0.123, "12.35 ± 0.12"),
            (1234.6, 56.7, "1235 ± 57"),
            (0.7, 12.0, "1 ± 12"),
            (-0.01, 0.3, "0.0 ± 0.3"),
            (2.0, 0.0, "2 ± 0"),
            (2.5, f64::INFINITY, "2.5 ± ?"),
            (f64::NAN, 1.0, MISSING),
            (0.000_012_34, 0.000_000_4, "(1.23 ± 0.04)×10⁻⁵"),
            (9.0, 0.96, "9.0 ± 1.0"),
        ];
        for (mean, half_width, expected) in cases {
            assert_eq!(estimate(mean, half_width), expected);
        }
    }
}
