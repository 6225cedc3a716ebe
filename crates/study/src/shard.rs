//! A share of a study, so that many machines can work on it without talking to each other.

use std::fmt;
use std::str::FromStr;

use crate::plan::Plan;

/// The i-th of n shares, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    pub fn is_whole(self) -> bool {
        self.count == 1
    }

    /// Whether a run is in this share. Runs are dealt like cards, so that each share gets a bit of every point. Where
    /// replications are added until an interval is narrow, whole points are dealt: the decision needs all of their runs.
    pub fn has(self, plan: &Plan, point: usize, replication: u32) -> bool {
        let card = match plan.stop {
            Some(_) => point as u64,
            None => point as u64 * u64::from(plan.repeat) + u64::from(replication),
        };
        card % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            Some((index, count)) => Err(format!("there is no share {index} of {count}: shares count from 1")),
            None => Err("a share is written i/n, such as 1/4".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted_from_one() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        assert_eq!("1/1".parse(), Ok(Shard::WHOLE));
        for wrong in ["0/3", "4/3", "1/0"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("count from 1"), "{wrong}");
        }
        for wrong in ["", "1", "a/b", "1/2/3", "-1/2"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("such as 1/4"), "{wrong}");
        }
    }
}
