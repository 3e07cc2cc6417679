//! `sked manager` from start to end: its parts and how they are connected.
//!
//! ```text
//! client ─▶ watches ─▶ stores ─▶ caches synced ─▶ leader? ─▶ claims + gates + controller ─▶ SIGTERM: finish, release, exit
//!    └────▶ probes and metrics, from the start
//! ```

mod apply;
mod boot_clock;
mod cache_health;
pub(crate) mod claims;
mod controller;
pub(crate) mod futile_replaces;
mod gates;
pub(crate) mod images;
mod leader;
mod leadership;
mod metric_counts;
mod metrics;
pub(crate) mod observe;
mod ownership;
pub(crate) mod policies;
pub(crate) mod port_holders;
mod queue;
pub(crate) mod registries;
mod requeue;
mod status_writer;
pub(crate) mod stores;
pub(crate) mod verification;
mod watches;
mod worker;
mod write_error;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::{Notify, watch};

use crate::args::ManagerArgs;
use crate::client::{self, ClientError, Connection, FinishedRequest};
use crate::listen::ListenError;
use crate::metrics_server::{self, HttpsOptions, Render, ServeError};
use crate::probe;
use crate::stop::{self, Stop};

use apply::Applier;
use cache_health::CacheHealth;
use claims::ClaimsLoop;
use controller::Controller;
use gates::GateWriter;
use images::{ImageReader, KnownImages};
use leader::{LeaderElection, LeaderError};
use leadership::Leadership;
use metrics::{Metrics, QueueMetrics, Snapshot};
use policies::{PolicyCheck, Unenforced};
use port_holders::{PortHolderSearch, PortHolders};
use queue::Queue;
use registries::{Registries, RegistriesError};
use requeue::Requeue;
use status_writer::StatusWriter;
use stores::{Stored, Stores};
use verification::{Settings, TrustRootError, TrustRootSettings, Verifier, Verifying};
use watches::Watches;

/// How often everything is processed without a reason.
const RESYNC: Duration = Duration::from_secs(600);
/// How long a new leader looks at policies and ports before it starts.
const FIRST_FINDINGS: Duration = Duration::from_secs(5);
/// How long writes in progress may take after a stop was requested; kubelet kills after 30 s.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ManagerError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Registries(#[from] RegistriesError),
    #[error(transparent)]
    TrustRoot(#[from] TrustRootError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Leader(#[from] LeaderError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Of the probe server, the signal handlers or the async runtime.
    #[error("a system call failed")]
    Io(#[from] std::io::Error),
}

/// What the parts of the manager share.
struct Shared {
    client: Client,
    agent_namespace: String,
    leadership: Leadership,
    stores: Arc<Stores>,
    queue: Arc<Queue>,
    health: Arc<CacheHealth>,
    metrics: Arc<Metrics>,
    claims_changed: Arc<Notify>,
    gate_queue: Arc<Queue>,
    images_changed: Arc<Notify>,
    ports_changed: Arc<Notify>,
    registries: Registries,
    verifying: Verifying,
}

/// Runs the manager on one thread: it waits for the API server nearly all the time.
pub(crate) fn start(args: ManagerArgs) -> Result<(), ManagerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(args))
}

