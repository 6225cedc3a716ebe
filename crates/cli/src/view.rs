//! The page that shows a mesh in the browser: `meshlock view`, and `--view` of other commands.

mod files;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use meshlock_viewer::{Server, Serving, Source};

use crate::style::{self, styled};

pub use self::files::Args;
pub(crate) use self::files::run;

/// Where the page is served if nothing else is said; if the port is taken, on any other one.
pub const USUAL: &str = "127.0.0.1:8460";

/// Serves a source and says where, on standard error. The page is there until the server is dropped.
pub async fn serve(
    source: Arc<dyn Source>,
    address: SocketAddr,
    token: Option<String>,
    open: bool,
) -> anyhow::Result<Server> {
    let (server, page) = start(source, unless_usual(address), token).await?;
    anstream::eprintln!("{} {page}", styled(style::STRONG, "viewer:"));
    if open {
        open_browser(&page);
    }
    Ok(server)
}

/// Serves a source; the address of the page is for the caller to tell.
pub(crate) async fn start(
    source: Arc<dyn Source>,
    address: Option<SocketAddr>,
    token: Option<String>,
) -> anyhow::Result<(Server, String)> {
    let any_port = address.is_none();
    let address = address.map_or_else(|| USUAL.parse().context("the usual address of the page"), Ok)?;
    let server = Server::start(Serving { address, any_port, token: token.clone() }, source).await?;
    let secret = token.map(|token| format!("#token={token}")).unwrap_or_default();
    let page = format!("http://{}/{secret}", server.address());
    Ok((server, page))
}

/// The address, unless it is the one that options have where none is given: then any other port will do as well.
pub(crate) fn unless_usual(address: SocketAddr) -> Option<SocketAddr> {
    Some(address).filter(|address| address.to_string() != USUAL)
}

/// Shows a page in the browser of this machine.
pub(crate) fn open_browser(page: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let started = std::process::Command::new(opener).arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Err(error) = started {
        anstream::eprintln!("{opener} cannot be started ({error}): open the address by hand");
    }
}
