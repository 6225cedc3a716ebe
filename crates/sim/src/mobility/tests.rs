//! What must hold of every model, over many seeds, and what each promises of its own.

use super::*;
use crate::geometry::Point;
use crate::scenario::Placement;
use crate::time::Time;

const AREA: Area = Area { width: 600.0, height: 400.0 };

fn uniform(low: f64, high: f64) -> Distribution {
    Distribution::Uniform { low, high }
}

fn linear() -> Mobility {
    Mobility::Linear { speed: uniform(1.0, 20.0) }
}

fn waypoint() -> Mobility {
    Mobility::Waypoint { slowest: 0.5, fastest: 20.0, pause: uniform(0.0, 20.0) }
}

fn gauss_markov(memory: f64) -> Mobility {
    let step = Span::from_millis(1_000);
    Mobility::GaussMarkov { step, memory, speed: 10.0, speed_deviation: 2.0, direction_deviation: 0.6 }
}

fn walk(turn: f64) -> Mobility {
    Mobility::Walk { speed: uniform(0.0, 10.0), leg: Distribution::Exponential { mean: 10.0 }, turn }
}

/// Every model, with parameters that make trouble likely.
fn models() -> Vec<(&'static str, Mobility)> {
    vec![
        ("random", Mobility::Static(Placement::Random)),
        ("grid", Mobility::Static(Placement::Grid)),
        ("linear", linear()),
        ("fast", Mobility::Linear { speed: Distribution::LogNormal { median: 1e3, sigma: 2.0 } }),
        ("direction", Mobility::Direction { speed: uniform(1.0, 20.0), pause: uniform(0.0, 5.0) }),
        ("restless", Mobility::Direction { speed: uniform(5.0, 30.0), pause: Distribution::Constant(0.0) }),
        ("waypoint", waypoint()),
        ("tireless", Mobility::Waypoint { slowest: 3.0, fastest: 3.0, pause: Distribution::Constant(0.0) }),
        ("gauss-markov", gauss_markov(0.8)),
        ("forgetful", gauss_markov(0.0)),
        ("stubborn", gauss_markov(1.0)),
        ("walk", walk(std::f64::consts::PI)),
        ("restricted", walk(0.3)),
    ]
}

fn movers_of(mobility: &Mobility, nodes: u32, seed: u64) -> Vec<Mover> {
    movers(mobility, AREA, nodes, Streams::new(seed)).unwrap()
}

fn legs(mut mover: Mover, until: Time) -> Vec<Leg> {
    let mut legs = vec![mover.next_leg()];
    while legs.last().unwrap().end <= until {
        legs.push(mover.next_leg());
    }
    legs
}

fn seconds(seconds: u64) -> Time {
    Time(seconds * 1_000_000_000)
}

#[test]
fn legs_follow_each_other_inside_the_area() {
    for (name, mobility) in models() {
        for seed in 0..20 {
            for mover in movers_of(&mobility, 5, seed) {
                let mut before: Option<Leg> = None;
                for leg in legs(mover, seconds(200)) {
                    let told = format!("{name}, seed {seed}: {leg:?} after {before:?}");
                    assert!(leg.present && leg.end > leg.start, "{told}");
                    // A leg ends at a whole nanosecond, so it may miss its end by what it covers in one.
                    let rounding = 1e-9 + leg.velocity.length() * 2e-9;
                    match before {
                        None => assert_eq!(leg.start, Time::ZERO, "{told}"),
                        Some(before) => {
                            assert_eq!(leg.start, before.end, "{told}");
                            let jump = (leg.from - before.position(before.end)).length();
                            assert!(jump <= 1e-9 + before.velocity.length() * 2e-9, "{told}: a jump of {jump} m");
                        }
                    }
                    let last = if leg.end == Time::NEVER { leg.start } else { leg.end };
                    for at in [leg.from, leg.position(last)] {
                        let inside = |at: f64, size: f64| at >= -rounding && at <= size + rounding;
                        assert!(inside(at.x, AREA.width) && inside(at.y, AREA.height), "{told}: at {at:?}");
                    }
                    before = Some(leg);
                }
            }
        }
    }
}

