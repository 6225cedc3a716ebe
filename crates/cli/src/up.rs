//! `meshlock up`: a whole mesh of real nodes on this machine, in one process.

mod args;
mod demo;
mod help;
mod movement;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use meshlock_check::Topology;
use meshlock_node::config::Settings;
use meshlock_node::local::{LocalMesh, LocalOptions, Pair};
use serde_json::json;

use crate::exit::Exit;
use crate::node::log;
use crate::signals::Signals;
use crate::style::{self, styled};

pub(crate) use self::args::Args;
use self::movement::Movement;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    log::start(&args.log, Default::default())?;
    let place = Place::make(args.dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(go(args, &place))
}

async fn go(args: &Args, place: &Place) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let movement = match &args.scenario {
        Some(file) => Some(Movement::start(file, args.seed).await?),
        None => None,
    };
    let (nodes, links) = match &movement {
        Some(movement) => (movement.nodes, movement.first_links.clone()),
        None => shape(args)?,
    };
    let mut options = LocalOptions::new(nodes, &place.dir);
    options.settings = settings(args)?;
    let recorder = crate::node::recorder(args.record.as_deref())?;
    options.record.clone_from(&recorder);
    let mesh = LocalMesh::start(&options, &links).await?;
    tell(args, &mesh, &links)?;
    let busy = args.demo.then(|| demo::start(&mesh));
    tokio::select! {
        _ = signals.end() => {}
        () = follow(movement, &mesh) => {}
    }
    drop(busy);
    tracing::info!("stopping");
    tokio::select! {
        ends = mesh.stop() => {
            for end in ends {
                end.context("a node could not stop cleanly")?;
            }
            if let Some(recorder) = recorder {
                recorder.finish().context("the recording could not be written to its end")?;
            }
            Ok(Exit::Fine)
        }
        _ = signals.end() => Ok(Exit::Interrupted),
    }
}

/// Changes the links as the scenario says, for ever.
async fn follow(movement: Option<Movement>, mesh: &LocalMesh) {
    if let Some(mut movement) = movement {
        while let Some(links) = movement.next().await {
            tracing::debug!("{} links", links.len());
            mesh.set_links(&links);
        }
        tracing::info!("the scenario is over; the links stay as they are");
    }
    std::future::pending::<()>().await;
}

fn shape(args: &Args) -> anyhow::Result<(u16, BTreeSet<Pair>)> {
    let text =
        if args.topology.contains(':') { args.topology.clone() } else { format!("{}:{}", args.topology, args.nodes) };
    let topology: Topology = text.parse().with_context(|| format!("--topology {text}"))?;
    let nodes = u16::try_from(topology.len()).context("too many nodes for one machine")?;
    if nodes > MOST_NODES {
        bail!("{nodes} nodes are too many for one process: give at most {MOST_NODES}, or simulate them");
    }
    let links = topology.links().iter().map(|link| (link.low().0 as usize, link.high().0 as usize));
    Ok((nodes, links.collect()))
}

const MOST_NODES: u16 = 200;

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let mut settings = match &args.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Settings::from_toml(&path.display().to_string(), &text)?
        }
        None => Settings::from_toml("built in", RESOURCES)?,
    };
    settings.mesh.name.get_or_insert_with(|| "up".into());
    Ok(settings)
}

/// What can be locked where no file says so.
const RESOURCES: &str = r#"
[resources.docks]
capacity = 3
[resources.gate]
[resources.map]
kind = "readers-writer"
[resources.room]
kind = "sessions"
"#;

fn tell(args: &Args, mesh: &LocalMesh, links: &BTreeSet<Pair>) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let sockets: Vec<(String, PathBuf)> =
        mesh.nodes().filter_map(|node| Some((node.identity().name.clone(), node.socket()?.clone()))).collect();
    if args.json {
        let nodes = mesh
            .nodes()
            .zip(&sockets)
            .map(|(node, (name, socket))| json!({ "name": name, "socket": socket, "listen": node.address() }));
        writeln!(out, "{}", json!({ "nodes": nodes.collect::<Vec<_>>(), "links": links }))?;
        return Ok(out.flush()?);
    }
    let program = program();
    writeln!(out, "{}", styled(style::STRONG, format!("{} nodes are up, {} links", mesh.len(), links.len())))?;
    for (name, socket) in sockets.iter().take(12) {
        writeln!(out, "  {name:<5} {}", socket.display())?;
    }
    if sockets.len() > 12 {
        writeln!(out, "  and {} more", sockets.len() - 12)?;
    }
    if let (Some((first, near)), Some((last, far))) = (sockets.first(), sockets.last()) {
        writeln!(out, "\n{}", styled(style::STRONG, "Try in another terminal:"))?;
        let line = |socket: &Path, rest: &str| {
            format!("  {program} {rest}", rest = rest.replace("SOCK", &socket.display().to_string()))
        };
        let tries = [
            (near, format!("lock --socket SOCK gate -- sleep 20     # at {first}")),
            (far, format!("lock --socket SOCK -p 5 gate -- date    # at {last}: waits for it")),
            (far, "lock --socket SOCK --units 2 docks -- sleep 20".to_owned()),
            (near, "status --socket SOCK".to_owned()),
            (near, "top --socket SOCK".to_owned()),
        ];
        for (socket, rest) in tries {
            writeln!(out, "{}", line(socket, &rest))?;
        }
    }
    writeln!(out, "\n{}", styled(style::FAINT, "Ctrl-C stops everything and leaves nothing behind."))?;
    Ok(out.flush()?)
}

/// The way this program was called, so that the commands can be copied.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "meshlock".into())
}

/// Where the nodes keep their files: removed at the end, unless it was given.
struct Place {
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Place {
    fn make(given: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(dir) = given {
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
            return Ok(Self { dir: dir.to_owned(), _temporary: None });
        }
        let made =
            tempfile::Builder::new().prefix("meshlock-").tempdir().context("cannot make a temporary directory")?;
        Ok(Self { dir: made.path().to_owned(), _temporary: Some(made) })
    }
}
