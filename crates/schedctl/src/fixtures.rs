//! Values that the unit tests of several files share.

pub(crate) mod fake_runtime;

use std::time::Duration;

use schedkit_core::{ImageRef, PinnedRef};
use schedkit_host::sched_ext::Events;
use schedkit_host::{Fact, KernelSchedExt, SchedExtState};
use schedkit_image::signature::waive;
use schedkit_runtime::containerd::PodName;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{
    Container, ContainerId, ContainerState, ImageEntry, ImageOwner, Launch, Ownership, Record,
};

use crate::container::RuntimeContainer;
use crate::sked::SkedPod;
use crate::stored_images::{ImageOrigin, RuntimeImage};
use crate::trial::{Stage, Trial};

pub(crate) fn kernel(
    state: SchedExtState,
    ops: Option<&str>,
    enable_seq: Option<u64>,
) -> Fact<KernelSchedExt> {
    Fact::Known(KernelSchedExt {
        state: Fact::Known(state),
        ops: ops.map_or(Fact::Absent, |ops| Fact::Known(ops.parse().unwrap())),
        switch_all: Fact::Known(true),
        nr_rejected: Fact::Known(0),
        hotplug_seq: Fact::Known(0),
        enable_seq: enable_seq.map_or(Fact::Absent, Fact::Known),
        events: ops.map_or(Fact::Absent, |_| Fact::Known(Events::parse("SCX_EV_A 1\n"))),
    })
}

/// A running container with this scheduler in its label.
pub(crate) fn runtime_container(runtime: Runtime, id: &str, scheduler: &str) -> RuntimeContainer {
    RuntimeContainer {
        runtime,
        container: Container {
            id: ContainerId::new(id),
            name: scheduler.to_owned(),
            ownership: Ownership::Ours,
            record: Record {
                scheduler: Some(scheduler.to_owned()),
                ..Record::default()
            },
            image: "a.example/team/image:1.0".to_owned(),
            image_id: None,
            state: ContainerState::Running {
                pid: 1234,
                started: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            },
        },
    }
}

/// An image that a container uses.
pub(crate) fn runtime_image(runtime: Runtime, repository: &str) -> RuntimeImage {
    let digest = format!("sha256:{:064}", 1);
    RuntimeImage {
        runtime,
        entry: ImageEntry {
            id: "1".to_owned(),
            names: vec![format!("{repository}@{digest}")],
            digests: vec![digest],
            size: Some(12_345_678),
            created: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            containers: 1,
            owner: ImageOwner::Unknown,
        },
        origin: ImageOrigin::Pulled,
        enabled: false,
    }
}

/// A scheduler that sked runs, in the pod `team/lab-x7`.
pub(crate) fn sked_pod(scheduler: &str) -> SkedPod {
    let mut container = runtime_container(Runtime::Containerd, "feedc0ffee012345", "scx");
    container.container.record = Record::default();
    container.container.ownership = Ownership::Unproven;
    container.container.image = format!("a.example/{scheduler}:1.0");
    SkedPod {
        container,
        pod: PodName {
            namespace: "team".to_owned(),
            name: "lab-x7".to_owned(),
        },
        daemonset: Some("lab".to_owned()),
        holds_scheduler: Fact::Absent,
    }
}

/// A trial of `scx_new` that has begun, and has nothing to go back to.
pub(crate) fn trial(candidate: &str) -> Trial {
    Trial {
        scheduler: "scx_new".to_owned(),
        runtime: Runtime::Podman,
        candidate: ContainerId::new(candidate),
        before: None,
        length: Duration::from_secs(60),
        until: "2026-01-02T03:04:05Z".parse().unwrap(),
        deadline: Duration::MAX,
        boot_id: None,
        stage: Stage::Begun { enable_seq: None },
        failed: None,
    }
}

/// The scheduler `new`, without a signature.
pub(crate) fn launch() -> Launch {
    let digest = format!("sha256:{}", "a".repeat(64));
    let image: ImageRef = format!("example.org/new@{digest}").parse().unwrap();
    let pinned = PinnedRef::new(image.repository().clone(), digest.parse().unwrap());
    let trusted = waive(pinned, "a test").into();
    Launch::new("new".to_owned(), image, trusted, Vec::new()).unwrap()
}
