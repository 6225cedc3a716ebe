//! A node to ask, and running programs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use meshlock_api::{NewRequest, RequestInfo, State};
use meshlock_node::http::{HttpConfig, Server};
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Settings};

use crate::process::{Ran, Running, program, run_to_end, until};

/// A node that serves clients, and a directory for its test.
pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    pub(crate) place: PathBuf,
    pub(crate) socket: PathBuf,
}

impl World {
    /// A node alone in its mesh. It ends with the tests.
    pub(crate) fn new() -> Self {
        Self::in_mesh("test")
    }

    /// The same, in a mesh of this name.
    pub(crate) fn in_mesh(mesh: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Paths of sockets must be short, so this is not in the target directory.
        let place = std::env::temp_dir().join(format!("meshlock-lock-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let settings = Settings::founder(mesh, "n0");
        let (hub, _) = Hub::new(Machine::new(settings));
        let socket = place.join("node.sock");
        let config = HttpConfig { socket: Some(socket.clone()), ..HttpConfig::default() };
        let (serving, started) = (Arc::clone(&hub), mpsc::channel());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let _server = Server::start(config, Arc::clone(&serving)).await.unwrap();
                started.0.send(()).unwrap();
                serving.keep_time().await;
            });
        });
        started.1.recv().unwrap();
        Self { hub, place, socket }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = program();
        command.args(words).current_dir(&self.place).env("MESHLOCK_SOCKET", &self.socket).env_remove("MESHLOCK_URL");
        command.env_remove("MESHLOCK_HOLDS");
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        run_to_end(&mut self.command(words))
    }

    /// Runs beside the test.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        Running::start(&mut self.command(words))
    }

    /// Somebody else takes it, for a long time.
    pub(crate) fn taken_by(&self, id: &str, resource: &str) {
        let asked = NewRequest { id: Some(id.into()), resource: resource.into(), ..NewRequest::default() };
        assert_eq!(self.hub.ask(asked).unwrap().state, State::Granted);
    }

    pub(crate) fn requests(&self) -> Vec<RequestInfo> {
        self.hub.with(|machine, now| machine.request_infos(now))
    }

    /// Waits until so many requests are in this state.
    pub(crate) fn until(&self, state: State, number: usize) {
        until(&format!("{number} {}", state.name()), || {
            self.requests().iter().filter(|request| request.state == state).count() == number
        });
    }

    /// An operator takes away what is held.
    pub(crate) fn revoke(&self) {
        let holder = self.requests().into_iter().find(|request| request.state == State::Granted).unwrap();
        let ticket = self.hub.find(&holder.id).unwrap();
        self.hub.with(|machine, now| machine.revoke(now, ticket, "the crane needs it"));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}
