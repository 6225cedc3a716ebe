//! A lock inside of itself, and nodes that do not answer.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use super::world::World;
use crate::process::run_to_end;

/// The program as a word of a script.
fn nested(words: &str) -> String {
    format!("{} {words}", crate::PROGRAM)
}

#[test]
fn a_lock_inside_of_itself_is_refused_and_does_not_wait() {
    let world = World::new();
    for inner in ["lock dock true", "lock dock -w 1h true", "acquire dock", "lock other -c '{} lock dock true'"] {
        let inner = inner.replace("{}", crate::PROGRAM);
        let ran = world.run(&["lock", "dock", "-c", &nested(&inner)]);
        assert_eq!(ran.code, Some(125), "{inner}");
        assert!(ran.err.contains("held already by a program around this one"), "{inner}: {}", ran.err);
    }
    let ran = world.run(&["lock", "dock", "-c", &nested("lock other echo '$MESHLOCK_HOLDS'")]);
    assert_eq!(ran.code, Some(0), "another lock is no problem: {}", ran.err);
    let script = nested("lock other -c 'echo $MESHLOCK_HOLDS $MESHLOCK_HELD'");
    assert_eq!(world.run(&["lock", "dock", "-c", &script]).out, "test/dock test/other 1\n");
}

#[test]
fn what_can_be_had_twice_needs_a_limit() {
    let world = World::new();
    for words in [&["gpu", "--capacity", "3"][..], &["map", "--kind", "readers-writer"]] {
        assert_eq!(world.run(&[&["resource", "make"], words].concat()).code, Some(0));
    }
    for (outer, inner, code) in [
        (&["gpu"][..], "gpu true", 125),
        (&["gpu"], "gpu -w 10s true", 0),
        (&["gpu", "--units", "3"], "gpu --try true", 124),
        (&["map", "-s"], "map -s true", 125),
        (&["map", "-s"], "map -s -w 10s true", 0),
        (&["map", "-s"], "map -w 10s true", 125),
    ] {
        let script = nested(&format!("lock {inner}"));
        let words = [&["lock"], outer, &["-c", &script]].concat();
        assert_eq!(world.run(&words).code, Some(code), "{words:?}");
    }
}

#[test]
fn the_same_name_in_another_mesh_is_another_lock() {
    let (here, there) = (World::new(), World::in_mesh("elsewhere"));
    let script = nested(&format!("lock --socket {} dock true", there.socket.display()));
    let ran = here.run(&["lock", "dock", "-c", &script]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_node_that_accepts_and_says_nothing_is_waited_for_as_long_as_the_user_wants() {
    let world = World::new();
    let silent = world.place.join("silent.sock");
    let _listener = UnixListener::bind(&silent).unwrap();
    for words in
        [&["lock", "dock", "--try", "true"][..], &["lock", "dock", "-w", "1", "true"], &["acquire", "d", "--try"]]
    {
        let began = Instant::now();
        let ran = run_to_end(world.command(words).env("MESHLOCK_SOCKET", &silent));
        assert_eq!(ran.code, Some(125), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("does not answer"), "{}", ran.err);
        assert!(began.elapsed() < Duration::from_secs(8), "{words:?}: {:?}", began.elapsed());
    }
}

#[test]
fn a_socket_that_may_not_be_opened_names_the_setting() {
    let world = World::new();
    std::fs::set_permissions(&world.socket, std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = if std::fs::metadata(&world.place).unwrap().uid() == 0 {
        // Root may open everything: the program runs as another user, from a place where that one finds it.
        let copy = world.place.join("meshlock");
        std::fs::copy(crate::PROGRAM, &copy).unwrap();
        let mut command = Command::new(copy);
        command.uid(65_534).gid(65_534);
        command
    } else {
        Command::new(crate::PROGRAM)
    };
    command.args(["lock", "dock", "true"]).env("MESHLOCK_SOCKET", &world.socket).env_remove("MESHLOCK_URL");
    let ran = run_to_end(command.current_dir("/"));
    assert_eq!(ran.code, Some(125));
    assert!(ran.err.contains("may not open the socket") && ran.err.contains("socket-group"), "{}", ran.err);
}
