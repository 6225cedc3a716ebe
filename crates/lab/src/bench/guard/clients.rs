//! The processes of the clients: started, killed, stopped, continued, and ended with the bench.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use super::Args;

/// All clients. None is left when this is dropped.
pub(super) struct Clients {
    sockets: Vec<PathBuf>,
    place: PathBuf,
    words: Vec<String>,
    running: Vec<Option<Child>>,
    seed: u64,
}

impl Clients {
    pub(super) fn new(args: &Args, sockets: Vec<PathBuf>, place: &Path) -> Self {
        let milliseconds = |time: std::time::Duration| format!("{}ms", time.as_millis());
        let mut words = vec!["--lease".into(), milliseconds(args.lease), "--think".into(), milliseconds(args.think)];
        words.extend(args.no_fences.then(|| "--no-fences".into()));
        let running = (0..args.clients).map(|_| None).collect();
        Self { sockets, place: place.to_owned(), words, running, seed: args.seed }
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts a client, at its node.
    pub(super) fn start(&mut self, client: usize) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("cannot find this program to start clients")?;
        let socket = client.checked_rem(self.sockets.len()).and_then(|index| self.sockets.get(index));
        let socket = socket.context("there is no node for a client")?;
        self.seed = self.seed.wrapping_add(1);
        let mut command = Command::new(program);
        command.args(["bench", "guard-client", "--socket"]).arg(socket);
        command.arg("--file").arg(self.place.join("counter")).arg("--log").arg(self.log_of(client));
        command.args(&self.words).args(["--seed", &self.seed.to_string()]);
        // A group of its own, so that Ctrl-C is for the bench alone; the pipe tells it when the bench is gone.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("cannot start a client")?;
        if let Some(place) = self.running.get_mut(client) {
            *place = Some(child);
        }
        Ok(())
    }

    fn log_of(&self, client: usize) -> PathBuf {
        self.place.join(format!("client-{client}.log"))
    }

    /// Kills a client; it has no time to say anything.
    pub(super) fn kill(&mut self, client: usize) {
        if let Some(mut child) = self.running.get_mut(client).and_then(Option::take) {
            // It may have ended by itself; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops or continues a client.
    pub(super) fn send(&self, client: usize, signal: Signal) {
        if let Some(child) = self.running.get(client).and_then(Option::as_ref) {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Clients that ended by themselves, which none should.
    pub(super) fn ended(&mut self) -> Option<usize> {
        let ended =
            |child: &mut Option<Child>| child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))));
        self.running.iter_mut().position(ended)
    }

    /// Ends all of them.
    pub(super) fn end(&mut self) {
        for client in 0..self.len() {
            self.kill(client);
        }
    }

    /// What they noted, all lines.
    pub(super) fn logs(&self) -> anyhow::Result<String> {
        let mut all = String::new();
        for client in 0..self.len() {
            let path = self.log_of(client);
            if path.exists() {
                all += &std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            }
        }
        Ok(all)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.end();
    }
}
