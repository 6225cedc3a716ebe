//! One node with many resources and many connected clients, each on a stream of its own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use meshlock::Client;
use meshlock_api::NewResource;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use super::report::Report;
use super::{Args, crossing, limits, one_process};
use crate::bench::vitals;

/// What this process and the node need beside the clients.
const OTHER_FILES: u64 = 200;
/// Memory is given back, and what is written later is written.
const SETTLE: Duration = Duration::from_secs(2);
/// Acquire and release, so often.
const ROUNDS: usize = 1_000;

pub(super) async fn measure(binary: &Path, place: &Path, args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let room = limits::raise_open_files().saturating_sub(OTHER_FILES);
    let clients = u64::from(args.clients).min(room);
    if clients < u64::from(args.clients) {
        report.skip(format!("more than {clients} clients: a process may open no more files here (`ulimit -Hn`)"));
    }
    let (resources, clients) = (u64::from(args.resources), clients);
    fs::create_dir_all(place)?;
    fs::write(place.join("meshlock.toml"), format!("[api]\nmax-clients = {}\n", clients + 100))?;
    let socket = place.join("sock");
    let mut command = Command::new(binary);
    command.args(["node", "--json", "--no-discovery", "--listen", "127.0.0.1:0", "--dir"]).arg(place);
    let (process, _) = one_process::start(command.arg("--socket").arg(&socket), &place.join("log")).await?;
    let pid = process.0.id();
    let memory =
        || vitals::of(pid).map(|vitals| vitals.resident as f64).context("the node has ended, or there is no /proc");
    let part = "one node".to_owned();

    let client = Client::builder().socket(&socket).connect().await?;
    client.define("first", NewResource::default()).await?;
    sleep(SETTLE).await;
    let (before, began) = (memory()?, Instant::now());
    for number in 0..resources {
        client.define(&format!("r-{number}"), NewResource::default()).await?;
    }
    let took = began.elapsed().as_secs_f64();
    report.add(&part, "resources", (resources as f64, ""));
    report.add(&part, "to make one of them", (took * 1e6 / resources as f64, "us"));
    sleep(SETTLE).await;
    let with_resources = memory()?;
    report.add(&part, "memory for each resource", ((with_resources - before) / resources as f64 / 1e3, "kB"));
    report.add(&part, "idle with them", (crossing::share(&[pid], args.watched()).await? * 100.0, "% of a core"));

    let began = Instant::now();
    let mut streams = Vec::with_capacity(usize::try_from(clients)?);
    for number in 0..clients {
        streams.push(Stream::open(&socket).await.with_context(|| format!("client {number}"))?);
    }
    report.add(&part, "clients, each on a stream of its own", (clients as f64, ""));
    report.add(&part, "to connect one of them", (began.elapsed().as_secs_f64() * 1e6 / clients as f64, "us"));
    sleep(SETTLE).await;
    let with_clients = memory()?;
    report.add(&part, "memory for each client", ((with_clients - with_resources) / clients as f64 / 1e3, "kB"));
    let idle = crossing::share(&[pid], args.watched()).await?;
    report.add(&part, "idle with them", (idle * 100.0, "% of a core"));

    for (number, stream) in streams.iter_mut().enumerate() {
        stream.acquire(number, &format!("r-{}", number as u64 % resources)).await?;
    }
    sleep(SETTLE).await;
    let holding = memory()?;
    let held = clients.min(resources);
    report.add(
        &part,
        "memory for each request, held or waiting",
        ((holding - with_clients) / clients as f64 / 1e3, "kB"),
    );
    report.add(&part, "locks held at once", (held as f64, ""));
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        client.lock("first").await?.release().await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let median = times.get(ROUNDS / 2).copied().unwrap_or_default();
    report.add(&part, "acquire + release meanwhile, median", (median.as_secs_f64() * 1e6, "us"));
    Ok(())
}

/// A client's stream by hand, so that a client is one connection and nothing else.
struct Stream {
    stream: BufReader<UnixStream>,
}

/// A node that does not answer for so long is broken.
const PATIENCE: Duration = Duration::from_secs(60);

impl Stream {
    async fn open(socket: &Path) -> anyhow::Result<Self> {
        let mut stream = Self { stream: BufReader::with_capacity(1 << 10, UnixStream::connect(socket).await?) };
        let hello = "GET /v1/stream HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: meshlock/1\r\n\r\n";
        stream.stream.write_all(hello.as_bytes()).await?;
        let first = stream.line().await?;
        ensure!(first.starts_with("HTTP/1.1 101"), "the node answered: {}", first.trim());
        while !stream.line().await?.contains("\"hello\"") {}
        Ok(stream)
    }

    /// Asks for a resource; the answer says whether it is granted or waits.
    async fn acquire(&mut self, number: usize, resource: &str) -> anyhow::Result<()> {
        let request = format!(r#"{{"id":"c-{number}","resource":"{resource}","lease_ms":3600000}}"#);
        let line = format!("{{\"n\":1,\"do\":\"acquire\",\"request\":{request}}}\n");
        self.stream.write_all(line.as_bytes()).await?;
        let answer = self.line().await?;
        ensure!(answer.contains("\"state\""), "the node answered: {}", answer.trim());
        Ok(())
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.stream.read_line(&mut line)).await.context("the node does not answer")??;
        ensure!(read > 0, "the node has closed the connection");
        Ok(line)
    }
}
