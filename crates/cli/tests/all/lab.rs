//! Commands that `meshlock-lab` runs, typed to `meshlock`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::process::{self, Ran, run_to_end};

/// The program in a directory of its own, so that only what is put beside it is there.
fn alone(test: &str) -> std::path::PathBuf {
    let place = process::place("lab", test);
    let program = place.join("meshlock");
    fs::hard_link(crate::PROGRAM, &program).or_else(|_| fs::copy(crate::PROGRAM, &program).map(drop)).unwrap();
    place
}

/// A program that says how it was called and ends with 42.
fn put_lab(place: &Path) {
    fs::create_dir_all(place).unwrap();
    let lab = place.join("meshlock-lab");
    fs::write(&lab, "#!/bin/sh\necho \"$(basename \"$0\"): $*\"\nexit 42\n").unwrap();
    fs::set_permissions(&lab, fs::Permissions::from_mode(0o755)).unwrap();
}

fn typed(place: &Path, path: &str, line: &str) -> Ran {
    let mut command = Command::new(place.join("meshlock"));
    run_to_end(command.args(line.split_whitespace()).env("PATH", path))
}

#[test]
fn without_the_laboratory_its_commands_say_how_to_get_it() {
    let place = alone("missing");
    // Neither a directory nor a file that is no program is taken for it.
    fs::create_dir(place.join("meshlock-lab")).unwrap();
    for line in ["sim", "check --help", "help study", "up --scenario hall.toml", "bench lock --json"] {
        let ran = typed(&place, "/nowhere", line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{line}");
        for part in ["error: ", "meshlock-lab", "cargo build --release -p meshlock-lab", "cargo install"] {
            assert!(ran.err.contains(part), "{line}: {part} is not in\n{}", ran.err);
        }
    }
}

#[test]
fn the_laboratory_gets_the_command_as_it_was_typed_and_its_exit_code_is_ours() {
    let (beside, on_path) = (alone("beside"), alone("on-path"));
    put_lab(&beside);
    put_lab(&on_path.join("bin"));
    for line in ["sim a.toml --seed 3", "up --scenario hall.toml --demo", "check --no-such-option", "help bench"] {
        for (place, path) in [(&beside, "/bin:/usr/bin".to_owned()), (&on_path, bin_first(&on_path))] {
            let ran = typed(place, &path, line);
            assert_eq!((ran.code, ran.out), (Some(42), format!("meshlock-lab: {line}\n")), "{}", ran.err);
        }
    }
}

fn bin_first(place: &Path) -> String {
    format!("{}:/bin:/usr/bin", place.join("bin").display())
}

#[test]
fn help_has_the_commands_of_both_programs() {
    let place = process::place("lab", "help");
    for line in ["", "--help"] {
        let ran = process::run(&place, line, "");
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for name in ["up", "node", "lock", "status", "trace", "check", "sim", "study", "reproduce", "bench"] {
            assert!(ran.out.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name}");
        }
    }
    let typo = process::run(&place, "chek", "");
    assert_eq!(typo.code, Some(2));
    assert!(typo.err.contains("'check'"), "{}", typo.err);
}
