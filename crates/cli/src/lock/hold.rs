//! What happens between the grant and the end.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::process::Command;
use std::time::{Duration, Instant};

use meshlock::{Anchor, Error, Guard, Loss};
use meshlock_api::PartInfo;
use meshlock_api::text::visible;
use rustix::process::{Signal, getpid, kill_process};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::args::{Args, OnLoss};
use super::child::{Child, Happened};
use super::nesting::{HOLDS, Holds};
use super::terminal::Terminal;
use super::{LOST, fail};
use crate::exit::Exit;
use crate::signals::Signals;
use crate::style::{self, styled};

/// How often we look whether a command that was asked to stop has done so.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What is kept of a lease for killing a command and giving back.
const TO_BE_KILLED: Duration = Duration::from_millis(200);

/// Runs the command, or waits for a signal, and gives back.
pub(super) async fn hold(
    args: &Args,
    holds: &Holds,
    (guard, parts): (Guard, &[PartInfo]),
    signals: &mut Signals,
) -> anyhow::Result<Exit> {
    if args.command.is_empty() {
        return until_a_signal(args, guard, signals).await;
    }
    let mut command = command(args);
    environment(&mut command, &guard, parts);
    command.env(HOLDS, &holds.inside);
    let anchor = if args.close { None } else { anchor(&guard).await };
    let child = match Child::start(&mut command, anchor) {
        Ok(child) => child,
        Err(error) => {
            let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            let name = args.command.first().map(|name| name.to_string_lossy()).unwrap_or_default();
            fail(&anyhow::Error::new(error).context(format!("cannot run {}", visible(&name))));
            release(args, guard).await;
            return Ok(Exit::Other(code));
        }
    };
    let mut watch = Watch { args, holds, guard, parts, child, terminal: Terminal::find(), lost: false, beside: None };
    let code = watch.run(signals).await;
    if let Some(beside) = watch.beside.take() {
        // Its own result does not matter: that of the command counts.
        let _ = beside.await;
    }
    let was_lost = watch.lost || watch.guard.is_lost();
    let lost_late = release(args, watch.guard).await && !was_lost;
    let instead = (was_lost || lost_late) && (code == 0 || args.on_loss == OnLoss::Stop);
    Ok(Exit::Other(if instead { LOST } else { code }))
}

/// Without a command.
async fn until_a_signal(args: &Args, guard: Guard, signals: &mut Signals) -> anyhow::Result<Exit> {
    tokio::select! {
        _ = signals.end() => {}
        loss = guard.lost() => {
            tell_loss(&guard, &loss);
            release(args, guard).await; // a node that stops waits to hear that we have stopped
            return Ok(Exit::Other(LOST));
        }
    }
    Ok(if release(args, guard).await { Exit::Other(LOST) } else { Exit::Fine })
}

/// Gives back; whether it turned out to be lost.
async fn release(args: &Args, guard: Guard) -> bool {
    let name = guard.name().to_owned();
    match guard.release().await {
        Ok(()) => {
            if args.verbose {
                anstream::eprintln!("{name} given back");
            }
            false
        }
        Err(error) => {
            let lost = matches!(error, Error::Over(_));
            if !lost || args.verbose {
                anstream::eprintln!("{} {name} could not be given back: {error}", styled(style::PARTIAL, "warning:"));
            }
            lost
        }
    }
}

/// A connection for the command to inherit. Without it the command runs all the same: then the lock is free as soon as
/// this program is killed.
async fn anchor(guard: &Guard) -> Option<Anchor> {
    match guard.anchor().await {
        Ok(anchor) => anchor,
        Err(error) => {
            let warning = styled(style::PARTIAL, "warning:");
            anstream::eprintln!("{warning} if this program is killed, {} is free at once: {error}", guard.name());
            None
        }
    }
}

fn command(args: &Args) -> Command {
    if args.shell {
        let mut command = Command::new("sh");
        command.arg("-c").arg(args.command.join(OsStr::new(" ")));
        return command;
    }
    let mut words = args.command.iter();
    let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words);
    command
}

fn environment(command: &mut Command, guard: &Guard, parts: &[PartInfo]) {
    let left = guard.expires().saturating_duration_since(Instant::now());
    command
        .env("MESHLOCK_HELD", "1")
        .env("MESHLOCK_NAME", guard.name())
        .env("MESHLOCK_REQUEST", guard.id())
        .env("MESHLOCK_UNITS", guard.units().to_string())
        .env("MESHLOCK_FENCE", guard.fence().to_string())
        .env("MESHLOCK_FENCES", format!("{}={}", guard.name(), guard.fence()))
        .env("MESHLOCK_EXPIRES_IN_MS", left.as_millis().to_string());
    let slots: Vec<String> = guard.slots().iter().map(ToString::to_string).collect();
    let list = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
    for (name, value) in [
        ("MESHLOCK_SESSION", guard.session().map(str::to_owned)),
        ("MESHLOCK_SLOTS", list(&slots)),
        ("MESHLOCK_SLOT_NAMES", list(guard.slot_names())),
    ] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name), // that of a lock around this one
        };
    }
    if !parts.is_empty() {
        environment_of_parts(command, parts);
    }
}

/// The fences of several resources, each with its name.
pub(super) fn fences(parts: &[PartInfo]) -> String {
    each(parts, |part| part.fence_text.clone()).unwrap_or_default()
}

