//! The upgrade from HTTP.

use std::time::Duration;

use meshlock_api::stream::{BRIEF, PATH, PROTOCOL};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::conn::Socket;
use crate::error::Error;
use crate::http::{Http, Raw};

/// The largest header of an answer.
const LARGEST_HEADER: usize = 32 << 10;
/// How long the body of a refusal may take.
const BODY: Duration = Duration::from_secs(1);

/// A connection, with what the node has said on it already. `None` if the node has no streams.
pub(super) async fn open(http: &Http) -> Result<Option<(Socket, Vec<u8>)>, Error> {
    let broken = |error: std::io::Error| http.silent(error);
    let (socket, read) = match http.raw().await? {
        Raw::Unix(mut stream) => {
            let Some(read) = upgrade(http, &mut stream).await? else { return Ok(None) };
            (Socket::Unix(stream.into_std().map_err(broken)?), read)
        }
        Raw::Tcp(mut stream) => {
            let Some(read) = upgrade(http, &mut stream).await? else { return Ok(None) };
            (Socket::Tcp(stream.into_std().map_err(broken)?), read)
        }
    };
    Ok(Some((socket, read)))
}

async fn upgrade(http: &Http, stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<Option<Vec<u8>>, Error> {
    let authorization = http.token().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let question = format!(
        "GET {PATH} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\nPrefer: {BRIEF}\r\n\
         {authorization}\r\n",
        http.host()
    );
    stream.write_all(question.as_bytes()).await.map_err(|error| http.silent(error))?;
    let mut read = Vec::new();
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if read.len() > LARGEST_HEADER {
            return Err(http.garbled("a header without end"));
        }
        let count = stream.read_buf(&mut read).await.map_err(|error| http.silent(error))?;
        if count == 0 {
            return Err(http.silent("the connection was closed"));
        }
    };
    let rest = read.split_off(end);
    let head = String::from_utf8_lossy(&read);
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse::<u16>().ok());
    match status {
        Some(101) => Ok(Some(rest)),
        Some(404 | 426) => Ok(None), // a node of an earlier version, or of a later one
        Some(status) => Err(refused(http, status, stream, rest).await),
        None => Err(http.garbled("no status")),
    }
}

async fn refused(http: &Http, status: u16, stream: &mut (impl AsyncRead + Unpin), mut body: Vec<u8>) -> Error {
    // Until it is a whole problem; a node may leave the connection open.
    let whole = async {
        while serde_json::from_slice::<serde_json::Value>(&body).is_err() && body.len() < LARGEST_HEADER {
            match stream.read_buf(&mut body).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    };
    let _ = timeout(BODY, whole).await;
    http.refusal(hyper::StatusCode::from_u16(status).unwrap_or_default(), &body)
}
