//! Acquire and release over the Unix socket of a node, beside a bare round trip on such a socket.

use std::time::Instant;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::coop::consume_budget;

use super::Plan;
use super::bed::{Bed, RESOURCE};
use super::figures::{Report, Samples};
use crate::bench::wire::Wire;

/// The length of a bare message.
const MESSAGE: usize = 64;

/// Measures the floor, then what we add to it, step by step.
pub(super) async fn measure(plan: Plan, report: &mut Report) -> anyhow::Result<()> {
    let trip = report.add("Unix socket: bare round trip, 64 bytes", bare(plan).await?);
    let bed = Bed::start(plan, "line:1", true).await?;
    let socket = bed.mesh.node(0).and_then(|node| node.socket()).context("a node without a socket")?;

    let mut wire = Wire::connect(socket).await?;
    let mut samples = Samples::within(plan.time);
    while samples.go_on() {
        let begin = Instant::now();
        ask(&mut wire, "GET", "/v1/health", "").await?;
        samples.add(begin.elapsed());
    }
    report.add_beside("socket: GET /v1/health by hand", samples, ("a round trip", trip), None);

    let mut samples = Samples::within(plan.time);
    let mut number = 0_u64;
    while samples.go_on() {
        number += 1;
        let begin = Instant::now();
        let body = format!(r#"{{"id":"by-hand-{number}","resource":"{RESOURCE}"}}"#);
        ask(&mut wire, "POST", "/v1/requests?block_for=10s", &body).await?;
        ask(&mut wire, "DELETE", &format!("/v1/requests/by-hand-{number}"), "").await?;
        samples.add(begin.elapsed());
    }
    report.add_beside("socket: acquire + release by hand", samples, ("2 round trips", 2.0 * trip), None);

    let client = bed.connected(0).await?;
    let mut samples = Samples::within(plan.time);
    while samples.go_on() {
        let begin = Instant::now();
        client.lock(RESOURCE).await?.release().await?;
        samples.add(begin.elapsed());
    }
    report.add_beside("socket: acquire + release", samples, ("2 round trips", 2.0 * trip), Some(1.0));
    bed.stop().await
}

/// Two tasks, one of which sends back what the other sends.
async fn bare(plan: Plan) -> anyhow::Result<Samples> {
    let (mut here, mut there) = UnixStream::pair()?;
    let echo = tokio::spawn(async move {
        let mut message = [0; MESSAGE];
        while there.read_exact(&mut message).await.is_ok() && there.write_all(&message).await.is_ok() {}
    });
    let mut samples = Samples::within(plan.time);
    let mut message = [7; MESSAGE];
    while samples.go_on() {
        let begin = Instant::now();
        here.write_all(&message).await?;
        here.read_exact(&mut message).await?;
        samples.add(begin.elapsed());
        consume_budget().await;
    }
    drop(here);
    echo.await?;
    Ok(samples)
}

/// Asks, and wants to hear that it was done.
async fn ask(wire: &mut Wire, method: &str, path: &str, body: &str) -> anyhow::Result<()> {
    let answer = wire.ask(method, path, body).await?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!(answer.status == 200, "{method} {path} was answered by {}: {text}", answer.status);
    Ok(())
}
