//! Link records are written once although both ends of a link tell of each change.

use std::collections::BTreeMap;

use meshlock_core::NodeId;

/// How often each end of each link has seen it come and go. The first end that tells of a change is believed.
#[derive(Clone, Debug, Default)]
pub struct LinkEnds {
    links: BTreeMap<(NodeId, NodeId), Told>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    is_up: bool,
    /// How often it came up and went down: as said by the smaller end, by the greater one, and by the end that was
    /// first.
    ups: [u64; 3],
    downs: [u64; 3],
}

impl LinkEnds {
    /// An end tells of a change. True if that is new: it was not told before.
    pub fn tells(&mut self, end: NodeId, neighbour: NodeId, up: bool) -> bool {
        let link = self.links.entry((end.min(neighbour), end.max(neighbour))).or_default();
        let counts = if up { &mut link.ups } else { &mut link.downs };
        let side = usize::from(end > neighbour);
        counts[side] += 1;
        let first = counts[side] > counts[2];
        counts[2] = counts[2].max(counts[side]);
        let is_news = first && link.is_up != up;
        if is_news {
            link.is_up = up;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: NodeId = NodeId(0);
    const BOB: NodeId = NodeId(1);

    #[test]
    fn the_second_end_brings_no_news() {
        let mut ends = LinkEnds::default();
        assert!(ends.tells(BOB, ANN, true));
        assert!(!ends.tells(ANN, BOB, true));
        assert!(ends.tells(ANN, BOB, false));
        assert!(ends.tells(ANN, BOB, true));
        // Bob is late: it tells of what has been known for a while.
        assert!(!ends.tells(BOB, ANN, false));
        assert!(!ends.tells(BOB, ANN, true));
        assert!(ends.tells(BOB, ANN, false));
    }
}
