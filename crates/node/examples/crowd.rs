//! What a status costs when many wait, and whether it holds up others: `crowd [WAITERS]`.
//!
//! Two nodes in this process, linked by QUIC. So many clients wait for one lock at the first; the status is asked for at
//! the second, again and again, while the first acquires and releases another lock.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use meshlock_api::NewRequest;
use meshlock_node::hub::Hub;
use meshlock_node::local::{LocalMesh, LocalOptions};

const QUESTIONS: u32 = 100;
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let waiters: usize = std::env::args().nth(1).map_or(Ok(99_000), |text| text.parse())?;
    let dir = tempfile::tempdir()?;
    let links = BTreeSet::from([(0, 1)]);
    let options = LocalOptions { serves_clients: false, ..LocalOptions::new(2, dir.path()) };
    let mesh = LocalMesh::start(&options, &links).await?;
    mesh.wait_for_links(&links).await;
    let (first, second) = (mesh.hub(0).ok_or("no node")?, mesh.hub(1).ok_or("no node")?);
    let wants = |resource: &str| NewRequest {
        resource: resource.into(),
        lease_ms: Some(86_400_000),
        owner: Some("worker[4711]".into()),
        ..NewRequest::default()
    };
    let began = Instant::now();
    for _ in 0..=waiters {
        first.ask(wants("dock"))?;
    }
    println!("{waiters} wait, after {:?}", began.elapsed());

    let alone = acquire(&first, &wants("other"));
    tokio::time::sleep(Duration::from_secs(2)).await;
    alone.tell("an acquire alone")?;

    let beside = acquire(&first, &wants("other"));
    let (began, before) = (Instant::now(), processor_time());
    for _ in 0..QUESTIONS {
        let status = second.status(None, PATIENCE).await?;
        let dock = status.resources.iter().find(|resource| resource.name == "dock").ok_or("no dock")?;
        assert!(status.complete && dock.waiters.len() + dock.more_waiters as usize == waiters);
    }
    let (lasted, used) = (began.elapsed(), processor_time() - before);
    println!("status: {:?} each, {:?} of processor time", lasted / QUESTIONS, used / QUESTIONS);
    beside.tell("an acquire beside it")?;
    Ok(())
}

/// Acquires and releases on a thread of its own until it is told to stop.
fn acquire(hub: &Arc<Hub>, wanted: &NewRequest) -> Acquiring {
    let done = Arc::new(AtomicBool::new(false));
    let (ends, hub, wanted) = (Arc::clone(&done), Arc::clone(hub), wanted.clone());
    let times = std::thread::spawn(move || {
        let mut times = Vec::new();
        while !ends.load(Ordering::Relaxed) {
            let start = Instant::now();
            let Ok(info) = hub.ask(wanted.clone()) else { break };
            times.push(start.elapsed());
            let _ = hub.release(&info.id);
            std::thread::sleep(Duration::from_micros(200));
        }
        times
    });
    Acquiring { done, times }
}

struct Acquiring {
    done: Arc<AtomicBool>,
    times: JoinHandle<Vec<Duration>>,
}

impl Acquiring {
    fn tell(self, what: &str) -> Result<(), Box<dyn Error>> {
        self.done.store(true, Ordering::Relaxed);
        let mut times = self.times.join().map_err(|_| "it panicked")?;
        times.sort_unstable();
        let at = |share: usize| times.get((times.len() - 1) * share / 1_000).copied().unwrap_or_default();
        println!("{what}: median {:?}, 99 % {:?}, 99.9 % {:?} of {}", at(500), at(990), at(999), times.len());
        Ok(())
    }
}

/// What this process has used so far, where the system tells.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
