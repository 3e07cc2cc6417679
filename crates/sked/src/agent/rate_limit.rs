//! How fast an agent may write: at once as a rule, but never a flood.
//!
//! ```text
//! bucket   5 writes at once, then one a second: a scheduler that flaps cannot flood
//! backoff  200 ms, twice as long after each failure, at most 10 s, each time up to half less:
//!          thousands of agents do not come back in one instant
//! ```
//!
//! Moments and dice are parameters.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

const BURST: u32 = 5;
const EVERY: Duration = Duration::from_secs(1);
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);

/// A number from 0 up to 1, another one each time.
pub(super) type Dice = Box<dyn FnMut() -> f64 + Send>;

/// Dice that fall otherwise in each process. Nothing secret depends on them.
pub(super) fn dice() -> Dice {
    let random = RandomState::new();
    let mut throws: u64 = 0;
    Box::new(move || {
        throws += 1;
        let mut hasher = random.build_hasher();
        hasher.write_u64(throws);
        (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
    })
}

/// Tokens for writes.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// When it is full again.
    full_at: Option<Instant>,
}

impl Bucket {
    /// When there is one.
    pub(super) fn free_at(&self, now: Instant) -> Instant {
        let spare = EVERY * (BURST - 1);
        let free = self.full_at.and_then(|full_at| full_at.checked_sub(spare));
        free.map_or(now, |free| free.max(now))
    }

    /// Takes one.
    pub(super) fn take(&mut self, now: Instant) {
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now));
        self.full_at = Some(full_at + EVERY);
    }
}

/// Longer pauses after each failure.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after one more failure.
    pub(super) fn failed(&mut self, dice: &mut Dice) -> Duration {
        let ceiling = FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        ceiling / 2 + (ceiling / 2).mul_f64(dice())
    }

    /// All is well again.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_five_writes_and_then_one_a_second() {
        let begin = Instant::now();
        let mut bucket = Bucket::default();
        let mut now = begin;
        let mut waited = Vec::new();
        for _ in 0..8 {
            now = bucket.free_at(now);
            bucket.take(now);
            waited.push((now - begin).as_secs());
        }
        assert_eq!(waited, [0, 0, 0, 0, 0, 1, 2, 3]);
        let later = now + EVERY * 3;
        bucket.take(later);
        bucket.take(later);
        bucket.take(later);
        assert_eq!(
            bucket.free_at(later),
            later + EVERY,
            "three of five came back"
        );
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_are_not_all_alike() {
        for (fall, first, last) in [(0.0, 100, 5_000), (1.0, 200, 10_000)] {
            let mut dice: Dice = Box::new(move || fall);
            let mut backoff = Backoff::default();
            let pauses: Vec<_> = (0..20)
                .map(|_| backoff.failed(&mut dice).as_millis())
                .collect();
            assert_eq!((pauses[0], pauses[1], pauses[19]), (first, first * 2, last));
            backoff.succeeded();
            assert_eq!(backoff.failed(&mut dice).as_millis(), first);
        }
    }

    #[test]
    fn dice_fall_within_their_range_and_differently() {
        let mut one = dice();
        let falls: Vec<f64> = (0..100).map(|_| one()).collect();
        assert!(falls.iter().all(|fall| (0.0..1.0).contains(fall)));
        assert!(falls.iter().any(|fall| *fall < 0.5) && falls.iter().any(|fall| *fall >= 0.5));
    }
}
