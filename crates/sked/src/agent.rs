//! `sked node-agent` from start to end: it reports the state of this machine's kernel in the node's
//! `SchedExtNode`. It needs no privilege, and writes nothing but that one object.
//!
//! ```text
//! token ─▶ which node
//! uevents, sysfs ─▶ reading ─┐
//!                            ├─▶ report_sync ─▶ ReportWrite ─▶ write ─▶ SchedExtNode
//! watch of the own report ───┘     └──▶ /readyz: does the API server have the current report?
//! sysfs ─▶ /metrics
//! ```
//!
//! It runs on one thread and has no cache: it keeps one reading and one report in memory.

mod identity;
mod metrics;
mod random;
mod rate_limit;
mod report;
mod report_sync;
mod report_watch;
mod server;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Api;
use schedkit_core::sanitize;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::watch::Wakeups;
use schedkit_host::{HostRoot, HostSnapshot, Watch, WatchIntervals, preflight};
use sked_api::node::SchedExtNode;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep_until};

use crate::args::AgentArgs;
use crate::client::{self, ClientError};
use crate::error_chain::chain;
use crate::listen::ListenError;
use crate::stop;

use identity::IdentityError;
use metrics::{Metrics, WriteResult};
use random::{Random, random};
use report_sync::{ReportEvent, ReportSync, ReportWrite, StoredReport};
use server::Readiness;

/// Below the limit of the CRD.
const LONGEST_GAPS: usize = 1000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Of the servers, the signal handlers or the async runtime.
    #[error("a system call failed")]
    Io(#[from] std::io::Error),
}

pub(crate) fn start(args: AgentArgs) -> Result<(), AgentError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(args))
}

async fn run(args: AgentArgs) -> Result<(), AgentError> {
    let identity = identity::read(&args.token_file)?;
    let probes = args.health_probe_bind_address.listen()?;
    let scrapes = args.metrics_bind_address.listen()?;
    let client = client::connect(args.cluster.kubeconfig.as_deref()).await?;
    let root = HostRoot::at(args.host_root);
    let pace = WatchIntervals {
        poll: args.poll_interval,
        ..WatchIntervals::default()
    };
    let watch = Watch::open(root.clone(), pace);
    if !watch.receives_events() {
        let poll = args.poll_interval;
        tracing::warn!(
            ?poll,
            "kernel events cannot be received, so changes are seen only at the poll interval"
        );
    }
    tracing::info!(
        node = identity.name,
        uid = identity.uid,
        "reporting for this node"
    );
    let agent = Agent {
        reports: Api::all(client),
        token: args.token_file,
        sync: ReportSync::new(identity, kernel_gaps(&root)),
        readiness: Arc::new(Readiness::default()),
        metrics: Arc::new(Metrics::new(root.clone())),
        root,
        clock: Timestamp::now,
        random: random(),
    };
    let (readiness, metrics) = (Arc::clone(&agent.readiness), Arc::clone(&agent.metrics));
    // The report stays: the manager trusts it only while this pod is ready.
    tokio::select! {
        failed = server::serve(probes, scrapes, readiness, metrics) => Ok(failed?),
        () = agent.work(watch) => Ok(()),
        signal = stop::signals() => {
            tracing::info!("stopping after {}", signal?);
            Ok(())
        }
    }
}

/// One sentence for each.
fn kernel_gaps(root: &HostRoot) -> Option<String> {
    let gaps = preflight::kernel_gaps(&HostSnapshot::read(root)).into_iter();
    let gaps = gaps.map(|gap| match gap.remediation {
        Some(remedy) => format!("{}: {remedy}", gap.detail),
        None => gap.detail,
    });
    let gaps = gaps.collect::<Vec<_>>().join("; ");
    (!gaps.is_empty()).then(|| sanitize::shortened(&gaps, LONGEST_GAPS))
}

struct Agent {
    reports: Api<SchedExtNode>,
    token: PathBuf,
    sync: ReportSync,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    root: HostRoot,
    clock: fn() -> Timestamp,
    random: Random,
}

impl Agent {
    /// Keeps the report up to date. Never returns.
    async fn work<W: Wakeups>(mut self, mut kernel: Watch<W>) {
        let mut events = self.watch_report();
        loop {
            self.publish_readiness();
            let due = self.sync.due(Instant::now());
            tokio::select! {
                reading = kernel.next() => {
                    let now = (self.clock)();
                    self.sync.read(&reading, &KernelInfo::read(&self.root), now, Instant::now());
                }
                event = events.recv() => match event {
                    Some(event) => self.handle(event),
                    None => return,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.write().await;
                }
            }
        }
    }

    fn watch_report(&self) -> Receiver<ReportEvent> {
        let (sender, receiver) = mpsc::channel(4);
        let name = self.sync.identity().name.clone();
        let reports = self.reports.clone();
        tokio::spawn(report_watch::follow(reports, name, random(), sender));
        receiver
    }

    fn handle(&mut self, event: ReportEvent) {
        if let ReportEvent::Lost(why) = &event
            && !self.sync.knows_lost(why)
        {
            tracing::warn!("the own report is not watched: {why}; the agent tries again");
        }
        self.sync.handle(event);
    }

    fn publish_readiness(&self) {
        let missing = self.sync.missing();
        self.metrics.current(missing.is_empty());
        self.readiness.set(missing);
    }

    /// The kernel is not read meanwhile: its events wait in their socket.
    async fn write(&mut self) {
        match identity::again(&self.token, self.sync.identity()) {
            Ok(identity) => self.sync.identify(identity),
            Err(error) => return self.fail(chain(&error)),
        }
        let Some(write) = self.sync.next_write() else {
            return;
        };
        self.sync.begin(Instant::now());
        match write::execute(&self.reports, self.sync.identity(), &write).await {
            Ok(stored) => self.finish(&write, stored),
            Err(error) => self.fail(chain(&error)),
        }
    }

    fn finish(&mut self, write: &ReportWrite, stored: StoredReport) {
        self.metrics.wrote(WriteResult::success);
        match write {
            ReportWrite::Create => tracing::info!("created the report"),
            ReportWrite::Delete { uid } => {
                tracing::info!(uid, "deleted a report that did not belong to this Node");
            }
            ReportWrite::Patch(status) => tracing::info!(
                state = status.state,
                ops = status.ops,
                enable_seq = status.enable_seq,
                trouble = status.trouble,
                "reported"
            ),
        }
        if self.sync.done(write, stored) {
            tracing::warn!(
                "the API server does not store all of the report: apply the CRD of the agent's version"
            );
        }
    }

    fn fail(&mut self, why: String) {
        self.metrics.wrote(WriteResult::error);
        let message = why.clone();
        if self.sync.failed(why, &mut self.random, Instant::now()) {
            tracing::warn!("the report is not written: {message}; the agent tries again");
        }
    }
}
