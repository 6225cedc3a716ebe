//! Every trap of every format, in a small file of its own; and bytes that are no recording at all.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::mobility::movers;
use crate::random::{Purpose, Streams};

fn seconds(seconds: f64) -> Time {
    Time::ZERO + crate::time::Span::from_seconds(seconds)
}

fn ns2(text: &str) -> Imported {
    read("test.tcl", text.as_bytes(), Format::Ns2, None).unwrap()
}

fn bonnmotion(text: &str, params: &str) -> Imported {
    read("test.movements", text.as_bytes(), Format::BonnMotion, Some(params)).unwrap()
}

fn one(text: &str) -> Imported {
    read("test.one", text.as_bytes(), Format::One, None).unwrap()
}

fn sumo(text: &str) -> Imported {
    read("test.xml", text.as_bytes(), Format::Sumo, None).unwrap()
}

/// Where a node is at some moments, to the millimetre; `-` while it is absent.
fn places(imported: &Imported, node: usize, times: &[f64]) -> String {
    let place = |&time: &f64| match imported.nodes[node].position(seconds(time)) {
        Some(at) => format!("{},{}", (at.x * 1e3).round() / 1e3, (at.y * 1e3).round() / 1e3),
        None => "-".to_owned(),
    };
    times.iter().map(place).collect::<Vec<_>>().join(" ")
}

