//! Both runtimes asked at once, as drivers that say what they are told to.

use std::future::pending;
use std::time::Duration;

use schedkit_image::signature::Trusted;
use schedkit_runtime::{
    After, ContainerId, Driver, ExitCode, Launch, OutputChunk, PullProgress, Pulled, Until,
};

use std::path::Path;

use super::*;
use crate::status::held;

/// A runtime that only tells what it holds.
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
        unreachable!("who looks does not pull")
    }

    async fn create(&self, _: &Launch) -> Result<ContainerId, DriverError> {
        unreachable!("who looks does not create")
    }

    async fn ready(&self, _: &ContainerId) -> Result<(), DriverError> {
        unreachable!("who looks does not start")
    }

    async fn start(&self, _: &ContainerId) -> Result<(), DriverError> {
        unreachable!("who looks does not start")
    }

    async fn output(
        &self,
        _: &ContainerId,
        _: Until,
        _: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        unreachable!("who looks does not listen")
    }

    async fn end(&self, _: &ContainerId, _: Duration, _: After) -> Result<(), DriverError> {
        unreachable!("who looks does not end")
    }
}

async fn seen(podman: Fake, containerd: Fake) -> Sight {
    let runtimes = Runtimes::new(Runtime::Podman, "/p".into());
    let list = async |place: &Place| match place.runtime {
        Runtime::Podman => podman.list().await,
        Runtime::Containerd => containerd.list().await,
    };
    survey(&runtimes, PATIENCE, list).await
}

fn one(id: &str) -> Fake {
    Fake::Holds(vec![held(Runtime::Podman, id, "scx_lab").container])
}

#[tokio::test]
async fn what_both_hold_is_ours_and_each_keeps_its_holder() {
    let sight = seen(one("a"), one("b")).await;
    let ours = sight
        .ours
        .iter()
        .map(|held| (held.runtime, held.container.id.as_str()));
    let ours: Vec<_> = ours.collect();
    assert_eq!(ours, [(Runtime::Podman, "a"), (Runtime::Containerd, "b")]);
    assert!(sight.blind.is_none() && sight.half_blind.is_none());
}

#[tokio::test]
async fn the_other_one_need_not_be_there() {
    for kind in [ErrorKind::NotFound, ErrorKind::ConnectionRefused] {
        let sight = seen(one("a"), Fake::Fails(kind)).await;
        assert_eq!(sight.ours.len(), 1);
        assert!(sight.half_blind.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_other_one_is_missed_when_it_is_there_and_says_nothing() {
    for other in [
        Fake::Fails(ErrorKind::PermissionDenied),
        Fake::Strange,
        Fake::Hangs,
    ] {
        let sight = seen(one("a"), other).await;
        assert_eq!(sight.ours.len(), 1);
        assert!(sight.blind.is_none() && sight.half_blind.is_some());
    }
}

#[tokio::test]
async fn without_the_chosen_one_we_are_blind_and_still_see_the_other() {
    let sight = seen(Fake::Fails(ErrorKind::NotFound), one("b")).await;
    assert!(sight.blind.is_some());
    assert_eq!(sight.ours.len(), 1);
}

#[tokio::test]
async fn who_only_listens_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let place = Place {
        runtime: Runtime::Podman,
        socket: socket.clone(),
    };
    let said = async |place: &Place| match probe(place).await {
        Reachability::Unreachable(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(said(&place).await.contains("No such file"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let why = said(&place).await;
    assert!(why.contains("answer"), "{why}");
}

#[test]
fn the_other_one_is_where_it_usually_is() {
    let runtimes = Runtimes::new(Runtime::Containerd, "/mine".into());
    assert_eq!(
        runtimes.place(Runtime::Containerd).socket,
        Path::new("/mine")
    );
    let podman = runtimes.place(Runtime::Podman);
    assert_eq!(podman.socket, Path::new("/run/podman/podman.sock"));
}
