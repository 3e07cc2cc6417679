//! How long, as people say it.

use std::time::Duration;

/// Nobody waits longer, and clocks can be added up with it.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// From words such as `500ms`, `30s`, `2m` or `1h 30m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match duration <= LONGEST {
        true => Ok(duration),
        false => Err("30 days are the limit".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_limit() {
        assert_eq!(parse("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("30days"), Ok(LONGEST));
        for text in ["31days", "9000years", "soon", "5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
