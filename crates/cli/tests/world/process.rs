//! Programs that run to their end or beside the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs to the end.
pub(crate) fn run(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// The first line, if there is one before the end.
pub(crate) fn first_line(output: ChildStdout) -> Option<String> {
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line).unwrap();
    (read > 0).then_some(line)
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program that runs beside the test; killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    err: ChildStderr,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        crate::terminal::usual_signals();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = child.stderr.take().unwrap();
        Self { child, out, err }
    }

    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for its end: the code, and what is left of its outputs.
    pub(crate) fn end(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code();
        Ran { code, out, err }
    }

    /// Asks it to end and waits for it.
    pub(crate) fn finish(self) -> Ran {
        self.send(Signal::SIGTERM);
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
