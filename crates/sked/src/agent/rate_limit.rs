//! Limits how fast an agent writes: five writes at once, then one per second, so that a scheduler
//! that attaches and detaches all the time cannot flood the API server.

use std::time::Duration;

use tokio::time::Instant;

const BURST: u32 = 5;
const INTERVAL: Duration = Duration::from_secs(1);

/// A token bucket.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    full_at: Option<Instant>,
}

impl RateLimit {
    /// When the next write is allowed.
    pub(super) fn free_at(&self, now: Instant) -> Instant {
        let spare = INTERVAL * (BURST - 1);
        let free = self.full_at.and_then(|full_at| full_at.checked_sub(spare));
        free.map_or(now, |free| free.max(now))
    }

    /// Records a write.
    pub(super) fn take(&mut self, now: Instant) {
        let full_at = self.full_at.map_or(now, |full_at| full_at.max(now));
        self.full_at = Some(full_at + INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_writes_are_allowed_at_once_and_then_one_per_second() {
        let begin = Instant::now();
        let mut limit = RateLimit::default();
        let mut now = begin;
        let mut waited = Vec::new();
        for _ in 0..8 {
            now = limit.free_at(now);
            limit.take(now);
            waited.push((now - begin).as_secs());
        }
        assert_eq!(waited, [0, 0, 0, 0, 0, 1, 2, 3]);
        let later = now + INTERVAL * 3;
        limit.take(later);
        limit.take(later);
        limit.take(later);
        assert_eq!(
            limit.free_at(later),
            later + INTERVAL,
            "three of five are available again"
        );
    }
}
