//! Random numbers for jitter, so that thousands of agents do not act in the same instant. They must
//! not be used for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a number from 0 up to 1, another one at each call.
pub(super) type Random = Box<dyn FnMut() -> f64 + Send>;

/// Another sequence in each process.
pub(super) fn random() -> Random {
    let state = RandomState::new();
    let mut calls: u64 = 0;
    Box::new(move || {
        calls += 1;
        let mut hasher = state.build_hasher();
        hasher.write_u64(calls);
        (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_range_and_differ() {
        let mut random = random();
        let numbers: Vec<f64> = (0..100).map(|_| random()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(numbers.iter().any(|number| *number < 0.5));
        assert!(numbers.iter().any(|number| *number >= 0.5));
    }
}