#[test]
fn more_nodes_do_not_move_the_others() {
    for (name, mobility) in models().into_iter().filter(|(name, _)| *name != "grid") {
        let (few, many) = (movers_of(&mobility, 3, 8), movers_of(&mobility, 30, 8));
        for (one, other) in few.into_iter().zip(many) {
            assert_eq!(legs(one, seconds(100)), legs(other, seconds(100)), "{name}");
        }
    }
}

#[test]
fn a_clone_goes_on_in_the_same_way() {
    for (name, mobility) in models() {
        let mut mover = movers_of(&mobility, 1, 4).remove(0);
        let mut end = mover.next_leg().end;
        while end < seconds(50) {
            end = mover.next_leg().end;
        }
        if end < Time::NEVER {
            assert_eq!(legs(mover.clone(), seconds(500)), legs(mover, seconds(500)), "{name}");
        }
    }
}

/// The movements of old runs must be found again.
#[test]
fn first_legs_are_pinned() {
    let mut found = String::new();
    for (name, mobility) in models() {
        let mut mover = movers_of(&mobility, 2, 42).remove(1);
        let leg = mover.next_leg();
        let Point { x, y } = leg.from;
        found += &format!("{name} {x:.9} {y:.9} {:.9} {:.9} {}\n", leg.velocity.x, leg.velocity.y, leg.end.0);
    }
    assert_eq!(found, PINNED, "\n{found}");
}

const PINNED: &str = "\
random 41.632533125 15.406616090 0.000000000 0.000000000 18446744073709551615
grid 450.000000000 200.000000000 0.000000000 0.000000000 18446744073709551615
linear 41.632533125 15.406616090 -10.867743049 7.344692107 3830835246
fast 41.632533125 15.406616090 -39.556048310 85.591929360 1052494748
direction 41.632533125 15.406616090 -10.867743049 7.344692107 3830835246
restless 41.632533125 15.406616090 -17.352146688 11.727013994 2399272774
waypoint 250.693617184 151.070033832 0.403654241 1.274398853 171806915603
tireless 250.693617184 151.070033832 0.905868070 2.859965566 76557053239
gauss-markov 41.632533125 15.406616090 -0.413226167 -9.135109532 1000000000
forgetful 41.632533125 15.406616090 -0.413226167 -9.135109532 1000000000
stubborn 41.632533125 15.406616090 -0.413226167 -9.135109532 1000000000
walk 41.632533125 15.406616090 -3.072552091 -0.853886690 7622979476
restricted 41.632533125 15.406616090 -2.201968358 -2.306736695 6678966057
";

#[test]
fn linear_movement_is_mirrored_exactly_at_the_border() {
    for mover in movers_of(&linear(), 50, 3) {
        for pair in legs(mover, seconds(1_000)).windows(2) {
            let (before, after) = (pair[0], pair[1]);
            let (at, old, new) = (after.from, before.velocity, after.velocity);
            let (across, along) = (at.x == 0.0 || at.x == AREA.width, at.y == 0.0 || at.y == AREA.height);
            assert!(across || along, "a leg ends at {at:?}, not at a border");
            assert_eq!(new.x, if across { -old.x } else { old.x });
            assert_eq!(new.y, if along { -old.y } else { old.y });
        }
    }
}

#[test]
fn a_node_in_a_corner_turns_back_on_both_sides() {
    let mut mover = movers_of(&Mobility::Linear { speed: Distribution::Constant(5.0) }, 1, 0).remove(0);
    mover.track.at = Point::new(AREA.width - 30.0, AREA.height - 40.0);
    mover.model = Model::Linear(linear::Linear::heading(Point::new(3.0, 4.0)));
    let (there, back) = (mover.next_leg(), mover.next_leg());
    assert_eq!(there.end, seconds(10));
    assert_eq!((back.from, back.velocity), (Point::new(AREA.width, AREA.height), Point::new(-3.0, -4.0)));
}

