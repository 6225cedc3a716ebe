//! `meshlock up`: a whole mesh of real nodes on this machine, in one process.

mod args;
mod demo;
mod movement;
mod shape;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use meshlock_api::{Kind, Order};
use meshlock_node::config::{self, ResourceSettings, Settings, Time};
use meshlock_node::local::{LocalMesh, LocalOptions, Pair};
use meshlock_node::mesh::Recovery;
use meshlock_node::node::Node;
use meshlock_report::shell::quoted;
use meshlock_viewer::{Server, Source};
use serde_json::json;

use crate::exit::Exit;
use crate::mesh::Mode;
use crate::node::start_log;
use crate::node::tapes::Tapes;
use crate::signals::Signals;
use crate::style::{self, styled};

pub use self::args::Args;
use self::demo::Robots;
pub use self::movement::{Movement, News, World};
use self::shape::Shape;
use self::view::{LiveMesh, Parts};

/// Runs the command, with nodes that stand still or move about.
pub fn run(args: &Args, movement: Option<Movement>) -> anyhow::Result<Exit> {
    start_log(&args.log, Default::default())?;
    let place = Place::make(args.dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(go(args, movement, &place))
}

async fn go(args: &Args, movement: Option<Movement>, place: &Place) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let (shape, nodes, links) = match &movement {
        Some(movement) => (Shape::Other, movement.nodes, movement.first_links.clone()),
        None => Shape::read(args.topology.as_deref(), args.nodes)?,
    };
    let mut options = LocalOptions::new(nodes, &place.dir);
    options.settings = settings(args, nodes)?;
    let token = if args.no_view { None } else { token(args, &options.settings)? };
    if let (Some(address), None) = (args.view.filter(|address| !address.ip().is_loopback()), &token) {
        bail!(
            "--view {address}: other machines can reach this address, and everyone who can reach the page can take part: give \
             --config with a `token-file` under [api], or serve it on 127.0.0.1"
        );
    }
    let tapes = Tapes::new(options.settings.resources.len());
    let recorder = crate::node::recorder(args.record.as_deref(), (!args.no_view).then_some(&tapes))?;
    options.record.clone_from(&recorder);
    if let (Some(movement), Some(recorder)) = (&movement, &recorder) {
        for (index, place) in movement.first_places.iter().enumerate() {
            place.iter().for_each(|place| recorder.moved(&view::name_of(index), *place));
        }
    }
    let mesh = LocalMesh::start(&options, &links).await?;
    let robots = args.demo.then(|| {
        let mut robots = Robots::default();
        mesh.nodes().for_each(|node| robots.add(node));
        robots
    });
    let title = movement.as_ref().map_or_else(|| format!("{} in this process", name(nodes)), |m| m.name.clone());
    let nodes = about(&mesh);
    let world = movement.as_ref().map(|movement| Arc::clone(&movement.world));
    let live = LiveMesh::new(Parts { title, mesh, tapes, recorder: recorder.clone(), shape, world, robots });
    let page = match serve(args, &live, token).await {
        Ok(page) => page,
        Err(error) => {
            live.stop().await;
            return Err(error);
        }
    };
    let address = page.as_ref().map(|(_, address)| address.as_str());
    tell(args, &options.settings.resources, (&nodes, &links), address)?;
    if let Some(address) = address.filter(|_| args.open) {
        crate::view::open_browser(address);
    }
    tokio::select! {
        _ = signals.end() => {}
        () = follow(movement, &live) => {}
    }
    tracing::info!("stopping");
    tokio::select! {
        ends = live.stop() => {
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

fn name(nodes: u16) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

/// Serves the page, unless it is not wanted.
async fn serve(args: &Args, live: &Arc<LiveMesh>, token: Option<String>) -> anyhow::Result<Option<(Server, String)>> {
    if args.no_view {
        return Ok(None);
    }
    live.watch();
    let source: Arc<dyn Source> = Arc::clone(live) as _;
    crate::view::start(source, args.view, token).await.map(Some)
}

/// The token of the page: the one for clients, if the configuration has one.
fn token(args: &Args, settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(file) = &settings.api.token_file else { return Ok(None) };
    // As for a node, a path in the file is meant from where the file is.
    let beside = args.config.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    Ok(Some(config::token::read_or_make(&beside.join(file))?))
}

/// Moves the nodes and changes the links as the scenario says. Never returns.
async fn follow(movement: Option<Movement>, live: &LiveMesh) {
    if let Some(mut movement) = movement {
        while let Some(news) = movement.next().await {
            live.hear(news).await;
        }
        tracing::info!("the scenario has ended; nodes and links stay as they are");
    }
    std::future::pending::<()>().await;
}

/// More would only take turns at the processor.
pub const MOST_NODES: u16 = 200;

fn settings(args: &Args, nodes: u16) -> anyhow::Result<Settings> {
    let mut settings = match &args.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Settings::from_toml(&path.display().to_string(), &text)?
        }
        None => Settings::from_toml("built in", RESOURCES)?,
    };
    settings.mesh.name.get_or_insert_with(|| "up".into());
    settings.mesh.recovery = args.recovery.map(Mode::recovery).or(settings.mesh.recovery);
    settings.mesh.standing = args.standing.map(Time).or(settings.mesh.standing);
    settle_standing(&mut settings, if nodes > MANY { STANDING_OF_MANY } else { STANDING });
    Ok(settings)
}

/// A repair is to be seen within seconds, where there are not many nodes: all ask the voters six times in this time.
const STANDING: Duration = Duration::from_secs(3);
/// Where there are many, as in every other mesh.
const STANDING_OF_MANY: Duration = Duration::from_secs(10);
const MANY: u16 = 20;

/// Says how long a node may act without the voters, and after which silence a link is lost, where no file does. Each must
/// go with the other, and a mesh without voters has no standing to say.
fn settle_standing(settings: &mut Settings, usual: Duration) {
    if settings.mesh.recovery.unwrap_or_default() != Recovery::Voters {
        return;
    }
    let standing = match (settings.mesh.standing, settings.node.loss_after) {
        (Some(Time(standing)), _) => standing,
        (None, Some(Time(loss_after))) => usual.max(loss_after.saturating_mul(3)),
        (None, None) => usual,
    };
    settings.mesh.standing = Some(Time(standing));
    settings.node.loss_after.get_or_insert(Time(standing / 3));
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

struct Told {
    name: String,
    socket: PathBuf,
    listen: SocketAddr,
}

fn about(mesh: &LocalMesh) -> Vec<Told> {
    let told = |node: &Node| {
        let (name, listen) = (node.identity().name.clone(), node.address());
        Some(Told { name, socket: node.socket()?.clone(), listen })
    };
    mesh.nodes().filter_map(told).collect()
}

fn tell(
    args: &Args,
    resources: &BTreeMap<String, ResourceSettings>,
    (nodes, links): (&[Told], &BTreeSet<Pair>),
    page: Option<&str>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if args.json {
        let told = |node: &Told| json!({ "name": node.name, "socket": node.socket, "listen": node.listen });
        let nodes: Vec<_> = nodes.iter().map(told).collect();
        writeln!(out, "{}", json!({ "nodes": nodes, "links": links, "view": page }))?;
        return Ok(out.flush()?);
    }
    let program = program();
    let are = if nodes.len() == 1 { "1 node is".to_owned() } else { format!("{} nodes are", nodes.len()) };
    let links = if links.len() == 1 { "1 link".to_owned() } else { format!("{} links", links.len()) };
    writeln!(out, "{}", styled(style::STRONG, format!("{are} up, {links}")))?;
    if let Some(page) = page {
        writeln!(out, "\n{}", styled(style::STRONG, "See it in the browser, and take part:"))?;
        writeln!(out, "  {}", styled(style::STRONG, page))?;
        if !args.demo {
            writeln!(out, "  no requests yet: click a node, or start with --demo for busy clients")?;
        }
    }
    writeln!(out, "\n{}", styled(style::STRONG, "Nodes and their sockets:"))?;
    for Told { name, socket, .. } in nodes.iter().take(12) {
        writeln!(out, "  {name:<5} {}", socket.display())?;
    }
    if nodes.len() > 12 {
        writeln!(out, "  and {} more", nodes.len() - 12)?;
    }
    if let (Some(near), Some(far)) = (nodes.first(), nodes.last()) {
        writeln!(out, "\n{}", styled(style::STRONG, "Try in another terminal:"))?;
        let line = |socket: &Path, rest: &str| {
            format!("  {program} {rest}", rest = rest.replace("SOCK", &socket.display().to_string()))
        };
        for (node, rest) in tries(resources, near, far) {
            writeln!(out, "{}", line(&node.socket, &rest))?;
        }
    }
    writeln!(out, "\n{}", styled(style::FAINT, "Ctrl-C stops everything and leaves nothing behind."))?;
    Ok(out.flush()?)
}

/// Commands to try, for what can be locked here.
fn tries<'a>(resources: &BTreeMap<String, ResourceSettings>, near: &'a Told, far: &'a Told) -> Vec<(&'a Told, String)> {
    let of_kind = |kind: Kind| {
        let is = |name: &str, wanted: &ResourceSettings| {
            wanted.resolve(name).is_ok_and(|definition| definition.kind == kind && definition.order != Order::Deadline)
        };
        resources.iter().find(|(name, wanted)| is(name, wanted)).map(|(name, _)| quoted(name))
    };
    // Any name is a mutex from its first use on.
    let mutex = of_kind(Kind::Mutex).unwrap_or_else(|| "gate".to_owned());
    let mut tries = vec![
        (near, format!("lock --socket SOCK {mutex} -- sleep 20     # at {}", near.name)),
        (far, format!("lock --socket SOCK -p 5 {mutex} -- date    # at {}: waits for it", far.name)),
    ];
    if let Some(semaphore) = of_kind(Kind::Semaphore) {
        tries.push((far, format!("lock --socket SOCK --units 2 {semaphore} -- sleep 20")));
    }
    if let Some(shared) = of_kind(Kind::ReadersWriter).filter(|_| tries.len() < 3) {
        tries.push((far, format!("lock --socket SOCK --shared {shared} -- sleep 20")));
    }
    tries.push((near, "status --socket SOCK".to_owned()));
    tries.push((near, "top --socket SOCK".to_owned()));
    tries
}

/// The way this program was called, so that the commands can be copied.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "meshlock".into(), |name| name.to_string_lossy().into_owned())
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
