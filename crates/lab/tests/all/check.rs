//! `meshlock check` from the outside: what it prints, what it writes and how it ends.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use meshlock_trace::{At, Reader, Record, What};
use rustix::process::Signal;
use serde_json::Value;

use crate::process::{self, Ran, Running, program, run_to_end};
use crate::words::{has_all, refused};

fn place(name: &str) -> PathBuf {
    process::place("check", name)
}

/// Runs a command line in a directory.
fn meshlock(place: &Path, line: &str) -> Ran {
    run_to_end(program().args(words(line)).current_dir(place))
}

/// Words with spaces between them; quotes as a shell takes them, as far as our replay commands use them.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// What stands behind a label of the report, such as `replay`.
fn labelled<'a>(ran: &'a Ran, label: &str) -> &'a str {
    let find = |line: &'a str| line.trim_start().strip_prefix(label).map(str::trim);
    ran.out.lines().find_map(find).unwrap_or_else(|| panic!("no {label} in\n{}", ran.out))
}

const SMALL_BROKEN: &str = "check reverse-link --variant published --topology line:2 --k 2 --rule no-idle-units";

#[test]
fn help_has_examples_and_exit_codes() {
    let alone = meshlock(&here(), "");
    assert_eq!(alone.code, Some(0));
    assert!(alone.out.contains("meshlock check"), "{}", alone.out);
    let help = meshlock(&here(), "check --help");
    assert_eq!(help.code, Some(0));
    has_all(&help.out, &["Examples:", "meshlock check reverse-link/p1", "Exit codes:", "--topology <SHAPE>", "130"]);
    let version = meshlock(&here(), "--version");
    assert_eq!(version.out.trim(), format!("meshlock-lab {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_examples_of_the_help_are_real() {
    let help = meshlock(&here(), "check --help").out;
    let own = help.lines().map(str::trim).filter(|line| line.starts_with("meshlock check"));
    let mut tried = 0;
    for line in own.filter(|line| line.contains("--topology")) {
        assert!(help.contains(&format!("\n  {line}\n      ")), "an example is broken over two lines: {line}");
        let limit = if line.contains("--walks") { "--max-seconds 0.01" } else { "--max-states 50" };
        let ran = meshlock(&here(), &format!("{} {limit} --no-trace", line.trim_start_matches("meshlock ")));
        assert_ne!(ran.code, Some(2), "{line}\n{}", ran.err);
        tried += 1;
    }
    assert!(tried >= 4, "{help}");
}

#[test]
fn the_list_names_every_standard_model_and_what_is_expected() {
    let list = meshlock(&here(), "check --list");
    assert_eq!(list.code, Some(0));
    assert!(list.out.contains("reverse-link/p1 "), "{}", list.out);
    assert!(list.out.contains("breaks nobody-waits in 20 steps"), "{}", list.out);
    let entries = json(&meshlock(&here(), "check --list --json").out);
    let find = |name: &str| entries.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap().clone();
    let p3 = find("reverse-link/p3");
    assert_eq!(p3["expected"]["rule"], "no-idle-units");
    assert_eq!(p3["expected"]["steps"], 3);
    assert_eq!(p3["variant"], "published");
    assert_eq!(find("reverse-link/line-3")["expected"]["verdict"], "holds");
    let some = meshlock(&here(), "check --list reverse-link/p1 reverse-link/p3");
    assert_eq!(some.out.lines().filter(|line| line.starts_with("reverse-link/")).count(), 2);
}

#[test]
fn the_rules_are_listed_in_words() {
    let rules = meshlock(&here(), "check --rules");
    assert_eq!(rules.code, Some(0));
    assert!(rules.out.contains("exclusion") && rules.out.contains("at most k units are in use"), "{}", rules.out);
    let rules = json(&meshlock(&here(), "check --rules --json").out);
    assert!(rules.as_array().unwrap().iter().any(|rule| rule["name"] == "starvation"));
}

#[test]
fn a_broken_rule_is_shown_written_and_replayed() {
    let place = place("broken");
    let ran = meshlock(&place, SMALL_BROKEN);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("   3  node 0 gets request"), "{}", ran.out);
    assert!(ran.out.contains("breaks no-idle-units in 3 steps; no shorter run breaks it"), "{}", ran.out);
    assert_eq!(ran.err, "");
    assert_eq!(labelled(&ran, "trace"), "reverse-link.trace.jsonl");
    assert_eq!(labelled(&ran, "look"), "meshlock view reverse-link.trace.jsonl");

    let replay = labelled(&ran, "replay").strip_prefix("meshlock ").unwrap().to_owned();
    let file = fs::File::open(place.join("reverse-link.trace.jsonl")).unwrap();
    let reader = Reader::new(BufReader::new(file)).unwrap();
    assert_eq!(reader.header().replay.as_deref(), Some(format!("meshlock {replay}").as_str()));
    let records: Vec<Record> = reader.collect::<Result<_, _>>().unwrap();
    let last = records.last().unwrap();
    assert_eq!(last.at, At::Step(3));
    let What::End(end) = &last.what else { panic!("{last:?}") };
    assert_eq!(end.violation.as_ref().unwrap().rule, "no-idle-units");

    let again = meshlock(&place, &format!("{replay} --trace again.jsonl"));
    assert_eq!(again.code, Some(1));
    let trace = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!(trace("again.jsonl"), trace("reverse-link.trace.jsonl"));
}

#[test]
fn a_walk_is_replayed_by_its_seed() {
    let place = place("walk");
    let line = "check reverse-link --variant published --topology line:4 --walks 200 --steps 40 --rule nobody-waits";
    let ran = meshlock(&place, &format!("{line} --trace first.jsonl"));
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let replay = labelled(&ran, "replay").strip_prefix("meshlock ").unwrap().to_owned();
    assert!(replay.contains("--walks 1 --seed "), "{replay}");
    let again = meshlock(&place, &format!("{replay} --trace again.jsonl"));
    assert_eq!(again.code, Some(1), "{}{}", again.out, again.err);
    assert_eq!(labelled(&again, "replay"), labelled(&ran, "replay"));
    let trace = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!(trace("again.jsonl"), trace("first.jsonl"));
}

#[test]
fn a_known_defect_breaks_its_rule_alone_but_is_as_expected_among_others() {
    let place = place("known");
    let alone = meshlock(&place, "check reverse-link/p1");
    assert_eq!(alone.code, Some(1));
    assert!(alone.out.contains("breaks nobody-waits in 20 steps, as expected"), "{}", alone.out);
    assert!(place.join("reverse-link-p1.trace.jsonl").exists());
    let both = meshlock(&place, "check reverse-link/p1 reverse-link/p3 --traces traces");
    assert_eq!(both.code, Some(0), "{}", both.out);
    assert!(both.out.contains("2 models, all as expected"), "{}", both.out);
    assert!(place.join("traces/reverse-link-p3.trace.jsonl").exists());
    let unreduced = meshlock(&place, "check reverse-link/p1 reverse-link/p3 --no-reduction");
    assert_eq!(unreduced.code, Some(0), "{}", unreduced.out);
    let files: Vec<_> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "several models write traces only where they are told to: {files:?}");
}

