//! A run that is paced by a clock and that a user can change.
//!
//! The world has a thread of its own, which follows the clock and executes commands in between. When the time of the
//! scenario is over, its clients stop asking; nodes and time move on, so that the user can go on. [`Edits`] record all
//! changes: with them the same run can be repeated, to its last event.

mod player;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use meshlock_trace::TraceError;

use self::player::{Next, Player};
use crate::build::world;
use crate::edit::{Change, Done, EditError, Edits};
use crate::outcome::Outcome;
use crate::record::{About, Recorder};
use crate::run::{Course, RunError};
use crate::scenario::Scenario;
use crate::time::Time;

pub use self::player::SPEEDS;

/// What is shared with the thread of the world; the world itself is not.
#[allow(clippy::disallowed_types, reason = "the world stays in one thread; others read a copy of its state")]
type Shared<T> = std::sync::Mutex<T>;

/// Tells how much time has passed since a fixed moment.
pub type Clock = Box<dyn FnMut() -> Duration + Send>;

/// Called when [`Live::state`] may have changed, and often while it plays.
pub type OnChange = Arc<dyn Fn() + Send + Sync>;

/// A run that a user can change. It ends when it is dropped.
#[derive(Debug)]
pub struct Live {
    commands: Sender<Command>,
    state: Arc<Shared<State>>,
    abilities: Abilities,
    thread: Option<JoinHandle<()>>,
}

pub struct Start {
    pub scenario: Scenario,
    pub seed: u64,
    pub about: About,
    /// Where the trace goes: whole lines, the header first.
    pub output: Box<dyn Write + Send>,
    /// Edits of an earlier run, which are made again when their time has come.
    pub earlier: Edits,
    /// The clock: [`wall_clock`], but for tests.
    pub clock: Clock,
    /// Called from the thread of the world; must not wait.
    pub on_change: OnChange,
}

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub paused: bool,
    /// Simulated seconds per second.
    pub speed: f64,
    pub now: Time,
    /// Clients ask no more, or a broken rule has ended it.
    pub over: bool,
    /// Metres, where there is a radio.
    pub range: Option<f64>,
    /// How many times as fast as the scenario says nodes move.
    pub pace: f64,
    pub edits: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// There are places, a range and a pace.
    pub air: bool,
    pub links: bool,
    pub join: bool,
    pub leave: bool,
}

#[derive(Debug)]
pub struct Ending {
    /// All changes, and the moment of the end.
    pub edits: Edits,
    /// Earlier edits that could not be made again, with the reason.
    pub dropped: Vec<String>,
    pub outcome: Outcome,
    /// Whether all of the trace was written.
    pub written: Result<(), TraceError>,
}

/// What the thread is asked to do with its player, at this moment of its clock.
enum Command {
    Do(Box<dyn FnOnce(&mut Player, Duration) + Send>),
    Finish(Sender<Ending>),
}

#[allow(clippy::disallowed_types, reason = "it paces the run and decides nothing in it")]
pub fn wall_clock() -> Clock {
    let start = std::time::Instant::now();
    Box::new(move || start.elapsed())
}

