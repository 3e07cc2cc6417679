//! Durations on the command line.

use std::time::Duration;

/// Keeps sums with timestamps in range.
const MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MIN_ROOT_AGE: Duration = Duration::from_secs(60 * 60);
const MAX_ROOT_AGE: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// Parses `500ms`, `30s`, `2m` or `1h 30m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match duration <= MAX {
        true => Ok(duration),
        false => Err("the maximum is 30 days".to_owned()),
    }
}

/// Parses the age that a trusted root may have, such as `30d`.
///
/// # Errors
/// When it is no duration, or below an hour or above ten years.
pub fn root_age(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match MIN_ROOT_AGE <= duration && duration <= MAX_ROOT_AGE {
        true => Ok(duration),
        false => Err("from 1h to 3650d, such as 30d".to_owned()),
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

    #[test]
    fn an_age_is_of_hours_to_years() {
        assert_eq!(root_age("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(root_age("3650d"), Ok(MAX_ROOT_AGE));
        for text in ["59m", "3651d", "0s", "30", "old"] {
            assert!(root_age(text).is_err(), "{text}");
        }
    }
}
