//! Server-sent events: lines of `data:` with an empty line after each event.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::calls::PATIENCE;
use super::{Http, Question, Sender};
use crate::error::Error;

/// The longest event that is read.
const LONGEST_EVENT: usize = 16 << 20;

/// Events as they arrive.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Dropping it would close the connection.
    _sender: Sender,
    body: Incoming,
    lines: Lines,
    place: String,
}

impl Http {
    pub(super) async fn stream(&self, path: String) -> Result<Stream, Error> {
        let question = Question { method: Method::GET, path, body: Bytes::new() };
        let tired = |_| self.silent("no answer");
        let (sender, response) = timeout(PATIENCE, self.send(&question)).await.map_err(tired)??;
        if response.status() == StatusCode::OK {
            let lines = Lines::default();
            return Ok(Stream { _sender: sender, body: response.into_body(), lines, place: self.place() });
        }
        let status = response.status();
        let answer = timeout(PATIENCE, response.into_body().collect()).await.map_err(tired)?;
        Err(self.refusal(status, &answer.map_err(|error| self.silent(error))?.to_bytes()))
    }
}

impl Stream {
    /// The next event; `None` when the node ended the stream.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        loop {
            if let Some(data) = self.lines.next_event() {
                let understood = serde_json::from_str(&data);
                return understood.map(Some).map_err(|error| self.garbled(error));
            }
            if self.lines.len() > LONGEST_EVENT {
                return Err(self.garbled("an event without end"));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => self.lines.add(frame.data_ref().map(AsRef::as_ref).unwrap_or_default()),
                Some(Err(error)) => return Err(Error::Silent { place: self.place.clone(), cause: error.to_string() }),
            }
        }
    }

    fn garbled(&self, cause: impl ToString) -> Error {
        Error::Garbled { place: self.place.clone(), cause: cause.to_string() }
    }
}

/// Bytes that are not yet a whole event.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    data: String,
}

impl Lines {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn len(&self) -> usize {
        self.bytes.len() + self.data.len()
    }

    /// The data of the next whole event. Comments and names of events are passed over.
    fn next_event(&mut self) -> Option<String> {
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            } else if line.is_empty() && !self.data.is_empty() {
                return Some(std::mem::take(&mut self.data));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_whatever_arrives() {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for byte in b": hello\n\nevent: request\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: 2\n\ndata: 3\n" {
            lines.add(&[*byte]);
            events.extend(lines.next_event());
        }
        assert_eq!(events, ["{\"a\":\n1}", "2"]);
    }
}