async fn run(args: ManagerArgs) -> Result<(), ManagerError> {
    let probe_listener = args.health_probe_bind_address.listen()?;
    let metrics_listener = args.metrics_bind_address.listen()?;
    let registries = Registries::new(&args.registries)?;
    let root = TrustRootSettings::new(&args.trust_root, &registries)?;
    let metrics = Arc::new(Metrics::new());
    let counted = Arc::clone(&metrics);
    let observer = Arc::new(move |request: &FinishedRequest<'_>| counted.request(request));
    let kubeconfig = args.cluster.kubeconfig.as_deref();
    let connection = client::connect_observed(kubeconfig, observer).await?;
    let shared = Shared::new(connection, metrics, (registries, root), &args);
    shared.watch(&args);
    let (stopper, stop) = stop::pair();
    let work = shared.work(&args, stop);
    let serve = shared.serve(&args, probe_listener, metrics_listener);
    let mut work = std::pin::pin!(work);
    let signal = async {
        let signal = stop::signals().await;
        if let Ok(signal) = signal {
            tracing::info!(
                signal,
                "stopping: work in progress is finished, no new work starts"
            );
        }
        signal
    };
    tokio::select! {
        ended = &mut work => return ended,
        failed = serve => return failed,
        signal = signal => signal?,
    };
    stopper.stop();
    match tokio::time::timeout(SHUTDOWN_TIMEOUT, work).await {
        Ok(ended) => ended,
        Err(_) => {
            tracing::warn!("some writes did not finish in time");
            Ok(())
        }
    }
}

impl Shared {
    fn new(
        connection: Connection,
        metrics: Arc<Metrics>,
        (registries, root): (Registries, TrustRootSettings),
        args: &ManagerArgs,
    ) -> Self {
        let Connection {
            client,
            pod_namespace,
        } = connection;
        let agents = args.agent_namespace.clone().or(pod_namespace);
        let stores: Arc<Stores> = Arc::default();
        let queue = Arc::new(Queue::closed(metrics.queue()));
        let verifier = args.trust_policy.clone().map(|policy| {
            let settings = Settings {
                policy,
                auth: args.registry_auth.clone(),
                pull_secrets: args.pull_secrets.then(|| client.clone()),
                registries: registries.clone(),
                resolve_interval: args.resolve_interval,
                enforces: args.enforce_running,
            };
            let (stores, queue) = (Arc::clone(&stores), Arc::clone(&queue));
            let verifier = Verifier::new(settings, stores, queue, Arc::clone(&metrics));
            Arc::new(verifier.with_root(root))
        });
        Self {
            client,
            agent_namespace: agents.unwrap_or_else(|| "sked-system".to_owned()),
            leadership: match args.leader_elect {
                true => Leadership::none(),
                false => Leadership::unlimited(),
            },
            stores,
            queue,
            health: Arc::default(),
            metrics,
            claims_changed: Arc::default(),
            gate_queue: Arc::new(Queue::closed(QueueMetrics::default())),
            images_changed: Arc::default(),
            ports_changed: Arc::default(),
            registries,
            verifying: verifier.map_or(Verifying::Off, Verifying::By),
        }
    }

    fn watch(&self, args: &ManagerArgs) {
        let requeue = Requeue {
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            claims: Arc::clone(&self.claims_changed),
            gates: Arc::clone(&self.gate_queue),
            images: Arc::clone(&self.images_changed),
            ports: Arc::clone(&self.ports_changed),
        };
        requeue.listen_to_stores();
        let (stores, health) = (Arc::clone(&self.stores), Arc::clone(&self.health));
        let agents = self.agent_namespace.clone();
        Watches::new(self.client.clone(), args, agents, stores, health).start();
    }

    /// Waits for the caches and for the leadership, then works until a stop is requested.
    async fn work(&self, args: &ManagerArgs, mut stop: Stop) -> Result<(), ManagerError> {
        tokio::select! {
            () = self.health.all_synced() => tracing::info!("caches are synced"),
            () = stop.requested() => return Ok(()),
        }
        if !args.leader_elect {
            return self.lead(args, stop).await;
        }
        let own = self.client.default_namespace();
        let namespace = args.leader_election_namespace.as_deref().unwrap_or(own);
        let (leadership, metrics) = (self.leadership.clone(), Arc::clone(&self.metrics));
        let mut election =
            LeaderElection::new(self.client.clone(), namespace, leadership, metrics)?;
        if !election.wait(&mut stop).await {
            return Ok(());
        }
        // The lease is kept while the last writes finish, and released after them.
        let (ended, mut work_ended) = stop::pair();
        let work = async {
            let led = self.lead(args, stop).await;
            ended.stop();
            Ok(led)
        };
        let (_, led) = tokio::try_join!(election.keep(&mut work_ended), work)?;
        election.release().await;
        led
    }

    /// Runs claims, gates, controller and image reader until a stop is requested.
    async fn lead(&self, args: &ManagerArgs, stop: Stop) -> Result<(), ManagerError> {
        if let Verifying::By(verifier) = &self.verifying {
            verifier.start(stop.clone())?;
        }
        let (assignments, published) = watch::channel(Arc::default());
        let claims = ClaimsLoop {
            client: self.client.clone(),
            leadership: self.leadership.clone(),
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            changed: Arc::clone(&self.claims_changed),
            verifying: self.verifying.clone(),
            watches_all_namespaces: args.watch_namespaces.is_empty(),
            assignments,
        };
        let (client, leadership, stores) = self.writer();
        let gates = Arc::new(GateWriter {
            client,
            leadership,
            stores,
            queue: Arc::clone(&self.gate_queue),
        });
        let known_images = Arc::<KnownImages>::default();
        let unenforced = Arc::<Unenforced>::default();
        let port_holders = Arc::<PortHolders>::default();
        let (client, leadership, stores) = self.writer();
        let applier = Applier::new(client, leadership, stores);
        let (client, leadership, stores) = self.writer();
        let controller = Arc::new(Controller {
            stores: Arc::clone(&self.stores),
            queue: Arc::clone(&self.queue),
            assignments: published,
            known_images: Arc::clone(&known_images),
            unenforced: Arc::clone(&unenforced),
            port_holders: Arc::clone(&port_holders),
            verifying: self.verifying.clone(),
            applier,
            status_writer: StatusWriter::new(client, leadership, stores),
            metrics: Arc::clone(&self.metrics),
        });
        let concurrency = args.concurrency;
        let policies = self.policy_check(args, unenforced);
        let policies = args.check_policies.then_some(policies);
        let ports = self.port_holder_search(port_holders);
        Self::first_findings(policies.as_ref(), &ports).await;
        self.queue.open();
        self.gate_queue.open();
        tokio::join!(
            self.resync(stop.clone()),
            async {
                if let Some(policies) = &policies {
                    policies.run(stop.clone()).await;
                }
            },
            ports.run(stop.clone()),
            self.read_images(args, known_images, stop.clone()),
            claims.run(stop.clone()),
            gates.run(concurrency, stop.clone()),
            controller.run(concurrency, stop.clone()),
        );
        Ok(())
    }

    /// Finds out what statuses have besides the stores, before the first one is written: it would lack
    /// what the last leader knew, and be corrected a moment later.
    async fn first_findings(policies: Option<&PolicyCheck>, ports: &PortHolderSearch) {
        let policies = async {
            if let Some(policies) = policies {
                policies.first().await;
            }
        };
        let both = async { tokio::join!(policies, ports.search()) };
        // An API server that is slow is no reason to do nothing.
        let _ = tokio::time::timeout(FIRST_FINDINGS, both).await;
    }

    /// Processes everything now and then: at first because nothing was queued before this manager led,
    /// later because a watch has listed again, or in case a change was not noticed. Where nothing
    /// changed, nothing is written.
    async fn resync(&self, mut stop: Stop) {
        loop {
            for seen in self.stores.schedexts.all() {
                self.queue.now(&seen.key());
            }
            for pod in self.stores.pods.all() {
                self.gate_queue.now(&pod.key);
            }
            self.claims_changed.notify_one();
            self.images_changed.notify_one();
            tokio::select! {
                () = tokio::time::sleep(RESYNC) => {}
                () = self.health.changed() => {}
                () = stop.requested() => return,
            }
        }
    }

    fn policy_check(&self, args: &ManagerArgs, unenforced: Arc<Unenforced>) -> PolicyCheck {
        let (client, leadership, stores) = self.writer();
        PolicyCheck {
            client,
            leadership,
            stores,
            queue: Arc::clone(&self.queue),
            metrics: Arc::clone(&self.metrics),
            unenforced,
            verifying: self.verifying.clone(),
            namespace: args.watch_namespaces.first().cloned(),
        }
    }

    fn port_holder_search(&self, holders: Arc<PortHolders>) -> PortHolderSearch {
        let (client, leadership, stores) = self.writer();
        PortHolderSearch {
            client,
            leadership,
            stores,
            queue: Arc::clone(&self.queue),
            holders,
            changed: Arc::clone(&self.ports_changed),
        }
    }

    /// With a trust policy the verifier reads the same.
    async fn read_images(&self, args: &ManagerArgs, known: Arc<KnownImages>, stop: Stop) {
        if args.read_images && matches!(self.verifying, Verifying::Off) {
            let reader = ImageReader {
                registries: self.registries.clone(),
                stores: Arc::clone(&self.stores),
                queue: Arc::clone(&self.queue),
                changed: Arc::clone(&self.images_changed),
                known,
            };
            reader.run(stop).await;
        }
    }

    fn writer(&self) -> (Client, Leadership, Arc<Stores>) {
        let (leadership, stores) = (self.leadership.clone(), Arc::clone(&self.stores));
        (self.client.clone(), leadership, stores)
    }

    /// Serves probes and metrics; returns only when one of them fails.
    async fn serve(
        &self,
        args: &ManagerArgs,
        probes: Option<TcpListener>,
        metrics: Option<TcpListener>,
    ) -> Result<(), ManagerError> {
        let probes = async {
            let health = Arc::clone(&self.health);
            match probes {
                Some(listener) => probe::serve(listener, move || health.readiness()).await,
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
        let (stores, queue) = (Arc::clone(&self.stores), Arc::clone(&self.queue));
        let metrics = Arc::clone(&self.metrics);
        let render: Render = Arc::new(move || {
            metrics.text(&Snapshot {
                queue: queue.snapshot(),
                schedexts: metric_counts::schedexts(&stores),
                nodes: metric_counts::nodes(&stores),
                nodes_of: metric_counts::nodes_of(&stores),
                phases: metric_counts::phases(&stores),
                verification: metric_counts::verification(&stores),
                names: metric_counts::names(&stores),
            })
        });
        if !args.metrics_secure {
            return Ok(metrics_server::serve_plain(listener, render).await?);
        }
        let options = HttpsOptions {
            certificate: args.metrics_cert_path.clone(),
            http2: args.enable_http2,
        };
        metrics_server::serve_https(listener, options, self.client.clone(), render).await
    }
}
