//! How far nodes are from each other, and into how many parts they fall.
//!
//! A search through the whole network from several nodes costs more than all else of a large run, if every step goes
//! somewhere else in memory. So nodes are numbered anew in the order of a first search, in which neighbours are near each
//! other, and the links are written down once in that order.

use super::Links;

/// Sums over some sources; none of them depends on how nodes are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Parts of the network; a node without links is one.
    pub(crate) parts: u64,
    /// From each source to every other node that it reaches.
    pub(crate) hops: u64,
    pub(crate) pairs: u64,
    pub(crate) diameter: u32,
}

impl Links {
    pub(crate) fn survey(&self, sources: impl Iterator<Item = u32>) -> Survey {
        let mut survey = Survey::default();
        let (order, place) = self.in_order_of_search(&mut survey.parts);
        let mut ends = Vec::with_capacity(order.len());
        let mut near: Vec<u32> = Vec::with_capacity(2 * self.count());
        for node in order {
            near.extend(self.of(node).map(|other| place[other as usize]));
            ends.push(near.len());
        }
        let neighbours = |at: u32| {
            let start = if at == 0 { 0 } else { ends[at as usize - 1] };
            &near[start..ends[at as usize]]
        };
        let mut hops = vec![u32::MAX; ends.len()];
        let mut reached = Vec::with_capacity(ends.len());
        for source in sources {
            hops.fill(u32::MAX);
            reached.clear();
            hops[place[source as usize] as usize] = 0;
            reached.push(place[source as usize]);
            let mut next = 0;
            while let Some(here) = reached.get(next).copied() {
                next += 1;
                let further = hops[here as usize] + 1;
                for other in neighbours(here) {
                    if hops[*other as usize] == u32::MAX {
                        hops[*other as usize] = further;
                        survey.hops += u64::from(further);
                        reached.push(*other);
                    }
                }
            }
            survey.pairs += reached.len() as u64 - 1;
            survey.diameter = survey.diameter.max(reached.last().map_or(0, |last| hops[*last as usize]));
        }
        survey
    }

    /// All nodes, part by part and the nearest first, and the place of each in this order.
    fn in_order_of_search(&self, parts: &mut u64) -> (Vec<u32>, Vec<u32>) {
        let mut order = Vec::with_capacity(self.nodes());
        let mut place = vec![u32::MAX; self.nodes()];
        let mut next = 0;
        for start in 0..self.nodes() as u32 {
            if place[start as usize] != u32::MAX {
                continue;
            }
            *parts += 1;
            place[start as usize] = order.len() as u32;
            order.push(start);
            while let Some(here) = order.get(next).copied() {
                next += 1;
                for other in self.of(here) {
                    if place[other as usize] == u32::MAX {
                        place[other as usize] = order.len() as u32;
                        order.push(other);
                    }
                }
            }
        }
        (order, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Streams};

    /// Networks of all kinds, from many parts to one.
    #[test]
    fn it_finds_what_a_search_from_each_source_finds() {
        let mut stream = Streams::new(2).stream(Purpose::Topology, 0);
        for round in 0..200_u32 {
            let nodes = 1 + round % 40;
            let mut links = Links::new(nodes as usize);
            for _ in 0..stream.below(3 * u64::from(nodes)) {
                links.bring_up(stream.below(nodes.into()) as u32, stream.below(nodes.into()) as u32);
            }
            let sources = || (0..nodes).step_by(3);
            let mut expected = Survey {
                parts: links.parts().iter().max().map_or(0, |most| u64::from(*most) + 1),
                ..Survey::default()
            };
            for hops in sources().flat_map(|source| links.hops_from(source)).filter(|hops| (1..u32::MAX).contains(hops))
            {
                expected.hops += u64::from(hops);
                expected.pairs += 1;
                expected.diameter = expected.diameter.max(hops);
            }
            assert_eq!(links.survey(sources()), expected, "round {round}");
        }
    }
}
