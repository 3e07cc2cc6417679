//! sked in a lab's cluster the way an administrator puts it there: its image in the registry, and
//! the targets of the Makefile with the lab's cluster as the current one.
//!
//! For the demo and for sked's tests. What comes of it they ask the cluster and its kernels.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::command::{self, CommandError};
use crate::oci::{File, Image, PushError, Registry};
use crate::running::{Lab, LabError};

/// Why sked is not in the registry.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The program cannot be made smaller.
    #[error(transparent)]
    Strip(#[from] CommandError),
    /// There is no image.
    #[error("cannot put sked's image together from {program}")]
    Image {
        /// The program that goes into it.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The registry.
    #[error(transparent)]
    Registry(#[from] PushError),
}

/// The top of this checkout, where the Makefile is.
pub fn tree() -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().unwrap_or(lab).to_owned()
}

/// Pushes the image that the Containerfile describes, made from a static sked (see
/// [`crate::static_program`]); without its certificate authorities, which no lab needs. Returns its reference as the nodes say it.
pub fn push(lab: &Lab, program: &Path, tag: &str) -> Result<String, OperatorError> {
    // Without what only a debugger reads: an emulated node would take a minute longer to fetch it.
    let small = lab.state().path("sked-stripped");
    let mut strip = Command::new("strip");
    command::read(strip.arg("-o").arg(&small).arg(program))?;
    let files = [File {
        from: small,
        to: "/sked".into(),
    }];
    let config = json!({"Entrypoint": ["/sked"], "User": "65532:65532"});
    let image =
        Image::configured("amd64", &files, &config).map_err(|source| OperatorError::Image {
            program: program.to_owned(),
            source,
        })?;
    let running = lab.running();
    Registry::new(&running.registry).push_image("sked", tag, &image)?;
    Ok(format!("{}/sked:{tag}", running.registry_on_nodes))
}

/// `make` at the top of this checkout, with the lab's kubectl and cluster.
pub fn make(lab: &Lab, words: &[&str]) -> Result<Command, LabError> {
    let (Some(kubectl), Some(config)) = (&lab.running().kubectl, &lab.running().kubeconfig) else {
        return Err(LabError::NoKubernetes);
    };
    let mut make = Command::new("make");
    make.current_dir(tree())
        .env("KUBECONFIG", config)
        .arg("--no-print-directory")
        .arg(format!("KUBECTL={}", kubectl.display()))
        .args(words);
    Ok(make)
}
