//! Claims, and what measuring them gives.

use meshlock_report::table::Table;
use serde::Serialize;

use crate::lab::Lab;
use crate::verdict::{Column, Conclusion, Demand, Verdict, conclude, judge};

/// Something a paper says that can be measured.
#[derive(Clone, Copy)]
pub struct Claim {
    /// Such as `J-5`.
    pub id: &'static str,
    /// What the paper says, in our words.
    pub says: &'static str,
    /// The same as bounds on numbers. None where the paper gives no number.
    pub demands: &'static [Demand],
    pub how: &'static str,
    /// What is to be expected, and why.
    pub expected: &'static str,
    /// The same as a word for every text; none where a defect is so rare that the effort decides whether it is seen.
    pub expects: &'static [(&'static str, Option<Verdict>)],
    pub measure: fn(&Lab) -> Finding,
}

/// A measured claim. What it means follows from the claim: see [`Claim::conclusion`].
#[derive(Clone, Debug, Default)]
pub struct Finding {
    pub columns: Vec<Column>,
    /// The numbers in one or two lines.
    pub measured: String,
    /// What else was expected of the same runs.
    pub checks: Vec<Check>,
    pub evidence: Vec<Evidence>,
}

/// Something expected that is no demand of the claim: of a baseline, of our own bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub what: String,
    pub holds: bool,
}

pub fn check(what: impl Into<String>, holds: bool) -> Check {
    Check { what: what.into(), holds }
}

#[derive(Clone, Debug)]
pub enum Evidence {
    Table(String, Table),
    /// A chart as SVG with its caption.
    Figure(String, String),
    Note(String),
}

impl Claim {
    pub fn verdict(&self, column: &Column) -> Verdict {
        judge(self.demands, column)
    }

    pub fn conclusion(&self, finding: &Finding) -> Conclusion {
        conclude(self.demands, &finding.columns)
    }

    /// Everything that is not as it was expected to be, in words. In CI that is a failure: something has changed.
    pub fn surprises(&self, finding: &Finding) -> Vec<String> {
        let mut surprises = Vec::new();
        for column in &finding.columns {
            let (text, found) = (column.text.to_string(), self.verdict(column));
            match self.expects.iter().find(|(name, _)| *name == text) {
                // What is not decided contradicts nothing.
                Some((_, expected)) if expected.is_none_or(|word| word == found) || found == Verdict::Open => {}
                Some((_, expected)) => surprises.push(format!(
                    "{text} {}, expected: {} ({})",
                    found.words(),
                    expected.map_or("", Verdict::words),
                    column.reason(self.demands)
                )),
                None => surprises.push(format!("{text} {}, and nothing was expected of it", found.words())),
            }
        }
        for (text, _) in self.expects {
            if !finding.columns.iter().any(|column| column.text.to_string() == *text) {
                surprises.push(format!("{text} was not measured"));
            }
        }
        surprises
            .extend(finding.checks.iter().filter(|check| !check.holds).map(|check| format!("not so: {}", check.what)));
        surprises
    }
}
