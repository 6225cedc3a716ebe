//! What is measured of a run: from the end of its warm-up to its end.

use meshlock_statistics::mser5;

use crate::outcome::{Outcome, Request, Totals};
use crate::scenario::{Scenario, Warmup};
use crate::time::Time;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) start: Time,
    pub(super) end: Time,
    /// For MSER-5: whether the run was long enough for it.
    pub(super) reliable: Option<bool>,
    /// For MSER-5: everything sent before `start`.
    pub(super) sent_before: Option<Totals>,
}

impl Window {
    pub(super) fn of(scenario: &Scenario, outcome: &Outcome) -> Self {
        match scenario.warmup {
            Warmup::Fixed(span) => {
                Self { start: Time::ZERO + span, end: outcome.end, reliable: None, sent_before: None }
            }
            Warmup::Mser5 => Self::found(outcome),
        }
    }

    /// Whether the moment lies in it, both ends included.
    pub(super) fn has(&self, at: Time) -> bool {
        self.start <= at && at <= self.end
    }

    /// How long it is; zero if the run ended before its warm-up did.
    pub(super) fn seconds(&self) -> f64 {
        self.end.since(self.start).seconds()
    }

    fn found(outcome: &Outcome) -> Self {
        let granted_by_end = |request: &Request| request.granted.filter(|granted| *granted <= outcome.end);
        let mut entered: Vec<(Time, &Request)> =
            outcome.requests.iter().filter_map(|request| Some((granted_by_end(request)?, request))).collect();
        entered.sort_by_key(|(granted, _)| *granted); // stable: of equals, the one made first
        let waits: Vec<f64> = entered.iter().map(|(granted, request)| granted.since(request.asked).seconds()).collect();
        let truncation = mser5(&waits);
        // A run that never settles keeps its second half: there must be something to look at.
        let cut = truncation.samples.min(waits.len() / 2);
        let first = entered.get(cut).filter(|_| cut > 0);
        Self {
            start: first.map_or(Time::ZERO, |(granted, _)| *granted),
            end: outcome.end,
            reliable: Some(truncation.reliable),
            sent_before: Some(first.map_or_else(Totals::default, |(_, request)| request.sent)),
        }
    }
}