#[test]
fn who_has_no_speed_rests_for_ever() {
    let still = Distribution::Constant(0.0);
    let pause = Distribution::Constant(1.0);
    for mobility in [Mobility::Linear { speed: still.clone() }, Mobility::Direction { speed: still, pause }] {
        let leg = movers_of(&mobility, 1, 1).remove(0).next_leg();
        assert_eq!((leg.end, leg.velocity), (Time::NEVER, Point::default()));
    }
}

/// Where nodes are at a moment: how many in each cell of a grid of 6 x 4.
fn census(mobility: &Mobility, nodes: u32, seed: u64, at: Time) -> Vec<f64> {
    let mut cells = vec![0.0; 24];
    for mover in movers_of(mobility, nodes, seed) {
        let place = legs(mover, at).last().unwrap().position(at);
        let column = ((place.x / 100.0) as usize).min(5);
        let row = ((place.y / 100.0) as usize).min(3);
        cells[row * 6 + column] += 1.0;
    }
    cells
}

/// The chi-square of one census against another (or against even cells).
fn chi_square(found: &[f64], expected: &[f64], shared_error: f64) -> f64 {
    found.iter().zip(expected).map(|(a, b)| (a - b) * (a - b) / (b * shared_error)).sum()
}

/// The 99.9 % quantile of chi-square with 23 degrees of freedom is 49.7.
const BOUND: f64 = 49.7;

#[test]
fn linear_movement_and_walks_keep_nodes_evenly_spread() {
    for mobility in [linear(), walk(std::f64::consts::PI), walk(0.5)] {
        for at in [0, 10, 300, 1_000] {
            let found = census(&mobility, 12_000, 7, seconds(at));
            let chi = chi_square(&found, &[500.0; 24], 1.0);
            assert!(chi < BOUND, "{mobility:?} at {at} s: {chi}, {found:?}");
        }
    }
}

#[test]
fn waypoint_nodes_are_spread_at_all_times_as_at_the_start() {
    let pauses = [uniform(0.0, 20.0), Distribution::Constant(0.0), Distribution::Exponential { mean: 30.0 }];
    for pause in pauses {
        let mobility = Mobility::Waypoint { slowest: 0.5, fastest: 20.0, pause };
        let start = census(&mobility, 12_000, 7, Time::ZERO);
        for at in [10, 300, 2_000] {
            // Both are drawn, so the difference has twice the variance. Other nodes, or they would be correlated.
            let later = census(&mobility, 12_000, 8, seconds(at));
            let chi = chi_square(&later, &start, 2.0);
            assert!(chi < BOUND, "{mobility:?} at {at} s: {chi}\n{start:?}\n{later:?}");
        }
        assert!(start[8] > 1.5 * start[0], "the middle is denser than a corner: {start:?}");
    }
}

/// The mean speed of all nodes and the share that rests, at a moment.
fn pace(mobility: &Mobility, area: Area, at: Time) -> (f64, f64) {
    const NODES: u32 = 12_000;
    let all = movers(mobility, area, NODES, Streams::new(5)).unwrap();
    let speeds: Vec<_> = all.into_iter().map(|mover| legs(mover, at).last().unwrap().velocity.length()).collect();
    let resting = speeds.iter().filter(|speed| **speed == 0.0).count();
    (speeds.iter().sum::<f64>() / f64::from(NODES), resting as f64 / f64::from(NODES))
}

#[test]
fn waypoint_nodes_neither_slow_down_nor_tire() {
    let area = Area { width: 500.0, height: 500.0 };
    // In the long run: the distance of a journey over the time of a journey and its rest.
    let distance = 0.521_405_433 * 500.0;
    let travel = distance * libm::log(20.0 / 0.5) / (20.0 - 0.5);
    for pause in [0.0, 25.0] {
        let mobility = Mobility::Waypoint { slowest: 0.5, fastest: 20.0, pause: uniform(0.0, 2.0 * pause) };
        let (expected_speed, expected_rest) = (distance / (travel + pause), pause / (travel + pause));
        for at in [0, 5, 60, 600, 3_000] {
            let (speed, resting) = pace(&mobility, area, seconds(at));
            assert!((speed / expected_speed - 1.0).abs() < 0.03, "{at} s: {speed} m/s and not {expected_speed}");
            assert!((resting - expected_rest).abs() < 0.015, "{at} s: {resting} rest and not {expected_rest}");
        }
    }
}

