//! Small images that pods need besides schedulers: the process that holds a pod's namespaces,
//! and one that can ask the API server something from inside a pod.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{PartError, StockImage};
use crate::cache::{Cache, Key};
use crate::command;
use crate::oci::{File, Image, shared_libraries};
use crate::progress::Reporter;

const PAUSE: &str = include_str!("../../images/pause.c");

/// What this machine must have to make them.
pub const PACKAGES: &[&str] = &["curl", "gcc", "libc6-dev"];

const CURL: &str = "/usr/bin/curl";

fn key() -> Key {
    Key::of([PAUSE])
}

/// Whether they must be built first.
pub fn is_missing(cache: &Cache) -> bool {
    cache.find("pause", &key()).is_none()
}

/// The images, their programs built unless they are there.
pub fn stock(cache: &Cache, reporter: &Reporter) -> Result<Vec<StockImage>, PartError> {
    let pause = pause(cache, reporter)?;
    let pause = [File {
        from: pause,
        to: "/pause".into(),
    }];
    let mut curl = shared_libraries(CURL.as_ref())?;
    curl.push(File {
        from: CURL.into(),
        to: "/curl".into(),
    });
    Ok(vec![
        single("pause", &pause, "/pause")?,
        single("curl", &curl, "/curl")?,
    ])
}

fn single(name: &str, files: &[File], program: &str) -> Result<StockImage, PartError> {
    Ok(StockImage::Single {
        repository: name.to_owned(),
        tag: "1".to_owned(),
        image: Image::new("amd64", files, &[program], &BTreeMap::new())?,
    })
}

fn pause(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("pause", &key(), |folder| {
        reporter.step("building pause", || {
            let source = folder.join("pause.c");
            fs::write(&source, PAUSE)?;
            command::run(
                Command::new("cc")
                    .args(["-static", "-Os", "-s", "-o"])
                    .arg(folder.join("pause"))
                    .arg(&source),
                &cache.log("pause"),
            )?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("pause"))
}
