//! Whether the scheduler in a container is the attached one, as far as names can tell.

use schedkit_core::{OpsName, SchedulerName};
use schedkit_runtime::Container;

use crate::container::repository_name;

/// The names that the kernel may show for a container's scheduler: the one in its label, and the
/// last path component of its image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names(Vec<SchedulerName>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    /// The container or the kernel has no name.
    Unknown,
}

impl Names {
    pub(super) fn of(container: &Container) -> Self {
        let record = &container.record;
        let label = record.scheduler.clone();
        let images = [
            record.requested.as_deref(),
            record.image.as_deref(),
            Some(container.image.as_str()),
        ];
        let images = images.into_iter().flatten().filter_map(repository_name);
        let names = label.into_iter().chain(images);
        Self(names.filter_map(|name| name.parse().ok()).collect())
    }

    pub(super) fn compare(&self, ops: Option<&OpsName>) -> Comparison {
        match ops.map(OpsName::scheduler) {
            Some(ops) if self.0.contains(&ops) => Comparison::Same,
            Some(_) if !self.0.is_empty() => Comparison::Different,
            _ => Comparison::Unknown,
        }
    }
}
