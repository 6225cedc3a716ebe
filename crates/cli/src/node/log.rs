//! The log of a node, on standard error.

use anyhow::Context;
use meshlock_node::config::LogFormat;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Begins to log. `what` is a level, or a list such as `info,meshlock_node::links=debug`.
pub fn start(what: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter: Targets = what.parse().with_context(|| {
        format!("{what:?} is nothing that can be logged: give off, error, warn, info, debug or trace")
    })?;
    let layer = match format {
        LogFormat::Text => {
            let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
            fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colours).boxed()
        }
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().context("the log was started before")
}
