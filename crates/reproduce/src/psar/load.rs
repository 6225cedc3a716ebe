//! P-10: what an entry costs over load.

use meshlock_sim::scenario::{Mobility, Name, Placement};

use super::kit::{at_speed, on_air, repaired, same_density, timed, to_the_letter};
use super::sweep::{Axis, Contestant, MENDED, Sweep, mended};
use crate::prelude::*;
use crate::scenarios::{self, F};
use crate::verdict::Text;

pub(super) const PER_NODE: &str = "most transmissions per entry at low and medium load, by node";

/// P-10.
pub(super) fn over_load(lab: &Lab) -> Finding {
    let nodes = lab.choose(25, 100, 100);
    let thinks: &[f64] = lab.choose(&[0.2, 2.0, 10.0], &[0.5, 5.0, 30.0], &[0.2, 1.0, 5.0, 20.0, 60.0]);
    let (seeds, duration) = (lab.choose(3, 4, 8), lab.choose(10.0, 6.0, 6.0));
    let contestant = |label, name| Contestant { label, protocol: repaired(name), most: u32::MAX };
    let runners = [
        contestant("flood", Name::Flood),
        contestant("reverse-link", Name::ReverseLink),
        contestant("central over routing", Name::Central),
        contestant("raymond over routing", Name::Raymond),
        contestant("naimi-trehel over routing", Name::NaimiTrehel),
        mended(),
    ];
    let run = |mobility: &Mobility| {
        Sweep::run(lab, &runners, thinks, seeds, |think, protocol| {
            timed(on_air(protocol, nodes, same_density(nodes), mobility.clone(), think), 2.0, duration, 30.0)
        })
    };
    let still = run(&Mobility::Static(Placement::Grid));
    let moving = run(&at_speed(3.0));

    let law = 2.0 * (f64::from(nodes) - 1.0);
    let flat = still.of("flood").iter().all(|spot| (0.85..=1.1).contains(&(spot.frames.mean / law)));
    let ratio = |sweep: &Sweep| -> Vec<(f64, f64)> {
        let pairs = sweep.of("flood").into_iter().zip(sweep.of("reverse-link"));
        pairs.map(|(flood, link)| (flood.x, link.frames.mean / flood.frames.mean)).collect()
    };
    let words = |ratios: &[(f64, f64)]| {
        let each: Vec<String> = ratios.iter().map(|(think, ratio)| format!("{ratio:.2} at {think} s")).collect();
        each.join(", ")
    };
    let (still_ratio, moving_ratio) = (ratio(&still), ratio(&moving));
    let busiest = still_ratio.first().map_or(f64::NAN, |ratio| ratio.1);
    let reached =
        |ratios: &[(f64, f64)]| format!("{} of {}", ratios.iter().filter(|all| all.1 <= 0.1).count(), ratios.len());
    // Low and medium load: half of all points, the lighter ones.
    let per_node = |label: &str| {
        let spots = still.of(label);
        let light = &spots[spots.len() / 2..];
        light.iter().map(|spot| spot.frames.mean / f64::from(nodes)).fold(f64::NAN, f64::max)
    };
    let literal =
        timed(on_air(repaired(super::FLOOD), nodes, same_density(nodes), at_speed(3.0), 5.0), 2.0, duration, 30.0);
    let literal = lab.replicate(&to_the_letter(&literal), 2);
    let column =
        |text: Text, label: &str| Column::new(text, still.runs(label), vec![Fact::exact(PER_NODE, per_node(label))]);
    let columns = vec![
        Column::new(Text::Printed, &literal, Vec::new()),
        column(scenarios::mended(&F).0, MENDED),
        column(Text::Repaired, "flood"),
    ];
    let flood: Vec<String> = still.of("flood").iter().map(|spot| format!("{} at {} s", spot.frames, spot.x)).collect();
    let axis = Axis { label: "mean think time", unit: "s", log: true };
    let under = format!("{nodes} nodes, {seeds} runs of {duration} s per point, 95 % intervals; inside 1 ms");
    Finding {
        measured: format!(
            "flood, {nodes} nodes, by think time: {} (2(N-1) = {law}); reverse-link needs of that, standing still, {}; \
             at 3 m/s {}",
            flood.join(", "),
            words(&still_ratio),
            words(&moving_ratio)
        ),
        checks: vec![
            check("standing still, 0.85 to 1.1 times 2(N-1) at every load", flat),
            check(
                "reverse-link needs less than a fifth (of few nodes: half) where it is busiest",
                busiest < lab.choose(0.5, 0.2, 0.2),
            ),
            check("no rule of safety broke", still.is_sound() && moving.is_sound()),
        ],
        columns,
        evidence: vec![
            still.costs("Nobody moves", "Transmissions per entry over load, standing still", axis, &under),
            moving.costs("3 m/s", "Transmissions per entry over load, at 3 m/s", axis, &under),
            still.table("Standing still, on a grid", "think, s"),
            moving.table("At 3 m/s", "think, s"),
            note(format!(
                "Few means here: not more than one per node. Our goal for reverse-link, a tenth of the flood at 100 \
                 nodes, is reached at {} points standing still and at {} at 3 m/s: it mends its graph whenever a link \
                 changes, asked for or not, and the fewer enter, the more of that each of them pays.",
                reached(&still_ratio),
                reached(&moving_ratio)
            )),
        ],
    }
}
