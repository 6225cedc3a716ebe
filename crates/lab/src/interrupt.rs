//! Ctrl-C: the first one asks for an orderly end, the second one ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use meshlock_cli::exit::Exit;
use tokio::signal::unix::{SignalKind, signal};

/// A flag that is set by the first Ctrl-C.
pub(crate) fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let listen = async { signal(SignalKind::interrupt()) };
    let mut interrupts = runtime.block_on(listen).context("cannot listen for Ctrl-C")?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            interrupts.recv().await;
            seen.store(true, Ordering::Relaxed);
            interrupts.recv().await;
            std::process::exit(Exit::Interrupted.code().into());
        });
    });
    Ok(flag)
}
