//! Durations on the command line.

use std::time::Duration;

/// `90s`, `5m`, `1h30m`; `0`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let parsed = parsed.and_then(|duration| Duration::try_from(duration).ok());
    parsed.ok_or_else(|| "a duration has a unit: 90s, 5m, 1h".to_owned())
}
