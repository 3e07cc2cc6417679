//! schedctl's containers, as `schedctl ps` prints them.

use schedkit_image::untrusted::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::container::ContainerDocument;
use super::document::Document;
use super::table;
use crate::container::RuntimeContainer;

#[derive(Serialize)]
pub(crate) struct ContainerList {
    driver: Runtime,
    containers: Vec<ContainerDocument>,
}

impl ContainerList {
    pub(crate) fn new(driver: Runtime, containers: &[RuntimeContainer]) -> Self {
        Self {
            driver,
            containers: containers.iter().map(Into::into).collect(),
        }
    }
}

/// The column names are part of the interface. Leftovers have no process; they are shown so that
/// they can be removed.
impl Document for ContainerList {
    fn text(&self) -> String {
        let row = |entry: &ContainerDocument| {
            let scheduler = &entry.scheduler;
            let id = ContainerId::new(&scheduler.container_id);
            [
                scheduler.pid.map_or("-".to_owned(), |pid| pid.to_string()),
                brief(id.short()),
                brief(&scheduler.container_name),
            ]
        };
        let rows = self.containers.iter().map(row);
        table::columns(["PID", "ID", "NAME"], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{checked_json, plain_text};
    use super::*;
    use crate::fixtures::runtime_container;
    use schedkit_runtime::ContainerState;

    #[test]
    fn there_are_always_three_columns() {
        let running = runtime_container(Runtime::Podman, "0123456789abcdef", "scx_lavd");
        let mut left = runtime_container(Runtime::Podman, "f00", "scx_rusty");
        left.container.state = ContainerState::Created;
        let all = ContainerList::new(Runtime::Podman, &[running, left]);
        assert_eq!(
            plain_text(&all),
            "PID   ID            NAME\n\
             1234  0123456789ab  scx_lavd\n\
             -     f00           scx_rusty\n"
        );
        let json = checked_json("ps", &all);
        assert_eq!(json["containers"][0]["container_id"], "0123456789abcdef");
        assert_eq!(json["containers"][1]["state"], "created");
        let none = ContainerList::new(Runtime::Podman, &[]);
        assert_eq!(plain_text(&none), "PID  ID  NAME\n");
    }
}
