//! Named random streams: draws in one part of a run do not shift those of another.
//!
//! Two runs with the same seed have the same movements and the same k-th request of every client under all protocols:
//! common random numbers, which make comparisons sharp.
//!
//! The numbers are those of ChaCha8 as `rand_chacha` makes them. A run has a few streams for each node, most of which are
//! drawn from rarely, and a generator with its block of results is ten times as large as what it is made from: so only a
//! stream that is drawn from often keeps its block, and the others make it anew.

mod chacha;

use chacha::{Block, block};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Where nodes start, and which links an abstract network has. One stream per run.
    Placement = 1,
    /// How a node moves. One stream per node.
    Mobility = 2,
    /// Errors and delays on the way. One stream per run.
    Channel = 3,
    /// What a client asks for and when. One stream per client.
    Traffic = 4,
    /// Delays that a protocol asks for. One stream per node.
    Protocol = 5,
    /// Which links change when. One stream per run.
    Topology = 6,
    /// When a node crashes and for how long. One stream per node.
    Crash = 7,
    /// How fast the clock of a node runs. One stream per node.
    Clock = 8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// One of them. A value: cloning it gives the same numbers again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    seed: u64,
    /// Which of all streams of this seed.
    id: u64,
    /// How many numbers were drawn.
    drawn: u64,
    /// The block of the last number drawn.
    block: Option<Box<Block>>,
}

/// After so many numbers a stream keeps its block.
const OFTEN: u64 = 32;

impl Streams {
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    pub fn stream(self, purpose: Purpose, index: u32) -> Stream {
        let id = (purpose as u64) << 32 | u64::from(index);
        Stream { seed: self.seed, id, drawn: 0, block: None }
    }
}

impl Stream {
    pub fn any(&mut self) -> u64 {
        let (number, place) = (self.drawn / chacha::NUMBERS, (self.drawn % chacha::NUMBERS) as usize);
        self.drawn += 1;
        match &mut self.block {
            Some(kept) => {
                if place == 0 {
                    **kept = block(self.seed, self.id, number);
                }
                kept[place]
            }
            None => {
                let block = block(self.seed, self.id, number);
                if self.drawn >= OFTEN {
                    self.block = Some(Box::new(block));
                }
                block[place]
            }
        }
    }

    /// Uniform in 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        // 53 bits are all a double can tell apart below 1.
        (self.any() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low` to `high`, without `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0 to `n`, without `n`; zero if `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        // The high half of a product: biased by at most n / 2^64, which no run can see.
        ((u128::from(self.any()) * u128::from(n)) >> 64) as u64
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Normal with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned() {
        let first = |seed, purpose, index| Streams::new(seed).stream(purpose, index).any();
        assert_eq!(first(1, Purpose::Mobility, 0), first(1, Purpose::Mobility, 0));
        let pinned = [(Purpose::Placement, 0), (Purpose::Traffic, 7)].map(|(purpose, index)| first(42, purpose, index));
        assert_eq!(pinned, [PLACEMENT, TRAFFIC]);
    }

    const PLACEMENT: u64 = 8_545_297_730_243_593_968;
    const TRAFFIC: u64 = 96_195_696_121_344_469;

    /// Those of the crate that is known for them.
    #[test]
    fn numbers_are_those_of_chacha8() {
        use rand_chacha::ChaCha8Rng;
        use rand_chacha::rand_core::{Rng, SeedableRng};
        for (seed, purpose, index) in
            [(0, Purpose::Placement, 0), (u64::MAX, Purpose::Clock, u32::MAX), (7, Purpose::Channel, 3)]
        {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&u64::to_le_bytes(seed));
            let mut known = ChaCha8Rng::from_seed(key);
            known.set_stream((purpose as u64) << 32 | u64::from(index));
            let mut ours = Streams::new(seed).stream(purpose, index);
            for drawn in 0..1_000 {
                assert_eq!(ours.any(), known.next_u64(), "number {drawn} of {purpose:?} {index}");
                if drawn % 61 == 0 {
                    // A clone goes on alike, with or without a block.
                    assert_eq!(ours.clone().any(), known.clone().next_u64());
                }
            }
        }
    }

    #[test]
    fn a_stream_does_not_depend_on_another() {
        let streams = Streams::new(3);
        let mut one = streams.stream(Purpose::Channel, 0);
        let before = streams.stream(Purpose::Traffic, 0).any();
        one.any();
        assert_eq!(streams.stream(Purpose::Traffic, 0).any(), before);
    }

    #[test]
    fn means_are_as_stated() {
        let mut stream = Streams::new(9).stream(Purpose::Channel, 0);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..100_000).map(|_| draw()).sum::<f64>() / 100_000.0;
        assert!((mean(&mut || stream.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || stream.exponential(2.0)) - 2.0).abs() < 0.03);
        assert!(mean(&mut || stream.normal()).abs() < 0.01);
        assert!((mean(&mut || stream.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
