//! The lab's OCI registries and what they hold from the start: Debian's docker-registry, which
//! knows no referrers, and where the topology asks for it one in memory that does.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::network::{self, REFERRERS, REGISTRY};
use crate::oci::{PushError, Registry};
use crate::parts::StockImage;
use crate::service::{Service, ServiceError};
use crate::state::State;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Why the registry is not there.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Its program failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// An image did not get in.
    #[error(transparent)]
    Push(#[from] PushError),
    /// Its configuration could not be written.
    #[error("cannot write the registry's configuration")]
    Io(#[from] io::Error),
}

/// Starts the registry and fills it.
pub fn start(
    state: &State,
    program: &Path,
    stock: &[StockImage],
) -> Result<Service, RegistryError> {
    let config = state.path("registry.yml");
    fs::write(&config, configuration(&state.path("registry")))?;
    let mut command = network::without_proxies(program);
    command
        .arg("serve")
        .arg(&config)
        .env("OTEL_TRACES_EXPORTER", "none")
        // It takes 4 MiB for each blob that it serves. With a heap as small as a lab's, each of
        // them would start a collection of garbage, which no registry in use does.
        .env("GOGC", "2000");
    let service = Service::start("registry", command, state.log("registry"))?;
    fill(service, &Registry::new(REGISTRY.to_string()), stock)
}

/// Starts the registry with the referrers API and fills it with the same.
pub fn start_with_referrers(
    state: &State,
    program: &Path,
    stock: &[StockImage],
) -> Result<Service, RegistryError> {
    let mut command = network::without_proxies(program);
    command.arg("registry").arg(REFERRERS.to_string());
    let service = Service::start("referrers", command, state.log("referrers"))?;
    fill(service, &Registry::new(REFERRERS.to_string()), stock)
}

fn fill(
    mut service: Service,
    registry: &Registry,
    stock: &[StockImage],
) -> Result<Service, RegistryError> {
    let asked = registry.clone();
    service.ready_when(TIMEOUT, move || asked.is_up())?;
    for image in stock {
        match image {
            StockImage::Single {
                repository,
                tag,
                image,
            } => registry.push_image(repository, tag, image)?,
            StockImage::Multi {
                repository,
                tag,
                index,
            } => registry.push_index(repository, tag, index)?,
        }
    }
    Ok(service)
}

/// Without its memory of blobs the registry would look each one up on disk at every request.
fn configuration(storage: &Path) -> String {
    format!(
        "version: 0.1\n\
         log: {{level: warn, accesslog: {{disabled: true}}}}\n\
         storage:\n  filesystem: {{rootdirectory: {storage:?}}}\n  delete: {{enabled: true}}\n  cache: {{blobdescriptor: inmemory}}\n\
         http:\n  addr: {REGISTRY}\n"
    )
}
