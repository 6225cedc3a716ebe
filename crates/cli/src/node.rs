//! `meshlock node`: runs a node until it is told to stop.

mod args;
pub(crate) mod tapes;
mod view;

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use meshlock_api::text::visible;
use meshlock_node::config::{LogFormat, NodeConfig};
use meshlock_node::mesh::removed_words;
use meshlock_node::node::{Node, NodeOptions, StartError, Stopped};
use meshlock_node::record::{self, Files, Outlet, Recorder};
use rustix::process::Signal;
use serde_json::json;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::exit::Exit;
use crate::output;
use crate::signals::Signals;
use crate::style::{self, styled};

pub(crate) use self::args::Args;
pub use self::args::Carrier;
use self::tapes::Tapes;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let config = NodeConfig::load(args.settings()?, args.config.as_deref())?;
    let mut problems = config.check();
    if args.check_config {
        let beside = config.socket.parent().unwrap_or(Path::new("/"));
        problems
            .0
            .extend([("node.dir", config.dir.as_path()), ("api.socket", beside)].into_iter().filter_map(unusable));
        return check(args, &config, &problems.0);
    }
    anyhow::ensure!(problems.0.is_empty(), "{problems}");
    start_log(&config.log, config.log_format)?;
    abort_on_panic();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(config.threads).enable_all().build()?;
    runtime.block_on(serve(args, config))
}

/// A node that broke an invariant of its own must not go on: it could grant twice. Ended at once, it comes back as a new
/// one, which is harmless.
fn abort_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}

async fn serve(args: &Args, config: NodeConfig) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let tapes = Tapes::new(config.resources.len());
    let recorder = recorder(args.record.as_deref(), config.view.map(|_| &tapes))?;
    let mut options = NodeOptions::new(config.clone());
    options.record.clone_from(&recorder);
    let mut node = match Node::start(options).await {
        Err(error @ StartError::Removed { .. }) => return Ok(removed(&error.to_string())),
        started => started?,
    };
    if config.busy_poll && config.threads == 1 {
        let hub = Arc::clone(node.hub());
        tokio::spawn(async move { hub.busy_poll().await });
    }
    let page = match config.view {
        Some(address) => Some(view::serve(address, &config, node.identity(), &tapes).await),
        None => None,
    };
    let page = match page.transpose() {
        Ok(page) => page,
        Err(error) => {
            // It has a state already: a clean end lets it come back as itself.
            drop(node.stop().await);
            return Err(error);
        }
    };
    tell_start(args, &node, page.as_ref().map(|(server, words)| (server.address(), words.as_str())))?;
    let mut config = config;
    let was_removed = loop {
        tokio::select! {
            // Of a terminal that is closed it means the end, as with every program.
            signal = signals.end() => {
                if signal != Signal::HUP || std::io::stdin().is_terminal() {
                    break false;
                }
                read_again(args, &mut node, &mut config);
            }
            () = node.removed() => break true,
        }
    };
    let member = node.identity();
    let words = removed_words(&member.mesh, &member.name);
    tracing::info!("stopping: passing tokens to neighbours");
    tokio::select! {
        ended = node.stop() => {
            if let Some(recorder) = recorder {
                recorder.finish().context("the recording could not be written to its end")?;
            }
            tell_end(&ended.context("the state could not be saved: the node will come back as a new one")?);
            Ok(if was_removed { removed(&words) } else { Exit::Fine })
        }
        _ = signals.end() => {
            tracing::warn!("stopped at once: the node will come back as a new one");
            Ok(Exit::Interrupted)
        }
    }
}

/// A service manager must not start a removed member again and again: `contrib/meshlock.service` knows this number. It is
/// `EX_NOPERM` of `sysexits.h`.
const REMOVED: Exit = Exit::Other(77);

fn removed(words: &str) -> Exit {
    anstream::eprintln!("{} {words}", styled(style::ERROR, "error:"));
    REMOVED
}

/// Reads the configuration again. One that makes no sense changes nothing.
fn read_again(args: &Args, node: &mut Node, config: &mut NodeConfig) {
    let read = args.settings().and_then(|flags| {
        let new = NodeConfig::load(flags, args.config.as_deref())?;
        let problems = new.check();
        anyhow::ensure!(problems.0.is_empty(), "{problems}");
        if new.log != config.log {
            set_log(&new.log)?;
        }
        Ok(new)
    });
    let new = match read {
        Ok(new) => new,
        Err(error) => {
            return tracing::error!("SIGHUP: the configuration was read again and changes nothing: {error:#}");
        }
    };
    let reloaded = node.reload(config, &new);
    if new.log != config.log {
        tracing::info!("SIGHUP: node.log is {} from now on", new.log);
    }
    for words in &reloaded.changed {
        tracing::info!("SIGHUP: {words}");
    }
    for key in &reloaded.needs_restart {
        tracing::warn!("SIGHUP: {key} differs, which needs a new start of the node");
    }
    tracing::info!("SIGHUP: the configuration was read again");
    // What needs a new start is compared with what holds now, also next time.
    config.resources.clone_from(&new.resources);
    config.peers.extend(new.peers.iter().filter(|peer| !config.peers.contains(peer)).cloned().collect::<Vec<_>>());
    (config.stop_within, config.create_on_first_use) = (new.stop_within, new.create_on_first_use);
    config.log.clone_from(&new.log);
}

