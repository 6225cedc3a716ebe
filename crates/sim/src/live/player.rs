//! A run that is played: it follows a clock that the caller reads, and applies edits.
//!
//! It has no thread and no clock, so that tests can play anything.

use std::collections::VecDeque;
use std::time::Duration;

use meshlock_trace::TraceError;

use super::{Ending, State};
use crate::edit::{Change, Done, Edit, EditError, Edits};
use crate::outcome::Outcome;
use crate::record::Recorder;
use crate::run::{Advance, Course};
use crate::scenario::Scenario;
use crate::time::{Span, Time};
#[cfg(test)]
use crate::world::World;

/// The least and the greatest speed, in simulated seconds per second.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=10_000.0;

/// Steps between two looks at the command queue: a few milliseconds at most.
const SLICE: usize = 64;
/// A moment with more steps than this counts as endless.
const LONGEST_MOMENT: usize = 1_000_000;
/// How far a run that cannot keep up may fall behind before it gives up catching up.
const MOST_BEHIND: Duration = Duration::from_millis(250);
/// Observers see the time advance at least this often.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// Entries of the agenda that one event may have before it.
const MOVES_PER_EVENT: usize = 1_000;
/// Events at once.
const MOST_STEPS: u32 = 100_000;

/// When a player wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// At once: there is more to do.
    Now,
    After(Duration),
    Asked,
}

pub(super) struct Player {
    scenario: Scenario,
    course: Course,
    recorder: Recorder<'static>,
    /// Edits of an earlier run that are still to come.
    coming: VecDeque<Edit>,
    done: Vec<Edit>,
    dropped: Vec<String>,
    paused: bool,
    /// Simulated seconds per second.
    speed: f64,
    /// A moment of the caller's clock and the simulated moment that belongs to it.
    anchor: (Duration, Time),
    /// How it ended, once a broken rule has ended it.
    stopped: Option<(Outcome, Result<(), TraceError>)>,
}

impl Player {
    /// Before its first event, paused.
    pub(super) fn new(course: Course, recorder: Recorder<'static>, scenario: Scenario, earlier: Vec<Edit>) -> Self {
        Self {
            scenario,
            course,
            recorder,
            coming: earlier.into(),
            done: Vec::new(),
            dropped: Vec::new(),
            paused: true,
            speed: 1.0,
            anchor: (Duration::ZERO, Time::ZERO),
            stopped: None,
        }
    }

    pub(super) fn state(&self) -> State {
        let world = &self.course.world;
        let air = world.range_and_pace();
        State {
            paused: self.paused,
            speed: self.speed,
            now: world.now(),
            over: world.now() >= self.course.end || world.has_stopped(),
            range: air.map(|(range, _)| range),
            pace: air.map_or(1.0, |(_, pace)| pace),
            edits: self.done.len(),
        }
    }

    #[cfg(test)]
    pub(super) const fn world(&self) -> &World {
        &self.course.world
    }

    pub(super) fn edits(&self) -> Edits {
        Edits { edits: self.done.clone(), end: Some(self.course.world.now()) }
    }

    pub(super) fn play(&mut self, clock: Duration) -> Result<(), EditError> {
        if self.course.world.has_stopped() {
            let what = self.course.world.storm().map_or_else(|| "a broken rule".to_owned(), ToString::to_string);
            return Err(EditError::new(format!("{what} has ended the run: nothing happens any more")));
        }
        self.paused = false;
        self.anchor = (clock, self.course.world.now());
        Ok(())
    }

    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    pub(super) fn set_speed(&mut self, speed: f64, clock: Duration) -> Result<(), EditError> {
        if !SPEEDS.contains(&speed) {
            let (least, most) = (SPEEDS.start(), SPEEDS.end());
            return Err(EditError::new(format!("a speed of {speed} is not possible: give {least} to {most}")));
        }
        self.speed = speed;
        self.anchor = (clock, self.course.world.now());
        Ok(())
    }

