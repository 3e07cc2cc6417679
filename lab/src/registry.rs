//! Starts the lab's OCI registries and pushes the first images: Debian's docker-registry, which has
//! no referrers API, and for the topology `registry` an in-memory one that has it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::network::{self, REFERRERS, REGISTRY};
use crate::oci::{PushError, Registry};
use crate::parts::RegistryImage;
use crate::service::{Service, ServiceError};
use crate::state::State;

const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("cannot write the registry's configuration: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// Starts the registry and pushes the images.
pub fn start(
    state: &State,
    program: &Path,
    images: &[RegistryImage],
) -> Result<Service, RegistryError> {
    let config = state.path("registry.yml");
    fs::write(&config, configuration(&state.path("registry")))?;
    let mut command = network::without_proxies(program);
    command
        .arg("serve")
        .arg(&config)
        .env("OTEL_TRACES_EXPORTER", "none")
        // It allocates 4 MiB for each blob that it serves. With a heap as small as in a lab, each
        // blob would start a garbage collection, which does not happen in real registries.
        .env("GOGC", "2000");
    let service = Service::start("registry", command, state.log("registry"))?;
    fill(service, &Registry::new(REGISTRY.to_string()), images)
}

/// Starts the registry with the referrers API and pushes the images.
pub fn start_with_referrers(
    state: &State,
    program: &Path,
    images: &[RegistryImage],
) -> Result<Service, RegistryError> {
    let mut command = network::without_proxies(program);
    command.arg("registry").arg(REFERRERS.to_string());
    let service = Service::start("referrers", command, state.log("referrers"))?;
    fill(service, &Registry::new(REFERRERS.to_string()), images)
}

fn fill(
    mut service: Service,
    registry: &Registry,
    images: &[RegistryImage],
) -> Result<Service, RegistryError> {
    let client = registry.clone();
    service.ready_when(TIMEOUT, move || client.is_up())?;
    for image in images {
        match image {
            RegistryImage::Single {
                repository,
                tag,
                image,
            } => registry.push_image(repository, tag, image)?,
            RegistryImage::Multi {
                repository,
                tag,
                index,
            } => registry.push_index(repository, tag, index)?,
        }
    }
    Ok(service)
}

/// With the cache of blob descriptors the registry does not read the disk at every request.
fn configuration(storage: &Path) -> String {
    format!(
        "version: 0.1\n\
         log: {{level: warn, accesslog: {{disabled: true}}}}\n\
         storage:\n  filesystem: {{rootdirectory: {storage:?}}}\n  delete: {{enabled: true}}\n  cache: {{blobdescriptor: inmemory}}\n\
         http:\n  addr: {REGISTRY}\n"
    )
}
