//! Numbers with units, as scenario files have them: enough to compare them and to draw them along an axis.

use meshlock_sim::scenario::file::units;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity<'a> {
    /// As written.
    pub number: f64,
    /// As written; empty if there is none.
    pub unit: &'a str,
    /// What the number counts in the basic unit of its kind, such as metres or seconds.
    pub basic: f64,
}

/// Reads `10`, `0.5`, `"120m"` or `1.5 Mbps`; nothing if it is no number or the unit is unknown.
pub fn quantity(text: &str) -> Option<Quantity<'_>> {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let is_number = |c: char| c.is_ascii_digit() || ".+-_".contains(c);
    let mut end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    // An exponent, unless the `e` begins a unit.
    if let Some(rest) = text[end..].strip_prefix(['e', 'E']) {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || "+-".contains(c))).unwrap_or(rest.len());
        if rest[..digits].parse::<i32>().is_ok() {
            end += 1 + digits;
        }
    }
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    let unit = text[end..].trim();
    // Kinds are not told apart: the file reader has refused metres where seconds are meant before a study sees them.
    let (_, factor, divisor) = units().find(|(name, ..)| *name == unit)?;
    number.is_finite().then_some(Quantity { number, unit, basic: number * factor / divisor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        let basic = |text| quantity(text).map(|quantity| quantity.basic);
        let cases = [("10", 10.0), ("\"120m\"", 120.0), ("2 km", 2000.0), ("1e3", 1000.0), ("1_000", 1000.0)];
        for (text, number) in cases.into_iter().chain([("3min", 180.0), ("1.5 Mbps", 1.5e6), ("-3", -3.0)]) {
            assert_eq!(basic(text), Some(number), "{text}");
        }
        for text in ["flood", "", "12 parsecs", "inf", "m"] {
            assert_eq!(basic(text), None, "{text}");
        }
        assert_eq!(quantity("'36kmph'").map(|speed| (speed.number, speed.unit)), Some((36.0, "kmph")));
    }
}
