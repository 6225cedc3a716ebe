//! The floor of a hand-over: one message on a link with nothing above it, and one task that is woken.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context;
use meshlock_node::links::{FrameReceiver, FrameSender, Gate, LinkConfig, LinkId, LinkUser, Links, Peer, frame_queue};
use meshlock_node::mesh::{self, Existing, Identity, Incarnation};
use tokio::net::UdpSocket;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::coop::consume_budget;

use super::Plan;
use super::bed;
use super::figures::{Report, Samples};

/// The length of a frame; about that of a token.
const FRAME: usize = 64;

/// Measures; returns the floor in microseconds.
pub(super) async fn measure(plan: Plan, report: &mut Report) -> anyhow::Result<f64> {
    report.add("UDP on loopback: bare message, 64 bytes", datagrams(plan).await?.halved());
    let message = report.add("link: one message, 64 bytes", messages(plan).await?.halved());
    let wake = report.add("wake of a task", wakes(plan).await?.halved());
    Ok(message + wake)
}

/// Two sockets, one of which sends back what the other sends: what lies below every QUIC.
async fn datagrams(plan: Plan) -> anyhow::Result<Samples> {
    let (here, there) = (UdpSocket::bind(LOCAL).await?, UdpSocket::bind(LOCAL).await?);
    here.connect(there.local_addr()?).await?;
    there.connect(here.local_addr()?).await?;
    let echo = tokio::spawn(async move {
        let mut message = [0; FRAME];
        while there.recv(&mut message).await.is_ok() && there.send(&message).await.is_ok() {}
    });
    let mut samples = Samples::within(plan.time);
    let mut message = [7; FRAME];
    while samples.go_on() {
        let begin = Instant::now();
        here.send(&message).await?;
        here.recv(&mut message).await?;
        samples.add(begin.elapsed());
        consume_budget().await;
    }
    echo.abort();
    Ok(samples)
}

const LOCAL: (std::net::Ipv4Addr, u16) = (std::net::Ipv4Addr::LOCALHOST, 0);

/// Two tasks that wake each other.
async fn wakes(plan: Plan) -> anyhow::Result<Samples> {
    let (there, here) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let echo = tokio::spawn({
        let (there, here) = (Arc::clone(&there), Arc::clone(&here));
        async move {
            loop {
                there.notified().await;
                here.notify_one();
            }
        }
    });
    let mut samples = Samples::within(plan.time);
    while samples.go_on() {
        let begin = Instant::now();
        there.notify_one();
        here.notified().await;
        samples.add(begin.elapsed());
        consume_budget().await;
    }
    echo.abort();
    Ok(samples)
}

/// Two members with a link, on which one frame goes to and fro.
async fn messages(plan: Plan) -> anyhow::Result<Samples> {
    let dir = bed::directory()?;
    let first = mesh::found(&dir.path().join("a"), "bench", "a", Existing::Keep)?.identity;
    let invitation = mesh::invite(&dir.path().join("a"), "b", Vec::new())?;
    let second = mesh::join(&dir.path().join("b"), &invitation, Existing::Keep)?.identity;
    let (done, measured) = oneshot::channel();
    let echo = start(plan, second, Arc::new(Echo::default()))?;
    let ping = start(plan, first, Arc::new(Ping { plan, state: Mutex::new(None), done: Mutex::new(Some(done)) }))?;
    ping.add_peer(echo.address().to_string());
    let samples = measured.await.context("the link went down while it was measured")?;
    ping.stop().await;
    echo.stop().await;
    Ok(samples)
}

fn start(plan: Plan, identity: Identity, user: Arc<dyn LinkUser>) -> anyhow::Result<Links> {
    // Nobody is removed, and everybody is let in: that stays so when the senders are gone.
    let (_, removed) = watch::channel(BTreeSet::new());
    let (_, gate) = watch::channel(Gate::Everybody);
    let config = LinkConfig {
        node: watch::channel(identity.member.node(Incarnation(0))).1,
        installation: 0,
        identity: Arc::new(identity),
        listen: SocketAddr::from(LOCAL),
        peers: Vec::new(),
        discovery: None,
        loss_after: LinkConfig::LOSS_AFTER,
        transport: plan.transport,
        removed,
        gate,
    };
    Ok(Links::start(config, user)?)
}

/// Sends back what it gets.
#[derive(Default)]
struct Echo {
    sender: Mutex<Option<FrameSender>>,
}

impl LinkUser for Echo {
    fn up(&self, _: LinkId, _: &Peer) -> Result<FrameReceiver, String> {
        let (sender, receiver) = frame_queue();
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Ok(receiver)
    }

    fn received(&self, _: LinkId, frame: &[u8]) -> Result<(), String> {
        if let Some(sender) = &*self.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(frame.into());
        }
        Ok(())
    }

    fn down(&self, _: LinkId, _: &str) {}
}

/// Sends a frame, and the next one when it is back.
struct Ping {
    plan: Plan,
    state: Mutex<Option<Pinging>>,
    /// Dropped unused when the link goes down before its time.
    done: Mutex<Option<oneshot::Sender<Samples>>>,
}

struct Pinging {
    sender: FrameSender,
    samples: Samples,
    sent: Instant,
}

impl LinkUser for Ping {
    fn up(&self, _: LinkId, _: &Peer) -> Result<FrameReceiver, String> {
        let (sender, receiver) = frame_queue();
        let _ = sender.send([7; FRAME].into());
        let pinging = Pinging { sender, samples: Samples::within(self.plan.time), sent: Instant::now() };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(pinging);
        Ok(receiver)
    }

    fn received(&self, _: LinkId, frame: &[u8]) -> Result<(), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pinging) = state.as_mut() else { return Ok(()) };
        pinging.samples.add(pinging.sent.elapsed());
        if pinging.samples.go_on() {
            pinging.sent = Instant::now();
            let _ = pinging.sender.send(frame.into());
            return Ok(());
        }
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let samples = std::mem::replace(&mut pinging.samples, Samples::within(self.plan.time));
        if let Some(done) = done {
            let _ = done.send(samples);
        }
        Ok(())
    }

    fn down(&self, _: LinkId, _: &str) {
        drop(self.done.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
