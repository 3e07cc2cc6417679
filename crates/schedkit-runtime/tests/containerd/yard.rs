//! One lab with a registry for all tests of this program, a containerd for each.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lab::oci::Registry;
use lab::{Lab, Order};
use schedkit_core::{ImageRef, PinnedRef};
use schedkit_image::registry::{Client, HostConfig, Hosts, Limits, Security, Settings};
use schedkit_image::signature::{Trusted, waive};
use schedkit_runtime::containerd;
use schedkit_runtime::{
    Container, ContainerId, Containerd, Driver, DriverError, ExitCode, Launch, PullProgress,
    Pulled, Until,
};
use tokio::runtime::Runtime;

use crate::daemon::Daemon;
use crate::images::Recipe;

pub(crate) const REPOSITORY: &str = "tests/puppet";
pub(crate) const GRACE: Duration = Duration::from_secs(20);

/// A containerd and a driver for it.
pub(crate) struct Yard {
    pub(crate) daemon: Daemon,
    pub(crate) driver: Containerd,
    pub(crate) runtime: Runtime,
}

pub(crate) fn registry() -> Registry {
    static LAB: OnceLock<Lab> = OnceLock::new();
    let lab = LAB.get_or_init(|| {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = Order {
            nodes: 0,
            schedulers: Vec::new(),
            ..Order::new("test-containerd", lab::Ground::Registry, &labs)
        };
        Lab::up(&order, |_| {}).unwrap_or_else(|error| panic!("{}", lab::sentence(&error)))
    });
    Registry::new(&lab.running().registry)
}

/// A client for a registry without TLS.
pub(crate) fn client(address: &str) -> Arc<Client> {
    let plain = HostConfig {
        security: Security::PlainHttp,
        ..HostConfig::default()
    };
    let hosts = Hosts::new([(address.parse().unwrap(), plain)]).unwrap();
    let limits = Limits {
        pause: Duration::from_millis(1),
        ..Limits::default()
    };
    let settings = Settings {
        hosts,
        limits,
        ..Settings::default()
    };
    Arc::new(Client::new(settings))
}

/// An image that was let through.
pub(crate) fn trusted(address: &str, digest: &str) -> Trusted {
    let repository = format!("{address}/{REPOSITORY}").parse().unwrap();
    let image = PinnedRef::new(repository, digest.parse().unwrap());
    Trusted::Waived(waive(image, "a test"))
}

impl Yard {
    pub(crate) fn open() -> Self {
        Self::with(Daemon::start())
    }

    pub(crate) fn with(daemon: Daemon) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let settings = containerd::ContainerdConfig {
            socket: daemon.socket(),
            log_folder: daemon.path("logs"),
            ..containerd::ContainerdConfig::default()
        };
        let driver = Containerd::new(settings, client(registry().address()));
        Self {
            daemon,
            driver,
            runtime: runtime.unwrap(),
        }
    }

    pub(crate) fn pull(&self, image: &Trusted) -> Pulled {
        self.try_pull(image, &mut |_| {}).unwrap()
    }

    pub(crate) fn try_pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        self.runtime.block_on(self.driver.pull(image, progress))
    }

    /// Pushes, pulls, makes, and gives the container.
    pub(crate) fn make(&self, recipe: &Recipe, args: &[&str]) -> ContainerId {
        let digest = recipe.push(&registry(), REPOSITORY);
        let image = trusted(registry().address(), &digest);
        self.pull(&image);
        self.create(&image, args).unwrap()
    }

    pub(crate) fn create(
        &self,
        image: &Trusted,
        args: &[&str],
    ) -> Result<ContainerId, DriverError> {
        let requested: ImageRef = image.image().clone().into();
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let launch = Launch::new("scx_puppet".to_owned(), requested, image.clone(), args);
        self.runtime.block_on(self.driver.create(&launch.unwrap()))
    }

    /// Makes, starts, and gives the container.
    pub(crate) fn run(&self, recipe: &Recipe, args: &[&str]) -> ContainerId {
        let id = self.make(recipe, args);
        self.start(&id);
        id
    }

    pub(crate) fn start(&self, id: &ContainerId) {
        self.runtime.block_on(self.driver.start(id)).unwrap();
    }

    /// What a container wrote until it ended, and how that was.
    pub(crate) fn listen(&self, id: &ContainerId) -> (String, Option<ExitCode>) {
        let mut heard = Vec::new();
        let mut take =
            |piece: schedkit_runtime::OutputChunk<'_>| heard.extend_from_slice(piece.bytes);
        let listened = self.driver.output(id, Until::Exit, &mut take);
        let code = self.runtime.block_on(listened).unwrap();
        (String::from_utf8(heard).unwrap(), code)
    }

    /// Returns as soon as the container has said that it waits.
    pub(crate) fn await_waiting(&self, id: &ContainerId) {
        let end = std::time::Instant::now() + Duration::from_secs(60);
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

    pub(crate) fn list(&self) -> Vec<Container> {
        self.runtime.block_on(self.driver.list()).unwrap()
    }

    pub(crate) fn end(&self, id: &ContainerId, after: schedkit_runtime::After) {
        self.runtime
            .block_on(self.driver.end(id, GRACE, after))
            .unwrap();
    }
}