/// What each of several resources has of its own, as `name=value` with spaces in between: no name has a space.
fn each(parts: &[PartInfo], value: impl Fn(&PartInfo) -> Option<String>) -> Option<String> {
    let named = |part: &PartInfo| Some(format!("{}={}", part.resource, value(part)?));
    let all: Vec<String> = parts.iter().filter_map(named).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Several resources: no variable says of all what is true of one.
fn environment_of_parts(command: &mut Command, parts: &[PartInfo]) {
    let names: Vec<&str> = parts.iter().map(|part| part.resource.as_str()).collect();
    let list = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
    let slots = |part: &PartInfo| list(&part.slots.iter().map(ToString::to_string).collect::<Vec<_>>());
    for (name, value) in [
        ("MESHLOCK_NAME", Some(names.join(" "))),
        ("MESHLOCK_FENCE", None),
        ("MESHLOCK_FENCES", Some(fences(parts))),
        ("MESHLOCK_UNITS", each(parts, |part| Some(part.units.to_string()))),
        ("MESHLOCK_SESSION", each(parts, |part| part.session.clone())),
        ("MESHLOCK_SLOTS", each(parts, slots)),
        ("MESHLOCK_SLOT_NAMES", each(parts, |part| list(&part.slot_names))),
    ] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// When to kill a command that was asked to stop now. If the lease has expired already, there is no hurry.
fn kill_at(now: Instant, kill_after: Duration, lease_ends: Instant) -> Instant {
    let last = lease_ends.checked_sub(TO_BE_KILLED).filter(|last| *last > now);
    let at = now + kill_after;
    if lease_ends > now { at.min(last.unwrap_or(now)) } else { at }
}

fn tell_loss(guard: &Guard, loss: &Loss) {
    anstream::eprintln!("{} {} is lost: {loss}", styled(style::ALARM, "meshlock:"), guard.name());
}

/// A command that runs under a lock.
struct Watch<'a> {
    args: &'a Args,
    holds: &'a Holds,
    guard: Guard,
    /// What is held of each of several resources; none of one.
    parts: &'a [PartInfo],
    child: Child,
    terminal: Option<Terminal>,
    lost: bool,
    /// What runs because of a loss.
    beside: Option<JoinHandle<()>>,
}

impl Watch<'_> {
    /// Until the command ends; its exit code.
    async fn run(&mut self, signals: &mut Signals) -> u8 {
        if let Some(terminal) = &self.terminal {
            terminal.give(self.child.group);
            // It may have been stopped because it wanted to read before it was allowed to.
            self.child.send(Signal::CONT);
        }
        let code = loop {
            tokio::select! {
                happened = self.child.next() => match happened {
                    Some(Happened::Ended(code)) => break code,
                    Some(Happened::Stopped(signal)) => self.stopped(signal),
                    None => break super::FAILED,
                },
                signal = signals.next() => self.child.send(signal),
                loss = self.guard.lost(), if !self.lost => {
                    self.lost = true;
                    tell_loss(&self.guard, &loss);
                    match &self.args.on_loss {
                        OnLoss::Stop => break self.stop().await,
                        OnLoss::Continue => {}
                        OnLoss::Run(text) => self.beside = self.run_beside(text, &loss),
                    }
                }
            }
        };
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.child.group);
        }
        code
    }

    /// Asks the command and its process group to stop; what is left after some time is killed. A node that takes a
    /// grant back waits for us until the lease is over, so none of ours is left by then.
    async fn stop(&mut self) -> u8 {
        self.child.send(Signal::TERM);
        self.child.send(Signal::CONT); // who is stopped does not see a signal
        let until = kill_at(Instant::now(), self.args.kill_after, self.guard.expires());
        while self.child.is_there() && Instant::now() < until {
            sleep(LOOK_EVERY).await;
        }
        self.child.send(Signal::KILL);
        loop {
            match self.child.next().await {
                Some(Happened::Ended(code)) => return code,
                Some(Happened::Stopped(_)) => {}
                None => return super::FAILED,
            }
        }
    }

    /// Ctrl-Z: the command has been stopped, and we stop too, so that the shell has the terminal. The lease may end
    /// before we are continued; then the command hears of the loss first.
    fn stopped(&mut self, signal: Signal) {
        let Some(terminal) = &self.terminal else { return };
        let group = self.child.group;
        let wanted_terminal = signal == Signal::TTIN || signal == Signal::TTOU;
        if !(wanted_terminal && terminal.belongs_to(group)) {
            terminal.take_back(group);
            // Returns when we are continued.
            let _ = kill_process(getpid(), Signal::STOP);
            terminal.give(group);
        }
        if !self.guard.is_lost() || self.args.on_loss != OnLoss::Stop {
            self.child.send(Signal::CONT);
        }
    }

    fn run_beside(&self, text: &str, loss: &Loss) -> Option<JoinHandle<()>> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(text);
        environment(&mut command, &self.guard, self.parts);
        command.env(HOLDS, &self.holds.outside).env("MESHLOCK_HELD", "0").env("MESHLOCK_LOST", loss.to_string());
        match command.spawn() {
            Ok(mut child) => Some(tokio::task::spawn_blocking(move || {
                let _ = child.wait();
            })),
            Err(error) => {
                anstream::eprintln!("{} cannot run {text}: {error}", styled(style::ERROR, "error:"));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_killed_in_time_but_never_after_its_lease() {
        let now = Instant::now() + Duration::from_secs(60);
        let ms = Duration::from_millis;
        for (kill_after, left, at) in [(5_000, 30_000, 5_000), (5_000, 3_000, 2_800), (5_000, 100, 0), (100, 300, 100)]
        {
            assert_eq!(kill_at(now, ms(kill_after), now + ms(left)), now + ms(at), "{kill_after} of {left}");
        }
        assert_eq!(kill_at(now, ms(5_000), now - ms(1)), now + ms(5_000), "too late to hurry");
    }
}
