//! Charts with lines.

use super::drawing::{Drawing, has_class, number};
use super::*;

fn protocols() -> Chart {
    let line = |name: &str, slope: f64| {
        series(
            name,
            [10.0, 20.0, 40.0].map(|x| Point { x, y: slope * x, low: slope * x - 1e-4, high: slope * x + 1e-4 }),
        )
    };
    let bound = Series { dashed: true, ..line("bound", 0.000_02) };
    chart(
        scale("nodes", ""),
        scale("waiting time", "s"),
        vec![line("reverse-link", 0.0001), line("flood", 0.0002), bound],
    )
}

#[test]
fn every_series_has_a_line_its_points_and_an_entry_in_the_legend() {
    let drawing = Drawing::of(protocols().svg());
    let names: Vec<_> = drawing.all("series").iter().map(|group| group.attribute("aria-label").unwrap()).collect();
    assert_eq!(names, ["reverse-link", "flood", "bound"]);
    assert_eq!(drawing.words("name"), ["reverse-link", "flood", "bound"]);
    for series in drawing.all("series") {
        assert_eq!(series.children().filter(|node| has_class(*node, "point")).count(), 3);
    }
    let dashed: Vec<bool> =
        drawing.all("line").iter().map(|line| line.attribute("stroke-dasharray").is_some()).collect();
    assert_eq!(dashed, [false, false, true]);
}

#[test]
fn small_times_are_shown_in_milliseconds_with_exact_numbers_in_tooltips() {
    let drawing = Drawing::of(protocols().svg());
    assert_eq!(drawing.words("y-label"), ["waiting time (ms)"]);
    let labels: Vec<String> = drawing.ticks("y-axis").into_iter().map(|(_, label)| label).collect();
    assert_eq!(labels, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(
        drawing.tooltips("point")[..2],
        ["reverse-link\n10: 1 ms [0.9 to 1.1]", "reverse-link\n20: 2 ms [1.9 to 2.1]"]
    );
}

#[test]
fn points_and_error_bars_lie_where_the_ticks_say() {
    let measured = Point { x: 2.0, y: 20.0, low: 10.0, high: 40.0 };
    let drawing = Drawing::of(
        chart(scale("x", ""), scale("y", ""), vec![series("a", [point(1.0, 0.0), measured, point(3.0, 50.0)])]).svg(),
    );
    let height = |label: &str| drawing.tick("y-axis", label);
    let across = drawing.tick("x-axis", "2.0");
    let bar = drawing.all("interval")[0];
    assert_eq!((number(bar, "y1"), number(bar, "y2")), (height("10"), height("40")));
    assert_eq!((number(bar, "x1"), number(bar, "x2")), (across, across));
    assert_eq!(drawing.all("cap").len(), 2);
    let target = drawing.all("point")[1].children().find(|node| node.tag_name().name() == "circle").unwrap();
    assert_eq!((number(target, "cx"), number(target, "cy")), (across, height("20")));
}

#[test]
fn on_a_logarithmic_scale_factors_are_distances_and_zero_has_no_place() {
    let reaching_zero = Point { x: 10.0, y: 10.0, low: -1.0, high: 100.0 };
    let points = [point(1.0, 1.0), reaching_zero, point(100.0, 1000.0), point(0.0, 5.0), point(5.0, -5.0)];
    let drawing = Drawing::of(chart(log("x", ""), log("y", ""), vec![series("a", points)]).svg());
    assert_eq!(drawing.all("point").len(), 3, "zero and less are left out");
    let at = |label: &str| drawing.tick("y-axis", label);
    let decade = at("1") - at("10");
    assert!((at("10") - at("100") - decade).abs() < 0.02 && (at("100") - at("1000") - decade).abs() < 0.02);
    let bar = drawing.all("interval")[0];
    assert_eq!((number(bar, "y1"), number(bar, "y2")), (drawing.plot()[3], at("100")));
    assert_eq!(drawing.all("cap").len(), 1, "the end at zero has no cap");
}

#[test]
fn values_that_are_missing_leave_a_gap_and_intervals_that_are_missing_are_not_drawn() {
    let unsure = Point { low: f64::NEG_INFINITY, high: f64::INFINITY, ..point(5.0, 2.0) };
    let points = [point(1.0, 1.0), point(2.0, 1.5), point(3.0, f64::NAN), point(4.0, 2.0), unsure];
    let drawing = Drawing::of(chart(scale("x", ""), scale("y", ""), vec![series("a", points)]).svg());
    assert_eq!(drawing.all("line")[0].attribute("d").unwrap().matches('M').count(), 2, "two pieces");
    assert_eq!(drawing.all("point").len(), 4);
    assert_eq!(drawing.all("interval").len(), 0);
    assert_eq!(drawing.tooltips("point")[3], "a\n5: 2");
}

#[test]
fn crowded_series_have_few_markers_but_all_tooltips() {
    let line = |name: &str, slope: f64| series(name, (0..300).map(|x| point(f64::from(x), slope * f64::from(x))));
    let drawing = Drawing::of(chart(scale("x", ""), scale("y", ""), vec![line("a", 1.0), line("b", 2.0)]).svg());
    assert_eq!(drawing.tooltips("point").len(), 600);
    let markers =
        drawing.all("point").into_iter().flat_map(|point| point.children()).filter(|node| has_class(*node, "marker"));
    assert_eq!(markers.count(), 40);
}

#[test]
fn all_text_is_escaped() {
    let bad = "<script>alert(\"1\" & '2')</script>";
    let mut chart = protocols();
    chart.title = bad.to_owned();
    chart.note = Some(bad.to_owned());
    (chart.x.label, chart.y.label) = (bad.to_owned(), bad.to_owned());
    chart.series[0].name = bad.to_owned();
    let svg = chart.svg();
    assert!(!svg.contains("<script"));
    let drawing = Drawing::of(svg);
    for class in ["title", "note", "x-label"] {
        assert_eq!(drawing.words(class).join(" "), bad, "{class}");
    }
    assert!(drawing.tooltips("entry").contains(&bad.to_owned()));
}

#[test]
fn long_titles_names_and_labels_are_wrapped_and_the_legend_moves_below() {
    let long = "waiting time of a request for one of three units on a network of nodes that move ".repeat(3);
    let mut chart = protocols();
    chart.title = long.clone();
    chart.note = Some(long.clone());
    (chart.x.label, chart.y.label) = (long.clone(), long.clone());
    for series in &mut chart.series {
        series.name = format!("{} {long}", series.name);
    }
    chart.series[1].name = "x".repeat(500);
    let drawing = Drawing::of(chart.svg());
    assert!(drawing.words("title").len() > 1);
    assert_eq!(drawing.words("title").join(" "), long.trim());
    let legend_top = drawing
        .texts()
        .iter()
        .filter(|text| text.class == "name")
        .map(|text| text.area.unwrap()[1])
        .fold(f64::MAX, f64::min);
    assert!(legend_top > drawing.plot()[3]);
    assert_eq!(drawing.tooltips("entry")[1].len(), 500, "the whole name is in the tooltip");
}

#[test]
fn a_series_without_a_name_needs_no_legend() {
    let drawing = Drawing::of(chart(scale("x", ""), scale("y", ""), vec![series("", [point(1.0, 2.0)])]).svg());
    assert!(drawing.all("legend").is_empty());
    assert_eq!(drawing.all("point").len(), 1);
}
