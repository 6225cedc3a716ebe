//! `meshlock bench torment`: does a mesh of real processes stand everything that it may meet in legal use?
//!
//! A seed decides what is done ([`plan`]); clients that go by the book note what they see ([`history`]); what they saw
//! is judged by rules that know nothing of protocols ([`verdict`]).

mod cast;
mod crashes;
mod first_link;
mod health;
mod history;
mod plan;
mod report;
mod round;
mod sizes;
mod troubles;
mod user;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use meshlock_api::duration;

use self::health::Baseline;
use self::history::History;
use self::plan::{Kind, Plan};
use self::report::Report;
use self::round::Load;
use self::troubles::Conductor;
use self::user::Scene;
use self::verdict::{Finding, Floors};
use super::processes::{Mesh, Recovery, Relay};
use meshlock_cli::exit::Exit;
use meshlock_cli::output;
use meshlock_cli::signals::Signals;
use meshlock_cli::status_line::{Destination, StatusLine};

const LONG_ABOUT: &str = "\
Inject faults into a mesh of real processes, and check that it keeps its promises.

Nodes run on the loopback interface, linked over relays. Clients ask for locks, units and sessions under all protocols, \
cancel, renew, change their minds, vanish and overstay. Meanwhile links lose packets or are cut, nodes are paused, \
stopped, killed and started again, one by one and all at once, members are removed and invited, resources are made \
and resized, clients are killed and paused, disks are full, crowds of clients arrive, and all of \
them query the status of the mesh. After each round all faults are repaired; then every request must be granted and the \
nodes must become idle.

What clients saw is judged by rules that know nothing of the protocols: units and sessions, fences, leases. Only what is \
definite counts, so a slow machine is no fault. The seed decides what is done; the timing is the machine's.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock bench torment
      five nodes, two minutes, everything
  meshlock bench torment --for 8h --seed 7 --nodes 6
      a night
  meshlock bench torment --only crash,crash-in-repair --clients 4 --recovery restart
      crashes alone, in a mesh without voters
  meshlock bench torment --only status-storm
      one kind of trouble, over and over
  meshlock bench torment --binary ./meshlock-0.1
      another build

\x1b[1;4mExit codes:\x1b[0m
    0  nothing was found
    1  a fault was found; it is told, with the command that does the same again
    2  the bench itself failed
  130  ended by Ctrl-C; what was seen so far is told";

/// Inject faults into a mesh of real processes, and check that it keeps its promises.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub(crate) struct Args {
    /// The program that is tormented [default: this one].
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Nodes of the mesh.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=20))]
    nodes: u16,
    /// How long.
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = duration::parse)]
    length: Duration,
    /// Decides what is done.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Only these kinds of trouble, over and over; after each of them all must be well again.
    #[arg(long, value_name = "KIND,...", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// How the mesh recovers [default: odd seeds voters, even seeds restart].
    #[arg(long, value_name = "MODE", value_enum)]
    recovery: Option<Recovery>,
    /// With voters: how long a node may act after it last asked them.
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = standing)]
    standing: Duration,
    /// Clients of each node beside those of the troubles [default: 4, or with --only none].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=50))]
    clients: Option<u16>,
    /// One JSON document on standard output.
    #[arg(long)]
    json: bool,
}

/// Links are given up after a second, which must be at most a third of it.
fn standing(text: &str) -> Result<Duration, String> {
    let standing = duration::parse(text)?;
    let is_fit = (Duration::from_secs(3)..=Duration::from_secs(20)).contains(&standing);
    if is_fit { Ok(standing) } else { Err("give 3s to 20s".to_owned()) }
}

impl Args {
    fn recovery(&self) -> Recovery {
        let by_seed = if self.seed % 2 == 1 { Recovery::Voters } else { Recovery::Restart };
        self.recovery.unwrap_or(by_seed)
    }
}

/// How many clients each node has.
const CLIENTS: u16 = 4;
/// How long a round lasts before all is made well again.
const ROUND: Duration = Duration::from_secs(45);
/// What the end of a round takes, on a machine that is not too busy.
const SETTLING: Duration = Duration::from_secs(8);
/// Rounds in which the memory of nodes may grow.
const GROWING: u64 = 4;

/// How often it tells how far it has come, in a file.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Paths of sockets must be short.
    let place = tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut report = Report { nodes: args.nodes.into(), seed: args.seed, ..Report::default() };
    let interrupted = runtime.block_on(go(args, place.path(), &mut report))?;
    runtime.shutdown_background(); // somebody may still wait for the output of a process
    if !report.findings.is_empty() {
        report.kept = Some(place.keep().display().to_string());
    }
    if args.json {
        output::json(&report)?;
    } else {
        report.print()?;
    }
    Ok(match (report.findings.is_empty(), interrupted) {
        (false, _) => Exit::Broken,
        (true, true) => Exit::Interrupted,
        (true, false) => Exit::Fine,
    })
}

/// Whether it was interrupted.
async fn go(args: &Args, place: &Path, report: &mut Report) -> anyhow::Result<bool> {
    let mut signals = Signals::listen()?;
    let mut line = StatusLine::new(false);
    let mut torment = Torment::new(args, place);
    tokio::select! {
        _ = signals.end() => Ok(true),
        ended = torment.run(report, &mut line) => {
            line.clear();
            ended.map(|()| false)
        }
    }
}

