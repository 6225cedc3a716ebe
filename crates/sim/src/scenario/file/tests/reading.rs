//! What is read, and that equal scenarios have equal canonical forms.

use super::super::{Axis, Compare, Constraint, Document, PlotSpec, Stop};
use crate::distribution::Distribution;
use crate::scenario::{Arrivals, Mobility, Name, Network, Over, Placement, Scenario, Shape, Text, UrgencyOf, Warmup};
use crate::time::Span;

fn document(text: &str) -> Document {
    Document::parse("demo.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(text: &str) -> Scenario {
    document(text).resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn with(text: &str, sets: &[(&str, &str)]) -> Document {
    let mut document = document(text);
    for (key, value) in sets {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document
}

#[test]
fn what_has_the_same_meaning_has_the_same_canonical_form() {
    let short = document("[radio]\n").canonical();
    let long = "name = 'other'\nseed = 9\nnodes=100\nduration = \"1min\" # a comment\n[radio]\nrange='0.12 km'\n\
                bandwidth = \"1000kbps\"\n[traffic]\nname = \"all\"\nthink = \" uniform( 0s , 1000ms ) \"\nunits = \"1\"\n\
                [study]\nrepeat = 3\n";
    assert_eq!(document(long).canonical(), short);
    let one_class = "[radio]\n[[traffic.class]]\nname = \"all\"\nthink = \"uniform(0s, 1s)\"\n";
    assert_eq!(document(one_class).canonical(), short);
    assert!(short.contains("radio.range = \"120m\"\n"), "{short}");
    assert!(short.lines().is_sorted() && short.lines().count() > 25, "{short}");
}

#[test]
fn what_has_another_meaning_has_another_canonical_form() {
    let plain = document("[radio]\n").canonical();
    let sets = [
        ("nodes", "99"),
        ("warmup", "mser5"),
        ("radio.range", "121m"),
        ("radio.hold_back", "0s"),
        ("protocol.name", "flood"),
        ("protocol.text", "published"),
        ("area.degree", "10"),
        ("mobility.model", "walk"),
        ("traffic.gap", "1s"),
        ("traffic.nodes", "0..3"),
        ("traffic.stop", "9s"),
    ];
    for (key, value) in sets {
        assert_ne!(with("[radio]\n", &[(key, value)]).canonical(), plain, "{key}");
    }
}

#[test]
fn the_canonical_form_is_itself_toml() {
    let text = document("[topology]\nlinks = [[0, 1]]\n[[topology.change]]\nat = \"1s\"\ncut = [0, 1]\n").canonical();
    toml::de::DeTable::parse(&text).unwrap();
}

#[test]
fn a_file_enters_the_canonical_form_by_its_content() {
    let folder = std::env::temp_dir().join(format!("meshlock-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let named = folder.join("demo.toml").display().to_string();
    let read = |nodes: u32, content: &str| {
        std::fs::write(folder.join("places.csv"), content).unwrap();
        let text = format!("nodes = {nodes}\n[radio]\n[mobility]\nplacement = \"file\"\nfile = \"places.csv\"\n");
        let document = Document::parse(&named, &text).unwrap();
        (document.resolve().map_err(|error| error.message), document.canonical())
    };
    let (scenario, canonical) = read(2, "x,y\n1,2\n# a comment\n3.5, 600\n7,7\n");
    let Network::Radio(radio) = scenario.unwrap().network else { panic!("a radio network") };
    assert_eq!(radio.mobility, Mobility::Static(Placement::At(vec![(1.0, 2.0), (3.5, 600.0)])));
    assert_ne!(read(2, "1,2\n3.5,601\n").1, canonical);
    let wrong = [
        ("1,2\n", "`places.csv` has 1 nodes, but nodes = 2"),
        ("1,2\n3,601\n", "`places.csv`, line 2: (3, 601) is outside of the area"),
        ("1,2\n3;4\n", "`places.csv`, line 2: `3;4` is not `x,y`"),
    ];
    for (content, message) in wrong {
        assert_eq!(read(2, content).0.unwrap_err(), message);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_set_key_replaces_its_rivals_and_default_takes_it_back() {
    let text = "[radio]\n[area]\ndegree = 10\n[traffic]\nthink = \"2s\"\n";
    let mut document = with(text, &[("traffic.gap", "3s"), ("area.size", "[\"50m\", \"40m\"]")]);
    assert_eq!(document.get("traffic.think"), None);
    assert_eq!(document.get("traffic.gap").as_deref(), Some("\"3s\""));
    let scenario = document.resolve().unwrap();
    assert_eq!(scenario.traffic.classes[0].arrivals, Arrivals::Open { gap: Distribution::Constant(3.0) });
    document.set("traffic.gap", "default").unwrap();
    assert_eq!(document.get("traffic.gap"), None);
    let think = Distribution::Uniform { low: 0.0, high: 1.0 };
    assert_eq!(document.resolve().unwrap().traffic.classes[0].arrivals, Arrivals::Closed { think });
}

#[test]
fn a_set_that_fails_changes_nothing() {
    let mut document = document("[radio]\n");
    let before = document.canonical();
    document.set("radio.range", "5s").unwrap_err();
    document.set("nowhere", "5").unwrap_err();
    assert_eq!(document.canonical(), before);
}

#[test]
fn the_seed_is_one_unless_given() {
    assert_eq!(document("[radio]\n").seed(), 1);
    assert_eq!(document("seed = 7\n[radio]\n").seed(), 7);
    assert_eq!(with("[radio]\n", &[("seed", "8")]).seed(), 8);
}

#[test]
fn the_area_grows_with_the_nodes_if_the_degree_is_given() {
    let side =
        |nodes: &str| match with("[radio]\n[area]\ndegree = 10\n", &[("nodes", nodes)]).resolve().unwrap().network {
            Network::Radio(radio) => radio.area.width,
            Network::Wired(_) => panic!("a radio network"),
        };
    let neighbours = std::f64::consts::PI * 120.0 * 120.0 * 25.0 / (side("25") * side("25"));
    assert!((neighbours - 10.0).abs() < 1e-9, "{neighbours}");
    assert!((side("100") / side("25") - 2.0).abs() < 1e-9);
}

#[test]
fn classes_take_from_traffic_what_they_do_not_say() {
    let text = "nodes = 4\n[radio]\n[traffic]\nthink = \"5s\"\nholding = \"1s\"\npriority = 2\n\
                [[traffic.class]]\nname = \"cold\"\nnodes = [3, 1, 2, 1]\n\
                [[traffic.class]]\nname = \"hot\"\nnodes = 0\ngap = \"1s\"\nstart = \"3s\"\n\
                [[traffic.class]]\nname = \"storm\"\nburst = 10\nat = \"20s\"\n";
    let classes = scenario(text).traffic.classes;
    assert_eq!(
        classes.iter().map(|class| class.nodes.clone()).collect::<Vec<_>>(),
        [vec![1, 2, 3], vec![0], vec![0, 1, 2, 3]]
    );
    assert_eq!(classes[0].arrivals, Arrivals::Closed { think: Distribution::Constant(5.0) });
    assert_eq!(classes[1].arrivals, Arrivals::Open { gap: Distribution::Constant(1.0) });
    assert_eq!(classes[1].start, Span::from_millis(3_000));
    assert_eq!(classes[2].arrivals, Arrivals::Burst { at: Span::from_millis(20_000), requests: 10 });
    assert!(classes.iter().all(|class| class.holding == Distribution::Constant(1.0)));
    assert!(classes.iter().all(|class| class.urgency == UrgencyOf::Priority(Distribution::Constant(2.0))));
    let set = with(text, &[("traffic.class.hot.gap", "2s")]);
    assert_eq!(set.get("traffic.class.hot.gap").as_deref(), Some("\"2s\""));
    assert_eq!(set.resolve().unwrap().traffic.classes[1].arrivals, Arrivals::Open { gap: Distribution::Constant(2.0) });
}

#[test]
fn how_messages_travel_follows_from_protocol_and_network() {
    use Name::{Central, Flood, Group, Omniscient, Raymond, ReverseLink};
    let radio = "[radio]\n";
    let line = "[topology]\nshape = \"line\"\n";
    let complete = "[topology]\n";
    let table = [
        (ReverseLink, radio, Over::Links),
        (Flood, line, Over::Links),
        (Group, radio, Over::Relay),
        (Group, line, Over::Relay),
        (Group, complete, Over::Links),
        (Central, radio, Over::Routing),
        (Raymond, line, Over::Routing),
        (Raymond, complete, Over::Links),
        (Omniscient, radio, Over::Links),
    ];
    for (name, network, over) in table {
        let session = if name == Group { "[traffic]\nsession = 1\n" } else { "" };
        let text = format!("[protocol]\nname = \"{}\"\n{network}{session}", name.name());
        assert_eq!(scenario(&text).protocol.over, over, "{name:?} on {network}");
    }
}

#[test]
fn every_protocol_model_and_shape_can_be_chosen() {
    for protocol in Name::SIMULATED {
        let session = if protocol == Name::Group { "1" } else { "default" };
        let sets = [("protocol.name", protocol.name()), ("traffic.session", session)];
        assert_eq!(with("[radio]\n", &sets).resolve().unwrap().protocol.name, protocol);
    }
    let mut models = Vec::new();
    for model in ["static", "linear", "direction", "waypoint", "gauss-markov", "walk"] {
        let Network::Radio(radio) = with("[radio]\n", &[("mobility.model", model)]).resolve().unwrap().network else {
            panic!("a radio network")
        };
        let found = std::mem::discriminant(&radio.mobility);
        assert!(!models.contains(&found), "{model}");
        models.push(found);
    }
    let mut shapes = Vec::new();
    for shape in ["line", "ring", "star", "grid", "tree", "complete", "random", "links"] {
        let sets =
            [("topology.shape", shape), ("topology.links", if shape == "links" { "[[0, 1]]" } else { "default" })];
        let Network::Wired(wired) = with("[topology]\n", &sets).resolve().unwrap().network else {
            panic!("a wired network")
        };
        let found = std::mem::discriminant(&wired.shape);
        assert!(!shapes.contains(&found), "{shape}");
        shapes.push(found);
    }
}

#[test]
fn the_rest_of_the_words_is_read() {
    let text = "warmup = \"mser5\"\n[protocol]\nname = \"flood\"\ntext = \"published\"\nrepairs = [\"F7\", \"f2\"]\n\
                [topology]\nshape = \"tree\"\narity = 3\n";
    let scenario = scenario(text);
    assert_eq!(scenario.warmup, Warmup::Mser5);
    assert_eq!(scenario.protocol.text, Text::Published { repairs: vec!["f2".to_owned(), "f7".to_owned()] });
    let Network::Wired(wired) = scenario.network else { panic!("a wired network") };
    assert_eq!(wired.shape, Shape::Tree { arity: 3 });
}

#[test]
fn messages_are_held_back_only_where_the_file_says_so() {
    let of = |text: &str| match scenario(text).network {
        Network::Radio(radio) => radio.hold_back,
        Network::Wired(wired) => wired.hold_back,
    };
    assert_eq!((of("[radio]\n"), of("[topology]\n")), (None, None));
    let said = ["[radio]\nhold_back = \"1ms\"\n", "[topology]\nhold_back = \"1ms\"\n"];
    assert_eq!(said.map(of), [Some(Span::from_millis(1)); 2]);
}

const STUDY: &str = r#"
[radio]
[study]
repeat = 5
seed = 11
zip = [["nodes", "traffic.think"]]
constraints = ["nodes <= 50", "radio.range>80m"]
stop = { measure = "wait.mean", half_width = 0.1, most = 20 }
[[study.variant]]
label = "repaired"
[[study.variant]]
label = "literal"
"protocol.text" = "published"
protocol.repairs = ["p1"]
[study.axes]
nodes = "10..30 step 10"
"traffic.think" = ["1s", "2s", "3s"]
"radio.range" = "80m..160m step 40m"
"radio.error" = "0..0.3 step 0.1"
[[study.plot]]
x = "nodes"
y = "wait.mean"
lines = "variant"
log_y = true
[[study.compare]]
axis = "variant"
baseline = "repaired"
measures = ["wait.mean"]
"#;

#[test]
fn a_study_is_read_in_the_order_of_the_file() {
    let study = document(STUDY).study().unwrap().unwrap();
    let axis = |key: &str, values: &[&str]| Axis {
        key: key.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    assert_eq!(
        study.axes,
        [
            axis("variant", &["\"repaired\"", "\"literal\""]),
            axis("nodes", &["10", "20", "30"]),
            axis("traffic.think", &["\"1s\"", "\"2s\"", "\"3s\""]),
            axis("radio.range", &["\"80m\"", "\"120m\"", "\"160m\""]),
            axis("radio.error", &["0.0", "0.1", "0.2", "0.3"]),
        ]
    );
    assert_eq!(study.zip, [["nodes".to_owned(), "traffic.think".to_owned()]]);
    let constraint = |left: &str, op: &str, right: &str| Constraint {
        left: left.to_owned(),
        op: op.to_owned(),
        right: right.to_owned(),
    };
    assert_eq!(study.constraints, [constraint("nodes", "<=", "50"), constraint("radio.range", ">", "80m")]);
    assert_eq!((study.repeat, study.seed), (5, 11));
    assert_eq!(study.stop, Some(Stop { measure: "wait.mean".to_owned(), half_width: 0.1, most: 20 }));
    let plot = PlotSpec {
        title: "wait.mean over nodes".to_owned(),
        x: "nodes".to_owned(),
        y: "wait.mean".to_owned(),
        lines: Some("variant".to_owned()),
        log_x: false,
        log_y: true,
    };
    assert_eq!(study.plots, [plot]);
    let measures = vec!["wait.mean".to_owned()];
    assert_eq!(study.compare, [Compare { axis: "variant".to_owned(), baseline: "\"repaired\"".to_owned(), measures }]);
    assert_eq!(document("[radio]\n").study(), Ok(None));
}

#[test]
fn a_variant_sets_its_keys_together() {
    let literal = with(STUDY, &[("variant", "\"literal\"")]);
    assert_eq!(literal.resolve().unwrap().protocol.text, Text::Published { repairs: vec!["p1".to_owned()] });
    assert_eq!(with(STUDY, &[("variant", "repaired")]).resolve().unwrap().protocol.text, Text::Repaired);
}
