//! Writes a page with charts and tables of many kinds, to be looked at: `cargo run --example gallery -- out.html`.
//!
//! The numbers are made up; nothing here was measured.

use std::{env, fs, io};

use meshlock_report::chart::{Bar, BarGroup, Bars, Chart, Point, Scale, Series};
use meshlock_report::page::{Block, Page};
use meshlock_report::table::{Cell, Column, Table};

fn main() -> io::Result<()> {
    let Some(path) = env::args().nth(1) else {
        return Err(io::Error::other("usage: gallery PATH"));
    };
    fs::write(path, page().html())
}

fn page() -> Page {
    let mut blocks = vec![
        Block::Paragraph(
            "Made-up numbers in every kind of chart and table, to see that they are readable. Text may hold `code` \
             and links, [inside the page](#tables) or [outside](https://example.org)."
                .to_owned(),
        ),
        heading(1, "Lines"),
        heading(2, "Few series"),
        figure(waiting().svg(), "Waiting time of three protocols; bars are 95% intervals of 20 runs each."),
        figure(one_series().svg(), "One series, small values, a logarithmic horizontal axis."),
        heading(2, "Long names"),
        figure(long_names().svg(), "Long title, long names, long labels: the legend moves below the plot."),
        heading(2, "Logarithmic"),
        figure(decades().svg(), "Many decades on both axes; one interval reaches zero."),
        heading(2, "Many"),
        figure(distribution().svg(), "Many points: a marker on some of them only."),
        figure(many().svg(), "Forty series: no two have the same marker and colour."),
        heading(2, "Odd data"),
        figure(empty().svg(), "Nothing to show."),
        figure(odd().svg(), "A single point, equal values, and gaps where values are missing."),
        heading(1, "Bars"),
        figure(kinds(true, 4).svg(), "Stacked."),
        figure(kinds(false, 4).svg(), "Side by side, with intervals."),
        figure(kinds(true, 18).svg(), "Many groups: slanted names."),
        heading(1, "Tables"),
        Block::Table { caption: "Claims of the papers, and what came out.".to_owned(), table: claims() },
        Block::List(vec!["A point.".to_owned(), "Another with `code`.".to_owned()]),
        Block::Code(format!("$ meshlock reproduce\n{}", claims().text(72))),
    ];
    blocks.push(Block::Details {
        summary: "How to repeat one run".to_owned(),
        blocks: vec![Block::Code("meshlock sim scenario.toml --seed 7".to_owned())],
    });
    blocks.push(Block::Details {
        summary: "The data of the first chart".to_owned(),
        blocks: vec![Block::Table { caption: String::new(), table: claims() }],
    });
    Page { title: "Gallery of charts".to_owned(), subtitle: "version 0.1.0, 12 points, 240 runs".to_owned(), blocks }
}

fn heading(level: u8, text: &str) -> Block {
    Block::Heading(level, text.to_owned())
}

fn figure(svg: String, caption: &str) -> Block {
    Block::Figure { svg, caption: caption.to_owned() }
}

fn scale(label: &str, unit: &str, log: bool, from_zero: bool) -> Scale {
    Scale { label: label.to_owned(), unit: unit.to_owned(), log, from_zero }
}

fn series(name: &str, points: impl IntoIterator<Item = [f64; 3]>) -> Series {
    let points = points.into_iter().map(|[x, y, half]| Point { x, y, low: y - half, high: y + half });
    Series { name: name.to_owned(), points: points.collect(), dashed: false }
}

const NODES: [f64; 7] = [10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0];

fn waiting() -> Chart {
    let line = |name, slope: f64, base: f64| {
        series(name, NODES.map(|n| [n, (base + slope * n) * 1e-3, (0.2 + slope * n / 15.0) * 1e-3]))
    };
    let bound = Series { dashed: true, ..series("lower bound", NODES.map(|n| [n, 0.011 * n * 1e-3, 0.0])) };
    Chart {
        title: "Waiting time grows with the number of nodes".to_owned(),
        x: scale("nodes", "", false, true),
        y: scale("mean waiting time", "s", false, true),
        series: vec![
            line("reverse-link", 0.031, 0.4),
            line("flood", 0.078, 0.2),
            line("group over relay", 0.058, 1.1),
            bound,
        ],
        note: Some("50 m range, random waypoint at 1 to 5 m/s, 20 runs each.".to_owned()),
    }
}

fn one_series() -> Chart {
    Chart {
        title: "Synchronization delay".to_owned(),
        x: scale("speed", "m/s", true, false),
        y: scale("delay", "s", false, false),
        series: vec![series(
            "reverse-link",
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].map(|v: f64| [v, 1.9e-6 + v * 3e-8, 1e-7]),
        )],
        note: None,
    }
}

