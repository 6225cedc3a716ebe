//! From numbers to words: what a text of a paper must show, what it has shown, and what that means for the claim.
//!
//! No verdict stands in the source. A claim has *demands*, bounds on named numbers. A measurement gives each text its
//! *facts*, the numbers. [`judge`] compares the two and [`conclude`] sums the texts up, and nothing else decides: other
//! numbers, another word.

use std::fmt;

use meshlock_sim::outcome::{Outcome, Request};
use meshlock_statistics::{Estimate, Median, Proportion};
use serde::Serialize;

use crate::lab::Samples;

/// A number that a claim demands to be in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    pub fact: &'static str,
    /// The least that will do.
    pub least: f64,
    /// The most that will do.
    pub most: f64,
    /// It is no claim, but says whether there is enough to tell: a text that entered nowhere broke no rule either.
    pub only_if: bool,
}

pub const fn none(fact: &'static str) -> Demand {
    between(fact, 0.0, 0.0)
}

pub const fn at_most(fact: &'static str, most: f64) -> Demand {
    between(fact, f64::NEG_INFINITY, most)
}

pub const fn at_least(fact: &'static str, least: f64) -> Demand {
    between(fact, least, f64::INFINITY)
}

pub const fn between(fact: &'static str, least: f64, most: f64) -> Demand {
    Demand { fact, least, most, only_if: false }
}

pub const fn positive(fact: &'static str) -> Demand {
    at_least(fact, f64::MIN_POSITIVE)
}

/// Nothing can be told without so much.
pub const fn needs(fact: &'static str, least: f64) -> Demand {
    Demand { only_if: true, ..at_least(fact, least) }
}

/// A number that was measured, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// As in the demand.
    pub name: &'static str,
    pub value: f64,
    /// The least that it may be; the value itself for what was counted.
    pub low: f64,
    /// The most that it may be.
    pub high: f64,
}

impl Fact {
    /// Of something counted or computed: it is what it is.
    pub const fn exact(name: &'static str, value: f64) -> Self {
        // The sum of nothing is minus zero; print it as zero.
        let value = value + 0.0;
        Self { name, value, low: value, high: value }
    }

    pub fn count(name: &'static str, value: impl TryInto<u64>) -> Self {
        Self::exact(name, value.try_into().map_or(f64::NAN, |value| value as f64))
    }

    pub fn mean(name: &'static str, of: Estimate) -> Self {
        Self { name, value: of.mean, low: of.low(), high: of.high() }
    }

    pub const fn median(name: &'static str, of: Median) -> Self {
        Self { name, value: of.median, low: of.low, high: of.high }
    }

    pub const fn share(name: &'static str, of: Proportion) -> Self {
        Self { name, value: of.share, low: of.low, high: of.high }
    }
}

/// As `0.12 (0.1 to 0.14)`.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, low, high, .. } = *self;
        if low == high || !low.is_finite() || !high.is_finite() {
            return write!(f, "{}", short(value));
        }
        write!(f, "{} ({} to {})", short(value), short(low), short(high))
    }
}

/// Three digits that matter.
fn short(value: f64) -> String {
    if value.fract() == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", usize::try_from(digits.clamp(0, 9)).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A text of a paper that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// To the letter.
    Printed,
    /// As printed, with these defects repaired.
    With(String),
    /// As a node runs it.
    Repaired,
    /// Something else the paper speaks of: another algorithm, its scenario.
    Other(String),
}

