//! Durations on the command line.

use std::time::Duration;

/// Keeps sums with timestamps in range.
const MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Parses `500ms`, `30s`, `2m` or `1h 30m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match duration <= MAX {
        true => Ok(duration),
        false => Err("the maximum is 30 days".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_maximum() {
        assert_eq!(parse("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("30days"), Ok(MAX));
        for text in ["31days", "9000years", "soon", "5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
