//! `meshlock mesh` from the outside: what it prints, what it writes and what it refuses.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{self, Ran};

fn place(name: &str) -> PathBuf {
    process::place("mesh", name)
}

fn mesh(place: &Path, line: &str) -> Ran {
    process::run(place, "mesh", line)
}

/// A command that must work, and what it says to programs.
fn json(place: &Path, line: &str) -> Value {
    let ran = mesh(place, &format!("{line} --json"));
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// A command that must be refused, and why it was.
fn refused(place: &Path, line: &str) -> String {
    let ran = mesh(place, line);
    assert_eq!(ran.code, Some(2), "{line}: {}", ran.out);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("error:"), "{}", ran.err);
    ran.err
}

/// A command with something on standard input.
fn piped(place: &Path, line: &str, input: &str) -> Ran {
    let words = std::iter::once("mesh").chain(line.split_whitespace());
    let mut command = process::program();
    command.args(words).current_dir(place).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn an_invitation_goes_into_a_file_that_only_its_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = place("invitation-file");
    mesh(&place, "init hall --dir ann --node ann");
    let ran = mesh(&place, "invite bob --dir ann -o bob.invitation");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert_eq!(fs::metadata(place.join("bob.invitation")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(mesh(&place, "join bob.invitation --dir bob").code, Some(0));
    assert_eq!(json(&place, "members --dir bob")["members"][0]["name"], "bob");
    // No file is replaced, and nobody is admitted for it.
    let before = fs::read(place.join("bob.invitation")).unwrap();
    assert!(refused(&place, "invite cy --dir ann -o bob.invitation").contains("is there already"));
    assert_eq!(fs::read(place.join("bob.invitation")).unwrap(), before);
    assert!(!mesh(&place, "members --dir ann").out.contains("cy"));
    assert!(refused(&place, "invite cy --dir ann -o missing/cy").contains("meshlock mesh remove cy"));
}

#[test]
fn a_mesh_is_founded_and_says_what_to_do_next() {
    let place = place("init");
    let ran = mesh(&place, "init hall --dir ann --node ann");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in ["founded the mesh hall", "ann (number 0)", "meshlock mesh invite NAME", "authority.toml"] {
        assert!(ran.out.contains(part), "{part} is not in\n{}", ran.out);
    }
    for file in ["meshlock.toml", "member.toml", "authority.toml", "state/run"] {
        assert!(place.join("ann").join(file).is_file(), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn keys_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = place("modes");
    json(&place, "init hall --dir ann --node ann");
    let invitation = json(&place, "invite bob --dir ann")["invitation"].as_str().unwrap().to_owned();
    assert_eq!(piped(&place, "join - --dir bob", &invitation).code, Some(0));
    for file in ["ann/member.toml", "ann/authority.toml", "bob/member.toml"] {
        let mode = fs::metadata(place.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn an_invitation_goes_through_a_pipe_and_makes_a_member() {
    let place = place("join");
    json(&place, "init hall --dir ann --node ann");
    fs::write(place.join("ann/meshlock.toml"), "[resources.dock]\ncapacity = 2\n").unwrap();
    let invited = mesh(&place, "invite bob --dir ann --peer 10.0.0.1:7411");
    assert_eq!(invited.code, Some(0), "{}", invited.err);
    assert_eq!(invited.out.lines().count(), 1, "the line and nothing else");
    assert!(invited.err.contains("secret:") && invited.err.contains("bob (number 1)"), "{}", invited.err);
    let joined = piped(&place, "join - --dir bob", &invited.out);
    assert_eq!(joined.code, Some(0), "{}", joined.err);
    for part in ["joined the mesh hall", "bob (number 1)", "10.0.0.1:7411"] {
        assert!(joined.out.contains(part), "{part} is not in\n{}", joined.out);
    }
    let resources = json(&place, "resources --dir bob");
    assert_eq!((&resources[0]["name"], &resources[0]["capacity"]), (&"dock".into(), &2.into()));
    assert!(refused(&place, "invite eve --dir bob").contains("meshlock mesh init"));
}

#[test]
fn a_damaged_invitation_is_told_and_leaves_nothing_behind() {
    let place = place("damaged");
    json(&place, "init hall --dir ann --node ann");
    let line = mesh(&place, "invite bob --dir ann").out;
    let ran = piped(&place, "join - --dir bob", &line[..line.len() - 9]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("copy the whole line again"), "{}", ran.err);
    assert!(!place.join("bob").exists());
    assert!(refused(&place, "join hello --dir bob").contains("meshlock mesh invite"));
    assert!(piped(&place, "join - --dir bob", "\n").err.contains("no invitation in standard input"));
}

#[test]
fn nothing_is_written_over_without_force() {
    let place = place("force");
    let member = place.join("ann/member.toml");
    json(&place, "init hall --dir ann --node ann");
    let first = fs::read(&member).unwrap();
    assert!(refused(&place, "init yard --dir ann --node ann").contains("--force"));
    json(&place, "init other --dir bob --node bob");
    let invitation = json(&place, "invite cy --dir bob")["invitation"].as_str().unwrap().to_owned();
    assert!(refused(&place, &format!("join {invitation} --dir ann")).contains("--force"));
    assert_eq!(fs::read(&member).unwrap(), first);
    let joined = json(&place, &format!("join {invitation} --dir ann --force"));
    assert_eq!((&joined["mesh"], &joined["name"]), (&"other".into(), &"cy".into()));
    assert_eq!(fs::read(place.join("ann/before-1/member.toml")).unwrap(), first);
    assert!(place.join("ann/before-1/authority.toml").is_file());
    assert!(!place.join("ann/authority.toml").exists());
    assert!(refused(&place, &format!("join {invitation} --dir ann --force")).contains("used once"));
}

#[test]
fn members_are_listed_and_removed() {
    let place = place("members");
    json(&place, "init hall --dir ann --node ann");
    for name in ["robot-1", "robot-2"] {
        json(&place, &format!("invite {name} --dir ann"));
    }
    assert!(refused(&place, "invite robot-1 --dir ann").contains("already a member"));
    assert!(refused(&place, "remove robot-3 --dir ann").contains("did you mean"));
    assert!(refused(&place, "remove ann --dir ann").contains("this node"));
    let ran = mesh(&place, "remove robot-1 --dir ann");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("removed robot-1 (number 1)") && ran.out.contains("neighbours"), "{}", ran.out);
    assert!(place.join("ann/state/removals/1").is_file());
    let members = json(&place, "members --dir ann");
    let rows: Vec<(&str, bool)> = members["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["removed"].as_bool().unwrap()))
        .collect();
    assert_eq!(rows, [("ann", false), ("robot-1", true), ("robot-2", false)]);
    assert_eq!(members["complete"], true);
    assert_eq!(json(&place, "invite robot-1 --dir ann")["number"], 3, "the name is free, the number is not");
    let table = mesh(&place, "members --dir ann").out;
    assert!(table.contains("this node") && table.contains("removed"), "{table}");
}

#[test]
fn a_mesh_recovers_as_it_was_founded_and_its_members_know() {
    let place = place("recovery");
    let founded = json(&place, "init hall --dir ann --node ann --recovery restart --standing 5s");
    assert_eq!((&founded["recovery"]["mode"], &founded["recovery"]["standing_ms"]), (&"restart".into(), &5000.into()));
    let line = mesh(&place, "invite bob --dir ann").out;
    let joined = piped(&place, "join - --dir bob", &line);
    assert!(joined.out.contains("restart: "), "{}", joined.out);
    assert_eq!(json(&place, "recovery --dir bob"), founded["recovery"]);
    assert!(refused(&place, "recovery restart --dir bob").contains("authority.toml"));
    assert!(refused(&place, "recovery voters --dir ann").contains("from the founding"));
    assert!(refused(&place, "recovery none --dir ann").contains("cannot go back"));
    let voting = json(&place, "init yard --dir cy --node cy");
    assert_eq!(voting["recovery"]["mode"], "voters");
    assert!(refused(&place, "recovery voters --standing 9s --dir cy").contains("cannot be changed"));
    assert!(refused(&place, "voters --dir cy").contains("start it"), "its node never ran");
    let old = json(&place, "init shed --dir dan --node dan --recovery none");
    assert_eq!(old["recovery"]["mode"], "none");
    let decided = mesh(&place, "recovery restart --dir dan");
    assert!(decided.out.contains("decided") && decided.out.contains("restart: "), "{} {}", decided.out, decided.err);
}

#[test]
fn wishes_for_a_founding_are_checked_and_may_stand_in_the_file() {
    let place = place("founding");
    for (flags, words) in [
        ("--standing 1s", "mesh.standing: 1s is out of range"),
        ("--standing 5s", "loss-after = \"1.666s\""),
        ("--voters ann,bob", "name 1, 3 or 5"),
        ("--recovery none --voters ann", "nobody votes"),
        ("--recovery often", "possible values: voters, restart, none"),
    ] {
        let error = refused(&place, &format!("init hall --dir ann --node ann {flags}"));
        assert!(error.contains(words), "{flags}: {error}");
    }
    assert!(!place.join("ann").exists());
    fs::create_dir(place.join("ann")).unwrap();
    let file = "[mesh]\nstanding = \"3s\"\nvoters = [\"ann\", \"bob\", \"cy\"]\n[node]\nloss-after = \"1s\"\n";
    fs::write(place.join("ann/meshlock.toml"), file).unwrap();
    let founded = json(&place, "init hall --dir ann --node ann --standing 4s");
    assert_eq!(founded["recovery"]["standing_ms"], 4000, "flags are above the file");
    assert_eq!(founded["recovery"]["voters"], serde_json::json!(["ann", "bob", "cy"]));
    let line = mesh(&place, "invite bob --dir ann").out;
    assert_eq!(piped(&place, "join - --dir bob", &line).code, Some(0));
    assert!(!fs::read_to_string(place.join("bob/meshlock.toml")).unwrap().contains("standing"), "it is in the charter");
}

#[test]
fn a_mesh_of_an_older_version_says_how_to_recover() {
    let place = place("older");
    json(&place, "init hall --dir ann --node ann");
    // As an older version leaves it.
    fs::remove_dir_all(place.join("ann/state/charters")).unwrap();
    let authority = fs::read_to_string(place.join("ann/authority.toml")).unwrap();
    let (before, rest) = authority.split_once("[charter]").unwrap();
    let (_, members) = rest.split_once("[[members]]").unwrap();
    fs::write(place.join("ann/authority.toml"), format!("{before}[[members]]{members}")).unwrap();
    let shown = mesh(&place, "recovery --dir ann");
    assert!(shown.out.contains("none: ") && shown.out.contains("meshlock mesh recovery restart"), "{}", shown.out);
    assert!(mesh(&place, "invite bob --dir ann").out.starts_with("meshlock-invite-v1:"), "older versions can join");
    assert_eq!(json(&place, "recovery restart --dir ann")["mode"], "restart");
    assert!(mesh(&place, "invite cy --dir ann").out.starts_with("meshlock-invite-v2:"));
}

#[test]
fn who_is_gone_is_listed_as_gone() {
    let place = place("gone");
    json(&place, "init hall --dir ann --node ann");
    json(&place, "invite bob --dir ann");
    json(&place, "remove bob --dir ann");
    json(&place, "invite bob --dir ann");
    let removed = json(&place, "remove bob --gone --number 1 --dir ann");
    assert_eq!((&removed["number"], &removed["gone"]), (&1.into(), &true.into()));
    assert!(place.join("ann/state/removals/1.gone").is_file());
    let members = json(&place, "members --dir ann");
    let gone: Vec<bool> =
        members["members"].as_array().unwrap().iter().map(|row| row["gone"].as_bool().unwrap()).collect();
    assert_eq!(gone, [false, true, false]);
    assert!(mesh(&place, "members --dir ann").out.contains("removed, gone"));
}

#[test]
fn a_member_knows_itself_and_says_that_the_list_is_not_whole() {
    let place = place("partial");
    json(&place, "init hall --dir ann --node ann");
    let line = mesh(&place, "invite bob --dir ann").out;
    assert_eq!(piped(&place, "join - --dir bob", &line).code, Some(0));
    let members = json(&place, "members --dir bob");
    assert_eq!((&members["complete"], &members["members"][0]["name"]), (&false.into(), &"bob".into()));
    assert!(mesh(&place, "members --dir bob").out.contains("only the founder"));
}

/// A panic is forced from outside: no thread can have a stack of this size, and the runtime panics without its threads.
#[cfg(unix)]
#[test]
fn a_panic_aborts_the_daemon_so_that_its_supervisor_starts_it_anew() {
    use std::os::unix::process::ExitStatusExt;
    const SIGABRT: i32 = 6;
    let place = place("panic");
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshlock"));
    command.args(["node", "--dir", "ann"]).current_dir(&place).env("RUST_MIN_STACK", (1_u64 << 62).to_string());
    let output = command.output().unwrap();
    assert_eq!(output.status.signal(), Some(SIGABRT), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("panicked"), "the reason is in the log");
}

#[test]
fn without_a_mesh_the_way_to_one_is_told() {
    let place = place("none");
    for line in ["members --dir x", "invite bob --dir x", "remove bob --dir x"] {
        let error = refused(&place, line);
        assert!(error.contains("meshlock mesh init") && error.contains("meshlock mesh join"), "{error}");
    }
    assert!(!place.join("x").exists());
    assert!(mesh(&place, "resources --dir x").out.contains("declares no resources"));
}

#[test]
fn bad_names_and_addresses_are_refused_with_the_fix() {
    let place = place("names");
    assert!(refused(&place, "init Main_Hall --dir ann").contains("\"main-hall\" would do"));
    json(&place, "init hall --dir ann --node ann");
    assert!(refused(&place, "invite Bob --dir ann").contains("\"bob\" would do"));
    assert!(refused(&place, "invite bob --dir ann --peer gate").contains("gate:7411"));
    assert_eq!(json(&place, "invite bob --dir ann")["number"], 1, "refused invitations take no numbers");
}

#[test]
fn a_wrong_file_is_told_with_line_and_fix() {
    let place = place("file");
    json(&place, "init hall --dir ann --node ann");
    fs::write(place.join("ann/meshlock.toml"), "[resources.dock]\ncapasity = 2\n").unwrap();
    for line in ["resources --dir ann", "invite bob --dir ann"] {
        let error = refused(&place, line);
        assert!(error.contains("line 2, column 1") && error.contains("did you mean `capacity`?"), "{error}");
    }
    let file = "[resources.a]\ncapacity = 0\n[resources.b]\nkind = \"semaphore\"\n";
    fs::write(place.join("ann/meshlock.toml"), file).unwrap();
    let error = refused(&place, "resources --dir ann");
    assert!(error.contains("resources.a") && error.contains("resources.b"), "{error}");
}

#[test]
fn the_variable_names_the_directory() {
    let place = place("variable");
    let run = |words: &[&str]| {
        let mut command = process::program();
        command.arg("mesh").args(words).env("MESHLOCK_DIR", place.join("here")).output().unwrap()
    };
    assert!(run(&["init", "hall", "--node", "ann"]).status.success());
    assert!(place.join("here/member.toml").is_file());
    assert!(String::from_utf8_lossy(&run(&["members"]).stdout).contains("ann"));
}

#[test]
fn every_command_has_examples() {
    let place = place("help");
    for command in ["", "init", "invite", "join", "members", "recovery", "remove", "resources"] {
        let help = mesh(&place, &format!("{command} --help")).out;
        assert!(help.contains("Examples:") && help.contains("--json"), "{command}\n{help}");
    }
}
