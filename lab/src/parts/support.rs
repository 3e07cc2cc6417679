//! Small images that pods need besides schedulers: the process that holds a pod's namespaces,
//! and `kubectl`, which speaks to the API server from inside a pod as any program there would.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::kube::Binaries;
use super::{PartError, StockImage};
use crate::cache::{Cache, Key};
use crate::command;
use crate::oci::{File, Image};
use crate::progress::Reporter;

const PAUSE: &str = include_str!("../../images/pause.c");

/// What this machine must have to make them.
pub const PACKAGES: &[&str] = &["gcc", "libc6-dev"];

const FLAGS: [&str; 3] = ["-static", "-Os", "-s"];

fn key() -> Key {
    Key::of([PAUSE].into_iter().chain(FLAGS))
}

/// Whether they must be built first.
pub fn is_missing(cache: &Cache) -> bool {
    cache.find("pause", &key()).is_none()
}

/// The images of a cluster, their programs built unless they are there.
pub fn stock(
    cache: &Cache,
    binaries: &Binaries,
    reporter: &Reporter,
) -> Result<Vec<StockImage>, PartError> {
    Ok(vec![
        single("pause", pause(cache, reporter)?)?,
        single("kubectl", binaries.program("kubectl"))?,
    ])
}

fn single(name: &str, program: PathBuf) -> Result<StockImage, PartError> {
    let inside = format!("/{name}");
    let files = [File {
        from: program,
        to: PathBuf::from(&inside),
    }];
    Ok(StockImage::Single {
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
