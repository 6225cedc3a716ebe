//! The arguments of `meshlock bench lock`.

use meshlock_cli::Carrier;

const LONG_ABOUT: &str = "\
Measure locks on this machine, each figure beside the floor it is compared with.

Everything runs in this one process: real nodes with keys, links on the loopback interface and client sockets in a \
temporary directory. A floor is what the machine itself needs for the least that must happen, such as a bare round trip \
on a socket. Use a release build on a machine that does nothing else.";

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  meshlock bench lock
      about a minute; tables
  meshlock bench lock --transport tcp
      links over TCP with TLS instead of QUIC
  meshlock bench lock --seconds 10 --json > bench.json
      more exact, for programs

\x1b[1;4mExit codes:\x1b[0m
    0  measured; also when a goal is missed
    2  wrong arguments, or something could not be measured
  130  stopped by Ctrl-C";

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