/// The printed text with these repairs, named as in the errata.
pub fn with(repairs: &[&str]) -> Text {
    if repairs.is_empty() { Text::Printed } else { Text::With(repairs.join(", ")) }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Printed => write!(f, "printed"),
            Self::With(repairs) => write!(f, "printed with {repairs}"),
            Self::Repaired => write!(f, "repaired"),
            Self::Other(name) => write!(f, "{name}"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Runs {
    #[serde(rename = "runs")]
    pub all: u64,
    pub stuck: u64,
    pub storms: u64,
    pub broken: u64,
}

impl Runs {
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut runs = Self::default();
        let waits = |request: &Request| request.granted.is_none() && request.cancelled.is_none();
        for outcome in outcomes {
            runs.all += 1;
            runs.storms += u64::from(outcome.storm.is_some());
            runs.broken += u64::from(outcome.stopped && outcome.storm.is_none());
            runs.stuck += u64::from(!outcome.stopped && outcome.requests.iter().any(waits));
        }
        runs
    }

    /// Together with others.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            stuck: self.stuck + other.stuck,
            storms: self.storms + other.storms,
            broken: self.broken + other.broken,
        }
    }
}

impl From<&Samples> for Runs {
    fn from(samples: &Samples) -> Self {
        Self::of(samples.outcomes())
    }
}

/// What went wrong in them, such as `stuck in 12 of 20 runs`; nothing if nothing did.
impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("storm", self.storms), ("a broken rule", self.broken), ("stuck", self.stuck)];
        let told: Vec<String> = kinds
            .iter()
            .filter(|(_, runs)| *runs > 0)
            .map(|(kind, runs)| format!("{kind} in {runs} of {} runs", self.all))
            .collect();
        write!(f, "{}", told.join(", "))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub text: Text,
    /// Its numbers. One that could not be measured is not finite, or not there.
    pub facts: Vec<Fact>,
    pub runs: Runs,
}

impl Column {
    pub fn new(text: Text, runs: impl Into<Runs>, facts: Vec<Fact>) -> Self {
        Self { text, facts, runs: runs.into() }
    }

    /// The column of a text among others, or a new one behind them; these runs are added to it.
    pub fn of<'a>(columns: &'a mut Vec<Self>, text: &Text, runs: impl Into<Runs>) -> &'a mut Self {
        let place = columns.iter().position(|column| column.text == *text).unwrap_or(columns.len());
        if place == columns.len() {
            columns.push(Self::new(text.clone(), Runs::default(), Vec::new()));
        }
        let column = &mut columns[place];
        column.runs = column.runs.and(runs.into());
        column
    }

    /// Adds to a number that is counted.
    pub fn add(&mut self, name: &'static str, value: f64) {
        self.fold(name, value, |sum, value| sum + value);
    }

    /// Keeps the greatest of several numbers.
    pub fn most(&mut self, name: &'static str, value: f64) {
        self.fold(name, value, f64::max);
    }

    fn fold(&mut self, name: &'static str, value: f64, with: fn(f64, f64) -> f64) {
        match self.facts.iter_mut().find(|fact| fact.name == name) {
            Some(fact) => *fact = Fact::exact(name, with(fact.value, value)),
            None => self.facts.push(Fact::exact(name, value)),
        }
    }

    /// A number of it; `NaN` if it was not measured.
    pub fn value(&self, name: &str) -> f64 {
        self.fact(name).map_or(f64::NAN, |fact| fact.value)
    }

    fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name).filter(|fact| fact.value.is_finite())
    }

    /// The first demand that is not met, with the number; or why nothing was measured.
    pub fn reason(&self, demands: &[Demand]) -> String {
        let missing = || {
            let runs = self.runs.to_string();
            if runs.is_empty() { "no data".to_owned() } else { runs }
        };
        let found = judge(demands, self);
        let unmet = demands.iter().find(|demand| found != Verdict::Holds && demand.judge(self) == found);
        match unmet.map(|demand| (demand, self.fact(demand.fact))) {
            None => String::new(),
            Some((_, None)) => missing(),
            Some((demand, Some(fact)))
                if demand.only_if && self.runs != Runs { all: self.runs.all, ..Runs::default() } =>
            {
                format!("{}; {}: {fact}", self.runs, demand.fact)
            }
            Some((demand, Some(fact))) => format!("{}: {fact}, {demand}", demand.fact),
        }
    }
}

