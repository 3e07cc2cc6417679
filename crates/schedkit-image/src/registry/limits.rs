//! How long we wait and how often we ask. A value, so that tests can be quick and a program can
//! decide for itself; how much we read stands beside each question.

use std::time::Duration;

use aws_lc_rs::rand;

use super::RegistryError;
use super::error::Retry;

/// Redirects that are followed for one request.
pub(super) const MOST_REDIRECTS: usize = 5;

/// Ends for everything that could go on for ever.
#[derive(Debug, Clone)]
pub struct Limits {
    /// For a connection to stand.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For one question to one host, tries and tokens included. A blob gets more time, see
    /// [`slowest`](Self::slowest).
    pub total: Duration,
    /// Bytes a second that a blob must come in with, for its time to be long enough.
    pub slowest: u64,
    /// Tries in all. A mirror gets one: the next host is its second try.
    pub tries: u32,
    /// The pause before the second try; it doubles with each.
    pub pause: Duration,
    /// The longest pause that a registry can make us take (`Retry-After`).
    pub longest_pause: Duration,
    /// For a credential helper to answer.
    pub helper: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
            total: Duration::from_secs(60),
            slowest: 64 * 1024,
            tries: 3,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            helper: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// The time for a blob of this size.
    pub(super) fn for_blob(&self, size: u64) -> Duration {
        self.total + Duration::from_secs(size / self.slowest.max(1))
    }

    /// How long to wait before asking again, when that could help and there are tries left.
    pub(super) fn pause_after(
        &self,
        error: &RegistryError,
        tried: u32,
        tries: u32,
    ) -> Option<Duration> {
        // Whoever was slow once has used up the patience already.
        if tried >= tries || matches!(error, RegistryError::TooSlow { .. }) {
            return None;
        }
        match error.retry() {
            Retry::Never => None,
            Retry::After(wait) => (wait <= self.longest_pause).then_some(wait),
            Retry::Backoff => Some(self.backoff(tried)),
        }
    }

    fn backoff(&self, tried: u32) -> Duration {
        let full = self
            .pause
            .saturating_mul(1 << tried.saturating_sub(1).min(10));
        // Many nodes that were turned away at once must not come back at once.
        full.min(self.longest_pause).mul_f64(0.5 + jitter() / 2.0)
    }
}

/// Between 0 and 1; a source of randomness that fails costs us the spread, nothing else.
fn jitter() -> f64 {
    let mut byte = [0xff];
    let _ = rand::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(wait: Option<Duration>) -> RegistryError {
        RegistryError::RateLimited {
            what: String::new(),
            host: String::new(),
            wait,
        }
    }

    #[test]
    fn pauses_grow_and_end() {
        let limits = Limits::default();
        let first = limits.pause_after(&limited(None), 1, 9).unwrap();
        assert!((limits.pause / 2..=limits.pause).contains(&first));
        let late = limits.pause_after(&limited(None), 8, 9).unwrap();
        assert!((limits.longest_pause / 2..=limits.longest_pause).contains(&late));
        assert_eq!(limits.pause_after(&limited(None), 9, 9), None);
    }

    #[test]
    fn a_registry_may_ask_for_a_pause_but_not_for_any() {
        let limits = Limits::default();
        let wait = Duration::from_secs(20);
        assert_eq!(limits.pause_after(&limited(Some(wait)), 1, 3), Some(wait));
        let wait = Duration::from_secs(21);
        assert_eq!(limits.pause_after(&limited(Some(wait)), 1, 3), None);
    }

    #[test]
    fn a_big_blob_gets_more_time() {
        let limits = Limits::default();
        assert_eq!(limits.for_blob(0), Duration::from_secs(60));
        assert_eq!(limits.for_blob(64 << 20), Duration::from_secs(60 + 1024));
    }
}
