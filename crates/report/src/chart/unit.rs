//! Units with the prefix that gives short numbers: 1.9 ms rather than 0.0019 s.

use crate::number::power_of_ten;

/// The unit in which an axis shows its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// Its name with the prefix; empty for pure numbers.
    pub(super) name: String,
    /// Values in the unit of the data are divided by ten to this power.
    exponent: i32,
}

impl Unit {
    pub(super) fn plain(unit: &str) -> Self {
        Self { name: unit.to_owned(), exponent: 0 }
    }

    /// The unit for values up to this size. Only units that people use with prefixes get one: the first part of a
    /// quotient counts, so `B/entry` may become `kB/entry`.
    pub(super) fn for_values(unit: &str, largest: f64) -> Self {
        // Nothing but zeros says nothing about a prefix.
        if largest == 0.0 {
            return Self::plain(unit);
        }
        let (head, tail) = unit.split_at(unit.find('/').unwrap_or(unit.len()));
        let exponents = match head {
            "s" => -9..=0,
            "m" => 0..=3,
            "J" | "W" => -6..=3,
            "B" | "bit" | "Hz" => 0..=9,
            _ => 0..=0,
        };
        let fits = |exponent: &i32| largest >= power_of_ten(*exponent) * (1.0 - 1e-12);
        let smallest = *exponents.start();
        let exponent = exponents.rev().step_by(3).find(fits).unwrap_or(smallest);
        let prefix = match exponent {
            -9 => "n",
            -6 => "µ",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            _ => "",
        };
        Self { name: format!("{prefix}{head}{tail}"), exponent }
    }

    /// A value of the data in this unit. Dividing keeps decimal numbers short: 0.0019 s is 1.9 ms exactly.
    pub(super) fn convert(&self, value: f64) -> f64 {
        if self.exponent < 0 { value * power_of_ten(-self.exponent) } else { value / power_of_ten(self.exponent) }
    }
}

#[cfg(test)]
mod tests {
    use super::Unit;

    #[test]
    fn the_largest_value_chooses_the_prefix() {
        let cases = [
            ("s", 0.0019, "ms"),
            ("s", 1.0, "s"),
            ("s", 0.001, "ms"),
            ("s", 5000.0, "s"),
            ("s", 3e-8, "ns"),
            ("s", 3e-12, "ns"),
            ("s", 0.0, "s"),
            ("B/entry", 20_000.0, "kB/entry"),
            ("bit/s", 2e6, "Mbit/s"),
            ("m", 1500.0, "km"),
            ("m/s", 20.0, "m/s"),
            ("messages", 2e6, "messages"),
            ("", 1e-6, ""),
        ];
        for (unit, largest, expected) in cases {
            assert_eq!(Unit::for_values(unit, largest).name, expected, "{largest} {unit}");
        }
        assert_eq!(Unit::for_values("s", 0.0019).convert(0.0019), 1.9);
    }
}
