//! Images for pods other than schedulers: `pause`, which holds a pod's namespaces, and `kubectl`,
//! with which tests reach the API server from inside a pod.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::error::PartError;
use super::kube::KubeBinaries;
use super::registry_image::RegistryImage;
use crate::cache::{Cache, Key};
use crate::command;
use crate::oci::{File, Image};
use crate::progress::Reporter;

const PAUSE: &str = include_str!("../../images/pause.c");

/// The packages that building them needs.
pub const PACKAGES: &[&str] = &["gcc", "libc6-dev"];

const FLAGS: [&str; 3] = ["-static", "-Os", "-s"];

fn key() -> Key {
    Key::of([PAUSE].into_iter().chain(FLAGS))
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find("pause", &key()).is_none()
}

/// The images; builds the programs that the cache does not have.
pub fn images(
    cache: &Cache,
    binaries: &KubeBinaries,
    reporter: &Reporter,
) -> Result<Vec<RegistryImage>, PartError> {
    Ok(vec![
        single("pause", pause(cache, reporter)?)?,
        single("kubectl", binaries.program("kubectl"))?,
    ])
}

fn single(name: &str, program: PathBuf) -> Result<RegistryImage, PartError> {
    let inside = format!("/{name}");
    let files = [File {
        from: program,
        to: PathBuf::from(&inside),
    }];
    Ok(RegistryImage::Single {
        repository: name.to_owned(),
        tag: "1".to_owned(),
        image: Image::new("amd64", &files, &[&inside], &BTreeMap::new())?,
    })
}

fn pause(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("pause", &key(), reporter, |folder| {
        reporter.step("building pause", || {
            let source = folder.join("pause.c");
            fs::write(&source, PAUSE)?;
            command::run(
                Command::new("cc")
                    .args(FLAGS)
                    .arg("-o")
                    .arg(folder.join("pause"))
                    .arg(&source),
                &cache.log("pause"),
            )?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("pause"))
}
