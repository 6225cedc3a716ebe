//! Where nodes are, for pictures of them. Nodes themselves do not know; the program that moves them tells.

use meshlock_trace::Position;

/// Where a node is and how it moves, in metres and metres per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where it is.
    pub position: Position,
    /// How it moves from there. Without it, it stays.
    pub velocity: Option<Position>,
    /// It is not there any more, until it is told to be somewhere again.
    pub gone: bool,
}

impl Place {
    /// Somewhere, at rest.
    pub const fn at(position: Position) -> Self {
        Self { position, velocity: None, gone: false }
    }

    /// The same after so many nanoseconds of moving on.
    pub(super) fn after(self, nanoseconds: u64) -> Self {
        let seconds = nanoseconds as f64 / 1e9;
        let [x, y] = self.position;
        let [right, up] = self.velocity.unwrap_or_default();
        Self { position: [x + right * seconds, y + up * seconds], ..self }
    }
}

/// A place and when it was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) at: u64,
    pub(super) place: Place,
}

impl Told {
    /// Where that is by now.
    pub(super) fn now(self, now: u64) -> Place {
        self.place.after(now.saturating_sub(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_goes_on_as_it_was_told() {
        let place = Place { velocity: Some([2.0, -1.0]), ..Place::at([10.0, 5.0]) };
        assert_eq!(Told { at: 1_000_000_000, place }.now(3_500_000_000).position, [15.0, 2.5]);
        assert_eq!(Told { at: 5, place }.now(3).position, [10.0, 5.0], "time never goes back");
    }
}
