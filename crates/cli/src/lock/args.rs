//! The arguments of `meshlock lock`, in the order of its help.

use std::ffi::OsString;
use std::time::Duration;

use meshlock_api::duration;

use crate::node_options::NodeOptions;
use crate::wish::Wish;

const LONG_ABOUT: &str = "\
Hold a resource while a command runs.

Waits for the grant, runs the command, and releases the resource when the command ends. The command runs without a \
shell, inherits standard input, and its exit code becomes that of meshlock. Signals are forwarded to its process group.

The lease is renewed while the command runs. It can still expire: if this program is suspended for longer than the \
lease, or its node dies. Others may then be granted the resource, so the command is stopped (see --on-loss). Pass \
MESHLOCK_FENCE to the guarded system if it can reject a number smaller than one it has seen; only that protects it from \
a command that is too slow to stop.

The command's environment has MESHLOCK_NAME, MESHLOCK_REQUEST, MESHLOCK_UNITS, MESHLOCK_SESSION, MESHLOCK_FENCE, \
MESHLOCK_EXPIRES_IN_MS (at its start), MESHLOCK_HELD=1 and MESHLOCK_HOLDS, which lists all that is held around it. \
Of a semaphore it also has MESHLOCK_SLOTS, the numbers of the units (0,3), and MESHLOCK_SLOT_NAMES if they have names.

With --and, several resources are held as one: granted when all are held, lost when one is lost. --units, --session and \
--shared are about NAME alone. MESHLOCK_NAME then lists the names (dock-3 lifts), and MESHLOCK_FENCES, MESHLOCK_UNITS, \
MESHLOCK_SLOTS and MESHLOCK_SLOT_NAMES say for each what is its own (dock-3=7 lifts=9); MESHLOCK_FENCE is not set.

The command inherits a connection to the node, as it would inherit the descriptor of flock: if this program is killed, the \
lock stays taken until the command and all that it started have ended (-o changes that).";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock lock backup -- rsync -a /data /backup
      one backup at a time, in the whole mesh
  meshlock lock gpu --units 2 -p 5 -c 'CUDA_VISIBLE_DEVICES=$MESHLOCK_SLOTS ./train'
      two units at once, ahead of requests with a lower priority; the variable says which
  meshlock lock dock-3 --and lifts=2 -- ./unload
      a dock and two lifts, all or none, without deadlock
  meshlock lock dock-3 --try -- ./unload || echo busy
      only if it is free
  meshlock lock map -s -w 10s -- ./plan
      as one of many readers, waiting at most 10 seconds
  meshlock lock report -c './make | ./send'
      a pipeline, run by the shell
  meshlock lock press --on-loss 'run:./lift-the-head' -- ./press
      clean up when the lock is lost
  meshlock lock door
      hold it until Ctrl-C

\x1b[1;4mExit codes:\x1b[0m
       that of the command, except
  123  the lock was lost while the command ran (with --on-loss continue or run: only if the command exited with 0)
  124  not granted in time; -E changes this
  125  meshlock failed: no node, a wrong argument, a rejected request
  126  the command cannot be executed
  127  the command was not found
128+n  signal n ended the command or the wait";

/// Hold a resource while a command runs.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub struct Args {
    #[command(flatten)]
    pub(crate) wish: Wish,
    /// Hold this resource too, or so many units of it: all or none. Repeat it for more, up to 16 in all.
    #[arg(long = "and", value_name = "NAME[=UNITS]", value_parser = other, help_heading = "Request")]
    pub(crate) others: Vec<Other>,
    /// The command and its arguments. Without one, the resource is held until a signal arrives.
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    /// Run the command with `sh -c`.
    #[arg(short = 'c', long, help_heading = "Command")]
    pub(crate) shell: bool,
    /// On loss of the lock: `stop` the command, let it `continue`, or `run:CMD` beside it.
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = on_loss, help_heading = "Command")]
    pub(crate) on_loss: OnLoss,
    /// How long the command may take to stop before it is killed; capped by the lease.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse, help_heading = "Command")]
    pub(crate) kill_after: Duration,
    /// Do not pass the connection that holds the lock on to the command: if this program is killed, the lock is free at
    /// once, although the command runs on.
    #[arg(short = 'o', long, help_heading = "Command")]
    pub(crate) close: bool,
    /// Report grant, loss and release on standard error.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print the grant as one line of JSON: on standard error, or without a command on standard output.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
}

/// Another resource that is held together with the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) name: String,
    pub(crate) units: Option<u32>,
}

/// A name may have `=` in it: what follows the last one is the number of units if it is a number.
fn other(text: &str) -> Result<Other, String> {
    let split = text.rsplit_once('=').and_then(|(name, units)| Some((name, units.parse().ok()?)));
    let (name, units) = split.map_or((text, None), |(name, units)| (name, Some(units)));
    meshlock_api::resource::check_name(name)?;
    Ok(Other { name: name.to_owned(), units })
}

/// What to do when it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OnLoss {
    Stop,
    Continue,
    Run(String),
}

fn on_loss(text: &str) -> Result<OnLoss, String> {
    match text {
        "stop" => Ok(OnLoss::Stop),
        "continue" => Ok(OnLoss::Continue),
        _ => match text.strip_prefix("run:") {
            Some(command) if !command.trim().is_empty() => Ok(OnLoss::Run(command.to_owned())),
            Some(_) | None => Err("write stop, continue or run:CMD".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_last_sign_of_equality() {
        let read = |text: &str| other(text).map(|other| (other.name, other.units));
        assert_eq!(read("lift"), Ok(("lift".into(), None)));
        assert_eq!(read("lift=2"), Ok(("lift".into(), Some(2))));
        assert_eq!(read("a=b"), Ok(("a=b".into(), None)));
        assert_eq!(read("a=2=1"), Ok(("a=2".into(), Some(1))));
        for bad in ["", "=2", "a b", "lift/2"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
