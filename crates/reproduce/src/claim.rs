//! Claims, findings, verdicts.

use meshlock_report::table::Table;

use crate::lab::Lab;

/// Something a paper says that can be measured.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Such as `J-4`.
    pub id: &'static str,
    /// What the paper says, in our words.
    pub says: &'static str,
    /// How it is measured here.
    pub how: &'static str,
    /// What is to be expected, and why.
    pub expected: &'static str,
    /// Measures it.
    pub measure: fn(&Lab) -> Finding,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The numbers, with intervals, in one or two lines.
    pub measured: String,
    /// What it means for the claim.
    pub verdict: Verdict,
    /// Whether the numbers are what was expected. If not, something has changed: in CI that is a failure.
    pub as_expected: bool,
    /// For those who want to see more.
    pub evidence: Vec<Evidence>,
}

/// What a finding means for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The printed text does what it says.
    Holds,
    /// The printed text does not, the repaired one does.
    HoldsRepaired,
    /// It is wrong, whatever the text.
    Wrong,
    /// The paper gives no number; this is ours.
    Measured,
}

/// Something to look at.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// A table with its caption.
    Table(String, Table),
    /// A chart as SVG with its caption.
    Figure(String, String),
    /// A remark.
    Note(String),
}

impl Verdict {
    /// In words, for tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsRepaired => "only repaired",
            Self::Wrong => "wrong",
            Self::Measured => "measured",
        }
    }

    /// Whether the paper is right as printed.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Holds | Self::Measured)
    }
}