impl Live {
    /// Begins a run, which stands still at its first moment.
    pub fn start(start: Start) -> Result<Self, RunError> {
        let (commands, wanted) = channel();
        let (ready, is_ready) = channel();
        let state = Arc::new(Shared::new(State {
            paused: true,
            speed: 1.0,
            now: Time::ZERO,
            over: false,
            range: None,
            pace: 1.0,
            edits: 0,
        }));
        let shared = Arc::clone(&state);
        let run = move || {
            let Start { scenario, seed, about, output, earlier, clock, on_change } = start;
            let world = match world(&scenario, seed) {
                Ok(world) => world,
                Err(error) => {
                    // The caller may have gone.
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            let abilities = Abilities {
                air: world.range_and_pace().is_some(),
                links: world.has_links(),
                join: world.can_join(),
                leave: world.can_leave(),
            };
            let recorder = Recorder::begin(output, &world, &scenario, seed, &about);
            let course = Course::new(world, &scenario);
            let player = Player::new(course, recorder, scenario, earlier.edits);
            *shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = player.state();
            let board = Board { state: shared, on_change, told: None };
            if ready.send(Ok(abilities)).is_ok() {
                play(player, clock, &wanted, board);
            }
        };
        let thread = std::thread::Builder::new().name("simulation".to_owned()).spawn(run);
        let thread = thread.map_err(|error| RunError(format!("cannot start a thread for the simulation: {error}")))?;
        let abilities = is_ready.recv().map_err(|_| RunError("the simulation could not be started".to_owned()))??;
        Ok(Self { commands, state, abilities, thread: Some(thread) })
    }

    pub fn play(&self) -> Result<(), EditError> {
        self.ask(|player, clock| player.play(clock))
    }

    pub fn pause(&self) -> Result<(), EditError> {
        self.ask(|player, _| {
            player.pause();
            Ok(())
        })
    }

    /// So many events, while paused.
    pub fn step(&self, events: u32) -> Result<(), EditError> {
        self.ask(move |player, _| player.step(events))
    }

    /// Simulated seconds per second, within [`SPEEDS`]. A run that cannot keep up is as fast as it can be.
    pub fn set_speed(&self, speed: f64) -> Result<(), EditError> {
        self.ask(move |player, clock| player.set_speed(speed, clock))
    }

    /// Makes a change at the present moment, also while paused.
    pub fn edit(&self, change: Change) -> Result<Done, EditError> {
        self.ask(move |player, _| player.edit(&change))
    }

    /// Everything that was done so far, with the present moment as its end.
    pub fn edits(&self) -> Result<Edits, EditError> {
        self.ask(|player, _| Ok(player.edits()))
    }

    pub fn state(&self) -> State {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    pub const fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Ends the run at the present moment, with the trace written to its end. `None` if it has ended before.
    pub fn finish(&self) -> Option<Ending> {
        let (answer, answered) = channel();
        self.commands.send(Command::Finish(answer)).ok()?;
        answered.recv().ok()
    }

    fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Player, Duration) -> Result<T, EditError> + Send + 'static,
    ) -> Result<T, EditError> {
        let (answer, answered) = channel();
        let ended = || EditError::new("the run has ended");
        // The caller may have gone: then the answer is dropped.
        let command = move |player: &mut Player, clock| drop(answer.send(act(player, clock)));
        self.commands.send(Command::Do(Box::new(command))).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // The thread ends when no sender of commands is left.
        self.commands = channel().0;
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

struct Board {
    state: Arc<Shared<State>>,
    on_change: OnChange,
    /// When others were told last.
    told: Option<Duration>,
}

/// How often observers are told while nothing but time changes.
const TELL_EVERY: Duration = Duration::from_millis(40);

impl Board {
    fn show(&mut self, state: State, clock: Duration) {
        let mut shown = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *shown == state {
            return;
        }
        let only_time = State { now: state.now, ..shown.clone() } == state;
        *shown = state;
        drop(shown);
        let is_due = self.told.is_none_or(|told| clock >= told + TELL_EVERY);
        if is_due || !only_time {
            self.told = Some(clock);
            (self.on_change)();
        }
    }
}

/// Plays until all senders of commands are gone.
fn play(mut player: Player, mut clock: Clock, wanted: &Receiver<Command>, mut board: Board) {
    loop {
        let next = player.tick(clock());
        board.show(player.state(), clock());
        let command = match next {
            Next::Now => match wanted.try_recv() {
                Ok(command) => Some(command),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => break,
            },
            Next::After(wait) => match wanted.recv_timeout(wait) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            },
            Next::Asked => match wanted.recv() {
                Ok(command) => Some(command),
                Err(_) => break,
            },
        };
        match command {
            None => continue,
            Some(Command::Do(act)) => act(&mut player, clock()),
            Some(Command::Finish(answer)) => return drop(answer.send(player.finish())),
        }
        board.show(player.state(), clock());
    }
    // Dropped without `finish`: the trace still gets its end.
    drop(player.finish());
}
