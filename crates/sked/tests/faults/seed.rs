//! Numbers by chance that can be had again: the seed is in the test's log, and
//! `FAULTS_SEED` sets it.

use std::hash::{BuildHasher, Hasher, RandomState};

pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn new() -> Self {
        let asked = std::env::var("FAULTS_SEED").ok();
        let seed = asked.map_or_else(
            || RandomState::new().build_hasher().finish(),
            |text| text.parse().unwrap(),
        );
        println!("FAULTS_SEED={seed}");
        Self(seed | 1)
    }

    /// Less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // xorshift64: good enough to choose what breaks next.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
