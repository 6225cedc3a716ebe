//! `meshlock view`: trace files in the browser.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use meshlock_viewer::source::{Kind, TapeName};
use meshlock_viewer::{About, Source, Tape};
use tokio::sync::watch;

use super::USUAL;
use crate::exit::Exit;
use crate::signals::Signals;
use crate::style::{self, styled};

/// Look at traces in the browser: simulations, counterexamples, recordings of nodes.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub struct Args {
    /// Trace files; several are shown one at a time, such as the resources of one recording.
    #[arg(value_name = "TRACE", required = true)]
    files: Vec<PathBuf>,
    /// Where to serve the page; beyond this machine only with --token-file.
    #[arg(long, value_name = "ADDR", default_value = USUAL)]
    listen: SocketAddr,
    /// A file with the token that browsers have to present.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
    /// Write the page with the traces in it to a file that needs no server, and end. Up to 64 MiB of traces.
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["listen", "token_file", "open"])]
    export: Option<PathBuf>,
    /// Overwrite the file of --export.
    #[arg(long, requires = "export")]
    force: bool,
}

const LONG_ABOUT: &str = "\
Look at traces in the browser: simulations, counterexamples, recordings of nodes.

The page is served from this program and needs no network. Files of any size are read on demand; a file that is \
still being written is followed. Ctrl-C ends it. With --export the page and the traces become one file, to be kept or \
sent to a colleague: it opens in any browser, without this program and without a network.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock check reverse-link/p1                a counterexample is written ...
  meshlock view reverse-link-p1.trace.jsonl     ... and looked at
  meshlock sim --trace run.trace.jsonl --views  a simulation
  meshlock view run.trace.jsonl --open
  meshlock up --demo --record run.jsonl         real nodes: one trace for each resource
  meshlock view run.docks.jsonl run.gate.jsonl
  meshlock view run.docks.jsonl --export run.html   one file to send to a colleague";

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(path) = &args.export {
        return export(&args.files, path, args.force);
    }
    let files = Files::open(&args.files)?;
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let files = Arc::new(files);
        let page = super::serve(Arc::clone(&files) as Arc<dyn Source>, args.listen, token, args.open).await?;
        tokio::select! {
            _ = signals.end() => {}
            never = tell_problems(&files) => match never {},
        }
        drop(page);
        Ok(Exit::Fine)
    })
}

/// More than this in one page is too much for browsers and for mails.
const LARGEST_EXPORT: u64 = 64 * MIB;
const MIB: u64 = 1 << 20;

/// Writes one page with all traces in it.
fn export(traces: &[PathBuf], path: &Path, force: bool) -> anyhow::Result<Exit> {
    if path.exists() && !force {
        bail!("{} is there already: --force overwrites it", path.display());
    }
    let sizes = traces.iter().map(|path| std::fs::metadata(path).map_or(0, |found| found.len()));
    let size = sizes.sum::<u64>();
    if size > LARGEST_EXPORT {
        bail!(
            "the traces have {} MiB, and a page holds up to {} MiB: export fewer of them, or record a shorter run",
            size.div_ceil(MIB),
            LARGEST_EXPORT / MIB
        );
    }
    let files = Files::open(traces)?;
    for (tape, name) in files.tapes.iter().zip(&files.names) {
        while !tape.is_read() {
            std::thread::sleep(Duration::from_millis(10));
        }
        tell_problem(tape, name);
    }
    let page = meshlock_viewer::export(&files.about(), &files.tapes)?;
    let cannot = || format!("cannot write {}", path.display());
    // Beside the file and then in its place: no half of a page is ever there.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    std::io::Write::write_all(&mut file, page.as_bytes()).with_context(cannot)?;
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).with_context(cannot)?;
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map_err(|error| error.error).with_context(cannot)?;
    let size = page.len() as f64 / MIB as f64;
    anstream::println!("{} {} ({size:.1} MiB)", styled(style::STRONG, "written:"), path.display());
    Ok(Exit::Fine)
}

/// Says why a file could not be read to its end. True if it could not.
fn tell_problem(tape: &Tape, name: &str) -> bool {
    let problem = tape.problem();
    if let Some(problem) = &problem {
        let word = styled(style::ALARM, "warning:");
        anstream::eprintln!("{word} {name}: {problem}; what stands before it is shown");
    }
    problem.is_some()
}

fn read_token(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("{}: the token must be one line of visible ASCII without spaces", path.display());
    }
    Ok(token.to_owned())
}

/// Says, once for each file, why it could not be read to its end.
async fn tell_problems(files: &Files) -> std::convert::Infallible {
    let mut open: Vec<_> = files.tapes.iter().zip(&files.names).collect();
    loop {
        open.retain(|(tape, name)| !tell_problem(tape, name));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

struct Files {
    names: Vec<String>,
    tapes: Vec<Arc<Tape>>,
    changes: watch::Sender<u64>,
}

impl Files {
    fn open(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let open = |path: &PathBuf| Tape::open(path).with_context(|| path.display().to_string());
        let tapes = paths.iter().map(open).collect::<anyhow::Result<_>>()?;
        let name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { names: paths.iter().map(name).collect(), tapes, changes: watch::Sender::new(0) })
    }
}

impl Source for Files {
    fn about(&self) -> About {
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Kind::Trace,
            title: self.names.first().cloned().unwrap_or_default(),
            tapes: self.names.iter().map(|name| TapeName { name: name.clone() }).collect(),
            can: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn tapes(&self) -> Vec<Arc<Tape>> {
        self.tapes.clone()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
