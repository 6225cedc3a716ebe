//! The dashboard and the alert rules of `contrib` name metrics that there are.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::render_metrics;
use super::mesh::Mesh;
use super::wants;

/// What HTTP adds to the metrics of a machine.
const OF_THE_SERVER: &str = "meshlock_tasks";

fn told_by_a_node() -> BTreeSet<String> {
    let mut mesh = Mesh::voting(3);
    mesh.net.ask(0, wants("dock"));
    mesh.run_ms(1_000);
    let text = render_metrics(&mesh.net.machines[0], mesh.net.now);
    let heads = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut names: BTreeSet<String> = BTreeSet::from([OF_THE_SERVER.to_owned()]);
    for (name, kind) in heads {
        names.insert(name.to_owned());
        if kind == "histogram" {
            names.extend(["bucket", "sum", "count"].map(|part| format!("{name}_{part}")));
        }
    }
    names
}

/// All words that begin like a metric of ours, and end before a bracket or a space.
fn named_in(file: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let word = |from: &str| from.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>();
    text.match_indices("meshlock_").map(|(at, _)| word(&text[at..])).collect()
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let told = told_by_a_node();
    for file in ["grafana-dashboard.json", "alerts.yml"] {
        let named = named_in(file);
        assert!(named.len() > 5, "{file}: {named:?}");
        let unknown: Vec<&String> = named.difference(&told).collect();
        assert!(unknown.is_empty(), "{file} names what no node tells: {unknown:?}");
    }
}

#[test]
fn the_dashboard_shows_all_that_a_node_tells() {
    let shown = named_in("grafana-dashboard.json");
    let is_shown = |name: &String| {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        shown.iter().any(|shown| shown == name || shown.starts_with(base))
    };
    let told = told_by_a_node();
    let missing: Vec<&String> = told.iter().filter(|name| !is_shown(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
