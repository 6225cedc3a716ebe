//! Numbers with units: `120m`, `300us`, `1Mbps`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// In metres.
    Length,
    /// In seconds.
    Time,
    /// In metres per second.
    Speed,
    /// In bits per second.
    Rate,
    /// In bytes.
    Size,
    Angle,
    /// A whole number without a unit.
    Count,
}

/// A unit: its name, and what to multiply with and to divide by. Two numbers, because `300 / 1e6` is exact to the
/// last bit and `300 * 1e-6` is not.
type Unit = (&'static str, f64, f64);

/// All units: the name, what to multiply with, and what to divide by.
pub fn units() -> impl Iterator<Item = (&'static str, f64, f64)> {
    Quantity::ALL.iter().flat_map(|quantity| quantity.units()).copied()
}

impl Quantity {
    pub(super) const ALL: [Self; 7] =
        [Self::Length, Self::Time, Self::Speed, Self::Rate, Self::Size, Self::Angle, Self::Count];

    /// Its units, the one of our own calculations first.
    pub(super) const fn units(self) -> &'static [Unit] {
        match self {
            Self::Length => &[("m", 1.0, 1.0), ("cm", 1.0, 1e2), ("km", 1e3, 1.0)],
            Self::Time => &[
                ("s", 1.0, 1.0),
                ("ns", 1.0, 1e9),
                ("us", 1.0, 1e6),
                ("ms", 1.0, 1e3),
                ("min", 60.0, 1.0),
                ("h", 3600.0, 1.0),
            ],
            Self::Speed => &[("mps", 1.0, 1.0), ("kmph", 1e3, 3600.0)],
            Self::Rate => &[("bps", 1.0, 1.0), ("kbps", 1e3, 1.0), ("Mbps", 1e6, 1.0), ("Gbps", 1e9, 1.0)],
            Self::Size => &[("B", 1.0, 1.0), ("kB", 1e3, 1.0), ("KiB", 1024.0, 1.0), ("MiB", 1_048_576.0, 1.0)],
            Self::Angle => &[("rad", 1.0, 1.0), ("deg", std::f64::consts::PI, 180.0)],
            Self::Count => &[("", 1.0, 1.0)],
        }
    }

    /// With its article, for sentences.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Length => "a length",
            Self::Time => "a time",
            Self::Speed => "a speed",
            Self::Rate => "a rate",
            Self::Size => "a size",
            Self::Angle => "an angle",
            Self::Count => "a whole number",
        }
    }

    /// A value as one writes it.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Length => "120m",
            Self::Time => "10ms",
            Self::Speed => "2mps",
            Self::Rate => "1Mbps",
            Self::Size => "200B",
            Self::Angle => "45deg",
            Self::Count => "1",
        }
    }

    pub(super) fn unit_names(self) -> Vec<&'static str> {
        self.units().iter().map(|(name, ..)| *name).collect()
    }

    /// In the unit of our own calculations, such as `0.01s`.
    pub(super) fn show(self, value: f64) -> String {
        let unit = self.units().first().map_or("", |(name, ..)| name);
        format!("{value}{unit}")
    }

    /// Reads a number with its unit; the error says what is wrong and what would be right.
    pub(super) fn parse(self, text: &str) -> Result<f64, (String, String)> {
        let text = text.trim();
        let (number, unit) = split(text);
        let Some(number) = number else {
            return Err((format!("`{text}` is not {}", self.words()), self.how()));
        };
        if let Some((_, times, per)) = self.units().iter().find(|(name, ..)| *name == unit) {
            let value = number * times / per;
            let whole = !matches!(self, Self::Size | Self::Count) || value.fract() == 0.0;
            return if !value.is_finite() {
                Err((format!("`{text}` is too large"), self.how()))
            } else if whole {
                Ok(value)
            } else {
                Err((format!("`{text}` is not a whole number"), self.how()))
            };
        }
        let message = match (Self::of_unit(unit), unit) {
            (_, "") => format!("`{text}` has no unit"),
            (Some(other), _) => format!("`{text}` is {}, but {} is needed", other.words(), self.words()),
            (None, _) => format!("`{text}` has the unknown unit `{unit}`"),
        };
        Err((message, self.how()))
    }

    pub(super) fn how(self) -> String {
        match self {
            Self::Count => "write a whole number without a unit, such as 1".to_owned(),
            Self::Length | Self::Time | Self::Speed | Self::Rate | Self::Size | Self::Angle => {
                let units = self.unit_names().join(", ");
                format!("write {} with its unit, such as \"{}\"; units: {units}", self.words(), self.example())
            }
        }
    }

    fn of_unit(unit: &str) -> Option<Self> {
        let all = [Self::Length, Self::Time, Self::Speed, Self::Rate, Self::Size, Self::Angle];
        all.into_iter().find(|quantity| quantity.unit_names().contains(&unit))
    }
}

/// The number at the beginning, and what stands behind it.
fn split(text: &str) -> (Option<f64>, &str) {
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let end = text.find(|c| !numeric(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit.trim())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    /// Whether `low` itself is excluded.
    pub(super) above: bool,
    pub(super) high: f64,
}

impl Range {
    pub(super) const NOT_NEGATIVE: Self = Self::between(0.0, f64::INFINITY);
    pub(super) const POSITIVE: Self = Self::above_to(0.0, f64::INFINITY);

    /// Both ends are allowed.
    pub(super) const fn between(low: f64, high: f64) -> Self {
        Self { low, above: false, high }
    }

    /// The lower end is not allowed.
    pub(super) const fn above_to(low: f64, high: f64) -> Self {
        Self { low, above: true, high }
    }

    pub(super) fn has(self, value: f64) -> bool {
        value <= self.high && if self.above { value > self.low } else { value >= self.low }
    }

    /// In words; empty if everything is allowed.
    pub(super) fn words(self, quantity: Option<Quantity>) -> String {
        let show = |value: f64| match quantity {
            // Zero needs no unit to be understood.
            Some(quantity) if value != 0.0 => quantity.show(value),
            Some(_) | None => value.to_string(),
        };
        let low = match (self.low.is_finite(), self.above) {
            (false, _) => String::new(),
            (true, true) => format!("more than {}", show(self.low)),
            (true, false) => format!("at least {}", show(self.low)),
        };
        let high = if self.high.is_finite() { format!("at most {}", show(self.high)) } else { String::new() };
        if low.is_empty() || high.is_empty() { low + &high } else { format!("{low} and {high}") }
    }
}
