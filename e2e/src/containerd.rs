//! A containerd of a test's own and the driver under test; images come from the plain one of the
//! suite's [`registries`].

pub mod daemon;
pub mod image;

use std::sync::Arc;
use std::time::Duration;

use lab::oci::Registry;
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::registry::{Client, ClientConfig, HostConfig, Hosts, Limits, Security};
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::containerd;
use schedkit_runtime::{
    Container, ContainerId, Containerd, Driver, DriverError, ExitCode, Launch, PullProgress,
    Pulled, Until,
};
use tokio::runtime::Runtime;

use self::daemon::Daemon;
use self::image::ImageRecipe;
use crate::registries::registries;
use crate::wait::TIMEOUT;

pub const REPOSITORY: &str = "tests/containerd";
pub const GRACE: Duration = Duration::from_secs(20);

/// A containerd and a driver for it.
pub struct ContainerdFixture {
    pub daemon: Daemon,
    pub driver: Containerd,
    pub runtime: Runtime,
}

pub fn registry() -> Registry {
    registries().plain()
}

/// A client for a registry without TLS.
pub fn client(address: &str) -> Arc<Client> {
    let plain = HostConfig {
        security: Security::PlainHttp,
        ..HostConfig::default()
    };
    let hosts = Hosts::new([(address.parse().unwrap(), plain)]).unwrap();
    let limits = Limits {
        first_backoff: Duration::from_millis(1),
        ..Limits::default()
    };
    let settings = ClientConfig {
        hosts,
        limits,
        ..ClientConfig::default()
    };
    Arc::new(Client::new(settings))
}

/// An image that was let through.
pub fn trusted(address: &str, digest: &str) -> Trusted {
    let repository = format!("{address}/{REPOSITORY}").parse().unwrap();
    let image = PinnedRef::new(repository, digest.parse().unwrap());
    Trusted::Waived(waive(image, "a test"))
}

impl ContainerdFixture {
    pub fn fresh() -> Self {
        Self::with(Daemon::start())
    }

    pub fn with(daemon: Daemon) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let settings = containerd::ContainerdConfig {
            socket: daemon.socket(),
            log_folder: daemon.path("logs"),
            log_writer: crate::program::schedctl(),
            ..containerd::ContainerdConfig::default()
        };
        let driver = Containerd::new(settings, client(registry().address()));
        Self {
            daemon,
            driver,
            runtime: runtime.unwrap(),
        }
    }

    pub fn pull(&self, image: &Trusted) -> Pulled {
        self.try_pull(image, &mut |_| {}).unwrap()
    }

    pub fn try_pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        self.runtime.block_on(self.driver.pull(image, progress))
    }

    /// Pushes, pulls, makes, and gives the container.
    pub fn make(&self, recipe: &ImageRecipe, args: &[&str]) -> ContainerId {
        let digest = recipe.push(&registry(), REPOSITORY);
        let image = trusted(registry().address(), &digest);
        self.pull(&image);
        self.create(&image, args).unwrap()
    }

    pub fn create(&self, image: &Trusted, args: &[&str]) -> Result<ContainerId, DriverError> {
        let requested: ImageRef = image.image().clone().into();
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let launch = Launch::new("scx_test".to_owned(), requested, image.clone(), args);
        self.runtime.block_on(self.driver.create(&launch.unwrap()))
    }

    /// Makes, starts, and gives the container.
    pub fn run(&self, recipe: &ImageRecipe, args: &[&str]) -> ContainerId {
        let id = self.make(recipe, args);
        self.start(&id);
        id
    }

    pub fn start(&self, id: &ContainerId) {
        self.runtime.block_on(self.driver.start(id)).unwrap();
    }

    /// What a container wrote until it ended, and how that was.
    pub fn output(&self, id: &ContainerId) -> (String, Option<ExitCode>) {
        let mut heard = Vec::new();
        let mut take =
            |piece: schedkit_runtime::OutputChunk<'_>| heard.extend_from_slice(piece.bytes);
        let listened = self.driver.output(id, Until::Exit, &mut take);
        let code = self.runtime.block_on(listened).unwrap();
        (String::from_utf8(heard).unwrap(), code)
    }

    /// Returns as soon as the container has said that it waits.
    pub fn await_waiting(&self, id: &ContainerId) {
        let end = std::time::Instant::now() + TIMEOUT;
        loop {
            let mut heard = Vec::new();
            let mut take = |piece: schedkit_runtime::OutputChunk<'_>| {
                heard.extend_from_slice(piece.bytes);
            };
            let now = self.driver.output(id, Until::Now, &mut take);
            self.runtime.block_on(now).unwrap();
            if String::from_utf8_lossy(&heard).contains("waiting\n") {
                return;
            }
            assert!(std::time::Instant::now() < end, "it does not wait");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn list(&self) -> Vec<Container> {
        self.runtime.block_on(self.driver.list()).unwrap()
    }

    pub fn end(&self, id: &ContainerId, after: schedkit_runtime::After) {
        self.runtime
            .block_on(self.driver.end(id, GRACE, after))
            .unwrap();
    }
}
