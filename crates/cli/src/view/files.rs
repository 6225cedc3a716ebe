//! `meshlock view`: trace files in the browser.

use std::net::SocketAddr;
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
}

const LONG_ABOUT: &str = "\
Look at traces in the browser: simulations, counterexamples, recordings of nodes.

The page is served from this program and needs no network. Files of any size are read on demand; a file that is \
still being written is followed. Ctrl-C ends it.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock check reverse-link/p1                a counterexample is written ...
  meshlock view reverse-link-p1.trace.jsonl     ... and looked at
  meshlock sim --trace run.trace.jsonl --views  a simulation
  meshlock view run.trace.jsonl --open
  meshlock up --demo --record run.jsonl         real nodes: one trace for each resource
  meshlock view run.docks.jsonl run.gate.jsonl";

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
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
        open.retain(|(tape, name)| {
            let problem = tape.problem();
            if let Some(problem) = &problem {
                let word = styled(style::ALARM, "warning:");
                anstream::eprintln!("{word} {name}: {problem}; what stands before it is shown");
            }
            problem.is_none()
        });
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
