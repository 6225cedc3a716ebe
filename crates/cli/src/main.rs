//! The program `meshlock`. Everything is in the library, which `meshlock-lab` uses too.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshlock_cli::main()
}
