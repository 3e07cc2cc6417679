//! A container together with the runtime that runs it.

use schedkit_core::{ImageRef, sanitize};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, ContainerState, Ownership};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuntimeContainer {
    pub(crate) runtime: Runtime,
    pub(crate) container: Container,
}

impl RuntimeContainer {
    pub(crate) fn list(runtime: Runtime, containers: Vec<Container>) -> impl Iterator<Item = Self> {
        let containers = containers.into_iter();
        containers.map(move |container| Self { runtime, container })
    }

    /// Whether its scheduler was started, and so may be attached.
    pub(crate) fn is_live(&self) -> bool {
        match self.container.state {
            ContainerState::Running { .. } | ContainerState::Other(_) => true,
            ContainerState::Created | ContainerState::Exited(_) => false,
        }
    }

    /// Whether schedctl certainly created it, and so may replace and remove it.
    pub(crate) fn is_ours(&self) -> bool {
        self.container.ownership == Ownership::Ours
    }

    /// The scheduler's name: from the label, else from the image, else the container's name.
    /// Printable.
    pub(crate) fn scheduler(&self) -> String {
        let label = self.container.record.scheduler.clone();
        let name = label
            .or_else(|| repository_name(&self.container.image))
            .unwrap_or_else(|| self.container.name.clone());
        sanitize::brief(&name)
    }
}

/// The last component of an image's repository path.
pub(crate) fn repository_name(image: &str) -> Option<String> {
    let image: ImageRef = image.parse().ok()?;
    let last = image.repository().path().rsplit('/').next()?;
    Some(last.to_owned())
}
