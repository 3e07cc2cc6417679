//! Parses `spec.watchdogTimeout`: `10s`, `1500ms`, `1.5s`.

use std::time::Duration;

/// The kernel's limits for a scheduler's watchdog timeout.
const BOUNDS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read watchdogTimeout: it must be a time from 1s to 30s, such as 10s or 1500ms")]
pub struct BadWatchdog;

/// Rounded to milliseconds.
pub(super) fn parse(text: &str) -> Result<Duration, BadWatchdog> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix('s').ok_or(BadWatchdog)?, 1000.0),
    };
    let plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if number.len() > 8 || !number.bytes().all(plain) {
        return Err(BadWatchdog);
    }
    let number: f64 = number.parse().map_err(|_| BadWatchdog)?;
    let time = Duration::try_from_secs_f64((number * unit).round() / 1000.0);
    time.ok()
        .filter(|time| BOUNDS.contains(time))
        .ok_or(BadWatchdog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_thirty_seconds() {
        for (text, millis) in [
            ("1s", 1000),
            ("30s", 30_000),
            ("1500ms", 1500),
            ("2.5s", 2500),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "", "s", "0s", "31s", "999ms", "-5s", "5", "1m", "1e1s", ".s", "infs",
        ] {
            assert_eq!(parse(text), Err(BadWatchdog), "{text}");
        }
    }
}
