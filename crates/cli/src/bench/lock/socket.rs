//! Acquire and release over the Unix socket of a node, beside a bare round trip on such a socket.

use std::time::Instant;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::coop::consume_budget;

use super::Plan;
use super::bed::{Bed, RESOURCE};
use super::figures::{Report, Samples};

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
        wire.ask("GET", "/v1/health", "").await?;
        samples.add(begin.elapsed());
    }
    report.add_beside("socket: GET /v1/health by hand", samples, ("a round trip", trip), None);

    let mut samples = Samples::within(plan.time);
    let mut number = 0_u64;
    while samples.go_on() {
        number += 1;
        let begin = Instant::now();
        let body = format!(r#"{{"id":"by-hand-{number}","resource":"{RESOURCE}"}}"#);
        wire.ask("POST", "/v1/requests?block_for=10s", &body).await?;
        wire.ask("DELETE", &format!("/v1/requests/by-hand-{number}"), "").await?;
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

/// HTTP with nothing around it: the least that a client can do.
struct Wire {
    stream: UnixStream,
    answer: Vec<u8>,
}

impl Wire {
    async fn connect(socket: &std::path::Path) -> anyhow::Result<Self> {
        Ok(Self { stream: UnixStream::connect(socket).await?, answer: Vec::new() })
    }

    /// Asks, and reads the whole answer.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<()> {
        let length = body.len();
        let question = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.write_all(question.as_bytes()).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                bail!("the node closed the connection");
            }
            match whole(&self.answer) {
                Some(true) => break,
                Some(false) => {}
                None => bail!("not understood: {}", String::from_utf8_lossy(&self.answer)),
            }
        }
        if self.answer.starts_with(b"HTTP/1.1 200") {
            return Ok(());
        }
        bail!("{method} {path} was answered by {}", String::from_utf8_lossy(&self.answer));
    }
}

/// Whether an answer is complete; `None` if it has no length.
fn whole(answer: &[u8]) -> Option<bool> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Some(false) };
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())?;
    Some(answer.len() >= end + 4 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_all_of_its_length_is_there() {
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"), Some(false));
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{"), Some(false));
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"), Some(true));
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\n\r\n"), None);
    }
}
