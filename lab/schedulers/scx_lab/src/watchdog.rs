//! The watchdog timeout: how long a runnable thread may wait before the kernel ejects the scheduler.
//!
//! Checked here, because the kernel's error for a large one is just "too big", and zero means the
//! default.

use std::time::Duration;

use thiserror::Error;

/// The kernel's own limit, `SCX_WATCHDOG_MAX_TIMEOUT`.
const MAX_MILLISECONDS: u32 = 30_000;

/// A timeout between one millisecond and thirty seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchdogTimeout(u32);

#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum InvalidTimeout {
    #[error("the watchdog timeout {} is out of range: the kernel takes 1ms to 30s", humantime::format_duration(*.0))]
    OutOfRange(Duration),
    #[error("SCX_TIMEOUT_MS is {0:?}, which is not a number of milliseconds")]
    NotANumber(String),
}

impl WatchdogTimeout {
    /// Reads the value of `SCX_TIMEOUT_MS`, which the scx schedulers take as plain milliseconds.
    pub(crate) fn parse_milliseconds(text: &str) -> Result<Self, InvalidTimeout> {
        let milliseconds = text
            .parse()
            .map_err(|_| InvalidTimeout::NotANumber(text.to_owned()))?;
        Duration::from_millis(milliseconds).try_into()
    }

    pub(crate) fn milliseconds(self) -> u32 {
        self.0
    }
}

impl TryFrom<Duration> for WatchdogTimeout {
    type Error = InvalidTimeout;

    fn try_from(duration: Duration) -> Result<Self, InvalidTimeout> {
        match u32::try_from(duration.as_millis()) {
            Ok(milliseconds @ 1..=MAX_MILLISECONDS) => Ok(Self(milliseconds)),
            _ => Err(InvalidTimeout::OutOfRange(duration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_valid() {
        for milliseconds in [1, 5000, 30_000] {
            let timeout = WatchdogTimeout::try_from(Duration::from_millis(milliseconds.into()));
            assert_eq!(timeout.map(WatchdogTimeout::milliseconds), Ok(milliseconds));
        }
    }

    #[test]
    fn values_out_of_range_are_invalid() {
        for duration in [
            Duration::ZERO,
            Duration::from_micros(999),
            Duration::from_millis(30_001),
            Duration::MAX,
        ] {
            assert_eq!(
                WatchdogTimeout::try_from(duration),
                Err(InvalidTimeout::OutOfRange(duration))
            );
        }
    }

    #[test]
    fn the_variable_is_a_bare_number() {
        assert_eq!(
            WatchdogTimeout::parse_milliseconds("500"),
            Ok(WatchdogTimeout(500))
        );
        for text in ["", "5s", "-1", " 5", "99999999999999999999999"] {
            assert_eq!(
                WatchdogTimeout::parse_milliseconds(text),
                Err(InvalidTimeout::NotANumber(text.to_owned()))
            );
        }
    }
}