#[test]
fn a_model_that_holds_ends_well() {
    let ran = meshlock(&here(), "check reverse-link --topology line:2 --link-changes 1 --harsh");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("holds: no rule is broken in any state"), "{}", ran.out);
    assert!(ran.out.contains("1 change (harsh)"), "{}", ran.out);
}

#[test]
fn a_limit_is_no_verdict() {
    let ran = meshlock(&here(), "check reverse-link --topology line:3 --max-states 20");
    assert_eq!(ran.code, Some(3), "{}", ran.out);
    assert!(ran.out.contains("stopped by the state limit"), "{}", ran.out);
    let table = meshlock(&here(), "check reverse-link/p1 reverse-link/p3 --max-depth 5");
    assert_eq!(table.code, Some(3), "{}", table.out);
    assert!(table.out.contains("1 ended early by a limit, the others as expected"), "{}", table.out);
}

#[test]
fn ctrl_c_ends_with_what_there_is() {
    let line = "check reverse-link --topology complete:5 --requests 9 --link-changes 9 --harsh --max-seconds 60";
    let mut running = Running::start(program().args(words(line)));
    running.line(); // from here on it listens
    let Ran { code, out, err } = running.end_by(Signal::INT);
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(out.contains("stopped by Ctrl-C; no rule is broken so far"), "{out}");
    assert!(out.contains(" unique, depth "), "{out}");
}

#[test]
fn json_is_one_document_with_all_numbers() {
    let place = place("json");
    let broken = meshlock(&place, &format!("{SMALL_BROKEN} --json"));
    assert_eq!(broken.code, Some(1));
    let document = json(&broken.out);
    let model = &document[0];
    assert_eq!(document.as_array().unwrap().len(), 1);
    assert_eq!(model["name"], "reverse-link");
    assert_eq!(model["verdict"], "violated");
    assert_eq!(model["rule"], "no-idle-units");
    assert_eq!(model["steps"], 3);
    assert_eq!(model["trace"], "reverse-link.trace.jsonl");
    assert_eq!(model["expected"], Value::Null);
    assert_eq!(model["replay"], format!("meshlock {SMALL_BROKEN}"));
    assert!(model["numbers"]["unique"].as_u64() > Some(0));

    let walks = "check reverse-link --topology line:2 --walks 2 --steps 20 --json";
    let walked = json(&meshlock(&place, walks).out);
    assert_eq!(walked[0]["verdict"], "holds");
    assert_eq!(walked[0]["numbers"]["walks"], 2);

    let several = json(&meshlock(&place, "check reverse-link/p1 reverse-link/p3 --json").out);
    assert_eq!(several[0]["as_expected"], true);
    assert_eq!(several[1]["expected"]["steps"], 3);
}

