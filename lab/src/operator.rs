//! Installs sked in a lab's cluster as an administrator does: pushes its image to the registry and
//! runs the Makefile's targets against the lab's cluster. For the demo and for sked's tests.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::command::{self, CommandError};
use crate::oci::{File, Image, PushError, Registry};
use crate::running::{Lab, LabError};

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error(transparent)]
    Strip(#[from] CommandError),
    #[error("cannot build sked's image from {program}")]
    Image { program: PathBuf, source: io::Error },
    #[error(transparent)]
    Registry(#[from] PushError),
}

/// The root of this checkout, where the Makefile is.
pub fn tree() -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().unwrap_or(lab).to_owned()
}

/// Pushes the image that the Containerfile describes, built from a static sked (see
/// [`crate::static_program`]) and without the CA certificates, which no lab needs. Returns the
/// image's reference on the nodes.
pub fn push(lab: &Lab, program: &Path, tag: &str) -> Result<String, OperatorError> {
    // With debug information an emulated node would take a minute longer to pull it.
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

/// `make` in the root of this checkout, with the lab's kubectl and cluster.
pub fn make(lab: &Lab, args: &[&str]) -> Result<Command, LabError> {
    let (Some(kubectl), Some(config)) = (&lab.running().kubectl, &lab.running().kubeconfig) else {
        return Err(LabError::NoKubernetes);
    };
    let mut make = Command::new("make");
    make.current_dir(tree())
        .env("KUBECONFIG", config)
        .arg("--no-print-directory")
        .arg(format!("KUBECTL={}", kubectl.display()))
        .args(args);
    Ok(make)
}
