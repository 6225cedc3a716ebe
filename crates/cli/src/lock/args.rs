//! The arguments of `meshlock lock`, in the order of its help.

use std::ffi::OsString;
use std::time::Duration;

use meshlock_api::duration;

use super::help::{EXAMPLES, LONG_ABOUT};
use crate::node_options::NodeOptions;
use crate::wish::Wish;

/// Hold a resource while a command runs.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples and exit codes.")]
pub struct Args {
    #[command(flatten)]
    pub(crate) wish: Wish,
    /// The command and its arguments, run as they are. Without one it is held until a signal.
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    /// Give the command to `sh -c` as one text.
    #[arg(short = 'c', long, help_heading = "Command")]
    pub(crate) shell: bool,
    /// What to do when it is lost while the command runs: `stop` it, let it `continue`, or `run:CMD` beside it.
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = on_loss, help_heading = "Command")]
    pub(crate) on_loss: OnLoss,
    /// How long a command that is asked to stop may take before it is killed; never longer than the lease.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse, help_heading = "Command")]
    pub(crate) kill_after: Duration,
    /// Tell what happens.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Tell the grant as one line of JSON: on standard error, or without a command on standard output.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) node: NodeOptions,
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
