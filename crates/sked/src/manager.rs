//! `sked manager` from its start to its end: what is wired to what.
//!
//! ```text
//! client ─▶ watches ─▶ stores ─▶ caches synced ─▶ leader? ─▶ claims + gates + controller ─▶ SIGTERM: finish, release, end
//!    └────▶ probe, metrics: from the first moment on
//! ```

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use schedkit_image::registry;
use tokio::sync::{Notify, watch};

use crate::apply::Applier;
use crate::args::ManagerArgs;
use crate::claims::Claimer;
use crate::client::{self, ClientError};
use crate::controller::Controller;
use crate::gates::Gatekeeper;
use crate::health::Health;
use crate::images::{Floors, Reader, RegistriesError, registries};
use crate::leader::{Candidate, LeaderError};
use crate::leadership::Leadership;
use crate::listen::ListenError;
use crate::metrics::{Metrics, Snapshot};
use crate::metrics_server::{self, ServeError, Settings};
use crate::queue::Queue;
use crate::report::Reporter;
use crate::stop::{self, Stop};
use crate::stores::{Stores, Watches};
use crate::wake::Wake;
use crate::{count, probe};

/// How long writes that are begun may take after the wish to stop; kubelet kills after 30 s.
const FAREWELL: Duration = Duration::from_secs(20);

/// Why the manager ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagerError {
    /// No client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody knows how to reach registries.
    #[error(transparent)]
    Registries(#[from] RegistriesError),
    /// Nobody listens.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The lease is lost.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// Metrics cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The probes, signals or the runtime.
    #[error("the system refused")]
    Io(#[from] std::io::Error),
}

/// What all parts share.
struct Shared {
    client: Client,
    leadership: Leadership,
    stores: Arc<Stores>,
    queue: Arc<Queue>,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    claims: Arc<Notify>,
    gates: Arc<Queue>,
    images: Arc<Notify>,
    /// Where images are read from, if they are.
    registry: Option<registry::ClientConfig>,
}

/// Runs the manager. One thread is enough: it waits for the API server nearly all the time.
pub(crate) fn start(args: ManagerArgs) -> Result<(), ManagerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(args))
}

async fn run(args: ManagerArgs) -> Result<(), ManagerError> {
    let (probes, metrics) = listeners(&args)?;
    let hosts = registries(args.registries.as_deref())?;
    let registry = args.read_images.then(|| registry::ClientConfig {
        hosts,
        ..registry::ClientConfig::default()
    });
    let client = client::connect(args.cluster.kubeconfig.as_deref()).await?;
    let shared = Shared::new(client, registry, &args);
    shared.watch(&args);
    let (stopper, stop) = stop::pair();
    let work = shared.work(&args, stop);
    let serve = shared.serve(&args, probes, metrics);
    let mut work = std::pin::pin!(work);
    let signal = async {
        let signal = stop::signals().await;
        if let Ok(signal) = signal {
            tracing::info!(signal, "stopping: no new work, what is begun is finished");
        }
        signal
    };
    tokio::select! {
        ended = &mut work => return ended,
        failed = serve => return failed,
        signal = signal => signal?,
    };
    stopper.stop();
    match tokio::time::timeout(FAREWELL, work).await {
        Ok(ended) => ended,
        Err(_) => {
            tracing::warn!("some writes did not end in time");
            Ok(())
        }
    }
}

fn listeners(
    args: &ManagerArgs,
) -> Result<(Option<TcpListener>, Option<TcpListener>), ListenError> {
    let probes = args.health_probe_bind_address.listen()?;
    Ok((probes, args.metrics_bind_address.listen()?))
}

impl Shared {
    fn new(client: Client, registry: Option<registry::ClientConfig>, args: &ManagerArgs) -> Self {
        Self {
            client,
            leadership: match args.leader_elect {
                true => Leadership::none(),
                false => Leadership::unlimited(),
            },
            stores: Arc::default(),
            queue: Arc::default(),
            health: Arc::default(),
            metrics: Arc::new(Metrics::new()),
            claims: Arc::default(),
            gates: Arc::default(),
            images: Arc::default(),
            registry,
        }
    }

    fn watch(&self, args: &ManagerArgs) {
        let wake = Wake {
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            claims: Arc::clone(&self.claims),
            gates: Arc::clone(&self.gates),
            images: Arc::clone(&self.images),
        };
        let watches = Watches {
            client: self.client.clone(),
            namespaces: args.watch_namespaces.clone(),
            agents: args.agent_namespace.clone(),
            stores: Arc::clone(&self.stores),
            health: Arc::clone(&self.health),
            wake: Arc::new(wake),
        };
        watches.start();
    }