#[test]
fn gauss_markov_nodes_keep_their_speed_and_turn_before_the_border() {
    for memory in [0.0, 0.5, 0.9] {
        for at in [0, 20, 200] {
            let (speed, _) = pace(&gauss_markov(memory), AREA, seconds(at));
            assert!((speed - 10.0).abs() < 0.1, "memory {memory}, {at} s: {speed} m/s");
        }
    }
    let nodes = movers_of(&gauss_markov(0.5), 100, 2);
    let all: Vec<_> = nodes.into_iter().flat_map(|mover| legs(mover, seconds(1_000))).collect();
    let whole_steps = all.iter().filter(|leg| leg.end.since(leg.start) == Span::from_millis(1_000)).count();
    assert!(whole_steps as f64 > 0.95 * all.len() as f64, "few reach the border: {whole_steps} of {}", all.len());
}

#[test]
fn a_gauss_markov_node_with_full_memory_goes_straight() {
    for mover in movers_of(&gauss_markov(1.0), 20, 6) {
        for pair in legs(mover, seconds(300)).windows(2) {
            let (old, new, at) = (pair[0].velocity, pair[1].velocity, pair[1].from);
            let turn = |at: f64, size: f64| if at == 0.0 || at == size { -1.0 } else { 1.0 };
            let expected = Point::new(old.x * turn(at.x, AREA.width), old.y * turn(at.y, AREA.height));
            assert!((new - expected).length() < 1e-9, "{old:?} becomes {new:?} at {at:?}");
        }
    }
}

#[test]
fn a_restricted_walk_turns_no_further_than_it_may() {
    let mobility = Mobility::Walk { speed: uniform(1.0, 2.0), leg: Distribution::Constant(5.0), turn: 0.3 };
    for mover in movers_of(&mobility, 20, 6) {
        for pair in legs(mover, seconds(500)).windows(2) {
            let (old, new) = (pair[0].velocity, pair[1].velocity);
            let cosine = old.dot(new) / old.length() / new.length();
            let at = pair[1].from;
            let inside = at.x > 0.0 && at.x < AREA.width && at.y > 0.0 && at.y < AREA.height;
            assert!(!inside || cosine >= libm::cos(0.3) - 1e-9, "{old:?} {new:?}");
        }
    }
}

#[test]
fn random_directions_lead_from_border_to_border_with_a_rest_at_each() {
    let mobility = Mobility::Direction { speed: uniform(1.0, 20.0), pause: uniform(1.0, 5.0) };
    for mover in movers_of(&mobility, 20, 6) {
        let legs = legs(mover, seconds(1_000));
        for (number, leg) in legs.iter().enumerate().skip(1) {
            let at = leg.from;
            assert!(at.x == 0.0 || at.x == AREA.width || at.y == 0.0 || at.y == AREA.height, "{at:?}");
            assert_eq!(leg.velocity == Point::default(), number % 2 == 1, "rest and go take turns");
        }
    }
}

#[test]
fn a_grid_fills_the_area_with_square_cells() {
    let places = |nodes| -> Vec<_> {
        let grid = movers_of(&Mobility::Static(Placement::Grid), nodes, 0);
        grid.into_iter().map(|mut mover| mover.next_leg().from).map(|at| (at.x, at.y)).collect()
    };
    assert_eq!(places(1), [(300.0, 200.0)]);
    assert_eq!(places(6), [100.0, 300.0].map(|y| [100.0, 300.0, 500.0].map(|x| (x, y))).concat());
    assert_eq!(places(0), []);
}

