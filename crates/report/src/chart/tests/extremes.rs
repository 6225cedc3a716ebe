//! Data that break careless charts.

use super::drawing::Drawing;
use super::*;

#[test]
fn extreme_data_give_tidy_axes() {
    let cases: [(&str, Vec<[f64; 2]>); 14] = [
        ("one point", vec![[3.0, 4.0]]),
        ("one point at zero", vec![[0.0, 0.0]]),
        ("equal values", vec![[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]]),
        ("equal tiny values", vec![[1.0, 7e-8], [2.0, 7e-8]]),
        ("many decades", vec![[1e-9, 1e9], [1.0, 1.0], [1e9, 1e-9]]),
        ("very many decades", vec![[1e-280, 1e280], [1e280, 1e-280]]),
        ("negative", vec![[-5.0, -3.0], [-1.0, -400.0]]),
        ("both signs", vec![[-1.0, -1.0], [1.0, 1.0]]),
        ("too large to subtract", vec![[1.0, -1.7e308], [2.0, 1.7e308], [3.0, 5.0]]),
        ("too small to divide", vec![[1.0, 5e-324], [2.0, 1e-323]]),
        ("nearly equal and large", vec![[1e12, 1e12], [1e12 + 1.0, 1e12 + 1e-3]]),
        ("small steps far from zero", vec![[100_000.1, 100_000.1], [100_000.7, 100_000.9]]),
        ("less than a decade", vec![[100.0, 120.0], [130.0, 133.0]]),
        ("millions", vec![[1e6, 2_500_000.0], [7e6, 9_100_000.0]]),
    ];
    for (name, points) in cases {
        for (logarithmic, from_zero, unit) in
            [(false, false, ""), (false, true, "s"), (true, false, "s"), (true, true, "")]
        {
            let axis = |label: &str| Scale { log: logarithmic, from_zero, ..scale(label, unit) };
            let points = points.iter().map(|[x, y]| point(*x, *y));
            let drawing = Drawing::of(chart(axis("across"), axis("up"), vec![series("data", points)]).svg());
            if drawing.all("no-data").is_empty() {
                let context = format!("{name}, logarithmic {logarithmic}, from zero {from_zero}");
                tidy(&drawing.ticks("x-axis"), false, &context);
                tidy(&drawing.ticks("y-axis"), true, &context);
            } else {
                assert!(logarithmic, "{name}: only a logarithmic scale has no place for it");
            }
        }
    }
}

/// Ticks run in one direction, with labels that differ.
fn tidy(ticks: &[(f64, String)], upwards: bool, context: &str) {
    assert!(!ticks.is_empty(), "{context}: no ticks");
    for pair in ticks.windows(2) {
        let step = if upwards { pair[0].0 - pair[1].0 } else { pair[1].0 - pair[0].0 };
        assert!(step > 10.0, "{context}: {ticks:?}");
        assert_ne!(pair[0].1, pair[1].1, "{context}: {ticks:?}");
    }
}

#[test]
fn ticks_are_the_expected_round_numbers() {
    let labels = |scale: &Scale, values: [f64; 2]| {
        let points = values.map(|value| point(value, value));
        let drawing = Drawing::of(chart(scale.clone(), scale.clone(), vec![series("a", points)]).svg());
        let labels = |axis| drawing.ticks(axis).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
        (labels("x-axis"), labels("y-axis"), drawing.words("x-label").concat())
    };
    let zero = Scale { from_zero: true, ..scale("v", "") };
    let cases = [
        (&scale("v", ""), [10.0, 50.0], "10 15 20 25 30 35 40 45 50", "10 15 20 25 30 35 40 45 50", "v"),
        (&zero, [10.0, 100.0], "0 10 20 30 40 50 60 70 80 90 100", "0 20 40 60 80 100", "v"),
        (
            &scale("v", "s"),
            [0.0011, 0.0019],
            "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9",
            "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9",
            "v (ms)",
        ),
        (&zero, [0.0, 40_000.0], "0 5k 10k 15k 20k 25k 30k 35k 40k", "0 5k 10k 15k 20k 25k 30k 35k 40k", "v"),
        (
            &zero,
            [-0.2, 0.2],
            "−0.20 −0.15 −0.10 −0.05 0.00 0.05 0.10 0.15 0.20",
            "−0.20 −0.15 −0.10 −0.05 0.00 0.05 0.10 0.15 0.20",
            "v",
        ),
        (&log("v", ""), [10.0, 500.0], "10 20 50 100 200 500", "10 20 50 100 200 500", "v"),
        (&log("v", "B"), [1.0, 1e12], "10⁰ 10² 10⁴ 10⁶ 10⁸ 10¹⁰ 10¹²", "10⁰ 10² 10⁴ 10⁶ 10⁸ 10¹⁰ 10¹²", "v (B)"),
    ];
    for (scale, values, x, y, label) in cases {
        assert_eq!(labels(scale, values), (x.to_owned(), y.to_owned(), label.to_owned()), "{values:?}");
    }
}

#[test]
fn forty_series_are_all_in_the_legend() {
    let line = |n: u32| series(&format!("series number {n}"), (0..5).map(|x| point(f64::from(x), f64::from(n * x))));
    let drawing = Drawing::of(chart(scale("x", ""), scale("y", ""), (0..40).map(line).collect()).svg());
    assert_eq!(drawing.words("name").len(), 40);
    assert_eq!(drawing.all("series").len(), 40);
}

#[test]
fn a_chart_without_data_says_so() {
    let nothing =
        [vec![], vec![series("empty", [])], vec![series("nan", [point(f64::NAN, 1.0), point(1.0, f64::INFINITY)])]];
    for series in nothing {
        let drawing = Drawing::of(chart(scale("x", "s"), scale("y", "s"), series).svg());
        assert_eq!(drawing.words("no-data"), ["no data"]);
        assert_eq!(drawing.words("title"), ["A title"]);
    }
}
