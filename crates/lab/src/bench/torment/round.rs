//! A round: clients use the mesh while troubles come and go; then all is made well again, and everybody must be served,
//! nobody be told anything wrong, and every node be quiet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::cast;
use super::health::{self, Baseline};
use super::history::{Claim, How, Rules};
use super::plan::{Kind, Plan};
use super::troubles::{Conductor, former_leases, plain};
use super::user::{Scene, live};
use super::verdict::{self, Finding, Floors};

/// Nobody waits for so long on a resource on which nothing else happens, when all is well. It is far less; a busy machine
/// may take nodes their standing now and then, which is no fault.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Clients that use the mesh until they are told to stop.
pub(super) struct Load {
    ends: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

impl Load {
    /// So many at each node.
    pub(super) fn start(scene: &Scene, plan: Plan, at_each: usize, round: u64) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for client in 0..plan.nodes * at_each {
            let (scene, ends) = (scene.clone(), Arc::clone(&ends));
            clients.spawn(async move {
                let node = client % plan.nodes;
                for (number, wanted) in plan.uses(client).enumerate() {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    sleep(wanted.pause).await;
                    live(&scene, node, format!("r{round}-c{client}-{number}"), &wanted).await;
                }
            });
        }
        Self { ends, clients }
    }
}

/// Carries out so many troubles, until there is something to tell or the time is over.
pub(super) async fn trouble(
    conductor: &mut Conductor,
    plan: Plan,
    only: &[Kind],
    most: usize,
    until: Instant,
) -> anyhow::Result<Option<Finding>> {
    for (pause, trouble) in plan.troubles(only).take(most) {
        if Instant::now() + pause >= until {
            break;
        }
        sleep(pause).await;
        if let Some(finding) = conductor.carry_out(trouble).await? {
            return Ok(Some(finding));
        }
    }
    Ok(None)
}

/// Lets everybody come to an end, and looks at everything.
pub(super) async fn settle(
    conductor: &mut Conductor,
    mut load: Load,
    baseline: &Baseline,
    floors: &mut Floors,
) -> anyhow::Result<Vec<Finding>> {
    for link in conductor.mesh.links() {
        link.heal();
    }
    load.ends.store(true, Ordering::Relaxed);
    let scene = conductor.scene.clone();
    let mut crowd = std::mem::take(&mut conductor.crowd);
    while let Some(ended) = crowd.try_join_next() {
        ended?;
    }
    load.clients.spawn(async move { while crowd.join_next().await.is_some() {} });
    let former = former_leases(conductor.mesh.recovery());
    let mut findings = drain(&scene, load.clients, STUCK_AFTER + former).await;
    findings.extend(health::quiet(&conductor.mesh.pids(), &scene.sockets, baseline).await);
    if findings.is_empty() {
        findings.extend(health::complete(&scene, former).await);
        let probes = probe(conductor);
        findings.extend(drain(&scene, probes, STUCK_AFTER).await);
    }
    if findings.is_empty() {
        findings.extend(conductor.resize_at_last().await);
    }
    if findings.is_empty() {
        findings.extend(conductor.take_all().await);
    }
    let claims = scene.history.snapshot();
    let resources = cast::common().into_iter().chain(cast::stages());
    let rules: BTreeMap<String, Rules> = resources.map(|resource| (resource.name.clone(), resource.rules())).collect();
    findings.extend(verdict::check(&claims, &rules, &conductor.sizes, floors));
    verdict::raise(floors, &claims);
    for node in 0..conductor.mesh.len() {
        findings.extend(conductor.mesh.panics(node).into_iter().map(|line| Finding::new("panic", line)));
    }
    Ok(findings)
}

/// Waits until all have ended, or nothing has happened on a resource for so long.
async fn drain(scene: &Scene, mut clients: JoinSet<()>, patience: Duration) -> Vec<Finding> {
    let mut findings = Vec::new();
    loop {
        while let Some(ended) = clients.try_join_next() {
            if let Err(error) = ended {
                findings.push(Finding::new("torment", format!("a client of the bench ended badly: {error}")));
            }
        }
        if clients.is_empty() {
            return findings;
        }
        let stuck = scene.history.stuck(patience);
        if !stuck.is_empty() {
            clients.shutdown().await;
            findings.push(tell_stuck(&stuck, patience));
            for claim in stuck {
                scene.history.end_open(&claim.resource, How::Killed);
            }
            return findings;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn tell_stuck(stuck: &[Claim], patience: Duration) -> Finding {
    let mut of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for claim in stuck {
        of.entry(&claim.resource).or_default().push(format!("{} at n{}", claim.id, claim.node));
    }
    let lines: Vec<String> = of
        .iter()
        .map(|(resource, who)| {
            let first: Vec<&str> = who.iter().take(3).map(String::as_str).collect();
            let name: String = resource.chars().take(20).collect();
            format!("{} wait for {name}: {}", who.len(), first.join(", "))
        })
        .collect();
    let text = format!("with all faults over, nobody was served for {} s; {}", patience.as_secs(), lines.join("; "));
    Finding::new("stuck", text)
}

/// One more client for every resource at every node.
fn probe(conductor: &mut Conductor) -> JoinSet<()> {
    let mut probes = JoinSet::new();
    for resource in cast::common().into_iter().chain(cast::stages()) {
        for node in 0..conductor.mesh.len() {
            let wanted = plain(&resource, &format!("of-n{node}"), Duration::from_secs(10));
            let (scene, id) = (conductor.scene.clone(), conductor.id("probe"));
            probes.spawn(async move { live(&scene, node, id, &wanted).await });
        }
    }
    probes
}
