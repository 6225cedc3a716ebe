//! A node to ask, and running programs.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use meshlock_api::{NewRequest, RequestInfo, State};
use meshlock_node::http::{HttpConfig, Server};
use meshlock_node::hub::Hub;
use meshlock_node::machine::{Machine, Settings};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A node that serves clients, and a directory for its test.
pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    pub(crate) place: PathBuf,
    pub(crate) socket: PathBuf,
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// A node alone in its mesh. It ends with the tests.
    pub(crate) fn new() -> Self {
        crate::terminal::usual_signals();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Paths of sockets must be short, so this is not in the target directory.
        let place = std::env::temp_dir().join(format!("meshlock-lock-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let settings = Settings::founder("test", "n0");
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_meshlock"));
        command.args(words).current_dir(&self.place).env("MESHLOCK_SOCKET", &self.socket).env_remove("MESHLOCK_URL");
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(words).stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// Runs beside the test.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        let mut command = self.command(words);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        Running { child, out, err }
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

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that runs beside the test.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl Running {
    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads its standard error until a line has this in it.
    pub(crate) fn until_error(&mut self, wanted: &str) {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "ended without saying {wanted:?}");
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Waits for its end: the code, and what is left of its outputs.
    pub(crate) fn end(mut self) -> Ran {
        let code = self.child.wait().unwrap().code();
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        Ran { code, out, err }
    }

    /// Waits for its end alone: what it started may still have its outputs.
    pub(crate) fn end_alone(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}
