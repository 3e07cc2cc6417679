//! containerd, by its gRPC API on its unix socket (1.6, 1.7 and 2.x).
//!
//! ```text
//! pull.rs ─▶ parts.rs config.rs (pure)   create.rs ─▶ spec.rs (pure) host.rs   task.rs ─▶ log.rs
//!    ├─▶ upload.rs  content store           │                          listing.rs │
//!    ├─▶ unpack.rs  snapshots               │                              │      │
//!    └─▶ lease.rs ──────────────────────────┴────────▶ session.rs ◀────────┴──────┘
//!                                                       └─▶ fault.rs
//! ```
//!
//! containerd has no idea of registries, logs or restarts: its clients do all that. What we make
//! is in the namespace `schedkit`; what the older schedctl made is there as well, without our
//! labels, and is listed and ended like ours. What the kubelet runs is in another one and is only
//! looked at (`kubernetes.rs`).

mod api;
mod chain;
mod config;
mod create;
mod fault;
mod host;
mod kubernetes;
mod lease;
mod listing;
mod log;
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

use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use tokio::sync::OnceCell;
use tonic::transport::Channel;

pub use self::kubernetes::{PodContainer, PodName, Sought, pod_containers};
pub use self::session::Version;

use self::log::Log;
use self::pull::Pull;
use self::session::Session;
use self::task::Task;
use crate::container::{Container, ContainerId, ExitCode};
use crate::driver::{After, Driver, DriverError, Piece, Progress, Pulled, Until};
use crate::launch::Launch;

/// Whose containers these are.
const NAMESPACE: &str = "schedkit";

/// What the driver is told from outside.
#[derive(Clone, Debug)]
pub struct Settings {
    /// containerd's socket.
    pub socket: PathBuf,
    /// A folder for what schedulers write.
    pub logs: PathBuf,
    /// Bytes that all layers of an image may have together.
    pub most_bytes: u64,
}

/// containerd on this machine.
#[derive(Debug)]
pub struct Containerd {
    settings: Settings,
    registry: Arc<Client>,
    channel: OnceCell<Channel>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            socket: "/run/containerd/containerd.sock".into(),
            logs: "/var/log/schedctl".into(),
            most_bytes: 64 << 30,
        }
    }
}

/// Asks who is there.
///
/// # Errors
/// When nobody is, or somebody else.
pub async fn ping(socket: &Path) -> Result<Version, DriverError> {
    let (_, version) = session::connect(socket).await?;
    Ok(version)
}

impl Containerd {
    /// A driver. Nothing is asked before it is needed.
    pub fn new(settings: Settings, registry: Arc<Client>) -> Self {
        Self {
            settings,
            registry,
            channel: OnceCell::new(),
        }
    }

    async fn session(&self, attempt: String) -> Result<Session, DriverError> {
        let connect = async || {
            let (channel, _) = session::connect(&self.settings.socket).await?;
            Ok::<_, DriverError>(channel)
        };
        let channel = self.channel.get_or_try_init(connect).await?.clone();
        Ok(Session::new(channel, NAMESPACE, attempt))
    }

    fn task<'a>(&self, session: &'a Session, id: &'a ContainerId) -> Task<'a> {
        let log = Log::of(&self.settings.logs, id.as_str());
        Task { session, id, log }
    }
}

impl Driver for Containerd {
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pulled, DriverError> {
        let image = image.image();
        let session = self.session(format!("pull {image}")).await?;
        let pull = Pull {
            session: &session,
            registry: &self.registry,
            image,
            limit: self.settings.most_bytes,
        };
        pull.run(progress).await
    }

    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        let attempt = format!("make a container for {}", launch.scheduler());
        let session = self.session(attempt).await?;
        create::create(&session, launch, Path::new("/")).await
    }

    async fn ready(&self, id: &ContainerId) -> Result<(), DriverError> {
        let session = self.session(format!("make {id} ready")).await?;
        self.task(&session, id).ready().await.map(drop)
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        let session = self.session(format!("start {id}")).await?;
        self.task(&session, id).start().await
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let session = self.session("list its containers".to_owned()).await?;
        let listed = listing::ask(&session).await?.into_iter();
        let ours = |(theirs, task)| listing::container(theirs, task, Path::new("/proc"));
        Ok(listed.map(ours).collect())
    }

    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let session = self.session(format!("read what {id} wrote")).await?;
        let task = self.task(&session, id);
        task.output(until, Path::new("/proc"), take).await
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
