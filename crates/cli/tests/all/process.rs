//! The program under test, run to its end or beside the test. The tests of `meshlock-lab` use this file too.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// An empty directory of its own for each test of a command.
pub(crate) fn place(command: &str, test: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(command).join(test);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// The program, with signals as if it were started in a terminal.
pub(crate) fn program() -> Command {
    usual_signals();
    Command::new(crate::PROGRAM)
}

/// Runs a command line in a directory; words have spaces between them.
pub(crate) fn run(place: &Path, command: &str, line: &str) -> Ran {
    run_to_end(program().args(command.split_whitespace()).args(line.split_whitespace()).current_dir(place))
}

pub(crate) fn run_to_end(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that runs beside the test; killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads its standard error until a line has this in it, and returns that line.
    pub(crate) fn until_error(&mut self, wanted: &str) -> String {
        let mut line = String::new();
        while !line.contains(wanted) {
            line.clear();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "ended without saying {wanted:?}");
        }
        line
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end: the code, and what is left of its outputs.
    pub(crate) fn end(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code();
        Ran { code, out, err }
    }

    /// Waits for its end alone: what it started may still have its outputs.
    pub(crate) fn end_alone(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end_by(self, signal: Signal) -> Ran {
        self.send(signal);
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Mostly it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets signals have their usual effect on the programs that this test starts, also where the test itself was started in
/// the background: shells have Ctrl-C ignored there, and programs inherit that. What is caught here is not ignored any
/// more, and what is caught begins anew in a child.
fn usual_signals() {
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
