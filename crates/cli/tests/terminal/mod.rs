//! Programs under test get signals as if they were started in a terminal.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Lets signals have their usual effect on the programs that this test starts, also where the test itself was started in
/// the background: shells have Ctrl-C ignored there, and programs inherit that. What is caught here is not ignored any
/// more, and what is caught begins anew in a child.
pub(crate) fn usual_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (ready, waits) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let catch = |kind| signal(kind).expect("a signal that can be caught");
                let (mut interrupt, mut hangup) = (catch(SignalKind::interrupt()), catch(SignalKind::hangup()));
                let others = [SignalKind::quit(), SignalKind::user_defined1(), SignalKind::user_defined2()].map(catch);
                ready.send(()).expect("somebody waits");
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => {}
                }
                drop(others);
                std::process::exit(130);
            });
        });
        waits.recv().expect("signals are caught");
    });
}
