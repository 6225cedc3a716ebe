//! The scenarios that come with the project, their schema and their reference are current; no text makes a reader panic.

use std::fs;
use std::path::{Path, PathBuf};

use meshlock_sim::scenario::Scenario;
use meshlock_sim::scenario::file::{Document, reference_table, schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("scenarios")).expect("a folder").map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), fs::read_to_string(path).expect("a text"))).collect()
}

/// Compares a file with what it should be, or writes it if `MESHLOCK_WRITE` is set.
fn is_current(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("MESHLOCK_WRITE").is_some() {
        fs::write(file, expected).expect("it can be written");
        return;
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    let how = "MESHLOCK_WRITE=1 cargo test -p meshlock-sim --test all scenario_files";
    assert!(found == expected, "{path} is not current; write it with: {how}");
}

#[test]
fn the_schema_is_current() {
    is_current("scenarios/scenario.schema.json", &schema());
}

#[test]
fn the_reference_of_all_keys_is_current() {
    let path = "docs/scenario-format.md";
    let text = fs::read_to_string(root().join(path)).unwrap();
    let (before, _) = text.split_once("<!-- keys: begin -->").unwrap();
    let (_, after) = text.split_once("<!-- keys: end -->").unwrap();
    is_current(path, &format!("{before}<!-- keys: begin -->\n{}\n<!-- keys: end -->{after}", reference_table()));
}

#[test]
fn every_shipped_scenario_resolves_with_every_value_of_its_study() {
    let names: Vec<String> = shipped()
        .iter()
        .map(|(name, text)| {
            let document = Document::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
            let scenario = document.resolve().unwrap_or_else(|error| panic!("{error}"));
            let study = document.study().unwrap_or_else(|error| panic!("{error}"));
            for axis in study.iter().flat_map(|study| &study.axes) {
                for value in &axis.values {
                    let mut point = document.clone();
                    point.set(&axis.key, value).unwrap_or_else(|error| panic!("{error}"));
                    point.resolve().unwrap_or_else(|error| panic!("{} = {value}: {error}", axis.key));
                }
            }
            assert!((30.0..=120.0).contains(&scenario.duration.seconds()), "{name}");
            scenario.name
        })
        .collect();
    assert_eq!(
        names,
        [
            "charging-docks",
            "crashes",
            "drone-corridor",
            "intersection",
            "overload",
            "reference",
            "study-crashes",
            "study-nodes",
            "study-priorities",
            "study-speed",
            "whiteboard",
            "wired-cluster"
        ]
    );
}

#[test]
fn the_reference_is_the_same_as_file_as_built_in_and_as_value() {
    let (name, text) = shipped().into_iter().find(|(name, _)| name.ends_with("reference.toml")).unwrap();
    let file = Document::parse(&name, &text).unwrap();
    assert_eq!(file.resolve().unwrap(), Scenario::reference());
    assert_eq!(Document::reference().resolve().unwrap(), Scenario::reference());
    assert_eq!(file.canonical(), Document::reference().canonical());
}

#[test]
fn the_examples_of_the_guide_are_right() {
    let text = fs::read_to_string(root().join("docs/scenario-format.md")).unwrap();
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split_once("```").map_or(rest, |(example, _)| example))
        .collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        // Parts stand for themselves in the guide; a run needs a network.
        let network = if example.contains("[radio]") { "" } else { "[radio]\n" };
        let document =
            Document::parse("guide", &format!("{example}{network}")).unwrap_or_else(|error| panic!("{error}"));
        document.resolve().unwrap_or_else(|error| panic!("{error}"));
        document.study().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_mistake_of_the_guide_is_told_as_it_says() {
    let text = fs::read_to_string(root().join("docs/scenario-format.md")).unwrap();
    let shown = text.split_once("```text\n").unwrap().1.split_once("\n```").unwrap().0;
    let error = Document::parse("hall.toml", "nodes = 3\n\n\n[radio]\nrang = \"120m\"\n").unwrap_err();
    assert_eq!(error.to_string(), shown);
}

/// Cuts, doubles and swaps pieces of every scenario, and exchanges their values for unfitting ones.
#[test]
fn no_text_makes_a_reader_panic() {
    let values =
        ["-1", "0", "1e308", "nan", "\"\"", "\"-5s\"", "[[]]", "{}", "\"uniform(,)\"", "\"9..0\"", "\"é..\"", "true"];
    let mut seed: u64 = 1;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n.max(1)
    };
    let mut resolved = 0;
    for (name, text) in shipped() {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..400 {
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            for _ in 0..=below(3) {
                let at = below(lines.len());
                match below(4) {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, lines[below(lines.len())].clone()),
                    2 => {
                        let key = lines[at].split('=').next().unwrap_or_default().to_owned();
                        lines[at] = format!("{key}= {}", values[below(values.len())]);
                    }
                    _ => {
                        let cut: String = lines[at].chars().take(below(lines[at].len())).collect();
                        lines[at] = cut;
                    }
                }
            }
            match Document::parse(&name, &lines.join("\n")) {
                Err(error) => drop(error.to_string()),
                Ok(mut document) => {
                    let _ = document.set("nodes", values[below(values.len())]);
                    let _ = document.set("traffic.class.0.units", values[below(values.len())]);
                    let _ = document.study().map_err(|error| error.to_string());
                    drop(document.canonical());
                    resolved += usize::from(document.resolve().map_err(|error| error.to_string()).is_ok());
                }
            }
        }
    }
    assert!(resolved > 100, "too few mutants are still scenarios to say much: {resolved}");
}

#[test]
fn a_trace_that_knows_too_few_nodes_is_refused() {
    let folder = std::env::temp_dir().join(format!("meshlock-trace-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("two.movements"), "0 1 2 10 3 4\n0 5 6 10 7 8\n").unwrap();
    let name = folder.join("demo.toml").display().to_string();
    let read = |nodes: u32| {
        let text = format!("nodes = {nodes}\n[radio]\n[mobility]\nmodel = \"trace\"\nfile = \"two.movements\"\n");
        Document::parse(&name, &text).unwrap().resolve()
    };
    assert_eq!(read(3).unwrap_err().message, "`two.movements` has 2 nodes, but nodes = 3");
    assert!(read(2).is_ok());
    fs::remove_dir_all(&folder).unwrap();
}