    /// Goes on to where the clock is, or a part of the way.
    pub(super) fn tick(&mut self, clock: Duration) -> Next {
        if self.paused {
            return Next::Asked;
        }
        let passed = clock.saturating_sub(self.anchor.0);
        let target = self.anchor.1 + Span::from_seconds(passed.as_secs_f64() * self.speed);
        match self.advance(target, SLICE) {
            Advance::Stopped => Next::Asked,
            Advance::More => {
                let now = self.course.world.now();
                if target.since(now) > Span::from_seconds(MOST_BEHIND.as_secs_f64() * self.speed) {
                    self.anchor = (clock, now);
                }
                Next::Now
            }
            Advance::There => {
                let next = self.course.world.next_at().into_iter().chain(self.coming.front().map(|edit| edit.at)).min();
                let wait = next.map_or(f64::MAX, |next| next.since(target).seconds() / self.speed);
                Next::After(Duration::try_from_secs_f64(wait).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT))
            }
        }
    }

    /// So many events, while paused.
    pub(super) fn step(&mut self, events: u32) -> Result<(), EditError> {
        if !self.paused {
            return Err(EditError::new("steps are for a run that stands still: pause it first"));
        }
        let events = events.min(MOST_STEPS);
        let goal = self.course.world.events() + u64::from(events);
        // Where nothing but movement is left, a step must not take all of it.
        for _ in 0..(events as usize * MOVES_PER_EVENT).min(LONGEST_MOMENT) {
            if self.course.world.events() >= goal {
                break;
            }
            let Some(next) = self.course.world.next_at() else { break };
            let until = self.coming.front().map_or(next, |edit| edit.at.min(next));
            if self.advance(until, 1) == Advance::Stopped {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn edit(&mut self, change: &Change) -> Result<Done, EditError> {
        let change = change.rounded();
        self.settle()?;
        let at = self.course.world.now();
        let done = self.course.world.apply(&change, &mut self.recorder)?;
        self.done.push(Edit { at, change });
        // Immediate consequences are visible at once. An endless moment is reported by the next edit.
        let _ = self.settle();
        Ok(done)
    }

    pub(super) fn finish(mut self) -> Ending {
        let _ = self.settle();
        let edits = self.edits();
        let (outcome, written) = self.stopped.take().unwrap_or_else(|| self.conclude());
        Ending { edits, dropped: self.dropped, outcome, written }
    }

    fn conclude(&mut self) -> (Outcome, Result<(), TraceError>) {
        let outcome = self.course.outcome(&self.scenario.protocol);
        let written = self.recorder.finish(&outcome);
        (outcome, written)
    }

    /// Lets everything happen that happens at this moment.
    fn settle(&mut self) -> Result<(), EditError> {
        match self.advance(self.course.world.now(), LONGEST_MOMENT) {
            Advance::There | Advance::Stopped => Ok(()),
            Advance::More => Err(EditError::new("at this moment events follow each other without end")),
        }
    }

    /// Takes at most so many steps towards a moment, with earlier edits on the way.
    fn advance(&mut self, until: Time, most: usize) -> Advance {
        loop {
            let coming = self.coming.front().map(|edit| edit.at).filter(|at| *at <= until);
            let advanced = self.course.advance(coming.unwrap_or(until), most, &mut self.recorder);
            if advanced == Advance::Stopped && self.stopped.is_none() {
                // At once, so that observers see why.
                self.paused = true;
                self.stopped = Some(self.conclude());
            }
            if coming.is_none() || advanced != Advance::There {
                return advanced;
            }
            let Some(edit) = self.coming.pop_front() else { return advanced };
            let at = self.course.world.now();
            match self.course.world.apply(&edit.change, &mut self.recorder) {
                Ok(_) => self.done.push(Edit { at, change: edit.change.rounded() }),
                Err(error) => self.dropped.push(format!("{} at {at}: {error}", edit.change.name())),
            }
        }
    }
}
