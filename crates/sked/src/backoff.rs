//! Exponential backoff: the delay before the next attempt doubles with each failure in a row, up to
//! a limit. All retries of this program use it.

use std::time::Duration;

/// The failures in a row of one thing that is retried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            failures: 0,
        }
    }

    /// Records a failure and returns how long to wait before the next attempt.
    pub(crate) fn failed(&mut self) -> Duration {
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        self.first.saturating_mul(factor).min(self.longest)
    }

    /// The same, shortened by up to one half: processes that fail together do not retry together.
    /// `random` is a number from 0 to 1.
    pub(crate) fn failed_with_jitter(&mut self, random: f64) -> Duration {
        let half = self.failed() / 2;
        half + half.mul_f64(random)
    }

    /// The next failure counts as the first one again.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(10);

    #[test]
    fn delays_double_up_to_the_limit_and_success_resets_them() {
        let mut backoff = Backoff::new(FIRST, LONGEST);
        let delays: Vec<_> = (0..100).map(|_| backoff.failed()).collect();
        assert_eq!(delays[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert!(delays.is_sorted());
        assert_eq!((delays[99], backoff.failures()), (LONGEST, 100));
        backoff.succeeded();
        assert_eq!((backoff.failures(), backoff.failed()), (0, FIRST));
    }

    #[test]
    fn jitter_takes_off_up_to_one_half() {
        for (random, first, last) in [(0.0, 100, 5_000), (1.0, 200, 10_000)] {
            let mut backoff = Backoff::new(FIRST, LONGEST);
            let mut delay = || backoff.failed_with_jitter(random).as_millis();
            let delays: Vec<_> = (0..20).map(|_| delay()).collect();
            assert_eq!((delays[0], delays[1], delays[19]), (first, first * 2, last));
        }
    }
}
