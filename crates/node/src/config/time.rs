//! Times in files: texts such as `"2.5s"`.

use std::fmt;
use std::time::Duration;

use meshlock_api::duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A time, written as a text such as `"2.5s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

impl fmt::Display for Time {
    /// In the largest unit that leaves nothing out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        if ms > 0 && ms < 1_000 {
            write!(f, "{ms}ms")
        } else if !ms.is_multiple_of(1_000) {
            write!(f, "{}s", format!("{}.{:03}", ms / 1_000, ms % 1_000).trim_end_matches('0'))
        } else if ms > 0 && ms.is_multiple_of(3_600_000) {
            write!(f, "{}h", ms / 3_600_000)
        } else if ms > 0 && ms.is_multiple_of(60_000) {
            write!(f, "{}m", ms / 60_000)
        } else {
            write!(f, "{}s", ms / 1_000)
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time in quotes, such as \"2.5s\" or \"500ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
        duration::parse(text).map(Time).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were() {
        for text in ["0s", "100ms", "2.5s", "1.025s", "90s", "2m", "24h", "3661s"] {
            assert_eq!(Time(duration::parse(text).unwrap()).to_string(), text);
        }
    }
}