fn names(imported: &Imported) -> Vec<&str> {
    imported.nodes.iter().map(|node| node.name.as_str()).collect()
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

const NS2: &str = r#"
# $ns_ at 0.0 "$node_(12345) setdest 1 1 1"
set val(nn) 3
$god_ set-dist 0 1 2
$ns_ at 1.0 "$god_ set-dist 0 1 1"
$ns_ at 10.0 "  $node_(0)   setdest 100.0  0.0 10.0 "   ;# to the right
$ns at 15.0 "$node_(0) setdest 50.0 100.0 20.0"
$node_(10) set X_ 5 ; $node_(10) set Y_ 5 ;# $node_(10) set X_ 7
$ns_ at 2.0 "$node_(10) setdest 5 25 1.0"
$ns_ at 12.0 "$node_(10) setdest 5 25 0.0"
$ns_ at 0.0 "$node_(2) switch OFF" ;# placeholder
$node_(2) set X_ 0.0
$node_(2) set Y_ 0.0
$node_(2) set Z_ 0.0
$ns_ at 3.0 "$node_(2) setdest 40.0 40.0 1000000000.0"
$ns_ at 4.0 "$node_(2) switch ON"
$ns_ at 4.0 "$node_(2) setdest 44.0 40.0 1.0"
$ns_ at 6.0 "$node_(2) off"
$ns_ at 7.0 "$node_(2) on"
$ns_ at 20.0 "$node_(2) switch off"
$ns_ at 0.5 "$node_(0) color red"
$node_(0) set X_ 50.0
$node_(0) set Y_ 0.0
"#;

#[test]
fn ns2_commands_are_carried_out_and_comments_are_not() {
    let imported = ns2(NS2);
    assert_eq!(names(&imported), ["0", "2", "10"]);
    // Initial places stand at the end; the second setdest cuts the first at (100, 0).
    assert_eq!(places(&imported, 0, &[0.0, 10.0, 12.0, 15.0, 99.0]), "50,0 50,0 70,0 100,0 50,100");
    // Speed 0 halts on the way.
    assert_eq!(places(&imported, 2, &[0.0, 2.0, 12.0, 99.0]), "5,5 5,5 5,15 5,15");
}

#[test]
fn ns2_nodes_come_and_go_and_jump() {
    let imported = ns2(NS2);
    assert_eq!(places(&imported, 1, &[0.0, 3.5, 4.0, 5.0, 6.5, 7.0, 9.0, 21.0]), "- - 40,40 41,40 - 43,40 44,40 -");
    // The placeholder at the origin is nowhere: an absent node waits where it appears.
    assert_eq!(imported.nodes[1].legs[0].from, Point::new(40.0, 40.0));
    assert_eq!(imported.extent, (Point::new(5.0, 0.0), Point::new(100.0, 100.0)));
    assert_eq!(imported.end, Time(20_590_169_944), "node 0 goes sqrt(50^2 + 100^2) m at 20 m/s from 15 s on");
}

#[test]
fn a_jump_is_no_movement() {
    let text = "$n(0) set X_ 0\n$n(0) set Y_ 0\n$ns_ at 5 \"$n(0) setdest 4000 0 1e9\"\n";
    let imported = ns2(text);
    let rest = |x, start, end| Leg::rest(Point::new(x, 0.0), start, end);
    let expected = [rest(0.0, Time::ZERO, seconds(5.0)), rest(4000.0, seconds(5.0), Time::NEVER)];
    assert_eq!(imported.nodes[0].legs, expected);
}

#[test]
fn the_last_of_two_commands_of_one_moment_counts() {
    let text = "$n(0) set X_ 0\n$n(0) set Y_ 0\n$ns at 1 \"$n(0) setdest 9 0 1\"\n$ns at 1 \"$n(0) setdest 0 9 1\"\n";
    assert_eq!(places(&ns2(text), 0, &[1.0, 4.0, 20.0]), "0,0 0,3 0,9");
}

#[test]
fn bonnmotion_places_said_twice_are_rests() {
    let imported = bonnmotion("0.0 10 10 5.0 20 10 9.0 20 10 19.0 20 30\n\n7.5 1 1 8.5 2 1\n", "");
    assert_eq!(names(&imported), ["0", "1"]);
    assert_eq!(places(&imported, 0, &[0.0, 2.5, 5.0, 8.0, 14.0, 50.0]), "10,10 15,10 20,10 20,10 20,20 20,30");
    // Before its first time a node stands there.
    assert_eq!(places(&imported, 1, &[0.0, 7.5, 8.0, 9.0]), "1,1 1,1 1.5,1 2,1");
    assert_eq!(imported.end, seconds(19.0));
}

#[test]
fn bonnmotion_heights_are_seen_from_the_lines() {
    // Three dimensions are promised, two are there; twelve numbers could be either.
    let flat = bonnmotion("0 1 2 10 11 2 20 21 2 30 31 2\n0 5 5\n", "dim=3\nnn=2\nx=50.0\ny=40.0\nduration=60.0");
    assert_eq!(places(&flat, 0, &[0.0, 15.0]), "1,2 16,2");
    assert_eq!((flat.declared, flat.end), (Some(Area { width: 50.0, height: 40.0 }), seconds(60.0)));
    let high = bonnmotion("0 1 2 9 10 11 2 9 20 21 2 9\n", "dim=3");
    assert_eq!(places(&high, 0, &[0.0, 15.0]), "1,2 16,2");
    let unsaid = bonnmotion("0 1 2 0 10 11 2 0\n", "");
    assert_eq!(places(&unsaid, 0, &[0.0, 5.0]), "1,2 6,2");
}

#[test]
fn packed_files_are_unpacked_whatever_their_name() {
    let text = "0.0 10 10 5.0 20 10\n";
    let imported = read("test.movements", &packed(text), Format::BonnMotion, None).unwrap();
    assert_eq!(imported, bonnmotion(text, ""));
    assert_eq!(read("test.tcl.gz", &packed(NS2), Format::Ns2, None).unwrap(), ns2(NS2));
}

#[test]
fn one_counts_from_the_least_values_of_its_header() {
    let text = "100 160 1000 1500 2000 2500 0 0\n100 a 1010 2020\n100 b 1500 2500\n# pause\n110 a 1020 2020\n\
                120 a 1020 2040\n120 late 1001 2001\n";
    let imported = one(text);
    assert_eq!(names(&imported), ["a", "b", "late"]);
    assert_eq!(places(&imported, 0, &[0.0, 5.0, 15.0, 99.0]), "10,20 15,20 20,30 20,40");
    assert_eq!(places(&imported, 2, &[0.0, 19.9, 20.0]), "- - 1,1");
    assert_eq!((imported.declared, imported.end), (Some(Area { width: 500.0, height: 500.0 }), seconds(60.0)));
    assert_eq!(one(&text.replacen(" 0 0\n", "\n", 1)), imported, "the header may do without z");
}

const SUMO: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- <timestep time="1"><vehicle id="no" x="1" y="1"/></timestep> -->
<fcd-export>
    <timestep time="36000.00">
        <vehicle id="f&amp;0.0" x="-10.00" y="5.00" angle="90.00" speed="1.00" lane="a_0"/>
        <vehicle id="short" x="0" y="0"/>
        <person id="short" x="7" y="7"></person>
    </timestep>
    <timestep time="36001.00">
        <vehicle id="f&amp;0.0" x="-8.00" y="5.00"/>
        <person id="short" x="7" y="8"/>
    </timestep>
    <timestep time="36002.00"/>
    <timestep time="36003.00">
        <vehicle id="f&amp;0.0" x="100.00" y="5.00"/>
        <person id="short" x="7" y="9"/>
        <vehicle id="new" x="1" y="1"/>
    </timestep>
</fcd-export>
"#;

#[test]
fn sumo_vehicles_appear_vanish_and_come_back_elsewhere() {
    let imported = sumo(SUMO);
    assert_eq!(names(&imported), ["f&0.0", "short", "short", "new"]);
    let times = [0.0, 36_000.0, 36_000.5, 36_001.0, 36_001.9, 36_002.0, 36_003.0, 36_099.0];
    assert_eq!(places(&imported, 0, &times), "- -10,5 -9,5 -8,5 -8,5 - 100,5 100,5");
    assert_eq!(places(&imported, 1, &times), "- 0,0 0,0 - - - - -");
    assert_eq!(places(&imported, 3, &times), "- - - - - - 1,1 1,1");
    assert_eq!(imported.extent, (Point::new(-10.0, 0.0), Point::new(100.0, 9.0)));
    assert_eq!((imported.begin, imported.end), (seconds(36_000.0), seconds(36_003.0)));
}

#[test]
fn sumo_times_may_be_those_of_a_clock() {
    let imported = sumo(&SUMO.replace("36000.00", "10:00:00.00").replace("36001.00", "0:10:00:01"));
    assert_eq!(imported, sumo(SUMO));
}

#[test]
fn a_recording_becomes_a_movement_that_begins_at_the_origin() {
    let (mobility, area) = sumo(SUMO).into_mobility("cars".to_owned());
    assert_eq!(area, Area { width: 110.0, height: 9.0 });
    let mut nodes = movers(&mobility, area, 4, Streams::new(0)).unwrap();
    let first = nodes[0].next_leg();
    assert_eq!((first.start, first.end, first.from), (Time::ZERO, seconds(1.0), Point::new(0.0, 5.0)));
    let absent = nodes[3].next_leg();
    assert_eq!((absent.present, absent.end), (false, seconds(3.0)));
    // A declared area is kept where it is larger; a point becomes a square metre.
    let (_, area) = bonnmotion("0 10 10\n", "x=50\ny=40").into_mobility(String::new());
    assert_eq!(area, Area { width: 50.0, height: 40.0 });
    let (_, area) = bonnmotion("0 10 10\n", "").into_mobility(String::new());
    assert_eq!(area, Area { width: 1.0, height: 1.0 });
}

#[test]
fn formats_are_known_by_name_and_guessed_by_file() {
    use Format::{BonnMotion, Ns2, One, Sumo};
    for format in Format::ALL {
        assert_eq!(Format::named(format.name()), Some(format));
    }
    assert_eq!(Format::named("ns2"), Some(Ns2));
    assert_eq!(Format::named("ns-3"), None);
    let guesses = ["a.ns_movements", "a.b.movements.gz", "cars.fcd.xml", "x.one", "Cars.TCL", "notes.txt", "plain"];
    let expected = [Some(Ns2), Some(BonnMotion), Some(Sumo), Some(One), Some(Ns2), None, None];
    assert_eq!(guesses.map(Format::of_file), expected);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_would_be_right() {
    let start = "$n(0) set X_ 0\n$n(0) set Y_ 0\n";
    let cases = [
        (Format::Ns2, format!("{start}$ns_ at 1 \"$n(0) setdest 1 fast 3\""), "t:3: \"fast\" is no number; a coord"),
        (Format::Ns2, format!("{start}$ns_ at 1 \"$n(0) setdest 1 2 -3\""), "t:3: a speed of -3 m/s; a speed is zero"),
        (Format::Ns2, format!("{start}$ns_ at 1 \"$n(0) setdst 1 2 3\""), "t:3: \"setdst 1 2 3\" is not understood"),
        (Format::Ns2, format!("{start}$ns_ at 1 \"$n(0) setdest 1 2 3"), "t:3: a quotation mark is missing"),
        (Format::Ns2, format!("{start}$ns_ at -1 \"$n(0) setdest 1 2 3\""), "t:3: -1 s is no time"),
        (Format::Ns2, format!("{start}$n(0) setdest 1 2 3"), "t:3: when?; as in `$ns_ at"),
        (Format::Ns2, "\n$ns_ at 1 \"$n(7) setdest 1 2 3\"".to_owned(), "t:2: it is not said where node 7 starts"),
        (Format::Ns2, "# nothing".to_owned(), "t: no node in the whole file"),
        (Format::BonnMotion, "0 1 2\n0 1 2 3 4".to_owned(), "t:2: 5 numbers are not 3 for each place; a line is"),
        (Format::BonnMotion, "0 1 2\n5 1 2 4 1 2".to_owned(), "t:2: after 5 s comes 4 s"),
        (Format::BonnMotion, "0 1 x".to_owned(), "t:1: \"x\" is no number"),
        (Format::BonnMotion, "0 1 nan".to_owned(), "t:1: \"nan\" is no number"),
        (Format::BonnMotion, "0 1 1e300".to_owned(), "t:1: \"1e300\" m is too far away"),
        (Format::BonnMotion, "-5 1 1".to_owned(), "t:1: -5 s is no time"),
        (Format::One, "0 1 2\n".to_owned(), "t:1: 3 numbers; the first line is `minTime"),
        (Format::One, "9 0 0 1 0 1\n".to_owned(), "t:1: a least value is greater"),
        (Format::One, "0 9 0 1 0 1\n5 a 0 0\n4 a 0 0\n".to_owned(), "t:3: this is earlier than the line before"),
        (Format::One, "0 9 0 1 0 1\n5 a 0\n".to_owned(), "t:2: \"5 a 0\" is no sample; a line is `time id x y`"),
        (Format::One, String::new(), "t: there is nothing in it"),
        (Format::Sumo, "<routes/>".to_owned(), "t: there is no time step in it"),
        (Format::Sumo, SUMO.replace("x=\"7\"", ""), "t:7: an attribute `x` is missing; as in `<vehicle"),
        (Format::Sumo, SUMO.replace("36003", "36002"), "t:14: a time step at 36002.000000000 s comes too late"),
        (Format::Sumo, SUMO.replace("\"new\"", "\"f&amp;0.0\""), "t:17: vehicle \"f&0.0\" is twice"),
        (Format::Sumo, SUMO.replace("</fcd-export>", ""), "t:20: the file ends in the middle"),
        (Format::Sumo, SUMO.replace("</timestep>", "</step>"), "t:8: this is no XML"),
    ];
    for (format, text, expected) in cases {
        let told = read("t", text.as_bytes(), format, None).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{told}\n  and not\n{expected}");
    }
    let told = read("t", b"0 1 2\n", Format::BonnMotion, Some("nn=2")).unwrap_err().to_string();
    assert!(told.starts_with("t: there are 1 nodes, but the parameters say 2"), "{told}");
    let packed = packed(NS2);
    let told = read("t", &packed[..packed.len() / 2], Format::Ns2, None).unwrap_err().to_string();
    assert!(told.contains("the packed file is damaged from here on"), "{told}");
}

/// Whatever is read is either refused or a movement that can be run.
fn survives(bytes: &[u8], params: Option<&str>) -> bool {
    let mut read_at_all = false;
    for format in Format::ALL {
        let Ok(imported) = read("test", bytes, format, params) else { continue };
        let nodes = imported.nodes.len() as u32;
        let (mobility, area) = imported.into_mobility("test".to_owned());
        let problem = movers(&mobility, area, nodes, Streams::new(0)).err();
        assert!(problem.is_none(), "{format:?}: {problem:?}\n{}", String::from_utf8_lossy(bytes));
        read_at_all = true;
    }
    read_at_all
}

#[test]
fn no_bytes_make_a_reader_panic() {
    let one = "0 60 1000 1500 2000 2500 0 0\n0 a 1010 2020\n10 a 1020 2020\n20 b 1 2\n";
    let flat = "0.0 10 10 5.0 20 10 9.0 20 10 19.0 20 30\n7.5 1 1 8.5 2 1\n";
    let files = [NS2.as_bytes(), flat.as_bytes(), one.as_bytes(), SUMO.as_bytes(), &packed(NS2), &packed(SUMO)];
    let mut stream = Streams::new(1).stream(Purpose::Traffic, 0);
    let mut good = 0;
    for file in files {
        for length in 0..file.len() {
            good += u32::from(survives(&file[..length], None));
        }
        for _ in 0..2_000 {
            let mut damaged = file.to_vec();
            for _ in 0..=stream.below(4) {
                let at = stream.below(damaged.len() as u64) as usize;
                // Often a character that means something.
                let meaning = b"0123456789.-e \n\"$(;#<>/=:";
                let byte = meaning[stream.below(meaning.len() as u64) as usize];
                damaged[at] = if stream.happens(0.7) { byte } else { stream.any() as u8 };
            }
            good += u32::from(survives(&damaged, Some("nn=3\ndim=3\nx=1e308\nduration=-1")));
            good += u32::from(survives(&damaged, None));
        }
    }
    for length in 0..2_000 {
        let noise: Vec<_> = (0..length).map(|_| stream.any() as u8).collect();
        survives(&noise, None);
    }
    assert!(good > 1_000, "some of the damage must leave something to read: {good}");
}
