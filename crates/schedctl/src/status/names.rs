//! Whether the scheduler in a container is the one that the kernel names, as far as names tell.

use schedkit_core::{ImageRef, OpsName, SchedulerName};
use schedkit_runtime::Container;

/// All that a container may be called by the kernel: what its label says, and the last part of
/// its image's path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names(Vec<SchedulerName>);

/// How names compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    /// One side has no name.
    Unknown,
}

impl Names {
    pub(super) fn of(container: &Container) -> Self {
        let record = &container.record;
        let label = record.scheduler.as_deref();
        let images = [
            record.requested.as_deref(),
            record.image.as_deref(),
            Some(container.image.as_str()),
        ];
        let images = images.into_iter().flatten().filter_map(last_part);
        let words = label.map(str::to_owned).into_iter().chain(images);
        Self(words.filter_map(|word| word.parse().ok()).collect())
    }

    pub(super) fn compare(&self, ops: Option<&OpsName>) -> Comparison {
        match ops.map(OpsName::scheduler) {
            Some(ops) if self.0.contains(&ops) => Comparison::Same,
            Some(_) if !self.0.is_empty() => Comparison::Different,
            _ => Comparison::Unknown,
        }
    }
}

/// What people call the scheduler in a container.
pub(crate) fn scheduler_of(container: &Container) -> String {
    let label = container.record.scheduler.clone();
    label
        .or_else(|| last_part(&container.image))
        .unwrap_or_else(|| container.name.clone())
}

fn last_part(image: &str) -> Option<String> {
    let image: ImageRef = image.parse().ok()?;
    let last = image.repository().path().rsplit('/').next()?;
    Some(last.to_owned())
}
