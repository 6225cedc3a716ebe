//! HTTP with nothing around it: the least that a client can do.
//!
//! It knows nothing of the client library, so it is a floor to measure that against, and what it sees of a node was not
//! tidied up on the way.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// One connection to the socket of a node.
#[derive(Debug)]
pub(super) struct Wire {
    stream: UnixStream,
    answer: Vec<u8>,
}

/// What a node answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Wire {
    pub(super) async fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self { stream: UnixStream::connect(socket).await?, answer: Vec::new() })
    }

    /// Asks, and reads the whole answer. After an error the connection is of no use.
    pub(super) async fn ask(&mut self, method: &str, path: &str, body: &str) -> io::Result<Answer> {
        let length = body.len();
        let question = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(question.as_bytes()).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the node closed the connection"));
            }
            if let Some(answer) = whole(&self.answer)? {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once all of it is there.
fn whole(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let (head, rest) = bytes.split_at(end + 4);
    let head = String::from_utf8_lossy(head);
    let strange = || io::Error::new(io::ErrorKind::InvalidData, format!("not understood: {head}"));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|head| head.get(..3)?.parse().ok()).ok_or_else(strange)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let body = rest.get(..length.ok_or_else(strange)?);
    Ok(body.map(|body| Answer { status, body: body.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_all_of_its_length_is_there() {
        let body = |bytes: &[u8]| whole(bytes).unwrap().map(|answer| (answer.status, answer.body));
        assert_eq!(body(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"), None);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{"), None);
        assert_eq!(body(b"HTTP/1.1 410 Gone\r\ncontent-length: 2\r\n\r\n{}"), Some((410, b"{}".to_vec())));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "it has no length");
        assert!(whole(b"SSH-2.0\r\ncontent-length: 2\r\n\r\n{}").is_err());
    }
}
