//! Timeouts, attempts and backoff of the client. A value, so that tests can be quick and each program
//! can choose; the size limits are constants in the files that read responses.

use std::time::Duration;

use aws_lc_rs::rand;

use super::problem::{Problem, Retry};

#[derive(Debug, Clone)]
pub struct Limits {
    /// To establish a connection.
    pub connect: Duration,
    /// Between two chunks of a response.
    pub idle: Duration,
    /// For one request to one host with all its attempts and tokens. A blob gets more time, see
    /// [`min_bytes_per_second`](Self::min_bytes_per_second).
    pub request: Duration,
    /// A blob gets one more second for each of these many bytes.
    pub min_bytes_per_second: u64,
    /// In all. A mirror gets one: the next host is its second attempt.
    pub attempts: u32,
    /// Before the second attempt; it doubles with each.
    pub first_backoff: Duration,
    /// A registry that asks for a longer wait (`Retry-After`) gets no second attempt.
    pub max_backoff: Duration,
    /// For a credential helper to finish.
    pub helper: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
            request: Duration::from_secs(60),
            min_bytes_per_second: 64 * 1024,
            attempts: 3,
            first_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(20),
            helper: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// The timeout for a blob of this size.
    pub(super) fn for_blob(&self, size: u64) -> Duration {
        self.request + Duration::from_secs(size / self.min_bytes_per_second.max(1))
    }

    /// How long to wait before the next attempt; `None` when it cannot help or was the last.
    pub(super) fn backoff(
        &self,
        problem: &Problem,
        attempt: u32,
        attempts: u32,
    ) -> Option<Duration> {
        // A host that was too slow has used up the time already.
        if attempt >= attempts || matches!(problem, Problem::Timeout { .. }) {
            return None;
        }
        match problem.retry() {
            Retry::Never => None,
            Retry::After(wait) => (wait <= self.max_backoff).then_some(wait),
            Retry::Backoff => Some(self.exponential(attempt)),
        }
    }

    fn exponential(&self, attempt: u32) -> Duration {
        let full = self
            .first_backoff
            .saturating_mul(1 << attempt.saturating_sub(1).min(10));
        // Many nodes that were refused at the same time must not retry at the same time.
        full.min(self.max_backoff).mul_f64(0.5 + jitter() / 2.0)
    }
}

/// Between 0 and 1. Without randomness it is 1: the backoff works, without its spread.
fn jitter() -> f64 {
    let mut byte = [0xff];
    let _ = rand::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<Duration>) -> Problem {
        Problem::RateLimited { retry_after }
    }

    #[test]
    fn the_backoff_grows_up_to_its_maximum() {
        let limits = Limits::default();
        let first = limits.backoff(&limited(None), 1, 9).unwrap();
        assert!((limits.first_backoff / 2..=limits.first_backoff).contains(&first));
        let late = limits.backoff(&limited(None), 8, 9).unwrap();
        assert!((limits.max_backoff / 2..=limits.max_backoff).contains(&late));
        assert_eq!(limits.backoff(&limited(None), 9, 9), None);
    }

    #[test]
    fn a_wait_that_is_too_long_is_not_waited() {
        let limits = Limits::default();
        let wait = Duration::from_secs(20);
        assert_eq!(limits.backoff(&limited(Some(wait)), 1, 3), Some(wait));
        let wait = Duration::from_secs(21);
        assert_eq!(limits.backoff(&limited(Some(wait)), 1, 3), None);
    }

    #[test]
    fn a_big_blob_gets_more_time() {
        let limits = Limits::default();
        assert_eq!(limits.for_blob(0), Duration::from_secs(60));
        assert_eq!(limits.for_blob(64 << 20), Duration::from_secs(60 + 1024));
    }
}
