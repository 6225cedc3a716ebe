//! `meshlock sim --view`: a run in the browser, in which one can take part.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use meshlock_sim::CODE_VERSION;
use meshlock_sim::edit::file::{Header, VERSION};
use meshlock_sim::edit::{Change, EditError, Edits};
use meshlock_sim::live::{Abilities, Ending, Live, Start, wall_clock};
use meshlock_sim::record::About;
use meshlock_viewer::source::{Acting, Kind, TapeName};
use meshlock_viewer::{Action, Done, Playing, Refusal, Source, Tape, TapeWriter};
use tokio::sync::watch;

use super::edits::Keeper;
use super::{Args, Subject, about, file_name, replay, tell_stopped, trace_file};
use meshlock_cli::exit::Exit;
use meshlock_cli::signals::Signals;
use meshlock_cli::style::{self, styled};
use meshlock_cli::view;

/// Of the tape; older parts are dropped.
const KEEP_BYTES: usize = 256 * 1024 * 1024;
/// What a page can follow, in bytes of the trace a second. A run that makes more goes slower.
const BYTES_A_SECOND: u32 = 2 * 1024 * 1024;
/// From so many nodes on that is likely.
const MANY_NODES: u32 = 200;

/// Serves a run until Ctrl-C.
pub(super) fn run(subject: Subject, args: &Args, address: SocketAddr, earlier: Edits) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(subject, args, address, earlier))
}

async fn serve(subject: Subject, args: &Args, address: SocketAddr, earlier: Edits) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let (tape, writer) = Tape::written(KEEP_BYTES);
    let writer = writer.at_most(BYTES_A_SECOND);
    if let Some(words) = warning(&subject) {
        anstream::eprintln!("{} {words}", styled(style::PARTIAL, "large:"));
    }
    let trouble = Trouble::default();
    let output = Tee { tape: writer, file: trace_file(args)?, trouble: Arc::clone(&trouble) };
    let changes = watch::Sender::new(0_u64);
    let told = changes.clone();
    let about = About { views: true, ..about(&subject, args, &replay(&subject, args, args.edits.as_deref())) };
    let live = Live::start(Start {
        scenario: subject.scenario.clone(),
        seed: subject.seed,
        about,
        output: Box::new(output),
        earlier,
        clock: wall_clock(),
        on_change: Arc::new(move || told.send_modify(|count| *count = count.wrapping_add(1))),
    })?;
    let source = Arc::new(Run::new(subject, args, live, tape, changes));
    {
        let _server = view::serve(Arc::clone(&source) as Arc<dyn Source>, address, None, args.open).await?;
        source.to_first_request().map_err(|error| anyhow!(error))?;
        source.live.set_speed(first_speed(source.subject.scenario.nodes)).map_err(|error| anyhow!(error))?;
        source.live.play().map_err(|error| anyhow!(error))?;
        signals.end().await;
    }
    let ended = tokio::task::spawn_blocking(move || source.end()).await??;
    let path = args.trace.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    match trouble.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(anyhow!("cannot write the trace {path}: {error}")),
        None => Ok(ended),
    }
}

/// Up to so many nodes a run begins at its real speed.
const FEW_NODES: u32 = 25;
/// As slow as the page's slider goes.
const SLOWEST: f64 = 0.01;

/// How fast a run begins, in simulated seconds per second: the more nodes, the more happens at once, and the slower it must
/// go to be seen.
fn first_speed(nodes: u32) -> f64 {
    if nodes <= FEW_NODES { 1.0 } else { (2.0 / f64::from(nodes)).max(SLOWEST) }
}

/// At most so many events are skipped before the first request, and so many at a time.
const MOST_SKIPPED: u32 = 5_000;
const SKIPPED: u32 = 10;

/// What somebody should know who looks at a large run.
fn warning(subject: &Subject) -> Option<String> {
    let nodes = subject.scenario.nodes;
    (nodes > MANY_NODES).then(|| {
        format!(
            "{nodes} nodes do more than a page can show. It gets at most {} MiB a second, and the simulation goes slower \
             where that is not enough; the last {} MiB are kept. For a run at full speed leave out --view.",
            BYTES_A_SECOND >> 20,
            KEEP_BYTES >> 20
        )
    })
}

