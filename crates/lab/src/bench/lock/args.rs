//! The arguments of `meshlock bench lock`.

use super::help::{EXAMPLES, LONG_ABOUT};
use meshlock_cli::Carrier;

/// Measure locks on this machine, each figure beside the floor it is compared with.
#[derive(Debug, clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = EXAMPLES, after_help = "`--help` has examples.")]
pub(crate) struct Args {
    /// How long each figure is measured; there are about 25 of them.
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// What carries the links between nodes.
    #[arg(long, value_enum, default_value_t = Carrier::Quic)]
    pub(crate) transport: Carrier,
    /// One JSON document instead of tables.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=600.0).contains(&seconds) => Ok(seconds),
        Ok(_) | Err(_) => Err("give a number of seconds from 0.05 to 600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_that_make_sense_are_taken() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "NaN", "inf", "601", "2s", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
