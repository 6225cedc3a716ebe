//! The importers on real recordings. Their licences keep them out of this repository, so they are looked for in
//! `MESHLOCK_TRACES` or in `shared/traces` of the folders above; where they are not, nothing is tested.

use std::path::{Path, PathBuf};

use meshlock_sim::geometry::{Leg, Point};
use meshlock_sim::import::{Format, Imported, NodeTrack, read};
use meshlock_sim::mobility::movers;
use meshlock_sim::random::Streams;
use meshlock_sim::time::{Span, Time};

fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("MESHLOCK_TRACES").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/traces"));
    given.into_iter().chain(above).find(|folder| folder.is_dir())
}

/// Reads a recording, in the format that its name suggests, and checks that it can be run. `None` if there are none.
#[expect(clippy::disallowed_macros, reason = "a test that does not test should say so")]
fn recording(file: &str, params: Option<&str>) -> Option<Imported> {
    let Some(folder) = folder() else {
        println!("NOT TESTED: {file} is neither in MESHLOCK_TRACES nor in a folder shared/traces above");
        return None;
    };
    let bytes = std::fs::read(folder.join(file)).expect("the recordings are complete");
    let params = params.map(|params| std::fs::read_to_string(folder.join(params)).expect("they are"));
    let format = Format::of_file(file).expect("their names are usual");
    let imported = read(file, &bytes, format, params.as_deref()).unwrap_or_else(|error| panic!("{error}"));
    let (mobility, area) = imported.clone().into_mobility(file.to_owned());
    let nodes = imported.nodes.len() as u32;
    assert_eq!(movers(&mobility, area, nodes, Streams::new(0)).err(), None);
    Some(imported)
}

fn seconds(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds(seconds)
}

fn moves(leg: &Leg) -> bool {
    leg.velocity != Point::default()
}

fn legs(imported: &Imported) -> impl Iterator<Item = &Leg> {
    imported.nodes.iter().flat_map(|node| &node.legs)
}

fn present(imported: &Imported, at: f64) -> usize {
    imported.nodes.iter().filter(|node| node.position(seconds(at)).is_some()).count()
}

/// To the centimetre, as west, east, south, north.
fn extent(imported: &Imported) -> [f64; 4] {
    let (low, high) = imported.extent;
    [low.x, high.x, low.y, high.y].map(|metres| (metres * 100.0).round() / 100.0)
}

#[test]
fn cars_of_zurich() {
    let Some(imported) = recording("zurich-unterstrass-99.ns_movements", None) else { return };
    let names: Vec<_> = imported.nodes.iter().map(|node| node.name.clone()).collect();
    assert_eq!(names, (0..99).map(|id: u32| id.to_string()).collect::<Vec<_>>(), "and no node 12345");
    assert_eq!(imported.end, seconds(300.01));
    // Without the placeholders at the origin, where no node is.
    assert_eq!(extent(&imported), [10.0, 4660.0, 10.0, 3010.0]);
    // 297 switches: off at the start, on, and off at the end at the latest.
    for node in &imported.nodes {
        let mut switches: Vec<_> = node.legs.iter().map(|leg| leg.present).collect();
        switches.dedup();
        assert_eq!(switches, [false, true, false], "node {}", node.name);
    }
    assert_eq!([0.0, 0.01, 300.01].map(|at| present(&imported, at)), [0, 55, 0]);
    // The header tells the greatest speed, so no jump was taken for a movement.
    let fastest = legs(&imported).map(|leg| leg.velocity.length()).fold(0.0, f64::max);
    assert!((fastest - 32.054187).abs() < 1e-3, "{fastest} m/s");
}

#[test]
fn two_nodes_in_manhattan() {
    let Some(imported) = recording("manhattan-default.ns_movements", None) else { return };
    assert_eq!(imported.nodes.len(), 2);
    assert_eq!(extent(&imported), [90.0, 210.0, 10.0, 210.0]);
    assert_eq!(legs(&imported).filter(|leg| moves(leg)).count(), 679);
    assert!(legs(&imported).filter(|leg| moves(leg)).all(|leg| (49.0..52.0).contains(&leg.velocity.length())));
    // The last command is of 99.85 s; the last node arrives later.
    assert_eq!(imported.end, seconds(100.0));
}

#[test]
fn ten_nodes_of_bonnmotion_in_both_formats() {
    let Some(native) = recording("rwp-10.movements.gz", Some("rwp-10.params")) else { return };
    let Some(exported) = recording("rwp-10.ns_movements", None) else { return };
    assert_eq!((native.nodes.len(), exported.nodes.len()), (10, 10));
    assert_eq!(extent(&native), [9.24, 453.65, 50.64, 486.32]);
    assert_eq!(extent(&exported), [19.24, 463.65, 60.64, 496.32]);
    assert_eq!(native.end, seconds(600.0));
    let mut worst = 0.0_f64;
    for tenth in 0..=6_000 {
        let now = seconds(f64::from(tenth) / 10.0);
        for (one, other) in native.nodes.iter().zip(&exported.nodes) {
            let at = |node: &NodeTrack| node.position(now).unwrap();
            let apart = at(other) - at(one) - Point::new(10.0, 10.0);
            worst = worst.max(apart.length());
        }
    }
    assert!(worst < 1e-3, "{worst} m apart");
    // 60 places: a leg to each but the first, and a rest after the last.
    assert_eq!(legs(&native).count(), 60);
}

#[test]
fn a_hundred_nodes_of_bonnmotion() {
    let Some(imported) = recording("rwp-100.movements", Some("rwp-100.params")) else { return };
    assert_eq!(imported.nodes.len(), 100);
    assert_eq!(imported.end, seconds(900.0));
    assert_eq!(extent(&imported), [0.14, 199.78, 0.01, 199.78]);
    assert_eq!(present(&imported, 0.0), 100);
    // 1,400 places as above, and 24 nodes rest before their first time.
    assert_eq!(legs(&imported).count(), 1_400 + 24);
    assert_eq!(imported.nodes[0].position(Time::ZERO), imported.nodes[0].position(seconds(26.26)));
}

#[test]
fn cars_of_sumo() {
    let Some(imported) = recording("sumo-grid-60.fcd.xml", None) else { return };
    assert_eq!(imported.nodes.len(), 60);
    assert_eq!((imported.begin, imported.end), (Time::ZERO, seconds(119.0)));
    assert_eq!(extent(&imported), [-1.6, 481.6, -1.6, 481.6]);
    assert_eq!((present(&imported, 0.0), present(&imported, 119.0)), (20, 60));
    assert_eq!((0..120).map(|second| present(&imported, f64::from(second))).sum::<usize>(), 5_967);
    assert_eq!(imported.nodes[0].name, "f0.0");
    assert_eq!(imported.nodes[0].position(Time::ZERO), Some(Point::new(252.3, 238.4)));
}
