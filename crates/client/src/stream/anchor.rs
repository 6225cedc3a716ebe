//! A connection for a child process: it keeps a grant should this program die before the child.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use meshlock_api::stream::{Act, ClientLine, NodeLine};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::conn::Socket;
use super::open::open;
use super::watched::Watched;
use crate::error::Error;
use crate::http::{Http, PATIENCE};

/// A connection to be inherited by a child process, as `flock` does with the descriptor of its file.
///
/// While this program lives it changes nothing. If this program dies, the grant stays, without a lease, until the last
/// process that has this descriptor has ended. It is closed on `exec` unless that is changed.
#[derive(Debug)]
pub struct Anchor(OwnedFd);

impl AsFd for Anchor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens an anchor. `None` where there can be none: over TCP, and at nodes that have no streams.
pub(crate) async fn anchor(http: &Http, watched: &Arc<Watched>) -> Result<Option<Anchor>, Error> {
    let anchored = async {
        let Some((Socket::Unix(socket), read)) = open(http).await? else { return Ok(None) };
        let broken = |error: std::io::Error| http.silent(error);
        let mut socket = UnixStream::from_std(socket).map_err(broken)?;
        let line = ClientLine::new(1, Act::Anchor).about(&watched.id);
        let mut line = serde_json::to_vec(&line).map_err(|error| http.garbled(error))?;
        line.push(b'\n');
        socket.write_all(&line).await.map_err(broken)?;
        let mut lines = BufReader::new(tokio::io::AsyncReadExt::chain(read.as_slice(), &mut socket)).lines();
        while let Some(line) = lines.next_line().await.map_err(broken)? {
            let line: NodeLine<'_> = serde_json::from_str(&line).map_err(|error| http.garbled(error))?;
            if let Some(problem) = line.problem {
                return Err(Error::Refused(problem.into_owned()));
            }
            if line.n == Some(1) {
                drop(lines);
                return Ok(Some(Anchor(socket.into_std().map_err(broken)?.into())));
            }
        }
        Err(http.silent("the connection was closed"))
    };
    timeout(PATIENCE, anchored).await.map_err(|_| http.waited(PATIENCE))?
}
