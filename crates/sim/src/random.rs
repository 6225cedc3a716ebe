//! Named random streams: draws in one part of a run do not shift those of another.
//!
//! Two runs with the same seed have the same movements and the same k-th request of every client under all protocols:
//! common random numbers, which make comparisons sharp.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

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
pub struct Stream(ChaCha8Rng);

impl Streams {
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    pub fn stream(self, purpose: Purpose, index: u32) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream((purpose as u64) << 32 | u64::from(index));
        Stream(rng)
    }
}

impl Stream {
    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
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