/// The first thing that went wrong with the trace file.
type Trouble = Arc<Mutex<Option<io::Error>>>;

/// What is shown is also written to a file. A full disk does not end the show.
struct Tee {
    tape: TapeWriter,
    file: Option<BufWriter<File>>,
    trouble: Trouble,
}

impl Tee {
    fn with_file(&mut self, what: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if let Some(Err(error)) = self.file.as_mut().map(what) {
            self.file = None;
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tape.write_all(bytes)?;
        self.with_file(|file| file.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with_file(Write::flush);
        self.tape.flush()
    }
}

/// A run that is shown.
struct Run {
    subject: Subject,
    /// Of the command that runs it again, but for its edits.
    options: Args,
    /// The file whose edits are made again.
    earlier: Option<PathBuf>,
    live: Arc<Live>,
    tape: Arc<Tape>,
    changes: watch::Sender<u64>,
    keeper: Arc<Mutex<Keeper>>,
}

impl Run {
    fn new(subject: Subject, args: &Args, live: Live, tape: Arc<Tape>, changes: watch::Sender<u64>) -> Self {
        let header = Header {
            version: VERSION,
            scenario: subject.file.clone().unwrap_or_else(|| "reference".to_owned()),
            settings: args.settings(),
            seed: subject.seed,
        };
        let usual = || PathBuf::from(format!("{}.edits.jsonl", file_name(&subject.scenario.name)));
        let wanted = args.record_edits.clone().unwrap_or_else(usual);
        let keeper = Arc::new(Mutex::new(Keeper::new(header, wanted)));
        let options = Args { set: args.set.clone(), trace: args.trace.clone(), views: true, ..Args::default() };
        Self { options, earlier: args.edits.clone(), live: Arc::new(live), tape, changes, keeper, subject }
    }

    /// Goes on to where something is to be seen: in many scenarios clients think for a while before they ask.
    fn to_first_request(&self) -> Result<(), EditError> {
        for _ in 0..MOST_SKIPPED / SKIPPED {
            if self.tape.has_requests() {
                break;
            }
            self.live.step(SKIPPED)?;
        }
        Ok(())
    }

    fn command(&self) -> String {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        replay(&self.subject, &self.options, keeper.kept().or(self.earlier.as_deref()))
    }

    /// Ends the run, and tells how it can be run again.
    fn end(&self) -> anyhow::Result<Exit> {
        let Ending { edits, dropped, outcome, written } =
            self.live.finish().context("the simulation has ended by itself")?;
        let mut kept = None;
        {
            let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
            if keeper.kept().is_some() {
                keeper.keep(&edits).context("cannot keep the edits")?;
                kept = keeper.kept().map(|path| path.display().to_string());
            }
        }
        for words in dropped {
            anstream::eprintln!("{} {words}", styled(style::PARTIAL, "an earlier edit was left out:"));
        }
        let (count, now) = (edits.edits.len(), edits.end.unwrap_or_default());
        let file = kept.map(|path| format!(", kept in {path}")).unwrap_or_default();
        anstream::eprintln!("ended at {now} after {count} edits{file}");
        if outcome.stopped {
            tell_stopped(&outcome, self.subject.seed, &self.command());
        }
        let mut out = anstream::stdout().lock();
        writeln!(out, "run it again: {}", self.command())?;
        written.context("cannot write the trace")?;
        Ok(match (outcome.storm, outcome.stopped) {
            (Some(_), _) => Exit::CutShort,
            (None, true) => Exit::Broken,
            (None, false) => Exit::Fine,
        })
    }
}

impl Source for Run {
    fn about(&self) -> meshlock_viewer::About {
        let name = self.subject.scenario.name.clone();
        meshlock_viewer::About {
            version: CODE_VERSION.to_owned(),
            source: Kind::Sim,
            title: name.clone(),
            tapes: vec![TapeName { name }],
            can: can(self.live.abilities()),
            notes: warning(&self.subject).into_iter().collect(),
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        vec![Arc::clone(&self.tape)]
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn playing(&self) -> Option<Playing> {
        let state = self.live.state();
        Some(Playing {
            paused: state.paused,
            speed: state.speed,
            now: state.now.0,
            over: state.over,
            range: state.range,
            pace: state.pace,
            replay: Some(self.command()),
        })
    }

    fn act(&self, action: Action) -> Acting<'_> {
        let (live, keeper) = (Arc::clone(&self.live), Arc::clone(&self.keeper));
        // The thread of the world answers within milliseconds, but not at once.
        let acted = tokio::task::spawn_blocking(move || act(&live, &keeper, action));
        Box::pin(async { acted.await.unwrap_or_else(|_| Err(Refusal::new("the simulation has ended"))) })
    }
}

/// What can be done, by the names of actions.
fn can(abilities: Abilities) -> Vec<&'static str> {
    let mut can = vec!["play", "pause", "step", "speed", "request", "release"];
    let more = [
        (abilities.links, &["link"][..]),
        (abilities.air, &["move", "range", "pace"]),
        (abilities.join, &["add"]),
        (abilities.leave, &["remove"]),
    ];
    can.extend(more.into_iter().filter(|(can, _)| *can).flat_map(|(_, names)| names));
    can
}

fn act(live: &Live, keeper: &Mutex<Keeper>, action: Action) -> Result<Done, Refusal> {
    let done = |result: Result<(), _>| result.map(|()| Done::default()).map_err(refusal);
    match action {
        Action::Play => return done(live.play()),
        Action::Pause => return done(live.pause()),
        Action::Step { events } => return done(live.step(events)),
        Action::Speed { factor } => return done(live.set_speed(factor)),
        Action::Request { tape, .. } | Action::Release { tape, .. } if tape != 0 => {
            return Err(Refusal::new("there is one resource here: its tape is 0"));
        }
        Action::Kill { .. } | Action::Restart { .. } => {
            return Err(Refusal::new("simulated nodes do not crash by hand; `meshlock up` has real ones"));
        }
        Action::Move { .. } | Action::Link { .. } | Action::Add { .. } | Action::Remove { .. } => {}
        Action::Range { .. } | Action::Pace { .. } | Action::Request { .. } | Action::Release { .. } => {}
    }
    let Some(change) = as_change(action) else { return Ok(Done::default()) };
    let done = live.edit(change).map_err(refusal)?;
    let edits = Edits { end: None, ..live.edits().map_err(refusal)? };
    let kept = keeper.lock().unwrap_or_else(PoisonError::into_inner).keep(&edits);
    kept.map_err(|error| Refusal::new(format!("it was done, but cannot be kept for a later run: {error}")))?;
    match done.note {
        // It was done, but not all that was wished for.
        Some(note) => Err(Refusal::new(note)),
        None => Ok(Done { node: done.node, request: done.request }),
    }
}

/// An action as a change of a simulated world; nothing if it is one of the time.
pub(crate) fn as_change(action: Action) -> Option<Change> {
    match action {
        Action::Play | Action::Pause | Action::Step { .. } | Action::Speed { .. } => None,
        Action::Move { node, to } => Some(Change::Move { node, to }),
        Action::Link { between, up } => Some(Change::Link { between, up }),
        Action::Add { at } => Some(Change::Add { at }),
        Action::Remove { node } => Some(Change::Remove { node }),
        Action::Kill { .. } | Action::Restart { .. } => None,
        Action::Range { metres } => Some(Change::Range { metres }),
        Action::Pace { factor } => Some(Change::Pace { factor }),
        Action::Request { node, units, priority, session, .. } => {
            Some(Change::Request { node, units, priority, session })
        }
        Action::Release { node, request, .. } => Some(Change::Release { node, request }),
    }
}

fn refusal(error: EditError) -> Refusal {
    Refusal::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_nodes_the_slower_a_run_begins() {
        let speeds = [12, 25, 26, 100, 1_000, 100_000].map(first_speed);
        assert_eq!(speeds, [1.0, 1.0, 2.0 / 26.0, 0.02, 0.01, 0.01]);
    }
}
