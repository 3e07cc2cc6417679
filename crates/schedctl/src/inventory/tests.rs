//! Both runtimes listed at once, through fake drivers.

use std::future::pending;
use std::time::Duration;

use schedkit_core::PinnedRef;
use schedkit_image::signature::Trusted;
use schedkit_runtime::{
    After, ContainerId, Driver, ExitCode, ImageInStore, Launch, OutputChunk, PullProgress, Pulled,
    Until,
};

use std::path::{Path, PathBuf};

use super::*;
use crate::fixtures::runtime_container;

/// A runtime that only lists containers.
enum Fake {
    Holds(Vec<Container>),
    Fails(ErrorKind),
    Strange,
    Hangs,
}

impl Driver for Fake {
    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let runtime = Runtime::Containerd;
        let socket = PathBuf::from("/s");
        match self {
            Self::Holds(containers) => Ok(containers.clone()),
            Self::Fails(kind) => Err(DriverError::Unreachable {
                runtime,
                socket,
                source: (*kind).into(),
            }),
            Self::Strange => Err(DriverError::WrongService {
                runtime,
                socket,
                response: "hello".to_owned(),
            }),
            Self::Hangs => pending().await,
        }
    }

    async fn pull(
        &self,
        _: &Trusted,
        _: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        unreachable!("listing does not pull")
    }

    async fn stored_image(&self, _: &PinnedRef) -> Result<Option<ImageInStore>, DriverError> {
        unreachable!("listing asks for no image")
    }

    async fn create(&self, _: &Launch) -> Result<ContainerId, DriverError> {
        unreachable!("listing does not create")
    }

    async fn prepare(&self, _: &ContainerId) -> Result<(), DriverError> {
        unreachable!("listing does not start")
    }

    async fn start(&self, _: &ContainerId) -> Result<(), DriverError> {
        unreachable!("listing does not start")
    }

    async fn output(
        &self,
        _: &ContainerId,
        _: Until,
        _: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        unreachable!("listing reads no output")
    }

    async fn end(&self, _: &ContainerId, _: Duration, _: After) -> Result<(), DriverError> {
        unreachable!("listing stops nothing")
    }
}

async fn inventory(podman: Fake, containerd: Fake) -> Inventory {
    let runtimes = Runtimes::new(Endpoint {
        runtime: Runtime::Podman,
        socket: "/p".into(),
    });
    let list = async |endpoint: &Endpoint| match endpoint.runtime {
        Runtime::Podman => podman.list().await,
        Runtime::Containerd => containerd.list().await,
    };
    list_both(&runtimes, READ_TIMEOUT, list).await
}

fn one(id: &str) -> Fake {
    Fake::Holds(vec![
        runtime_container(Runtime::Podman, id, "scx_lab").container,
    ])
}

#[tokio::test]
async fn containers_of_both_runtimes_are_listed() {
    let found = inventory(one("a"), one("b")).await;
    let ids = found
        .containers
        .iter()
        .map(|found| (found.runtime, found.container.id.as_str()));
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids, [(Runtime::Podman, "a"), (Runtime::Containerd, "b")]);
    assert!(found.chosen_error.is_none() && found.other_error.is_none());
}

#[tokio::test]
async fn the_other_runtime_need_not_be_installed() {
    for kind in [ErrorKind::NotFound, ErrorKind::ConnectionRefused] {
        let found = inventory(one("a"), Fake::Fails(kind)).await;
        assert_eq!(found.containers.len(), 1);
        assert!(found.other_error.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_other_runtime_must_answer_if_it_is_installed() {
    for other in [
        Fake::Fails(ErrorKind::PermissionDenied),
        Fake::Strange,
        Fake::Hangs,
    ] {
        let found = inventory(one("a"), other).await;
        assert_eq!(found.containers.len(), 1);
        assert!(found.chosen_error.is_none() && found.other_error.is_some());
    }
}

#[tokio::test]
async fn without_the_chosen_runtime_the_other_is_still_listed() {
    let found = inventory(Fake::Fails(ErrorKind::NotFound), one("b")).await;
    assert!(found.chosen_error.is_some());
    assert_eq!(found.containers.len(), 1);
}

#[tokio::test]
async fn a_socket_without_an_answer_is_unreachable() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let endpoint = Endpoint {
        runtime: Runtime::Podman,
        socket: socket.clone(),
    };
    let reason = async |endpoint: &Endpoint| match probe(endpoint).await {
        Reachability::Unreachable(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert!(reason(&endpoint).await.contains("No such file"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let reason = reason(&endpoint).await;
    assert!(reason.contains("answer"), "{reason}");
}

#[test]
fn the_other_runtime_has_its_default_socket() {
    let runtimes = Runtimes::new(Endpoint {
        runtime: Runtime::Containerd,
        socket: "/mine".into(),
    });
    let containerd = runtimes.endpoint(Runtime::Containerd);
    assert_eq!(containerd.socket, Path::new("/mine"));
    let podman = runtimes.endpoint(Runtime::Podman);
    assert_eq!(podman.socket, Path::new("/run/podman/podman.sock"));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_hangs_is_one_that_does_not_answer() {
    let endpoint = Endpoint {
        runtime: Runtime::Podman,
        socket: "/p".into(),
    };
    let listing = Fake::Hangs;
    let answer = within(READ_TIMEOUT, &endpoint, listing.list()).await;
    let error = answer.unwrap_err().to_string();
    assert_eq!(error, "Podman did not list its containers within 10 s");
}
