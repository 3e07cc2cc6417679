//! Random numbers that can be had again: the seed is in the test's log, and `FAULTS_SEED` sets it.

use std::hash::{BuildHasher, Hasher, RandomState};

pub struct Seed(u64);

impl Seed {
    /// From `FAULTS_SEED`, or by chance.
    pub fn from_environment() -> Self {
        let given = std::env::var("FAULTS_SEED").ok();
        let seed = given.map_or_else(
            || RandomState::new().build_hasher().finish(),
            |text| text.parse().unwrap(),
        );
        println!("FAULTS_SEED={seed}");
        Self(seed | 1)
    }

    /// Less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // xorshift64: good enough to choose what breaks next.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