fn long_names() -> Chart {
    let mut chart = waiting();
    chart.title =
        "Mean waiting time for one unit out of three on a mobile network of nodes that move at random, by the \
                   number of nodes, for the published and the repaired protocols"
            .to_owned();
    chart.y.label = "mean waiting time between asking for a unit and getting it, all priorities".to_owned();
    chart.series[0].name = "reverse-link, repaired, strict admission, hello interval 500 ms".to_owned();
    chart.series[1].name = "flood, published, with <script>alert('x')</script> in its name".to_owned();
    chart
}

fn decades() -> Chart {
    let line = |name, work: fn(f64) -> f64, relative: f64| {
        let points = (0..10).map(|i| f64::from(2_u32.pow(2 * i)));
        series(name, points.map(move |x| [x, work(x) * 1e-6, work(x) * relative * 1e-6]))
    };
    Chart {
        title: "Work by size".to_owned(),
        x: scale("states", "", true, false),
        y: scale("time", "s", true, false),
        series: vec![line("linear", |x| x, 0.3), line("square", |x| x * x, 0.1), line("root", f64::sqrt, 1.2)],
        note: None,
    }
}

fn distribution() -> Chart {
    let line = |name, mean: f64| {
        series(name, (0..300).map(move |i| f64::from(i) / 100.0).map(move |x| [x, 1.0 - (-x / mean).exp(), 0.0]))
    };
    Chart {
        title: "Distribution of waiting times".to_owned(),
        x: scale("waiting time", "s", false, true),
        y: scale("share of requests", "", false, true),
        series: vec![line("priority 0", 0.9), line("priority 1", 0.5), line("priority 2", 0.25)],
        note: None,
    }
}

fn many() -> Chart {
    let line = |n: u32| {
        let slope = f64::from(n) * 1000.0;
        series(&format!("run {n}"), (0..6).map(f64::from).map(move |x| [x, slope * (1.0 + x / 5.0), 500.0]))
    };
    Chart {
        title: "Forty runs".to_owned(),
        x: scale("round", "", false, false),
        y: scale("messages", "", false, false),
        series: (1..=40).map(line).collect(),
        note: None,
    }
}

fn empty() -> Chart {
    Chart { series: vec![series("nothing", [[f64::NAN, 1.0, 0.0]])], ..waiting() }
}

fn odd() -> Chart {
    Chart {
        title: "Odd data".to_owned(),
        x: scale("x", "", false, false),
        y: scale("change", "%", false, false),
        series: vec![
            series("single", [[3.0, -4.0, 1.0]]),
            series("level", [[0.0, 2.5, 0.0], [6.0, 2.5, 0.0]]),
            series(
                "gap",
                [[0.0, -1.0, 0.5], [1.0, -2.0, 0.5], [2.0, f64::NAN, 0.5], [4.0, 0.0, 0.5], [5.0, 1.0, f64::INFINITY]],
            ),
        ],
        note: None,
    }
}

fn kinds(stacked: bool, groups: u32) -> Bars {
    let bar = |name: &str, value: f64| Bar { name: name.to_owned(), value, low: value * 0.9, high: value * 1.1 };
    let names = ["reverse-link", "flood", "group over relay", "central coordinator"];
    let group = |n: u32| {
        let name = names[n as usize % names.len()];
        let name = if groups > 4 { format!("{name}, {} nodes", 10 * (n + 1)) } else { name.to_owned() };
        let size = 1.0 + f64::from(n % 7);
        BarGroup {
            name,
            bars: vec![
                bar("request", 1.4 * size),
                bar("token", 2.1),
                bar("release", 0.7 * size),
                bar("hello", 0.9 + size / 3.0),
                bar("acknowledgement", 1.2),
                bar("search", 0.8),
                bar("repair", 0.6),
            ],
        }
    };
    Bars {
        title: "Messages per entry by kind".to_owned(),
        y: scale("messages per entry", "", false, true),
        groups: (0..groups).map(group).collect(),
        stacked,
        note: None,
    }
}

fn claims() -> Table {
    let column = |name: &str, numeric| Column { name: name.to_owned(), numeric };
    let row = |claim: &str, claimed, mean, half_width, good, text: &str, id: &str| {
        vec![
            Cell::Text(claim.to_owned()),
            Cell::Number(claimed),
            Cell::Estimate { mean, half_width },
            Cell::Verdict { good, text: text.to_owned() },
            Cell::Code(id.to_owned()),
        ]
    };
    Table {
        columns: vec![
            column("claim", false),
            column("claimed", true),
            column("measured", true),
            column("verdict", false),
            column("id", false),
        ],
        rows: vec![
            row("at most three messages per entry on a star", 3.0, 2.968, 0.012, true, "holds", "jiang/star"),
            row("waiting time below that of the tree by half", 0.5, 0.8123, 0.034, false, "refuted", "jiang/half"),
            row("messages per entry under low load", 4.25, 1234.5, 56.0, false, "refuted", "psar/low"),
            vec![Cell::Text("not measured yet".to_owned()), Cell::Number(f64::NAN), Cell::Empty],
        ],
    }
}