/// Every text with some words on it, as `printed 3, repaired 0`.
pub fn told(columns: &[Column], words: impl Fn(&Column) -> String) -> String {
    let one = |column: &Column| format!("{} {}", column.text, words(column));
    columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// As `at most 0`.
impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, most) if least == most => write!(f, "claimed {}", short(least)),
            (least, _) if self.only_if => write!(f, "needed at least {}", short(least)),
            (f64::NEG_INFINITY, most) => write!(f, "claimed at most {}", short(most)),
            (f64::MIN_POSITIVE, f64::INFINITY) => write!(f, "claimed more than 0"),
            (least, f64::INFINITY) => write!(f, "claimed at least {}", short(least)),
            (least, most) => write!(f, "claimed {} to {}", short(least), short(most)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    Fails,
    /// It seems to, but the interval reaches beyond the bound: more runs would tell.
    Open,
    /// It did not run far enough to tell.
    Unknown,
    /// The paper gives no number; this is ours.
    Measured,
}

impl Verdict {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Open => "not decided",
            Self::Unknown => "not measured",
            Self::Measured => "measured",
        }
    }
}

/// What is expected of a text, for the lists of claims.
pub const HOLDS: Option<Verdict> = Some(Verdict::Holds);
pub const FAILS: Option<Verdict> = Some(Verdict::Fails);
/// It does not run far enough to tell.
pub const UNKNOWN: Option<Verdict> = Some(Verdict::Unknown);
/// A defect is so rare that the effort decides whether it is seen.
pub const BY_CHANCE: Option<Verdict> = None;

impl Demand {
    fn judge(&self, column: &Column) -> Verdict {
        let within = |value: f64| (self.least..=self.most).contains(&value);
        match column.fact(self.fact) {
            None => Verdict::Unknown,
            Some(fact) if !within(fact.value) && self.only_if => Verdict::Unknown,
            Some(fact) if !within(fact.value) => Verdict::Fails,
            Some(fact) if within(fact.low) && within(fact.high) => Verdict::Holds,
            Some(_) => Verdict::Open,
        }
    }
}

/// What a text means for a claim with these demands. One that fails decides, then one that is unknown.
pub fn judge(demands: &[Demand], column: &Column) -> Verdict {
    let words: Vec<Verdict> = demands.iter().map(|demand| demand.judge(column)).collect();
    let worst = [Verdict::Fails, Verdict::Unknown, Verdict::Open, Verdict::Holds];
    worst.into_iter().find(|verdict| words.contains(verdict)).unwrap_or(Verdict::Measured)
}

/// What all texts together mean for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    Holds,
    /// The printed text does not, but does with these repairs.
    With(String),
    /// No printed text does, the repaired one does.
    OnlyRepaired,
    Wrong,
    Open,
    /// The paper gives no number; these are ours.
    Measured,
}

impl Conclusion {
    pub fn words(&self) -> String {
        match self {
            Self::Holds => "holds".to_owned(),
            Self::With(repairs) => format!("only with {repairs}"),
            Self::OnlyRepaired => "only repaired".to_owned(),
            Self::Wrong => "wrong".to_owned(),
            Self::Open => "not decided".to_owned(),
            Self::Measured => "measured".to_owned(),
        }
    }

    /// Whether the paper is right as printed.
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Holds | Self::Measured)
    }
}

