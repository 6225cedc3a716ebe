use meshlock_sim::scenario::file::StudySpec;

use super::*;
use crate::shard::Shard;
use crate::testing::{Fake, axis, conducted, place, plan, spec};

fn plot(x: &str, lines: Option<&str>) -> PlotSpec {
    PlotSpec {
        title: "Waiting".to_owned(),
        x: x.to_owned(),
        y: "wait.mean".to_owned(),
        lines: lines.map(str::to_owned),
        log_x: false,
        log_y: false,
    }
}

fn drawn(name: &str, spec: StudySpec) -> Vec<Figure> {
    let plan = plan(&spec);
    let results = conducted(&plan, &place(name), &Fake::default(), 1, Shard::WHOLE);
    figures(&plan, &Summary::of(&plan, &results))
}

fn heads(figure: &Figure) -> Vec<&str> {
    figure.table.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn a_line_per_value() {
    let figures = drawn("lines", StudySpec { plots: vec![plot("nodes", Some("k"))], ..spec() });
    assert_eq!(figures.len(), 1);
    assert_eq!((heads(&figures[0]), figures[0].table.rows.len()), (vec!["nodes", "1", "2"], 2));
    assert_eq!(figures[0].name, "01-waiting");
}

#[test]
fn an_axis_that_a_plot_does_not_name_makes_a_picture_per_value() {
    let figures = drawn("facets", StudySpec { plots: vec![plot("nodes", None)], ..spec() });
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(titles, ["Waiting (k 1)", "Waiting (k 2)"]);
    assert_eq!(figures[1].name, "02-waiting-k-2");
    assert_eq!(heads(&figures[1]), ["nodes", "wait.mean"]);
}

#[test]
fn axes_that_go_with_x_make_no_pictures_of_their_own() {
    let mut spec = spec();
    spec.axes[1] = axis("k", &["1", "2"]);
    spec.zip = vec![vec!["nodes".to_owned(), "k".to_owned()]];
    spec.plots = vec![plot("nodes", None)];
    let figures = drawn("zipped", spec);
    assert_eq!((figures.len(), figures[0].table.rows.len()), (1, 2));
}

#[test]
fn units_along_x_are_read_and_mixed_ones_are_converted() {
    let of = |labels: &[&str]| {
        let along = labels.iter().map(|label| (*label).to_owned()).collect();
        View { along, lines: vec![] }.numbers()
    };
    assert_eq!(of(&["50m", "100m"]), Some(("m".to_owned(), vec![50.0, 100.0])));
    assert_eq!(of(&["500m", "1km"]), Some((String::new(), vec![500.0, 1000.0])));
    assert_eq!(of(&["flood", "group"]), None);
}

#[test]
fn words_along_x_are_drawn_as_bars() {
    let view = View { along: vec!["flood".to_owned(), "group".to_owned()], lines: vec![] };
    assert!(view.svg(&plot("protocol", None), "T").starts_with("<svg"));
    assert!(!view.table(&plot("protocol", None)).columns[0].numeric);
}
