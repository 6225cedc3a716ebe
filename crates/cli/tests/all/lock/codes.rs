//! How `meshlock lock` runs a command and how it ends.

use std::io::Write;
use std::process::Stdio;

use meshlock_api::State;
use rustix::process::Signal;

use super::world::World;

#[test]
fn the_commands_own_code_is_passed_on() {
    let world = World::new();
    world.run(&["resource", "make", "dock"]);
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        let ran = world.run(&["lock", "dock", "--", "sh", "-c", script]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(code), ""), "{script}");
        assert!(world.requests().is_empty(), "given back");
    }
}

#[test]
fn not_in_time_has_a_code_of_its_own() {
    let world = World::new();
    world.taken_by("other", "dock");
    for (words, code) in [
        (&["lock", "dock", "-w", "50ms", "--", "true"][..], 124),
        (&["lock", "dock", "--timeout", "0.05", "-E", "9", "--", "true"], 9),
        (&["lock", "dock", "--try", "true"], 124),
    ] {
        assert_eq!(world.run(words).code, Some(code), "{words:?}");
        world.until(State::Queued, 0);
    }
    let ran = world.run(&["lock", "dock", "-w", "50ms", "true"]);
    assert!(ran.err.contains("meshlock status dock"), "{}", ran.err);
    assert_eq!(world.run(&["lock", "dock", "--try", "true"]).err, "", "whoever tries expects this");
}

#[test]
fn failures_of_our_own_cannot_be_taken_for_those_of_the_command() {
    let world = World::new();
    let nowhere = world.place.join("nobody.sock");
    let ran = world.run(&["lock", "--socket", nowhere.to_str().unwrap(), "dock", "true"]);
    assert_eq!(ran.code, Some(125));
    assert!(ran.err.contains("nobody.sock") && ran.err.contains("meshlock node"), "{}", ran.err);
    for words in [
        &["lock"][..],
        &["lock", "dock", "--on-loss", "panic", "true"],
        &["lock", "dock", "-w", "soon", "true"],
        &["lock", "dock", "--units", "2", "true"],
        &["lock", "new", "--units", "2", "true"],
        &["lock", "a b", "true"],
        &["lock", "dock", "--url", "ftp://x", "true"],
        &["lock", "dock", "--token-file", "missing", "true"],
    ] {
        // The first use makes a mutex, so that 2 units are too many.
        world.run(&["lock", "dock", "true"]);
        let ran = world.run(words);
        assert_eq!(ran.code, Some(125), "{words:?}");
        assert!(ran.err.contains("error"), "{words:?}: {}", ran.err);
    }
}

#[test]
fn what_cannot_be_run_is_told_as_shells_do() {
    let world = World::new();
    std::fs::write(world.place.join("text"), "").unwrap();
    assert_eq!(world.run(&["lock", "dock", "./text"]).code, Some(126));
    assert_eq!(world.run(&["lock", "dock", "./missing"]).code, Some(127));
    assert!(world.requests().is_empty(), "given back");
}

#[test]
fn the_command_knows_what_is_held() {
    let world = World::new();
    assert_eq!(world.run(&["resource", "make", "gpu", "--capacity", "3"]).code, Some(0));
    assert_eq!(world.run(&["resource", "make", "room", "--kind", "sessions"]).code, Some(0));
    let script = "echo $MESHLOCK_NAME $MESHLOCK_UNITS ${MESHLOCK_SESSION-none} $MESHLOCK_HELD; \
                  echo $MESHLOCK_FENCE $MESHLOCK_EXPIRES_IN_MS $MESHLOCK_REQUEST";
    let ran = world.run(&["lock", "gpu", "--units", "2", "--lease", "20s", "sh", "-c", script]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], "gpu 2 none 1");
    let words: Vec<&str> = lines[1].split(' ').collect();
    let fence: u64 = words[0].parse().unwrap();
    assert!((1..=20_000).contains(&words[1].parse::<u64>().unwrap()), "{}", words[1]);
    assert_eq!(world.hub.look(words[2]).unwrap().fence, Some(fence));
    let ran = world.run(&["lock", "room", "--session", "red", "sh", "-c", script]);
    assert!(ran.out.starts_with("room 1 red 1\n"), "{}", ran.out);
}

#[test]
fn the_command_knows_which_units_it_has() {
    let world = World::new();
    assert_eq!(world.run(&["resource", "make", "gpu", "--capacity", "3"]).code, Some(0));
    assert_eq!(world.run(&["resource", "make", "bay", "--slots", "west,east"]).code, Some(0));
    let script = "echo ${MESHLOCK_SLOTS-none} ${MESHLOCK_SLOT_NAMES-none}";
    assert_eq!(world.run(&["lock", "gpu", "--units", "2", "-c", script]).out, "0,1 none\n");
    let acquired = world.run(&["acquire", "bay", "--json"]).out;
    let acquired: meshlock_api::RequestInfo = serde_json::from_str(&acquired).unwrap();
    assert_eq!((acquired.slots, acquired.slot_names), (vec![0], vec!["west".to_owned()]));
    assert_eq!(world.run(&["lock", "bay", "-c", script]).out, "1 east\n");
    let status = world.run(&["status"]).out;
    assert!(status.lines().any(|line| line.starts_with("bay ") && line.contains(" west ")), "{status}");
    let mut inside = world.command(&["lock", "dock", "-c", script]);
    let inside = inside.env("MESHLOCK_SLOTS", "7").env("MESHLOCK_SLOT_NAMES", "x").output().unwrap();
    assert_eq!(inside.stdout, b"none none\n", "those of a lock around this one");
    let refused = world.run(&["resource", "make", "pit", "--slots", "a,a"]);
    assert!(refused.code != Some(0) && refused.err.contains("two slots are called"), "{}", refused.err);
    let refused = world.run(&["resource", "set", "bay", "--slots", "east,west"]);
    assert!(refused.code != Some(0) && refused.err.contains("west,east"), "{}", refused.err);
    assert_eq!(world.run(&["resource", "set", "bay", "--slots", "west,east,south"]).code, Some(0));
}

