//! A founder whose disk is full when it first meets somebody. It must not link before it can note that it has: after a
//! crash it would make its tokens anew, and one of them may be elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::Signal;
use tokio::time::timeout;

use super::cast;
use super::history::History;
use super::sizes::Sizes;
use super::troubles::{SERVED_WITHIN, of_mutex};
use super::user::{Scene, User};
use super::verdict::{self, Finding, Floors};
use crate::bench::processes::{Mesh, Plan, Ways};

/// How long the second node tries to be served while it must not be. Without a fault, this is what it costs.
const TRIES: Duration = Duration::from_secs(3);
/// How long the founder tries the same after its crash.
const LATER: Duration = Duration::from_secs(5);
/// Nobody's lease is over while this lasts.
const LEASE: Duration = Duration::from_secs(120);

/// A mesh of two of its own, in this place. `None` for the finding if nothing is wrong; nothing at all if this system
/// cannot let a disk seem full.
pub(super) async fn run(like: &Mesh, number: u64) -> anyhow::Result<Option<Option<Finding>>> {
    let (binary, place) = (like.binary(), like.place().join(format!("first-{number}")));
    let plan = Plan { nodes: 2, ways: Ways::Relayed(vec![(0, 1)], number), ..like.plan().clone() };
    let mut mesh = Mesh::found(binary, &place, plan)?;
    mesh.enter(0).await?;
    if !mesh.fill_disk(0, true) {
        return Ok(None);
    }
    mesh.enter(1).await?;
    let scene = Scene { history: Arc::new(History::new(Instant::now())), sockets: mesh.sockets().into() };
    let wanted = of_mutex(&cast::stages()[0].name, LEASE);
    let mut second = User::new(&scene, 1, "second".to_owned(), &wanted);
    if timeout(TRIES, second.obtain()).await.is_ok() {
        // The token is at the second node, so the crash of the founder takes nothing from anybody.
        mesh.signal(0, Signal::KILL);
        mesh.reap(0).await.context("the founder cannot be killed")?;
        mesh.begin(0).await?;
        let mut first = User::new(&scene, 0, "founder".to_owned(), &wanted);
        // Both may well be refused; what counts is whether both hold.
        let _ = timeout(LATER, first.obtain()).await;
    } else {
        mesh.fill_disk(0, false);
        let mut again = User::new(&scene, 1, "again".to_owned(), &wanted);
        if timeout(SERVED_WITHIN, again.obtain()).await.is_err() {
            let text = "the disk of a founder was full and is so no longer, but nobody can be served";
            return Ok(Some(Some(Finding::new("unserved", text))));
        }
    }
    let rules = cast::stages().into_iter().map(|stage| (stage.name.clone(), stage.rules())).collect();
    let found = verdict::check(&scene.history.snapshot(), &rules, &Sizes::default(), &Floors::new()).into_iter().next();
    drop(mesh);
    std::fs::remove_dir_all(&place)?;
    let tell = |found: Finding| Finding {
        text: format!("a founder with a full disk met somebody, crashed and began anew: {}", found.text),
        ..found
    };
    Ok(Some(found.map(tell)))
}
