//! `meshlock top`: the status, again and again.

use std::io::{self, IsTerminal, Read, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use terminal_size::{Height, Width, terminal_size};
use tokio::sync::mpsc;
use tokio::time::interval;

use crate::exit::Exit;
use crate::node_options::{NodeOptions, block_on};
use crate::signals::Signals;
use crate::status::render;

const REDRAW: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_millis(400);
/// The alternate screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const ERASE_REST_OF_LINE: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";

/// Watch holders and waiters live. `q` or Ctrl-C leaves.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One resource only.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    node: NodeOptions,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        bail!("top needs a terminal; `meshlock status` and `meshlock watch` do not");
    }
    block_on(async {
        let mut signals = Signals::listen()?;
        let client = args.node.connect().await?;
        let screen = Screen::enter()?;
        let mut keys = keys();
        let mut ticks = interval(REDRAW);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    let status = client.status_of(args.name.as_deref(), PATIENCE).await;
                    let (columns, rows) = size();
                    let text = status.map_or_else(|error| format!("{error}\n"), |status| render(&status, columns));
                    screen.draw(&text, columns, rows)?;
                }
                key = keys.recv() => if matches!(key, Some(b'q' | b'Q') | None) { break },
                _ = signals.end() => break,
            }
        }
        Ok(Exit::Fine)
    })
}

fn size() -> (usize, usize) {
    terminal_size().map_or((80, 24), |(Width(columns), Height(rows))| (columns.into(), rows.into()))
}

/// Keys as they are pressed. The thread ends with the program.
fn keys() -> mpsc::UnboundedReceiver<u8> {
    let (sender, keys) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for key in io::stdin().lock().bytes().map_while(Result::ok) {
            if sender.send(key).is_err() {
                return;
            }
        }
    });
    keys
}

/// The alternate screen; the terminal is as before when this is dropped.
struct Screen {
    before: Termios,
}

impl Screen {
    fn enter() -> anyhow::Result<Self> {
        let before = tcgetattr(io::stdin()).context("cannot ask the terminal for its settings")?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent).context("cannot change the terminal's settings")?;
        let screen = Self { before };
        write!(io::stdout(), "{ENTER}")?;
        Ok(screen)
    }

    fn draw(&self, text: &str, columns: usize, rows: usize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let last = rows.saturating_sub(1);
        let cut = |line: &str| line.chars().take(columns).collect::<String>();
        write!(out, "{HOME}")?;
        for line in text.lines().take(last) {
            write!(out, "{}{ERASE_REST_OF_LINE}\r\n", cut(line))?;
        }
        write!(out, "{}{ERASE_BELOW}", cut("q: leave"))?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write!(io::stdout(), "{LEAVE}");
        let _ = io::stdout().flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