#[test]
fn given_places_are_taken_as_they_are() {
    let at = Mobility::Static(Placement::At(vec![(1.0, 2.0), (600.0, 400.0), (5.0, 5.0)]));
    let places = movers_of(&at, 2, 0).into_iter().map(|mut mover| mover.next_leg());
    let rest = |x, y| Leg::rest(Point::new(x, y), Time::ZERO, Time::NEVER);
    assert_eq!(places.collect::<Vec<_>>(), [rest(1.0, 2.0), rest(600.0, 400.0)]);
}

#[test]
fn a_recording_is_absent_before_it_begins_and_stays_after_it_ends() {
    let velocity = Point::new(2.0, 0.0);
    let from = Point::new(10.0, 20.0);
    let leg = Leg { start: seconds(5), end: seconds(15), from, velocity, present: true };
    let legs = Arc::new(vec![vec![leg], vec![]]);
    let mut both = movers_of(&Mobility::Trace { source: String::new(), legs }, 2, 0);
    let absent = Leg { present: false, ..Leg::rest(from, Time::ZERO, seconds(5)) };
    let stays = Leg::rest(Point::new(30.0, 20.0), seconds(15), Time::NEVER);
    assert_eq!([both[0].next_leg(), both[0].next_leg(), both[0].next_leg()], [absent, leg, stays]);
    let nowhere = both[1].next_leg();
    assert_eq!((nowhere.present, nowhere.end), (false, Time::NEVER));
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let leg = |x, start, end| Leg::rest(Point::new(x, 0.0), Time(start), Time(end));
    let trace = |legs| Mobility::Trace { source: String::new(), legs: Arc::new(vec![legs]) };
    let pause = Distribution::Constant(1.0);
    let cases = [
        (Mobility::Linear { speed: uniform(-1.0, 5.0) }, "a speed cannot be -1"),
        (Mobility::Linear { speed: uniform(5.0, 1.0) }, "a speed cannot be 1"),
        (Mobility::Linear { speed: Distribution::Constant(f64::NAN) }, "a speed cannot be NaN"),
        (Mobility::Linear { speed: Distribution::Constant(1e9) }, "a speed cannot be 1000000000"),
        (Mobility::Waypoint { slowest: 0.0, fastest: 5.0, pause: pause.clone() }, "the slowest speed cannot be 0"),
        (Mobility::Waypoint { slowest: 9.0, fastest: 5.0, pause }, "the slowest speed cannot be 9"),
        (
            Mobility::Direction { speed: uniform(1.0, 2.0), pause: Distribution::Exponential { mean: f64::INFINITY } },
            "a pause is drawn from a distribution without a finite mean",
        ),
        (gauss_markov(1.5), "the memory cannot be 1.5: it must be between 0 and 1"),
        (walk(4.0), "the turn cannot be 4"),
        (
            Mobility::Walk { speed: uniform(1.0, 2.0), leg: Distribution::Constant(0.0), turn: 1.0 },
            "a leg must take some time",
        ),
        (Mobility::Static(Placement::At(vec![])), "there are 1 nodes but only 0 places"),
        (Mobility::Static(Placement::At(vec![(0.0, 401.0)])), "node 0 stands at (0, 401)"),
        (trace(vec![leg(0.0, 0, 5), leg(0.0, 6, 7)]), "leg 1 of node 0 starts at 0.000000006 s"),
        (trace(vec![leg(0.0, 5, 5)]), "leg 0 of node 0 ends at"),
        (trace(vec![leg(601.0, 0, 5)]), "leg 0 of node 0 is at (601, 0)"),
    ];
    for (mobility, expected) in cases {
        let told = movers(&mobility, AREA, 1, Streams::new(0)).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{told}");
    }
    let flat = movers(&linear(), Area { width: 1.0, height: 0.0 }, 1, Streams::new(0)).unwrap_err();
    assert_eq!(flat, MobilityError::Area { width: 1.0, height: 0.0 });
}

#[test]
fn a_mover_is_small() {
    assert!(size_of::<Mover>() <= 448, "{}", size_of::<Mover>());
}
