//! A small generator for jitter and made-up ids; nothing secret depends on it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// SplitMix64: the whole state is one number, so a test can seed it.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    #[cfg(test)]
    /// A generator that repeats itself for the same seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator that differs from every other.
    pub(crate) fn unseeded() -> Self {
        // The standard library keys its hash maps at random; an empty hash is that randomness.
        Self(RandomState::new().build_hasher().finish())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