struct Torment<'a> {
    args: &'a Args,
    place: &'a Path,
    began: Instant,
    /// When it was last told how far it has come, where that cannot be written over.
    told: Option<Instant>,
}

impl<'a> Torment<'a> {
    fn new(args: &'a Args, place: &'a Path) -> Self {
        Self { args, place, began: Instant::now(), told: None }
    }

    async fn run(&mut self, report: &mut Report, line: &mut StatusLine) -> anyhow::Result<()> {
        let binary = self.args.binary.clone().map_or_else(std::env::current_exe, Ok)?;
        let plan = Plan {
            seed: self.args.seed,
            nodes: self.args.nodes.into(),
            recovery: self.args.recovery(),
            standing: self.args.standing,
        };
        report.recovery = plan.recovery.word().to_owned();
        let mesh = Mesh::start(&binary, self.place, plan.mesh()).await.context("the mesh cannot be started")?;
        let (pids, sockets) = (mesh.pids(), mesh.sockets());
        let scene = Scene { history: Arc::new(History::new(self.began)), sockets: sockets.clone().into() };
        let mut conductor = Conductor::new(mesh, scene);
        report.findings.extend(health::complete(&conductor.scene, Duration::ZERO).await);
        report.findings.extend(conductor.make_resized().await?);
        let mut baseline = Baseline::take(&pids, &sockets).await;
        let mut floors = Floors::new();
        while report.findings.is_empty() && self.began.elapsed() + SETTLING < self.args.length {
            let plan = Plan { seed: self.args.seed.wrapping_add(report.rounds), ..plan };
            report.repeat = self.repeat(plan.seed);
            tokio::select! {
                found = self.round(&mut conductor, plan, report.rounds, &baseline, &mut floors) => {
                    report.findings.extend(found?);
                }
                finding = health::watch(&pids) => report.findings.push(finding),
            }
            let claims = conductor.scene.history.snapshot();
            report.count(&claims);
            report.rounds += 1;
            report.uses = health::look(&pids, &sockets).await;
            if report.rounds == GROWING {
                baseline.grown = report.uses.iter().map(|one| one.vitals.resident).max();
            }
            if !report.findings.is_empty() {
                std::fs::write(self.place.join("history.json"), serde_json::to_vec(&claims)?)?;
            }
            report.done = conductor.done;
            report.refusals.clone_from(&conductor.refusals);
            report.remade = conductor.mesh.logged("was lost and is made anew here");
            report.declared = conductor.mesh.logged(" is gone: what it held");
            report.begun_anew = conductor.mesh.logged("this node begins anew");
            report.packets_lost = conductor.mesh.links().iter().map(Relay::lost).sum();
            report.seconds = self.began.elapsed().as_secs_f64();
            self.tell(report, line);
            conductor.scene.history = Arc::new(History::new(self.began));
        }
        Ok(())
    }

    async fn round(
        &self,
        conductor: &mut Conductor,
        plan: Plan,
        number: u64,
        baseline: &Baseline,
        floors: &mut Floors,
    ) -> anyhow::Result<Vec<Finding>> {
        let end = self.began + self.args.length.saturating_sub(SETTLING);
        let until = end.min(Instant::now() + ROUND);
        let clients = self.args.clients.unwrap_or(if self.args.only.is_empty() { CLIENTS } else { 0 });
        let load = Load::start(&conductor.scene, plan, clients.into(), number);
        // Without clients there is nothing to disturb: each trouble alone, and then a look at what is left of it.
        let troubles = if clients == 0 { 1 } else { usize::MAX };
        let finding = round::trouble(conductor, plan, &self.args.only, troubles, until).await?;
        let mut findings: Vec<Finding> = finding.into_iter().collect();
        if findings.is_empty() {
            findings = round::settle(conductor, load, baseline, floors).await?;
        }
        Ok(findings)
    }

    fn tell(&mut self, report: &Report, line: &mut StatusLine) {
        let text = format!(
            "{} of {}, round {}: {} requests, {} grants, {} nodes killed, {} tokens made anew, {} found",
            duration::display(Duration::from_secs(self.began.elapsed().as_secs())),
            duration::display(self.args.length),
            report.rounds,
            report.requests,
            report.grants,
            report.done.node_kills,
            report.remade,
            report.findings.len()
        );
        if line.destination() == Destination::Terminal {
            line.show(&text);
        } else if self.told.is_none_or(|told| told.elapsed() > TELL_EVERY) {
            line.print(&text);
            self.told = Some(Instant::now());
        }
    }

    /// The command that does the same as a round.
    fn repeat(&self, seed: u64) -> String {
        let kinds = self.args.only.iter().filter_map(clap::ValueEnum::to_possible_value);
        let kinds: Vec<String> = kinds.map(|kind| kind.get_name().to_owned()).collect();
        let only = if kinds.is_empty() { String::new() } else { format!(" --only {}", kinds.join(",")) };
        let clients = self.args.clients.map(|clients| format!(" --clients {clients}")).unwrap_or_default();
        let binary = self.args.binary.as_ref().map(|path| format!(" --binary {}", path.display())).unwrap_or_default();
        let length = format!("{}s", self.args.length.as_secs());
        let recovery =
            format!("--recovery {} --standing {}ms", self.args.recovery().word(), self.args.standing.as_millis());
        format!(
            "meshlock bench torment --seed {seed} --nodes {} {recovery} --for {length}{only}{clients}{binary}",
            self.args.nodes
        )
    }
}
