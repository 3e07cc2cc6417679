//! Which image of an index is meant for a machine. Pure; nothing is guessed: an index that does
//! not name our platform is an error that says what it has.

use std::fmt;

use super::content::{Descriptor, Index, Platform};
use crate::foreign;

/// As many platforms as an error names.
const MOST_NAMED: usize = 20;

/// Why no image of an index can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// Others only.
    #[error("there is no image for {wanted}, only for {there}")]
    Others {
        /// What was looked for.
        wanted: String,
        /// What there is.
        there: String,
    },
    /// An index of nothing that could run.
    #[error("there is no image for {wanted} nor for any other machine")]
    None {
        /// What was looked for.
        wanted: String,
    },
}

impl Platform {
    /// What runs where this program was built for.
    pub fn this_machine() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            os: "linux".to_owned(),
            architecture: architecture.to_owned(),
            variant: None,
        }
    }

    /// `arm64` and `arm64/v8` are the same machine, as all tools have it.
    fn variant_or_usual(&self) -> Option<&str> {
        match self.variant.as_deref() {
            Some("v8") if self.architecture == "arm64" => None,
            other => other.filter(|variant| !variant.is_empty()),
        }
    }

    fn is_same_machine(&self, other: &Self) -> bool {
        self.os == other.os && self.architecture == other.architecture
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = self.variant.as_deref().map(|variant| format!("/{variant}"));
        let text = format!(
            "{}/{}{}",
            self.os,
            self.architecture,
            variant.unwrap_or_default()
        );
        f.write_str(&foreign::brief(&text))
    }
}

/// The image for a platform: the first with the very same variant, else, when none was asked for,
/// the first of that architecture.
///
/// # Errors
/// When the index has none, with the platforms that it has.
pub fn choose<'a>(index: &'a Index, wanted: &Platform) -> Result<&'a Descriptor, PlatformError> {
    let of_machine = || {
        let fits = |platform: &Platform| platform.is_same_machine(wanted);
        let fits = move |entry: &&Descriptor| entry.platform.as_ref().is_some_and(fits);
        index.manifests.iter().filter(fits)
    };
    let variant = |entry: &Descriptor| {
        let platform = entry.platform.as_ref();
        platform.and_then(|platform| platform.variant_or_usual().map(str::to_owned))
    };
    let exactly = wanted.variant_or_usual();
    of_machine()
        .find(|entry| variant(entry).as_deref() == exactly)
        .or_else(|| of_machine().find(|_| exactly.is_none()))
        .ok_or_else(|| nothing_for(index, wanted))
}

fn nothing_for(index: &Index, wanted: &Platform) -> PlatformError {
    let wanted = wanted.to_string();
    let mut there = Vec::new();
    for platform in index
        .manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref())
    {
        let name = platform.to_string();
        // Build attestations ride along as images for a machine that nobody has.
        if platform.os != "unknown" && !there.contains(&name) && there.len() < MOST_NAMED {
            there.push(name);
        }
    }
    if there.is_empty() {
        return PlatformError::None { wanted };
    }
    let there = there.join(", ");
    PlatformError::Others { wanted, there }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Content;

    fn index(platforms: &[&str]) -> Index {
        let entry = |(place, platform): (usize, &&str)| {
            let parts = platform.split('/').collect::<Vec<_>>();
            let variant = parts.get(2).map(|v| format!(r#", "variant": "{v}""#));
            format!(
                r#"{{"digest": "sha256:{place:064x}", "size": 1, "platform": {{"os": "{}", "architecture": "{}"{}}}}}"#,
                parts[0],
                parts[1],
                variant.unwrap_or_default()
            )
        };
        let entries = platforms.iter().enumerate().map(entry).collect::<Vec<_>>();
        let text = format!(r#"{{"manifests": [{}]}}"#, entries.join(","));
        match Content::parse(text.as_bytes()) {
            Ok(Content::Index(index)) => index,
            other => panic!("{other:?}"),
        }
    }

    fn wanted(text: &str) -> Platform {
        index(&[text]).manifests[0].platform.clone().unwrap()
    }

    #[test]
    fn the_image_of_our_machine_is_chosen() {
        let index = index(&[
            "unknown/unknown",
            "linux/arm/v6",
            "linux/arm/v7",
            "linux/amd64",
            "linux/arm64/v8",
            "linux/amd64",
            "linux/amd64/v3",
        ]);
        for (platform, place) in [
            ("linux/amd64", 3),
            ("linux/amd64/v3", 6),
            ("linux/arm64", 4),
            ("linux/arm64/v8", 4),
            ("linux/arm/v7", 2),
            ("linux/arm", 1),
        ] {
            let chosen = choose(&index, &wanted(platform)).unwrap();
            assert_eq!(*chosen, index.manifests[place], "{platform}");
        }
    }

    #[test]
    fn what_is_missing_is_told_with_what_is_there() {
        let some = index(&["linux/arm64/v8", "linux/arm64/v8", "unknown/unknown"]);
        let said = choose(&some, &wanted("linux/amd64")).unwrap_err();
        assert_eq!(
            said.to_string(),
            "there is no image for linux/amd64, only for linux/arm64/v8"
        );
        assert!(choose(&some, &wanted("linux/arm64/v9")).is_err());
        let said = choose(&index(&["unknown/unknown"]), &wanted("linux/amd64")).unwrap_err();
        assert!(matches!(said, PlatformError::None { .. }));
    }
}
