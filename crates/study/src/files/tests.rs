use std::collections::BTreeMap;
use std::path::Path;

use meshlock_sim::scenario::file::{Compare, PlotSpec, StudySpec};

use super::*;
use crate::shard::Shard;
use crate::store::Begin;
use crate::testing::{Fake, conducted, place, plan, spec};

const BACKGROUND: Background<'_> =
    Background { file: "toy.toml", text: "nodes = 10 # <few>\n", command: "meshlock study toy.toml" };

fn full() -> StudySpec {
    let plot = PlotSpec {
        title: "Waiting against size".to_owned(),
        x: "nodes".to_owned(),
        y: "wait.mean".to_owned(),
        lines: Some("k".to_owned()),
        log_x: false,
        log_y: false,
    };
    let compare = Compare { axis: "k".to_owned(), baseline: "1".to_owned(), measures: vec!["wait.mean".to_owned()] };
    StudySpec { plots: vec![plot], compare: vec![compare], ..spec() }
}

fn made(place: &Path, fake: &Fake, jobs: usize) -> BTreeMap<String, String> {
    let plan = plan(&full());
    let results = conducted(&plan, place, fake, jobs, Shard::WHOLE);
    let store = Store::open(place, &plan, Begin::Resume).unwrap();
    let names = write(&plan, &results, &Summary::of(&plan, &results), &BACKGROUND, &store).unwrap();
    let text = |name: &String| std::fs::read_to_string(place.join(name)).unwrap();
    names.iter().filter(|name| !name.ends_with(".parquet")).map(|name| (name.clone(), text(name))).collect()
}

/// Without wall-clock times, which are not repeatable.
fn without_time(name: &str, text: &str) -> String {
    match name {
        "runs.csv" => {
            let cut = |line: &str| line.split(',').enumerate().filter(|(at, _)| *at != 7).map(|(_, f)| f).collect();
            text.lines().map(cut).collect::<Vec<String>>().join("\n")
        }
        "runs.json" => text.lines().filter(|line| !line.contains("\"wall_s\"")).collect(),
        _ => text.to_owned(),
    }
}

#[test]
fn one_thread_and_many_write_the_same_bytes() {
    let one = made(&place("bytes-1"), &Fake::default(), 1);
    let many = made(&place("bytes-4"), &Fake::default(), 4);
    assert_eq!(one.keys().collect::<Vec<_>>(), many.keys().collect::<Vec<_>>());
    for (name, text) in &one {
        assert_eq!(without_time(name, text), without_time(name, &many[name]), "{name}");
    }
}

#[test]
fn what_is_made_from_files_is_what_was_made_from_memory() {
    let place = place("again");
    let first = made(&place, &Fake::default(), 2);
    let again = Fake::default();
    assert_eq!(first, made(&place, &again, 1));
    assert!(again.sorted().is_empty());
}

#[test]
fn tables_have_a_row_per_run_and_per_point_and_measure() {
    let files = made(&place("tables"), &Fake::default(), 1);
    let lines: Vec<&str> = files["runs.csv"].lines().collect();
    assert_eq!(
        lines[0],
        "experiment,nodes,k,replication,seed,scenario_hash,code_version,wall_s,stopped,entries,stuck,wait.mean"
    );
    assert_eq!(lines.len(), 1 + 12);
    assert!(lines[4].starts_with("toy,10,2,0,100,"), "{}", lines[4]);
    let lines: Vec<&str> = files["summary.csv"].lines().collect();
    assert_eq!(lines[0], "experiment,nodes,k,measure,n,mean,deviation,half_width,relative_half_width,min,p50,max");
    assert_eq!(lines.len(), 1 + 4 * 3);
    assert_eq!(lines[1], "toy,10,1,entries,3,1000,0,0,0,1000,1000,1000");
    let lines: Vec<&str> = files["comparisons.csv"].lines().collect();
    assert_eq!(lines.len(), 1 + 2);
    assert!(lines[1].starts_with("toy,k,2,1,10,2,wait.mean,3,"), "{}", lines[1]);
    assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    let rows: serde_json::Value = serde_json::from_str(&files["runs.json"]).unwrap();
    assert_eq!(rows[11]["measurement"]["nodes"], "20");
    let summary: serde_json::Value = serde_json::from_str(&files["summary.json"]).unwrap();
    assert_eq!(summary["points"][0]["measures"]["entries"]["mean"], 1000.0);
}

#[test]
fn the_report_tells_methods_results_and_trouble() {
    let files = made(&place("report"), &Fake::default(), 1);
    let page = &files["report.html"];
    let parts = [
        "Study: toy",
        "4 points, 12 runs, meshlock 1.0.0+test",
        "Waiting against size",
        "<svg",
        "Comparisons",
        "common random numbers",
        "Student",
        "The network that was there",
        "stuck",
        "meshlock study toy.toml",
        "nodes = 10 # &lt;few&gt;",
    ];
    for part in parts {
        assert!(page.contains(part), "{part} is not in the report");
    }
    assert!(!page.contains("Read this first"));
    assert!(files["plots/01-waiting-against-size.svg"].starts_with("<svg"));
    let broken = made(&place("report-broken"), &Fake { breaks_at: Some(20), ..Fake::default() }, 1);
    let page = &broken["report.html"];
    for part in ["Read this first", "exclusion", "two are inside", "meshlock sim toy.toml --seed 100 --set nodes=20"] {
        assert!(page.contains(part), "{part} is not in the report");
    }
}

#[test]
fn a_plot_that_is_gone_leaves_no_picture_behind() {
    let place = place("old-plots");
    made(&place, &Fake::default(), 1);
    std::fs::write(place.join("plots/99-old.svg"), "").unwrap();
    made(&place, &Fake::default(), 1);
    let left: Vec<_> = std::fs::read_dir(place.join("plots")).unwrap().collect();
    assert_eq!(left.len(), 1);
}
