//! Being told to stop: Ctrl-C, or SIGTERM from a service manager.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for a word to stop.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Begins to listen; from now on neither ends the program by itself.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next one.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
