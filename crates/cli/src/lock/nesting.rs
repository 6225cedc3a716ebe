//! A lock inside of itself would wait for its own release: it is refused.
//!
//! `MESHLOCK_HOLDS` lists what the programs around this one hold, as `mesh/resource` with spaces in between. The name of
//! the mesh is part of it: a lock of the same name in another mesh is another lock.

use anyhow::{Context, bail};
use meshlock::Client;
use meshlock_api::Kind;

use crate::wish::Wish;

/// The variable.
pub(super) const HOLDS: &str = "MESHLOCK_HOLDS";

/// What is held around a command.
#[derive(Debug)]
pub(super) struct Holds {
    /// Without the lock of this program.
    pub(super) outside: String,
    /// With it.
    pub(super) inside: String,
}

/// What a command under this lock finds in its environment.
pub(super) fn holds<'a>(client: &Client, resources: impl IntoIterator<Item = &'a str>) -> Holds {
    let outside = outside();
    let mine = resources.into_iter().map(|resource| entry(client, resource));
    let inside = mine.fold(outside.clone(), |inside, entry| format!("{inside} {entry}")).trim().to_owned();
    Holds { outside, inside }
}

/// Refuses what a program around this one holds. Units of a semaphore, a session and reading can be had beside it, unless
/// others wait in between, who wait for the program around this one: so that needs a limit.
pub(crate) async fn check(client: &Client, wish: &Wish) -> anyhow::Result<()> {
    check_one(client, wish, &wish.name, wish.shared).await
}

/// The same for one of several resources.
pub(super) async fn check_one(client: &Client, wish: &Wish, name: &str, shared: bool) -> anyhow::Result<()> {
    let wanted = entry(client, name);
    if !outside().split_whitespace().any(|held| held == wanted) {
        return Ok(());
    }
    let known = client.resources().await.context("cannot find out about what is held already")?;
    let definition = known.into_iter().find(|resource| resource.name == name).map(|resource| resource.definition);
    let may_share = definition.is_some_and(|definition| match definition.kind {
        Kind::Mutex => false,
        Kind::Semaphore => definition.capacity > 1,
        Kind::ReadersWriter => shared,
        Kind::Sessions => true,
    });
    if !may_share {
        bail!("{name:?} is held already by a program around this one ({HOLDS}): this would wait for its own release");
    }
    if wish.patience().is_none() {
        bail!(
            "{name:?} is held already by a program around this one ({HOLDS}): with others in between, this could wait for \
             its own release. Take all of it at once, or set a limit with -w or --try"
        );
    }
    Ok(())
}

fn entry(client: &Client, resource: &str) -> String {
    format!("{}/{resource}", client.mesh().unwrap_or_default())
}

fn outside() -> String {
    std::env::var(HOLDS).unwrap_or_default()
}
