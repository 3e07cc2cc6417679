//! The published catalog is pinned by the program: each name has one image there, which the program
//! knows. What is downloaded only says which names exist.
//!
//! So whoever controls the file, or the way to it, cannot have a name lead to another image. A catalog
//! that the user names is not checked, and may say anything.

use super::name::SchedulerName;
use super::resolve::Catalog;

/// Where the project publishes the images of names that are newer than the program.
const NAMESPACE: &str = "ghcr.io/schedkit";

/// A name whose image is not the one that the program knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is {image} in it; in the published catalog this program accepts only {expected} for it"
)]
pub struct NotPinned {
    name: SchedulerName,
    image: String,
    expected: String,
}

pub(super) fn check(published: &Catalog) -> Result<(), NotPinned> {
    let embedded = Catalog::snapshot().ok();
    let known = |name: &SchedulerName| {
        let mut entries = embedded.iter().flat_map(Catalog::entries);
        let found = entries.find_map(|(one, image)| (one == name).then(|| image.to_string()));
        found.unwrap_or_else(|| format!("{NAMESPACE}/{name}:latest"))
    };
    for (name, image) in published.entries() {
        let expected = known(name);
        let image = image.to_string();
        if image != expected {
            return Err(NotPinned {
                name: name.clone(),
                image,
                expected,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, image: &str) -> Result<(), NotPinned> {
        let text = format!(r#"{{"{name}": {{"imageURI": "{image}"}}}}"#);
        check(&Catalog::parse(&text).unwrap())
    }

    #[test]
    fn a_name_has_the_image_that_the_program_knows() {
        assert_eq!(check(&Catalog::snapshot().unwrap()), Ok(()));
        assert_eq!(check_one("scx_lavd", "ghcr.io/schedkit/scx_lavd"), Ok(()));
        assert_eq!(check_one("scx_new", "ghcr.io/schedkit/scx_new"), Ok(()));
        let digest = "a".repeat(64);
        for (name, image) in [
            ("scx_lavd", "ghcr.io/schedkit/scx_test".to_owned()),
            ("scx_lavd", "ghcr.io/schedkit-evil/scx_lavd".to_owned()),
            ("scx_lavd", "evil.example/schedkit/scx_lavd".to_owned()),
            ("scx_lavd", "ghcr.io/schedkit/scx_lavd:0.1".to_owned()),
            (
                "scx_lavd",
                format!("ghcr.io/schedkit/scx_lavd@sha256:{digest}"),
            ),
            ("scx_new", "ghcr.io/schedkit/scx_lavd".to_owned()),
            ("scx_new", "ghcr.io/other/scx_new".to_owned()),
        ] {
            let error = check_one(name, &image).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is {image}")), "{error}");
        }
    }
}
