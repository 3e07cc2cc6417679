//! The driver for containerd 1.6, 1.7 and 2.x: its gRPC API on its unix socket.
//!
//! ```text
//! pull.rs ─▶ parts.rs config.rs (pure)   create.rs ─▶ spec.rs (pure) host.rs   task.rs ─▶ log.rs
//!    ├─▶ upload.rs  content store           │                          listing.rs │
//!    ├─▶ unpack.rs  snapshots               │                              │      │
//!    └─▶ lease.rs ──────────────────────────┴────────▶ session.rs ◀────────┴──────┘
//!                                                       └─▶ call_error.rs
//! containerd's shim ─▶ log_writer.rs (a process of its own) ─▶ log.rs
//! ```
//!
//! containerd does not use registries, write logs or restart containers: its clients do. Our objects
//! are in the namespace `schedkit`. Those of the older schedctl are in it as well, without our labels,
//! and are listed and ended like ours. The kubelet's containers are in another namespace and are only
//! read (`kubernetes.rs`).

mod api;
mod call_error;
mod chain;
mod config;
mod create;
mod host;
mod images;
mod kubernetes;
mod lease;
mod listing;
mod log;
mod log_writer;
mod parts;
mod pull;
mod random;
mod session;
mod shim;
mod snapshotter;
mod spec;
mod store;
mod task;
mod unpack;
mod upload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use schedkit_core::PinnedRef;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use tokio::sync::OnceCell;
use tonic::transport::Channel;

pub use self::kubernetes::{PodContainer, PodContainerQuery, PodName, pod_containers};
pub use self::log_writer::LogToWrite;
pub use self::session::ContainerdVersion;

use self::log::{LineTimes, Log};
use self::pull::Pull;
use self::session::{NAMESPACE, Session};
use self::task::Task;
use crate::container::{Container, ContainerId, ExitCode};
use crate::driver::{
    After, Driver, DriverError, ImageInStore, OutputChunk, PullProgress, Pulled, TimedOutput, Until,
};
use crate::launch::Launch;

#[derive(Clone, Debug)]
pub struct ContainerdConfig {
    pub socket: PathBuf,
    /// For the output of schedulers.
    pub log_folder: PathBuf,
    /// The program that writes it: it calls [`LogToWrite::write`].
    pub log_writer: PathBuf,
    /// For all layers of an image together.
    pub max_image_bytes: u64,
}

#[derive(Debug)]
pub struct Containerd {
    config: ContainerdConfig,
    registry: Arc<Client>,
    channel: OnceCell<Channel>,
}

impl Default for ContainerdConfig {
    fn default() -> Self {
        Self {
            socket: "/run/containerd/containerd.sock".into(),
            log_folder: "/var/log/schedctl".into(),
            log_writer: log_writer::this_program(),
            max_image_bytes: 64 << 30,
        }
    }
}

/// Checks that containerd responds on this socket.
///
/// # Errors
/// When no service listens, or one that is not containerd.
pub async fn ping(socket: &Path) -> Result<ContainerdVersion, DriverError> {
    let (_, version) = session::connect(socket).await?;
    Ok(version)
}

impl Containerd {
    /// Connects when it is first used.
    pub fn new(config: ContainerdConfig, registry: Arc<Client>) -> Self {
        Self {
            config,
            registry,
            channel: OnceCell::new(),
        }
    }

    async fn session(&self, attempt: String) -> Result<Session, DriverError> {
        let connect = async || {
            let (channel, _) = session::connect(&self.config.socket).await?;
            Ok::<_, DriverError>(channel)
        };
        let channel = self.channel.get_or_try_init(connect).await?.clone();
        Ok(Session::new(channel, NAMESPACE, attempt))
    }

    fn task<'a>(&'a self, session: &'a Session, id: &'a ContainerId) -> Task<'a> {
        let log = Log::of(&self.config.log_folder, id.as_str());
        Task {
            session,
            id,
            log,
            log_writer: &self.config.log_writer,
        }
    }
}

impl Driver for Containerd {
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        let image = image.image();
        let session = self.session(format!("pull {image}")).await?;
        let pull = Pull {
            session: &session,
            registry: &self.registry,
            image,
            limit: self.config.max_image_bytes,
        };
        pull.run(progress).await
    }

    async fn stored_image(&self, image: &PinnedRef) -> Result<Option<ImageInStore>, DriverError> {
        let session = self.session(format!("look for {image}")).await?;
        let snapshotter = snapshotter::choose(&session).await?;
        let parts = store::find(&session, image, snapshotter).await?;
        Ok(parts.map(|parts| parts.description()))
    }

    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        let attempt = format!("create a container for {}", launch.scheduler());
        let session = self.session(attempt).await?;
        create::create(&session, launch, Path::new("/")).await
    }

    async fn prepare(&self, id: &ContainerId) -> Result<(), DriverError> {
        let session = self.session(format!("make {id} ready")).await?;
        self.task(&session, id).prepare().await.map(drop)
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        let session = self.session(format!("start {id}")).await?;
        self.task(&session, id).start().await
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let session = self.session("list its containers".to_owned()).await?;
        let listed = listing::list(&session).await?.into_iter();
        let convert = |(container, task)| listing::container(container, task, Path::new("/proc"));
        Ok(listed.map(convert).collect())
    }

    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let session = self.session(format!("read the output of {id}")).await?;
        let task = self.task(&session, id);
        task.output(until, LineTimes::Hidden, on_output).await
    }

    async fn end(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        let session = self.session(format!("end {id}")).await?;
        self.task(&session, id).end(grace, after).await
    }
}

impl TimedOutput for Containerd {
    async fn timed_output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let attempt = format!("show the output of {id} with times");
        let session = self.session(attempt).await?;
        let task = self.task(&session, id);
        task.output(until, LineTimes::Shown, on_output).await
    }
}