#[test]
fn a_smaller_request_passes_where_the_policy_says_so() {
    let world = World::new();
    for (name, policy) in [("farm", "backfill"), ("line", "strict")] {
        assert_eq!(world.run(&["resource", "make", name, "--capacity", "4", "--policy", policy]).code, Some(0));
        assert_eq!(world.run(&["acquire", name, "--units", "3"]).code, Some(0));
    }
    let waiting = ["farm", "line"].map(|name| world.command(&["lock", name, "--units", "4", "true"]).spawn().unwrap());
    world.until(State::Queued, 2);
    assert_eq!(world.run(&["lock", "farm", "--try", "echo", "inside"]).out, "inside\n");
    assert_eq!(world.run(&["lock", "line", "--try", "echo", "inside"]).code, Some(124));
    for words in [&["resource", "list"][..], &["status"]] {
        let told = world.run(words).out;
        let backfilled: Vec<&str> = told.lines().filter(|line| line.contains("backfill")).collect();
        assert!(matches!(backfilled[..], [line] if line.starts_with("farm ")), "{told}");
    }
    let refused = world.run(&["resource", "make", "dock", "--policy", "backfill"]);
    assert!(refused.code != Some(0) && refused.err.contains("is for semaphores"), "{}", refused.err);
    for mut child in waiting {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn options_end_where_the_command_begins() {
    let world = World::new();
    assert_eq!(world.run(&["lock", "-p", "-3", "dock", "-w", "5", "echo", "-w", "--try"]).out, "-w --try\n");
    assert_eq!(world.run(&["lock", "dock", "--", "echo", "--", "-c"]).out, "-- -c\n");
    assert_eq!(world.run(&["lock", "dock", "echo", "$HOME; echo"]).out, "$HOME; echo\n", "no shell");
    assert_eq!(world.run(&["lock", "dock", "-c", "echo one; echo two"]).out, "one\ntwo\n", "but on request");
}

#[test]
fn the_command_has_standard_input() {
    let world = World::new();
    let mut command = world.command(&["lock", "dock", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"hello");
}

#[test]
fn the_grant_is_told_on_request() {
    let world = World::new();
    let ran = world.run(&["lock", "--json", "dock", "true"]);
    let grant: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((&grant["resource"], &grant["state"]), (&"dock".into(), &"GRANTED".into()));
    assert!(grant["fence"].is_u64() && grant["request"].is_string(), "{grant}");
    let ran = world.run(&["lock", "-v", "dock", "true"]);
    assert!(ran.err.contains("granted, fence") && ran.err.contains("given back"), "{}", ran.err);
}

#[test]
fn without_a_command_it_is_held_until_a_signal() {
    let world = World::new();
    let mut running = world.start(&["lock", "dock"]);
    assert!(running.line().starts_with("dock granted, fence "));
    world.until(State::Granted, 1);
    running.send(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    assert!(world.requests().is_empty(), "given back");
}

#[test]
fn readers_run_together() {
    let world = World::new();
    assert_eq!(world.run(&["resource", "make", "map", "--kind", "readers-writer"]).code, Some(0));
    let mut first = world.start(&["lock", "-s", "map"]);
    first.line();
    assert_eq!(world.run(&["lock", "-s", "map", "echo", "read"]).out, "read\n");
    assert_eq!(world.run(&["lock", "-x", "--try", "map", "echo", "written"]).code, Some(124));
    first.send(Signal::INT);
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn a_command_may_have_any_name_and_any_arguments() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let long = "x".repeat(250);
    for name in ["tab\there", "\u{202e}txt", long.as_str()] {
        std::os::unix::fs::symlink("/bin/echo", world.place.join(name)).unwrap();
        let ran = world.run(&["lock", "dock", "--", &format!("./{name}"), "ran"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ran\n"), "{name:?}: {}", ran.err);
    }
    let raw = OsStr::from_bytes(b"not \xff UTF-8");
    let output = world.command(&["lock", "dock", "printf", "%s"]).arg(raw).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), raw.as_bytes()));
    let output = world.command(&["lock", "dock", "--owner"]).arg(raw).args(["--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "a mistake, and no crash");
    assert_eq!(world.command(&["status"]).arg(raw).output().unwrap().status.code(), Some(2));
}

#[test]
fn what_cannot_be_seen_in_an_owner_is_written_out() {
    let world = World::new();
    let ran = world.run(&["acquire", "dock", "--owner", "eve\u{202e}\u{200b}"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let status = world.run(&["status"]).out;
    assert!(status.contains("eve\\u{202e}\\u{200b}"), "{status}");
}
