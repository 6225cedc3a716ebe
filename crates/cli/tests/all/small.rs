//! What new users stumbled over: `up` with odd wishes, files that cannot be, errors told twice, pages for shells and man.

use std::fs;
use std::net::TcpListener;

use rustix::process::Signal;

use crate::process::{Running, place, program, run};

#[test]
fn what_up_is_told_is_never_silently_different() {
    let place = place("small", "up");
    let refused = |line: &str| {
        let ran = run(&place, "up", line);
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.out);
        ran.err
    };
    assert!(refused("--topology grid:3x4 --nodes 5").contains("has 12 nodes, and --nodes says 5"));
    assert!(refused("--topology ring --nodes 2").contains("a ring has at least 3 nodes"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = refused(&format!("--nodes 1 --view {address}"));
    assert!(error.contains(&address), "{error}");
}

#[test]
fn up_prints_commands_for_what_can_be_locked() {
    let place = place("small", "config");
    let file = "[resources.crane]\nkind = \"readers-writer\"\n[resources.tools]\ncapacity = 4\n[resources.door]\n";
    fs::write(place.join("hall.toml"), file).unwrap();
    let mut words = program();
    words.args(["up", "--nodes", "2", "--no-view", "--config", "hall.toml"]).current_dir(&place);
    let mut up = Running::start(&mut words);
    let mut told = String::new();
    while !told.contains("Ctrl-C") {
        told.push_str(&up.line());
        told.push('\n');
    }
    assert!(told.contains("2 nodes are up, 1 link\n"), "{told}");
    assert!(told.contains(" door -- sleep 20") && told.contains("--units 2 tools"), "{told}");
    assert!(!told.contains("docks") && !told.contains("gate"), "{told}");
    up.send(Signal::INT);
    assert_eq!(up.end().code, Some(0));
}

#[test]
fn a_directory_that_cannot_be_is_no_fine_configuration() {
    let place = place("small", "directory");
    fs::write(place.join("file"), "").unwrap();
    for words in ["--dir file/below", "--dir /proc/nosuch", "--socket file/sock"] {
        let ran = run(&place, "node --check-config", words);
        assert_eq!(ran.code, Some(2), "{words}: {}", ran.out);
        assert!(ran.err.contains("cannot"), "{words}: {}", ran.err);
    }
    assert_eq!(run(&place, "node --check-config", "--dir new/mesh --socket new/sock").code, Some(0));
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn an_error_of_the_system_is_told_once() {
    let place = place("small", "once");
    for line in ["node --dir /proc/nosuch/x", "trace audit missing", "view missing", "up --dir /proc/x"] {
        let ran = run(&place, line, "");
        assert_eq!(ran.code, Some(2), "{line}");
        assert_eq!(ran.err.matches("os error").count(), 1, "{line}: {}", ran.err);
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let place = place("small", "generated");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&place, "completions", shell).out;
        for word in ["lock", "resource", "invite", "kill-after"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(run(&place, "man", "--dir man").code, Some(0));
    for page in ["meshlock.1", "meshlock-lock.1", "meshlock-mesh-invite.1"] {
        assert!(fs::read_to_string(place.join("man").join(page)).unwrap().contains(".TH"), "{page}");
    }
    assert!(!place.join("man/meshlock-sim.1").exists(), "another program has it");
    fs::write(place.join("man/meshlock.1"), "mine").unwrap();
    assert!(run(&place, "man", "--dir man").err.contains("is there already"));
    assert_eq!(run(&place, "man", "--dir man --force").code, Some(0));
}
