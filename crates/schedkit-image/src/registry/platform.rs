//! Chooses the image of an index for a platform. Pure. An index without the platform is an error
//! that lists the platforms it has.

use std::fmt;

use super::content::{Descriptor, Index, Platform};
use crate::untrusted;

/// In an error.
const MAX_LISTED: usize = 20;

/// Why no image of an index can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    #[error("there is no image for {wanted}, only for {available}")]
    Others { wanted: String, available: String },
    #[error("there is no image for {wanted} nor for any other platform")]
    None { wanted: String },
}

impl Platform {
    /// The platform that this program was built for.
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

    /// `arm64` and `arm64/v8` are the same platform for all tools.
    fn normalized_variant(&self) -> Option<&str> {
        match self.variant.as_deref() {
            Some("v8") if self.architecture == "arm64" => None,
            other => other.filter(|variant| !variant.is_empty()),
        }
    }

    pub(crate) fn has_same_os_and_architecture(&self, other: &Self) -> bool {
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
        f.write_str(&untrusted::brief(&text))
    }
}

/// The image for a platform: the first with the same variant, else, when `wanted` has no variant,
/// the first of that architecture.
///
/// # Errors
/// When the index has none, with the platforms that it has.
pub fn choose<'a>(index: &'a Index, wanted: &Platform) -> Result<&'a Descriptor, PlatformError> {
    let of_architecture = || {
        let fits = |platform: &Platform| platform.has_same_os_and_architecture(wanted);
        let fits = move |entry: &&Descriptor| entry.platform.as_ref().is_some_and(fits);
        index.manifests.iter().filter(fits)
    };
    let variant = |entry: &Descriptor| {
        let platform = entry.platform.as_ref();
        platform.and_then(|platform| platform.normalized_variant().map(str::to_owned))
    };
    let exactly = wanted.normalized_variant();
    of_architecture()
        .find(|entry| variant(entry).as_deref() == exactly)
        .or_else(|| of_architecture().find(|_| exactly.is_none()))
        .ok_or_else(|| nothing_for(index, wanted))
}

fn nothing_for(index: &Index, wanted: &Platform) -> PlatformError {
    let wanted = wanted.to_string();
    let mut available = Vec::new();
    for platform in index
        .manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref())
    {
        let name = platform.to_string();
        // Build attestations are listed as images for the platform unknown/unknown.
        if platform.os != "unknown" && !available.contains(&name) && available.len() < MAX_LISTED {
            available.push(name);
        }
    }
    if available.is_empty() {
        return PlatformError::None { wanted };
    }
    let available = available.join(", ");
    PlatformError::Others { wanted, available }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::content::Content;

    fn index(platforms: &[&str]) -> Index {
        let entry = |(position, platform): (usize, &&str)| {
            let parts = platform.split('/').collect::<Vec<_>>();
            let variant = parts.get(2).map(|v| format!(r#", "variant": "{v}""#));
            format!(
                r#"{{"digest": "sha256:{position:064x}", "size": 1, "platform": {{"os": "{}", "architecture": "{}"{}}}}}"#,
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
    fn the_image_of_the_platform_is_chosen() {
        let index = index(&[
            "unknown/unknown",
            "linux/arm/v6",
            "linux/arm/v7",
            "linux/amd64",
            "linux/arm64/v8",
            "linux/amd64",
            "linux/amd64/v3",
        ]);
        for (platform, position) in [
            ("linux/amd64", 3),
            ("linux/amd64/v3", 6),
            ("linux/arm64", 4),
            ("linux/arm64/v8", 4),
            ("linux/arm/v7", 2),
            ("linux/arm", 1),
        ] {
            let chosen = choose(&index, &wanted(platform)).unwrap();
            assert_eq!(*chosen, index.manifests[position], "{platform}");
        }
    }

    #[test]
    fn the_error_lists_the_platforms_of_the_index() {
        let some = index(&["linux/arm64/v8", "linux/arm64/v8", "unknown/unknown"]);
        let error = choose(&some, &wanted("linux/amd64")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no image for linux/amd64, only for linux/arm64/v8"
        );
        assert!(choose(&some, &wanted("linux/arm64/v9")).is_err());
        let error = choose(&index(&["unknown/unknown"]), &wanted("linux/amd64")).unwrap_err();
        assert!(matches!(error, PlatformError::None { .. }));
    }
}
