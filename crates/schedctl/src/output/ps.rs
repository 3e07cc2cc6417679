//! schedctl's containers, as `schedctl ps` prints them.

use schedkit_image::untrusted::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::container::ContainerDocument;
use super::document::Document;
use super::table;
use crate::container::RuntimeContainer;
use crate::runtimes::driver_name;

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

    pub(crate) fn ids(&self) -> ContainerIds<'_> {
        ContainerIds(self)
    }
}

/// The first three columns are part of the interface. Leftovers have no process; they are shown so that
/// they can be removed.
impl Document for ContainerList {
    fn text(&self) -> String {
        let row = |entry: &ContainerDocument| {
            let scheduler = &entry.scheduler;
            let id = ContainerId::new(&scheduler.container_id);
            let image = scheduler.reference.as_ref().unwrap_or(&scheduler.image);
            [
                scheduler.pid.map_or("-".to_owned(), |pid| pid.to_string()),
                brief(id.short()),
                brief(&scheduler.container_name),
                brief(&entry.state_text()),
                driver_name(scheduler.driver).to_owned(),
                brief(image),
            ]
        };
        let rows = self.containers.iter().map(row);
        table::columns(["PID", "ID", "NAME", "STATE", "DRIVER", "IMAGE"], rows)
    }
}

/// The same document; its text has one id per line and nothing else.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ContainerIds<'a>(&'a ContainerList);

impl Document for ContainerIds<'_> {
    fn text(&self) -> String {
        let containers = self.0.containers.iter();
        let line = |entry: &ContainerDocument| {
            let id = ContainerId::new(&entry.scheduler.container_id);
            brief(id.short()) + "\n"
        };
        containers.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{checked_json, plain_text};
    use super::*;
    use crate::fixtures::runtime_container;
    use schedkit_runtime::{ContainerState, ExitCode};

    #[test]
    fn pid_id_and_name_are_the_first_columns() {
        let running = runtime_container(Runtime::Podman, "0123456789abcdef", "scx_lavd");
        let mut left = runtime_container(Runtime::Containerd, "f00", "scx_rusty");
        left.container.state = ContainerState::Exited(ExitCode(7));
        left.container.record.requested = Some("a.example/rusty:2".to_owned());
        let all = ContainerList::new(Runtime::Podman, &[running, left]);
        assert_eq!(
            plain_text(&all),
            "PID   ID            NAME       STATE       DRIVER      IMAGE\n\
             1234  0123456789ab  scx_lavd   running     podman      a.example/team/image:1.0\n\
             -     f00           scx_rusty  exited (7)  containerd  a.example/rusty:2\n"
        );
        assert_eq!(plain_text(&all.ids()), "0123456789ab\nf00\n");
        checked_json("ps", &all.ids());
        let json = checked_json("ps", &all);
        assert_eq!(json["containers"][0]["container_id"], "0123456789abcdef");
        assert_eq!(json["containers"][1]["state"], "exited");
        let none = ContainerList::new(Runtime::Podman, &[]);
        assert!(plain_text(&none).starts_with("PID  ID  NAME"));
        assert_eq!(plain_text(&none.ids()), "");
    }
}
