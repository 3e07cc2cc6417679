//! The containers of ours, as `schedctl ps` prints them.

use schedkit_image::foreign::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::container::Entry;
use super::{Document, table};
use crate::runtimes::name_of;
use crate::status::Held;

#[derive(Serialize)]
pub(crate) struct Processes {
    driver: &'static str,
    containers: Vec<Entry>,
}

impl Processes {
    pub(crate) fn of(driver: Runtime, ours: &[Held]) -> Self {
        Self {
            driver: name_of(driver),
            containers: ours.iter().map(Entry::from).collect(),
        }
    }
}

/// Three columns, whose names are a contract. What has no process is left over, and shown so that
/// it can be removed.
impl Document for Processes {
    fn text(&self) -> String {
        let row = |entry: &Entry| {
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
    use super::super::{judged, shown};
    use super::*;
    use crate::status::held;
    use schedkit_runtime::ContainerState;

    #[test]
    fn three_columns_whatever_there_is() {
        let running = held(Runtime::Podman, "0123456789abcdef", "scx_lavd");
        let mut left = held(Runtime::Podman, "f00", "scx_rusty");
        left.container.state = ContainerState::Created;
        let all = Processes::of(Runtime::Podman, &[running, left]);
        assert_eq!(
            shown(&all),
            "PID   ID            NAME\n\
             1234  0123456789ab  scx_lavd\n\
             -     f00           scx_rusty\n"
        );
        let json = judged("ps", &all);
        assert_eq!(json["containers"][0]["container_id"], "0123456789abcdef");
        assert_eq!(json["containers"][1]["state"], "created");
        let none = Processes::of(Runtime::Podman, &[]);
        assert_eq!(shown(&none), "PID  ID  NAME\n");
    }
}