/// What all texts together mean for a claim. What is no text of a protocol counts as printed.
pub fn conclude(demands: &[Demand], columns: &[Column]) -> Conclusion {
    if demands.is_empty() {
        return Conclusion::Measured;
    }
    let judged: Vec<(&Text, Verdict)> = columns.iter().map(|column| (&column.text, judge(demands, column))).collect();
    let is_printed = |text: &Text| matches!(text, Text::Printed | Text::Other(_));
    let mut printed = judged.iter().filter(|(text, _)| is_printed(text)).peekable();
    if printed.peek().is_some() && printed.all(|(_, verdict)| *verdict == Verdict::Holds) {
        return Conclusion::Holds;
    }
    let holds = || judged.iter().filter(|(_, verdict)| *verdict == Verdict::Holds).map(|(text, _)| *text);
    let repairs = |text: &Text| if let Text::With(repairs) = text { Some(repairs.clone()) } else { None };
    if let Some(repairs) = holds().find_map(repairs) {
        return Conclusion::With(repairs);
    }
    if holds().any(|text| *text == Text::Repaired) {
        return Conclusion::OnlyRepaired;
    }
    let open = judged.iter().any(|(_, verdict)| matches!(verdict, Verdict::Open | Verdict::Unknown));
    let fails = judged.iter().any(|(_, verdict)| *verdict == Verdict::Fails);
    if open && !fails { Conclusion::Open } else { Conclusion::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMANDS: &[Demand] = &[none("stuck"), at_most("wait", 2.0), needs("entries", 1.0)];

    fn column(text: Text, stuck: f64, wait: f64) -> Column {
        let wait = Fact { name: "wait", value: wait, low: wait - 0.5, high: wait + 0.5 };
        let facts = vec![Fact::exact("stuck", stuck), wait, Fact::exact("entries", 7.0)];
        Column { text, facts, runs: Runs { all: 20, stuck: 12, ..Runs::default() } }
    }

    #[test]
    fn numbers_decide_the_word() {
        let judged = |stuck: f64, wait: f64| judge(DEMANDS, &column(Text::Printed, stuck, wait));
        assert_eq!(judged(0.0, 1.0), Verdict::Holds);
        assert_eq!(judged(1.0, 1.0), Verdict::Fails);
        assert_eq!(judged(0.0, 1.8), Verdict::Open, "its interval reaches beyond");
        assert_eq!(judged(0.0, 2.1), Verdict::Fails);
        assert_eq!(judged(0.0, f64::NAN), Verdict::Unknown);
        assert_eq!(judged(1.0, f64::NAN), Verdict::Fails, "what is known to fail fails");
        assert_eq!(judge(&[], &column(Text::Printed, 0.0, 1.0)), Verdict::Measured);
        let mut idle = column(Text::Printed, 0.0, 1.0);
        idle.facts[2] = Fact::exact("entries", 0.0);
        assert_eq!(judge(DEMANDS, &idle), Verdict::Unknown, "who never enters shows nothing");
        assert_eq!(idle.reason(DEMANDS), "stuck in 12 of 20 runs; entries: 0");
    }

    #[test]
    fn the_first_text_that_does_it_names_the_conclusion() {
        let concluded = |printed: f64, mended: f64, ours: f64| {
            let texts = [(Text::Printed, printed), (with(&["p1", "p2"]), mended), (Text::Repaired, ours)];
            let columns = texts.map(|(text, stuck)| column(text, stuck, 1.0));
            conclude(DEMANDS, &columns).words()
        };
        assert_eq!(concluded(0.0, 0.0, 0.0), "holds");
        assert_eq!(concluded(1.0, 0.0, 0.0), "only with p1, p2");
        assert_eq!(concluded(1.0, 1.0, 0.0), "only repaired");
        assert_eq!(concluded(1.0, 1.0, 1.0), "wrong");
        assert_eq!(concluded(f64::NAN, 1.0, 0.0), "only repaired", "what did not run does not hold");
        assert_eq!(conclude(&[], &[]), Conclusion::Measured);
        assert_eq!(conclude(DEMANDS, &[column(Text::Repaired, 0.0, 1.8)]), Conclusion::Open);
    }

    #[test]
    fn the_reason_has_the_number_or_how_the_runs_ended() {
        let reason = |stuck: f64, wait: f64| column(Text::Printed, stuck, wait).reason(DEMANDS);
        assert_eq!(reason(0.0, 1.0), "");
        assert_eq!(reason(3.0, 1.0), "stuck: 3, claimed 0");
        assert_eq!(reason(0.0, 2.25), "wait: 2.25 (1.75 to 2.75), claimed at most 2");
        assert_eq!(reason(0.0, f64::NAN), "stuck in 12 of 20 runs");
    }
}
