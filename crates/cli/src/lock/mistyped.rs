//! Several resources typed one after the other, `meshlock lock dock lift -- CMD`: the second word is a command to us.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::bail;
use rustix::fs::{Access, access};

use super::args::Args;

/// Refuses what was meant as a list of resources, before anything is asked for.
pub(super) fn check(args: &Args) -> anyhow::Result<()> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let after_separator = typed.iter().position(|word| word == "--").map(|at| typed.len() - at - 1);
    if after_separator == Some(args.command.len()) {
        return Ok(()); // `-- CMD -- x`: said to be a command
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_command = |word: &OsStr| args.shell || is_executable(word, &path);
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let Some(others) = meant(&words, |word| is_command(OsStr::new(word))) else { return Ok(()) };
    let first = words.first().map(AsRef::as_ref).unwrap_or_default();
    let list: String = others.iter().map(|other| format!(" --and {other}")).collect();
    let command = words.iter().skip_while(|word| *word != "--").skip(1).take(1).map(AsRef::as_ref).collect::<String>();
    bail!(
        "there is no command {first:?}, and a `--` follows it: to hold several resources, all or none, write `meshlock lock \
         {}{list} -- {command} ...`",
        args.wish.name
    )
}

/// The resources that were meant with the words before a `--`, with their units where `--units NAME=H` says so.
fn meant(words: &[impl AsRef<str>], is_command: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let end = words.iter().position(|word| word.as_ref() == "--")?;
    let first = words.get(..end)?.first()?.as_ref();
    if end + 1 == words.len() || is_command(first) || meshlock_api::resource::check_name(first).is_err() {
        return None;
    }
    let before: Vec<&str> = words.iter().take(end).map(AsRef::as_ref).collect();
    let with_units = |name: &str| {
        let is_said =
            |word: &&&str| word.rsplit_once('=').is_some_and(|(of, _)| of.trim_start_matches("--units=") == name);
        let said = before.iter().find(is_said).and_then(|word| word.rsplit_once('='));
        said.map_or_else(|| name.to_owned(), |(_, units)| format!("{name}={units}"))
    };
    Some(before.iter().take_while(|word| !word.starts_with('-')).map(|name| with_units(name)).collect())
}

/// Whether the system would find a program of this name.
fn is_executable(word: &OsStr, path: &OsStr) -> bool {
    let may_run = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if word.as_encoded_bytes().contains(&b'/') {
        return true; // meant as a program, whether it is there or not
    }
    std::env::split_paths(path).any(|dir| may_run(&dir.join(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_resources_is_told_from_a_command_with_a_separator_of_its_own() {
        let meant = |line: &str| meant(&line.split(' ').collect::<Vec<_>>(), |word| word == "sudo");
        assert_eq!(meant("lift-1 -- ./unload"), Some(vec!["lift-1".into()]));
        let three = "lift-1 crane --units lift-1=2 -p 5 -- ./unload -v";
        assert_eq!(meant(three), Some(vec!["lift-1=2".into(), "crane".into()]));
        assert_eq!(meant("lift-1 --units=lift-1=2 -- x"), Some(vec!["lift-1=2".into()]));
        for command in ["sudo -- rm x", "lift-1", "lift-1 --", "-- true", "a/b -- x", "./run -- x", "a%b -- x"] {
            assert_eq!(meant(command), None, "{command}");
        }
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        let found = |word: &str, path: &str| is_executable(OsStr::new(word), OsStr::new(path));
        assert!(found("sh", "/nowhere:/bin:/usr/bin") && !found("sh", "/nowhere") && !found("sh", ""));
        assert!(!found("passwd", "/etc"), "a file that cannot be run");
        assert!(found("./missing", "/bin"));
    }
}
