//! meshlock, etcd, Redis and ZooKeeper under the same load on this machine, interleaved so that noise hits all alike.

mod load;
mod report;
mod services;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use crate::load::{ALL, Measured, Workload};
use crate::services::etcd::Etcd;
use crate::services::meshlock::Meshlock;
use crate::services::redis::Redis;
use crate::services::zookeeper::ZooKeeper;
use crate::services::{Service, Wish, attach};

/// Compare meshlock with etcd, Redis and ZooKeeper on this machine.
#[derive(Parser)]
#[command(after_help = "Examples:
  bench/peers/run                                everything: about twelve minutes
  bench/peers/run --only lock-1,lock-24 --rounds 5
  bench/peers/run --busy 2 --only lock-2         beside two busy loops
  bench/peers/run --services redis,tcp --json")]
struct Args {
    #[command(subcommand)]
    command: Option<Part>,
    /// The program meshlock.
    #[arg(long, default_value = "target/release/meshlock")]
    meshlock: PathBuf,
    /// How long a load lasts in each round.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// How often each load is measured; faults a third as often.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these workloads: lock-1, lock-2, lock-6, lock-24, lock-100, semaphore, readers-writer, urgent, killed-holder,
    /// killed-server, paused-server.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these services: quic, tcp, redis, zookeeper, etcd.
    #[arg(long, value_delimiter = ',')]
    services: Vec<String>,
    /// So many busy loops beside it.
    #[arg(long, default_value_t = 0)]
    busy: usize,
    /// Write a page with tables and charts here.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The measurements as JSON on standard output.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Part {
    /// Hold the lock until killed (used by the workloads themselves).
    #[command(hide = true)]
    Hold { service: String, address: String },
}

/// All rounds of one workload at one service.
pub struct Cell {
    pub service: &'static str,
    pub workload: Workload,
    pub rounds: Vec<Measured>,
    pub lacks: Option<&'static str>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(Part::Hold { service, address }) = args.command {
        let mut client = attach(&service, &address).await?;
        client.lock("dock", Wish::Lock).await?;
        println!("held");
        return std::future::pending().await;
    }
    let workloads: Vec<Workload> =
        ALL.into_iter().filter(|it| args.only.is_empty() || args.only.contains(&it.id())).collect();
    if workloads.is_empty() {
        bail!("--only names no workload: known are {}", ALL.map(Workload::id).join(", "));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..args.busy {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {});
    }
    let mut services = start(&args).await?;
    let mut cells: Vec<Cell> = Vec::new();
    for workload in workloads {
        let from = cells.len();
        for service in &services {
            let lacks = workload.lacks(service.as_ref());
            cells.push(Cell { service: service.name(), workload, rounds: Vec::new(), lacks });
        }
        let rounds = if workload.is_fault() { args.rounds.div_ceil(3) } else { args.rounds };
        for round in 0..rounds {
            for (index, service) in services.iter_mut().enumerate() {
                let cell = &mut cells[from + index];
                if cell.lacks.is_some() {
                    continue;
                }
                eprintln!("{} round {}: {}", workload.id(), round + 1, cell.service);
                cell.rounds.push(workload.run(service.as_mut(), args.seconds).await?);
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let about: Vec<(&str, &str)> = services.iter().map(|service| (service.name(), service.about())).collect();
    if args.json {
        println!("{}", report::json(&cells));
    } else {
        println!("{}", report::table(&cells).text(160));
    }
    if let Some(out) = args.out {
        std::fs::write(&out, report::page(&cells, &about, args.busy).html())?;
        eprintln!("page: {}", out.display());
    }
    Ok(())
}

async fn start(args: &Args) -> Result<Vec<Box<dyn Service>>> {
    let wanted = |name: &str| args.services.is_empty() || args.services.iter().any(|it| it == name);
    let mut services: Vec<Box<dyn Service>> = Vec::new();
    if wanted("quic") {
        services.push(Box::new(Meshlock::start(args.meshlock.clone(), "quic").await?));
    }
    if wanted("tcp") {
        services.push(Box::new(Meshlock::start(args.meshlock.clone(), "tcp").await?));
    }
    if wanted("redis") {
        services.push(Box::new(Redis::start().await?));
    }
    if wanted("zookeeper") {
        services.push(Box::new(ZooKeeper::start().await?));
    }
    if wanted("etcd") {
        services.push(Box::new(Etcd::start().await?));
    }
    if services.is_empty() {
        bail!("--services names none: known are quic, tcp, redis, zookeeper, etcd");
    }
    Ok(services)
}
