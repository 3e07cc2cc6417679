//! cosign 2 and 3, built from their Go modules, and the lab's private Sigstore (`lab/sigstore`).

use std::path::PathBuf;

use super::error::PartError;
use super::golang;
use crate::cache::{Cache, Key};
use crate::progress::Reporter;
use crate::signing::{CosignPrograms, Tools};
use crate::spec::Signing;

struct CosignBuild {
    part: &'static str,
    package: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

const COSIGN: CosignBuild = CosignBuild {
    part: "cosign",
    package: "github.com/sigstore/cosign/v3/cmd/cosign",
    go_mod: include_str!("../../tools/cosign/go.mod"),
    go_sum: include_str!("../../tools/cosign/go.sum"),
};

const COSIGN_2: CosignBuild = CosignBuild {
    part: "cosign2",
    package: "github.com/sigstore/cosign/v2/cmd/cosign",
    go_mod: include_str!("../../tools/cosign2/go.mod"),
    go_sum: include_str!("../../tools/cosign2/go.sum"),
};

/// The source files of the private Sigstore.
const SOURCES: [(&str, &str); 13] = [
    ("go.mod", include_str!("../../sigstore/go.mod")),
    ("go.sum", include_str!("../../sigstore/go.sum")),
    ("authority.go", include_str!("../../sigstore/authority.go")),
    ("bundle.go", include_str!("../../sigstore/bundle.go")),
    ("bundles.go", include_str!("../../sigstore/bundles.go")),
    (
        "certificate.go",
        include_str!("../../sigstore/certificate.go"),
    ),
    ("issue.go", include_str!("../../sigstore/issue.go")),
    ("keys.go", include_str!("../../sigstore/keys.go")),
    ("log.go", include_str!("../../sigstore/log.go")),
    ("main.go", include_str!("../../sigstore/main.go")),
    ("registry.go", include_str!("../../sigstore/registry.go")),
    ("regexps.go", include_str!("../../sigstore/regexps.go")),
    ("simple.go", include_str!("../../sigstore/simple.go")),
];

pub fn is_missing(cache: &Cache, signing: Signing) -> bool {
    let cosign_missing = || {
        let mut editions = [COSIGN, COSIGN_2].into_iter();
        editions.any(|cosign| cache.find(cosign.part, &cosign.key()).is_none())
    };
    signing >= Signing::Sigstore && is_sigstore_missing(cache)
        || signing >= Signing::Cosign && cosign_missing()
}

pub fn is_sigstore_missing(cache: &Cache) -> bool {
    cache.find("sigstore", &sigstore_key()).is_none()
}

/// The programs of this choice; builds those that the cache does not have.
pub fn make(
    cache: &Cache,
    signing: Signing,
    reporter: &Reporter,
) -> Result<Option<Tools>, PartError> {
    let cosign = match signing {
        Signing::None => return Ok(None),
        Signing::Sigstore => None,
        Signing::Cosign => Some(CosignPrograms {
            v3: COSIGN.make(cache, reporter)?,
            v2: COSIGN_2.make(cache, reporter)?,
        }),
    };
    Ok(Some(Tools {
        sigstore: make_sigstore(cache, reporter)?,
        cosign,
    }))
}

/// The private Sigstore, which is also the registry with the referrers API.
pub fn make_sigstore(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("sigstore", &sigstore_key(), reporter, |folder| {
        reporter.step("building the lab's Sigstore", || {
            golang::in_module(folder, SOURCES, |module| {
                golang::build(
                    cache,
                    &golang::Build {
                        module,
                        package: ".",
                        link: "",
                        output: &folder.join("sigstore"),
                        part: "sigstore",
                    },
                )
            })
        })
    })?;
    Ok(folder.join("sigstore"))
}

fn sigstore_key() -> Key {
    Key::of(SOURCES.into_iter().flat_map(|(name, text)| [name, text]))
}

impl CosignBuild {
    fn key(&self) -> Key {
        Key::of([self.go_mod, self.go_sum, self.package])
    }

    fn make(&self, cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
        let version = golang::version(self.go_mod, self.package);
        let folder = cache.part(self.part, &self.key(), reporter, |folder| {
            reporter.step(format!("building cosign {version}"), || {
                let files = [("go.mod", self.go_mod), ("go.sum", self.go_sum)];
                golang::in_module(folder, files, |module| {
                    golang::build(
                        cache,
                        &golang::Build {
                            module,
                            package: self.package,
                            link: &format!(
                                "-X sigs.k8s.io/release-utils/version.gitVersion={version}"
                            ),
                            output: &folder.join("cosign"),
                            part: self.part,
                        },
                    )
                })
            })
        })?;
        Ok(folder.join("cosign"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn each_edition_of_cosign_is_pinned_and_has_a_tool_line() {
        for (cosign, edition) in [(COSIGN, "v3."), (COSIGN_2, "v2.")] {
            let version = golang::version(cosign.go_mod, cosign.package);
            assert!(version.starts_with(edition), "{}: {version}", cosign.part);
            let tool_line = format!("tool {}\n", cosign.package);
            assert!(cosign.go_mod.contains(&tool_line), "{}", cosign.part);
        }
    }

    #[test]
    fn all_source_files_of_the_sigstore_are_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sigstore");
        let there: BTreeSet<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let known: BTreeSet<_> = SOURCES.map(|(name, _)| name.to_owned()).into();
        assert_eq!(there, known);
    }
}
