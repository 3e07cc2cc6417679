//! The driver of an endpoint, behind one type.

use std::time::Duration;

use schedkit_core::PinnedRef;
use schedkit_image::registry::{self, Client};
use schedkit_image::signature::Trusted;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{
    After, Container, ContainerId, Containerd, Driver, DriverError, ExitCode, ImageEntry,
    ImageInStore, ImageStore, Launch, OutputChunk, Podman, PullProgress, Pulled, TimedOutput,
    Until, containerd,
};

use crate::runtimes::Endpoint;

pub(crate) enum AnyDriver {
    Podman(Podman),
    Containerd(Containerd),
}

pub(crate) fn open(endpoint: &Endpoint, registry: &registry::ClientConfig) -> AnyDriver {
    let socket = endpoint.socket.clone();
    match endpoint.runtime {
        Runtime::Podman => {
            let (hosts, logins) = (registry.hosts.clone(), registry.credentials.clone());
            AnyDriver::Podman(Podman::new(socket, hosts, logins))
        }
        Runtime::Containerd => {
            let settings = containerd::ContainerdConfig {
                socket,
                ..containerd::ContainerdConfig::default()
            };
            let client = Client::new(registry.clone());
            AnyDriver::Containerd(Containerd::new(settings, client.into()))
        }
    }
}

impl ImageStore for AnyDriver {
    async fn images(&self) -> Result<Vec<ImageEntry>, DriverError> {
        match self {
            Self::Podman(driver) => driver.images().await,
            Self::Containerd(driver) => driver.images().await,
        }
    }

    async fn remove(&self, image: &ImageEntry) -> Result<(), DriverError> {
        match self {
            Self::Podman(driver) => driver.remove(image).await,
            Self::Containerd(driver) => driver.remove(image).await,
        }
    }
}

impl Driver for AnyDriver {
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        match self {
            Self::Podman(driver) => driver.pull(image, progress).await,
            Self::Containerd(driver) => driver.pull(image, progress).await,
        }
    }

    async fn stored_image(&self, image: &PinnedRef) -> Result<Option<ImageInStore>, DriverError> {
        match self {
            Self::Podman(driver) => driver.stored_image(image).await,
            Self::Containerd(driver) => driver.stored_image(image).await,
        }
    }

    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        match self {
            Self::Podman(driver) => driver.create(launch).await,
            Self::Containerd(driver) => driver.create(launch).await,
        }
    }

    async fn prepare(&self, id: &ContainerId) -> Result<(), DriverError> {
        match self {
            Self::Podman(driver) => driver.prepare(id).await,
            Self::Containerd(driver) => driver.prepare(id).await,
        }
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        match self {
            Self::Podman(driver) => driver.start(id).await,
            Self::Containerd(driver) => driver.start(id).await,
        }
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        match self {
            Self::Podman(driver) => driver.list().await,
            Self::Containerd(driver) => driver.list().await,
        }
    }

    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        match self {
            Self::Podman(driver) => driver.output(id, until, take).await,
            Self::Containerd(driver) => driver.output(id, until, take).await,
        }
    }

    async fn end(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        match self {
            Self::Podman(driver) => driver.end(id, grace, after).await,
            Self::Containerd(driver) => driver.end(id, grace, after).await,
        }
    }
}

impl TimedOutput for AnyDriver {
    async fn timed_output(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        match self {
            Self::Podman(driver) => driver.timed_output(id, until, take).await,
            Self::Containerd(driver) => driver.timed_output(id, until, take).await,
        }
    }
}