/// Records into files of this name, if one is given, and for the page, if there is one.
pub(crate) fn recorder(path: Option<&Path>, page: Option<&Tapes>) -> anyhow::Result<Option<Recorder>> {
    let cannot = |path: &Path| format!("cannot record into {}", path.display());
    let fresh = path.map(fresh);
    match (fresh.as_deref(), page) {
        (None, None) => Ok(None),
        (Some(path), None) => Recorder::new(path).with_context(|| cannot(path)).map(Some),
        (path, Some(tapes)) => {
            let mut outlets: Vec<Box<dyn Outlet>> = vec![Box::new(tapes.clone())];
            if let Some(path) = path {
                outlets.push(Box::new(Files::beside(path).with_context(|| cannot(path))?));
            }
            Ok(Some(Recorder::live(outlets).context("cannot record for the page")?))
        }
    }
}

/// Why a directory cannot be written to, or made where it is missing.
fn unusable((key, wanted): (&str, &Path)) -> Option<String> {
    // An empty path is the directory we are in.
    let there = wanted.ancestors().find(|place| place.exists()).filter(|place| *place != Path::new(""));
    let there = there.unwrap_or(Path::new("."));
    let tried = tempfile::Builder::new().prefix(".meshlock-").tempdir_in(there);
    let error = tried.err()?;
    let reason = error.get_ref().map_or_else(|| error.to_string(), ToString::to_string);
    Some(format!("{key}: {} cannot be used: {reason}; choose another, or run as another user", wanted.display()))
}

/// A recording of before is never overwritten: the next one gets a number, and that is told.
fn fresh(path: &Path) -> PathBuf {
    // A folder that is missing is told when the recording begins.
    let fresh = record::unused(path).unwrap_or_else(|_| path.to_owned());
    if fresh != path {
        let note = styled(style::PARTIAL, "note:");
        anstream::eprintln!("{note} {} is there already, recording into {}", path.display(), fresh.display());
    }
    fresh
}

fn check(args: &Args, config: &NodeConfig, problems: &[String]) -> anyhow::Result<Exit> {
    if args.json {
        output::json(&json!({ "fine": problems.is_empty(), "problems": problems }))?;
    } else if problems.is_empty() {
        writeln!(std::io::stdout(), "the configuration is fine; clients find the node at {}", config.socket.display())?;
    } else {
        for problem in problems {
            anstream::eprintln!("{problem}");
        }
    }
    Ok(if problems.is_empty() { Exit::Fine } else { Exit::Failed })
}

fn tell_start(args: &Args, node: &Node, page: Option<(SocketAddr, &str)>) -> anyhow::Result<()> {
    let identity = node.identity();
    if args.json {
        let document = json!({
            "mesh": identity.mesh,
            "node": identity.name,
            "member": identity.member.0,
            "listen": node.address(),
            "socket": node.socket(),
            "tcp": node.tcp_address(),
            "view": page.map(|(address, _)| format!("http://{address}/")),
        });
        let mut out = std::io::stdout().lock();
        writeln!(out, "{document}")?;
        return Ok(out.flush()?);
    }
    let socket = node.socket().map(|path| path.display().to_string()).unwrap_or_default();
    tracing::info!(
        mesh = identity.mesh,
        node = identity.name,
        listen = %node.address(),
        socket,
        "ready; try: meshlock status"
    );
    if let Some((_, page)) = page {
        tracing::info!("viewer: {page}");
    }
    Ok(())
}

fn tell_end(ended: &Stopped) {
    let list = |names: &[String]| names.join(", ");
    if !ended.passed.is_empty() {
        tracing::info!("tokens passed to neighbours: {}", list(&ended.passed));
    }
    if !ended.kept.is_empty() {
        tracing::warn!(
            "kept here until this node is started again, because no neighbour could take them: {}",
            list(&ended.kept)
        );
    }
    for held in &ended.held {
        let owner = held.owner.as_deref().map(|owner| format!(" of {}", visible(owner))).unwrap_or_default();
        tracing::warn!(
            "{} is held on by request {}{owner}, which did not say that it stopped: nobody else gets it before this \
             node is started again",
            held.resource,
            held.id
        );
    }
    tracing::info!("stopped");
}

/// Begins to log. `what` is a level, or a list such as `info,meshlock_node::links=debug`.
pub fn start_log(what: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter: Targets = what.parse().with_context(|| {
        format!("{what:?} is nothing that can be logged: give off, error, warn, info, debug or trace")
    })?;
    let (filter, handle) = reload::Layer::new(filter);
    let layer = match format {
        LogFormat::Text => {
            let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
            fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colours).boxed()
        }
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().context("the log was started before")?;
    // The first one counts: the log is started once.
    let _ = LOG.set(handle);
    Ok(())
}

/// Changes what is logged.
static LOG: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Logs this from now on.
fn set_log(what: &str) -> anyhow::Result<()> {
    let filter: Targets = what.parse().with_context(|| format!("node.log: {what:?} is nothing that can be logged"))?;
    match LOG.get() {
        Some(handle) => handle.reload(filter).context("the log cannot be changed"),
        None => Ok(()),
    }
}