    /// Waits for its turn, then works until asked to stop.
    async fn work(&self, args: &ManagerArgs, mut stop: Stop) -> Result<(), ManagerError> {
        tokio::select! {
            () = self.health.all_synced() => tracing::info!("caches are synced"),
            () = stop.asked() => return Ok(()),
        }
        if !args.leader_elect {
            self.lead(args, stop).await;
            return Ok(());
        }
        let own = self.client.default_namespace();
        let namespace = args.leader_election_namespace.as_deref().unwrap_or(own);
        let (leadership, metrics) = (self.leadership.clone(), Arc::clone(&self.metrics));
        let mut candidate = Candidate::new(self.client.clone(), namespace, leadership, metrics)?;
        if !candidate.wait(&mut stop).await {
            return Ok(());
        }
        // The lease is kept while the last writes end, and given back after them.
        let (ended, mut work_ended) = stop::pair();
        let work = async {
            self.lead(args, stop).await;
            ended.stop();
            Ok(())
        };
        tokio::try_join!(candidate.keep(&mut work_ended), work)?;
        candidate.release().await;
        Ok(())
    }

    /// Claims, gates, SchedExts and the images that they name, until asked to stop.
    async fn lead(&self, args: &ManagerArgs, stop: Stop) {
        let (shares, published) = watch::channel(Arc::default());
        let claimer = Claimer {
            client: self.client.clone(),
            leadership: self.leadership.clone(),
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            news: Arc::clone(&self.claims),
            sees_all: args.watch_namespaces.is_empty(),
            shares,
        };
        let writer = || {
            (
                self.client.clone(),
                self.leadership.clone(),
                Arc::clone(&self.stores),
            )
        };
        let (client, leadership, stores) = writer();
        let applier = Applier::new(client, leadership, stores);
        let (client, leadership, stores) = writer();
        let reporter = Reporter::new(client, leadership, stores);
        let floors = Arc::<Floors>::default();
        let controller = Arc::new(Controller {
            floors: Arc::clone(&floors),
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            shares: published,
            applier,
            reporter,
            metrics: Arc::clone(&self.metrics),
        });
        let (client, leadership, stores) = writer();
        let gatekeeper = Arc::new(Gatekeeper {
            client,
            leadership,
            stores,
            queue: Arc::clone(&self.gates),
        });
        let concurrency = args.concurrency;
        let read_images = async {
            if let Some(settings) = &self.registry {
                let reader = Reader {
                    registry: settings.clone(),
                    stores: Arc::clone(&self.stores),
                    queue: Arc::clone(&self.queue),
                    news: Arc::clone(&self.images),
                    floors,
                };
                reader.run(stop.clone()).await;
            }
        };
        tokio::join!(
            read_images,
            claimer.run(stop.clone()),
            gatekeeper.run(concurrency, stop.clone()),
            controller.run(concurrency, stop.clone()),
        );
    }

    /// Probes and metrics; comes back only when they fail.
    async fn serve(
        &self,
        args: &ManagerArgs,
        probes: Option<TcpListener>,
        metrics: Option<TcpListener>,
    ) -> Result<(), ManagerError> {
        let probes = async {
            match probes {
                Some(listener) => probe::serve(listener, Arc::clone(&self.health)).await,
                None => std::future::pending().await,
            }
        };
        let metrics = async {
            match metrics {
                Some(listener) => self.serve_metrics(args, listener).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            failed = probes => failed.map_err(ManagerError::Io),
            failed = metrics => failed.map_err(ManagerError::Serve),
        }
    }

    async fn serve_metrics(
        &self,
        args: &ManagerArgs,
        listener: TcpListener,
    ) -> Result<(), ServeError> {
        let settings = Settings {
            secure: args.metrics_secure,
            certificate: args.metrics_cert_path.clone(),
            http2: args.enable_http2,
        };
        let (stores, queue) = (Arc::clone(&self.stores), Arc::clone(&self.queue));
        let look = Arc::new(move || Snapshot {
            depth: queue.depth(),
            schedexts: count::schedexts(&stores),
            nodes: count::nodes(&stores),
            nodes_of: count::nodes_of(&stores),
            names: count::names(&stores),
        });
        let metrics = Arc::clone(&self.metrics);
        metrics_server::serve(listener, settings, self.client.clone(), metrics, look).await
    }
}
