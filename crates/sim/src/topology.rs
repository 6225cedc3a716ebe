//! Abstract networks: their links at the start, and their random changes.

use crate::links::Links;
use crate::random::Stream;
use crate::scenario::Shape;

pub(crate) fn links_of(shape: &Shape, nodes: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    match shape {
        Shape::Line => (1..nodes).map(|b| (b - 1, b)).collect(),
        Shape::Ring if nodes > 2 => (1..nodes).map(|b| (b - 1, b)).chain([(0, nodes - 1)]).collect(),
        Shape::Ring => (1..nodes).map(|b| (b - 1, b)).collect(),
        Shape::Star => (1..nodes).map(|b| (0, b)).collect(),
        Shape::Grid => grid(nodes),
        Shape::Tree { arity } => (1..nodes).map(|b| ((b - 1) / (*arity).max(1), b)).collect(),
        Shape::Complete => (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect(),
        Shape::Random { connectivity } => random(nodes, *connectivity, stream),
        Shape::Links(links) => links.clone(),
    }
}

fn grid(nodes: u32) -> Vec<(u32, u32)> {
    let columns = f64::from(nodes).sqrt().ceil() as u32;
    let right = (0..nodes).filter(|a| (a + 1) % columns != 0 && a + 1 < nodes).map(|a| (a, a + 1));
    let down = (0..nodes).filter(|a| a + columns < nodes).map(|a| (a, a + columns));
    right.chain(down).collect()
}

/// A random tree, then random links until there are enough.
fn random(nodes: u32, connectivity: f64, stream: &mut Stream) -> Vec<(u32, u32)> {
    let all = u64::from(nodes) * u64::from(nodes.saturating_sub(1)) / 2;
    let wanted = (all as f64 * connectivity.clamp(0.0, 1.0)).round() as usize;
    let mut links = Links::new(nodes as usize);
    for b in 1..nodes {
        links.bring_up(stream.below(b.into()) as u32, b);
    }
    // Beyond half of all links it is quicker to draw those that are missing.
    if wanted > all as usize / 2 {
        let tree = links.clone();
        for (a, b) in links_of(&Shape::Complete, nodes, stream) {
            links.bring_up(a, b);
        }
        while links.count() > wanted.max(tree.count()) {
            let (a, b) = draw_pair(nodes, stream);
            if !tree.is_up(a, b) {
                links.take_down(a, b);
            }
        }
    }
    while links.count() < wanted {
        let (a, b) = draw_pair(nodes, stream);
        links.bring_up(a, b);
    }
    links.all().collect()
}

fn draw_pair(nodes: u32, stream: &mut Stream) -> (u32, u32) {
    (stream.below(nodes.into()) as u32, stream.below(nodes.into()) as u32)
}

/// A link to cut and one to add; `None` where there is none.
pub(crate) type Change = (Option<(u32, u32)>, Option<(u32, u32)>);

pub(crate) fn draw_change(links: &Links, keep_connected: bool, stream: &mut Stream) -> Change {
    let mut up: Vec<(u32, u32)> = links.all().collect();
    let mut cut = None;
    while !up.is_empty() && cut.is_none() {
        let (a, b) = up.swap_remove(stream.below(up.len() as u64) as usize);
        cut = (!keep_connected || links.can_spare(a, b)).then_some((a, b));
    }
    let nodes = links.nodes() as u32;
    let all = u64::from(nodes) * u64::from(nodes.saturating_sub(1)) / 2;
    let mut add = None;
    while (links.count() as u64) < all && add.is_none() {
        let (a, b) = draw_pair(nodes, stream);
        add = (a != b && !links.is_up(a, b)).then_some((a.min(b), a.max(b)));
    }
    (cut, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    fn stream() -> Stream {
        Streams::new(1).stream(Purpose::Placement, 0)
    }

    #[test]
    fn shapes_have_their_links() {
        let count = |shape: Shape, nodes| links_of(&shape, nodes, &mut stream()).len();
        assert_eq!(count(Shape::Line, 5), 4);
        assert_eq!(count(Shape::Ring, 5), 5);
        assert_eq!(count(Shape::Ring, 2), 1);
        assert_eq!(count(Shape::Star, 5), 4);
        assert_eq!(count(Shape::Grid, 9), 12);
        assert_eq!(count(Shape::Grid, 7), 8);
        assert_eq!(count(Shape::Tree { arity: 2 }, 7), 6);
        assert_eq!(count(Shape::Complete, 5), 10);
        assert_eq!(count(Shape::Complete, 1), 0);
        assert_eq!(count(Shape::Random { connectivity: 0.2 }, 30), 87);
        assert_eq!(count(Shape::Random { connectivity: 0.8 }, 30), 348);
        assert_eq!(count(Shape::Random { connectivity: 0.0 }, 30), 29);
    }

    #[test]
    fn random_networks_are_connected_and_stay_so() {
        let mut stream = stream();
        let mut links = Links::new(30);
        for (a, b) in links_of(&Shape::Random { connectivity: 0.1 }, 30, &mut stream) {
            links.bring_up(a, b);
        }
        for _ in 0..200 {
            assert!(links.parts().iter().all(|part| *part == 0));
            let (cut, add) = draw_change(&links, true, &mut stream);
            let (cut, add) = (cut.unwrap(), add.unwrap());
            assert!(links.take_down(cut.0, cut.1) && links.bring_up(add.0, add.1));
        }
    }
}
