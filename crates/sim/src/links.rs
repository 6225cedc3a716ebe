//! Which links are up. Every link that comes up gets a new number, so that what was sent over an earlier one is
//! recognised.

mod survey;

/// The number of a link; a link that comes back has another one.
pub(crate) type Generation = u32;

#[derive(Clone, Debug, Default)]
pub struct Links {
    /// By node, ordered by neighbour.
    neighbours: Vec<Vec<(u32, Generation)>>,
    up: usize,
    born: Generation,
}

impl Links {
    /// So many nodes without links.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { neighbours: vec![Vec::new(); nodes], up: 0, born: 0 }
    }

    /// A node more, without links.
    pub(crate) fn grow(&mut self) {
        self.neighbours.push(Vec::new());
    }

    pub fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    pub fn count(&self) -> usize {
        self.up
    }

    /// The neighbours of a node, in order of their ids.
    pub fn of(&self, node: u32) -> impl Iterator<Item = u32> + Clone {
        self.with_generations(node).iter().map(|(neighbour, _)| *neighbour)
    }

    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        let from = |a: u32| self.of(a).filter(move |b| a < *b).map(move |b| (a, b));
        (0..self.neighbours.len() as u32).flat_map(from)
    }

    pub(crate) fn with_generations(&self, node: u32) -> &[(u32, Generation)] {
        self.neighbours.get(node as usize).map_or(&[], Vec::as_slice)
    }

    /// The number of the link between two nodes, if it is up.
    pub(crate) fn generation(&self, a: u32, b: u32) -> Option<Generation> {
        let list = self.with_generations(a);
        list.binary_search_by_key(&b, |(id, _)| *id).ok().map(|place| list[place].1)
    }

    pub fn is_up(&self, a: u32, b: u32) -> bool {
        self.generation(a, b).is_some()
    }

    pub(crate) fn bring_up(&mut self, a: u32, b: u32) -> bool {
        if a == b || self.is_up(a, b) {
            return false;
        }
        self.born = self.born.wrapping_add(1);
        self.up += 1;
        for (one, other) in [(a, b), (b, a)] {
            let list = &mut self.neighbours[one as usize];
            let place = list.partition_point(|(id, _)| *id < other);
            if list.len() == list.capacity() {
                list.reserve_exact(2 + list.len() / 4);
            }
            list.insert(place, (other, self.born));
        }
        true
    }

    pub(crate) fn take_down(&mut self, a: u32, b: u32) -> bool {
        if !self.is_up(a, b) {
            return false;
        }
        self.up -= 1;
        for (one, other) in [(a, b), (b, a)] {
            self.neighbours[one as usize].retain(|(id, _)| *id != other);
        }
        true
    }

    /// For each node the number of its part.
    pub fn parts(&self) -> Vec<u32> {
        let mut part = vec![u32::MAX; self.nodes()];
        let mut found = 0;
        for start in 0..self.nodes() as u32 {
            if part[start as usize] != u32::MAX {
                continue;
            }
            let mut border = vec![start];
            part[start as usize] = found;
            while let Some(here) = border.pop() {
                for next in self.of(here) {
                    if part[next as usize] == u32::MAX {
                        part[next as usize] = found;
                        border.push(next);
                    }
                }
            }
            found += 1;
        }
        part
    }

    /// The number of hops from one node to all others; `u32::MAX` where there is no way.
    pub fn hops_from(&self, start: u32) -> Vec<u32> {
        let mut hops = vec![u32::MAX; self.nodes()];
        hops[start as usize] = 0;
        // Every node comes into it once, so it needs no end that is reused.
        let mut reached = Vec::with_capacity(self.nodes());
        reached.push(start);
        let mut place = 0;
        while let Some(here) = reached.get(place).copied() {
            place += 1;
            let further = hops[here as usize] + 1;
            for next in self.of(here) {
                if hops[next as usize] == u32::MAX {
                    hops[next as usize] = further;
                    reached.push(next);
                }
            }
        }
        hops
    }

    /// The neighbour of `from` that is first on a shortest way to `to`; the one with the smallest id if there are
    /// several.
    pub(crate) fn next_hop(&self, from: u32, to: u32) -> Option<u32> {
        if self.is_up(from, to) {
            return Some(to);
        }
        let hops = self.hops_from(to);
        let next = self.of(from).min_by_key(|next| (hops[*next as usize], *next))?;
        (hops[next as usize] != u32::MAX).then_some(next)
    }

    /// Whether the network stays in as many parts as it is without this link.
    pub(crate) fn can_spare(&self, a: u32, b: u32) -> bool {
        // A way from a to b that does not use the link itself.
        let mut seen = vec![false; self.nodes()];
        let mut border = vec![a];
        seen[a as usize] = true;
        while let Some(here) = border.pop() {
            for next in self.of(here) {
                if (here, next) == (a, b) || seen[next as usize] {
                    continue;
                }
                if next == b {
                    return true;
                }
                seen[next as usize] = true;
                border.push(next);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(edges: &[(u32, u32)]) -> Links {
        let mut links = Links::new(5);
        for (a, b) in edges {
            assert!(links.bring_up(*a, *b));
        }
        links
    }

    #[test]
    fn a_link_that_comes_back_has_a_new_number() {
        let mut links = links(&[(0, 1)]);
        let first = links.generation(0, 1);
        assert!(!links.bring_up(1, 0));
        assert!(links.take_down(1, 0) && !links.take_down(0, 1));
        assert_eq!(links.generation(1, 0), None);
        assert!(links.bring_up(1, 0));
        assert_ne!(links.generation(0, 1), first);
        assert_eq!(links.generation(0, 1), links.generation(1, 0));
    }

    #[test]
    fn parts_hops_and_ways() {
        let links = links(&[(0, 1), (1, 2), (0, 2), (3, 4)]);
        assert_eq!(links.parts(), [0, 0, 0, 1, 1]);
        assert_eq!(links.hops_from(0), [0, 1, 1, u32::MAX, u32::MAX]);
        assert_eq!(links.next_hop(0, 2), Some(2));
        assert_eq!(links.next_hop(0, 4), None);
        assert!(links.can_spare(0, 1) && !links.can_spare(3, 4));
        assert_eq!(links.all().count(), links.count());
    }
}