#[test]
fn colours_are_for_terminals_only() {
    let ran = meshlock(&here(), "check reverse-link/p1 reverse-link/p3");
    assert!(!ran.out.contains('\x1b'), "{:?}", ran.out);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_after_the_result() {
    let ran = meshlock(&place("unwritable"), &format!("{SMALL_BROKEN} --trace no/such/place/file"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.out.contains("breaks no-idle-units in 3 steps"), "{}", ran.out);
    assert!(ran.err.contains("cannot write no/such/place/file"), "{}", ran.err);
}

#[test]
fn a_mistake_is_answered_with_the_way_out() {
    let table = [
        ("chek", "check"),
        ("check reverse-lnk/p1", "did you mean reverse-link/p1?"),
        ("check p3", "did you mean reverse-link/p3?"),
        ("check --topology line:3", "for instance `meshlock check reverse-link --topology ...`"),
        ("check reverse-link/p1 --k 2", "only limits and --no-reduction can be added"),
        ("check reverse-link/p1 flood", "write flood/"),
        ("check reverse-link/p1 reverse-link/p3 --trace x", "use --traces DIR"),
        ("check reverse-link --topology lime:3", "known are line:N"),
        ("check reverse-link --demand 2@0", "raise --k"),
        ("check reverse-link --demand 1#9", "write UNITS@PRIORITY"),
        ("check reverse-link --demand 1", "write UNITS@PRIORITY"),
        ("check reverse-link --deadlines --demand 1@9", "write UNITS#DEADLINE"),
        ("check reverse-link --aging 1 --deadlines", "cannot be used with '--deadlines'"),
        ("check reverse-link --rule fairness", "no request starves on a fair run"),
        ("check reverse-link --rule overtaking", "add --overtaking GRANTS"),
        ("check reverse-link --rule starvation --depth-first", "leave out --depth-first"),
        ("check reverse-link --rule starvation --walks 3", "leave out --walks"),
        ("check reverse-link --walks 3 --max-states 9", "--max-seconds instead"),
        ("check reverse-link --repair p1", "add --variant published"),
        ("check reverse-link --variant published --repair p99", "there are p1,"),
        ("check reverse-link --variant published --aging 1", "the published one has --epsilon"),
        ("check reverse-link --variant published --cancels 1", "leave out --cancels"),
        ("check reverse-link --variant published --leaves 1", "leave out --leaves"),
        ("check reverse-link --variant published --stops 1", "leave out --stops"),
        ("check flood --crashes 1", "does not recover from crashes"),
        ("check reverse-link --crashes 1 --endless", "leave out --endless"),
        ("check reverse-link --reading section-3", "add --variant published"),
        ("check reverse-link --variant published --reading part-3", "there are section-3,"),
        ("check group --variant published --reading section-3", "has no other readings"),
        ("check flood --resize 2", "leave out --resize"),
        ("check reverse-link --early-timers 1", "leave out --early-timers"),
        ("check reverse-link --harsh", "--link-changes <N>"),
        ("check reverse-link --reprioritise 1", "--urgency <P>"),
        ("check reverse-link --node 7=1@0", "its nodes are 0 to 2"),
        ("check reverse-link --node 1=- --node 1=1@0", "given twice"),
        ("check reverse-link --max-memory lots", "2GiB"),
        ("check reverse-link --k 0", "at least 1"),
        ("check flood --outstanding 2", "leave out --outstanding"),
        ("check flood --reprioritise 1 --urgency 3", "leave out --reprioritise"),
        ("check flood --demand 1@0/7", "leave out the /SESSION"),
        ("check flood --k 2", "leave --k at 1"),
        ("check group --link-changes 1", "use group-over-relay"),
        ("check group --demand 1@1", "write UNITS@PRIORITY/SESSION"),
        ("check group --demand 1@9/1", "raise --levels"),
        ("check group --early-timers 1", "add --repeats"),
        ("check group --k 2", "leave out --k"),
        ("check group-over-relay --variant published", "only as group"),
        ("check --view", "name one, for instance `meshlock check reverse-link/p1 --view`"),
        ("check reverse-link/p1 reverse-link/p3 --view", "these are 2: name one"),
        ("check reverse-link/p1 --view --json", "cannot be used with '--json'"),
        ("check reverse-link/p1 --view --list", "cannot be used with '--list'"),
        ("check reverse-link --view --walks 3", "cannot be used with '--walks <N>'"),
        ("check reverse-link/p1 --view=nowhere", "invalid value 'nowhere' for '--view[=<ADDR>]'"),
        ("check reverse-link/p1 --open", "--view"),
    ];
    refused(&here(), "", &table);
}
