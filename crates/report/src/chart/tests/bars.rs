//! Charts with bars.

use super::super::{Bar, BarGroup, Bars};
use super::drawing::{Drawing, has_class, number};
use super::scale;

fn bar(name: &str, value: f64) -> Bar {
    Bar { name: name.to_owned(), value, low: value, high: value }
}

fn bars(groups: Vec<BarGroup>, stacked: bool) -> Bars {
    Bars { title: "Messages by kind".to_owned(), y: scale("messages", ""), groups, stacked, note: None }
}

fn group(name: &str, bars: impl IntoIterator<Item = Bar>) -> BarGroup {
    BarGroup { name: name.to_owned(), bars: bars.into_iter().collect() }
}

/// Upper and lower edge and colour of each bar of each group.
fn edges(drawing: &Drawing) -> Vec<Vec<(f64, f64, String)>> {
    let edges = |node: roxmltree::Node<'_, '_>| {
        let top = number(node, "y");
        (top, top + number(node, "height"), node.attribute("fill").unwrap().to_owned())
    };
    let of_group = |group: roxmltree::Node<'_, '_>| {
        let values = group.children().filter(|node| has_class(*node, "value"));
        values.flat_map(|value| value.children()).filter(|node| has_class(*node, "bar")).map(edges).collect()
    };
    drawing.all("group").into_iter().map(of_group).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.02
}

#[test]
fn stacked_bars_stand_on_each_other_and_equal_names_share_a_colour() {
    let groups = vec![
        group("flood", [bar("request", 2.0), bar("token", 3.0)]),
        group("group", [bar("token", 1.0), bar("reply", 4.0)]),
    ];
    let drawing = Drawing::of(bars(groups, true).svg());
    let edges = edges(&drawing);
    let tick = |label: &str| drawing.tick("y-axis", label);
    let [request, token] = &edges[0][..] else { panic!("two bars") };
    assert!(close(request.1, tick("0")) && close(request.0, tick("2")));
    assert!(close(token.1, request.0) && close(token.0, tick("5")));
    assert_eq!(token.2, edges[1][0].2, "a token is a token in every group");
    assert_ne!(token.2, request.2);
    assert_eq!(drawing.words("name"), ["request", "token", "reply"]);
    assert_eq!(drawing.words("group-name"), ["flood", "group"]);
    assert_eq!(drawing.tooltips("value")[1], "flood\ntoken: 3");
}

#[test]
fn bars_side_by_side_start_at_zero_and_have_intervals() {
    let measured = Bar { low: 8.0, high: 12.0, ..bar("a", 10.0) };
    let drawing = Drawing::of(bars(vec![group("g", [measured, bar("b", -4.0), bar("c", f64::NAN)])], false).svg());
    let tick = |label: &str| drawing.tick("y-axis", label);
    let edges = edges(&drawing);
    assert_eq!(edges[0].len(), 2, "what is not a number is left out");
    assert!(close(edges[0][0].1, tick("0")) && close(edges[0][0].0, tick("10")));
    assert!(close(edges[0][1].0, tick("0")) && close(edges[0][1].1, tick("−4")));
    let interval = drawing.all("interval")[0];
    assert!(close(number(interval, "y1"), tick("8")) && close(number(interval, "y2"), tick("12")));
    assert_eq!(drawing.tooltips("value")[0], "g\na: 10 [8 to 12]");
}

#[test]
fn many_groups_with_long_names_are_slanted_and_widen_the_chart() {
    let group_of = |n: u32| group(&format!("reverse-link with {n} nodes"), [bar("a", f64::from(n)), bar("b", 2.0)]);
    let width = |count: u32, stacked: bool| {
        let drawing = Drawing::of(bars((0..count).map(group_of).collect(), stacked).svg());
        assert_eq!(drawing.words("group-name").len(), count as usize);
        let [left, _, right, _] = drawing.plot();
        right - left
    };
    assert!(width(60, true) / 60.0 >= 24.0);
    assert!(width(60, true) > width(20, true));
    assert!(width(3, false) < 640.0);
}

#[test]
fn extreme_bars_are_drawn_and_no_bars_are_no_data() {
    for values in [vec![0.0], vec![1e-9, 1e9], vec![-1e12, -1e11], vec![f64::INFINITY, 3.0], vec![1e-7; 30]] {
        for (stacked, log) in [(true, false), (true, true), (false, false), (false, true)] {
            let named = values.iter().enumerate().map(|(index, value)| bar(&format!("kind {index}"), *value));
            let mut bars = bars(vec![group("a", named), group("empty", [])], stacked);
            bars.y.log = log;
            Drawing::of(bars.svg());
        }
    }
    for groups in [vec![], vec![group("empty", [])], vec![group("nan", [bar("a", f64::NAN)])]] {
        let drawing = Drawing::of(bars(groups, true).svg());
        assert_eq!(drawing.words("no-data"), ["no data"]);
    }
}
