//! `sked node-agent` from its start to its end: what this machine's kernel says becomes the node's
//! `SchedExtNode`. It needs no privilege, and writes nothing but that one object.
//!
//! ```text
//! token ─▶ which node
//! uevents, sysfs ─▶ reading ─┐
//!                            ├─▶ ledger ─▶ step ─▶ write ─▶ SchedExtNode
//! watch of the own report ───┘     └──▶ /readyz: can the report be believed?
//! sysfs ─▶ /metrics
//! ```
//!
//! One thread, no store: a reading, a report and what is being sent is all that it holds.

mod identity;
mod ledger;
mod metrics;
mod own;
mod pace;
mod report;
mod serve;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Api;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::watch::Wakeups;
use schedkit_host::{HostRoot, Watch, WatchIntervals};
use sked_api::node::SchedExtNode;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep_until};

use crate::args::AgentArgs;
use crate::client::{self, ClientError};
use crate::listen::ListenError;
use crate::stop;

use identity::IdentityError;
use ledger::{Held, Ledger, News, Step};
use metrics::{Ended, Metrics};
use pace::Dice;
use serve::Readiness;

/// Why the agent ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// Nobody knows which node this is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// No client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody listens.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Probes, signals or the runtime.
    #[error("the system refused")]
    Io(#[from] std::io::Error),
}

/// Runs the agent.
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
            "the kernel's events cannot be heard here, so that changes are seen only when the kernel is asked"
        );
    }
    tracing::info!(
        node = identity.name,
        uid = identity.uid,
        "speaking for this node"
    );
    let agent = Agent {
        reports: Api::all(client),
        token: args.token_file,
        ledger: Ledger::new(identity),
        readiness: Arc::new(Readiness::default()),
        metrics: Arc::new(Metrics::new(root.clone())),
        root,
        clock: Timestamp::now,
        dice: pace::dice(),
    };
    let (readiness, metrics) = (Arc::clone(&agent.readiness), Arc::clone(&agent.metrics));
    // The report stays: whoever reads it goes by whether this pod is ready.
    tokio::select! {
        failed = serve::serve(probes, scrapes, readiness, metrics) => Ok(failed?),
        () = agent.work(watch) => Ok(()),
        signal = stop::signals() => {
            tracing::info!("{}: ending", signal?);
            Ok(())
        }
    }
}

/// All that does something.
struct Agent {
    reports: Api<SchedExtNode>,
    token: PathBuf,
    ledger: Ledger,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    root: HostRoot,
    clock: fn() -> Timestamp,
    dice: Dice,
}

impl Agent {
    /// Keeps the report right, for ever.
    async fn work<W: Wakeups>(mut self, mut kernel: Watch<W>) {
        let mut heard = self.follow();
        loop {
            self.say_whether_current();
            let due = self.ledger.due(Instant::now());
            tokio::select! {
                reading = kernel.next() => {
                    let now = (self.clock)();
                    self.ledger.read(&reading, &KernelInfo::read(&self.root), now, Instant::now());
                }
                news = heard.recv() => match news {
                    Some(news) => self.hear(news),
                    None => return,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.take_step().await;
                }
            }
        }
    }

    fn follow(&self) -> Receiver<News> {
        let (tell, heard) = mpsc::channel(4);
        let name = self.ledger.identity().name.clone();
        tokio::spawn(own::follow(self.reports.clone(), name, pace::dice(), tell));
        heard
    }

    fn hear(&mut self, news: News) {
        if let News::Lost(why) = &news
            && !self.ledger.knows_lost(why)
        {
            tracing::warn!("the own report is not watched: {why}; it is tried again");
        }
        self.ledger.heard(news);
    }

    fn say_whether_current(&self) {
        let missing = self.ledger.missing();
        self.metrics.current(missing.is_empty());
        self.readiness.tell(missing);
    }

    /// One write. While it lasts the kernel is not read: its events wait in their socket.
    async fn take_step(&mut self) {
        match identity::again(&self.token, self.ledger.identity()) {
            Ok(identity) => self.ledger.identify(identity),
            Err(error) => return self.fail(crate::retry::chain(&error)),
        }
        let Some(step) = self.ledger.step() else {
            return;
        };
        self.ledger.begin(Instant::now());
        match write::execute(&self.reports, self.ledger.identity(), &step).await {
            Ok(held) => self.finish(&step, held),
            Err(error) => self.fail(crate::retry::chain(&error)),
        }
    }

    fn finish(&mut self, step: &Step, held: Held) {
        self.metrics.wrote(Ended::success);
        match step {
            Step::Create => tracing::info!("the report is made"),
            Step::Delete { uid } => {
                tracing::info!(uid, "a report that was not this Node's is deleted");
            }
            Step::Patch(status) => tracing::info!(
                state = status.state,
                ops = status.ops,
                enable_seq = status.enable_seq,
                trouble = status.trouble,
                "reported"
            ),
        }
        self.ledger.done(held);
    }

    fn fail(&mut self, why: String) {
        self.metrics.wrote(Ended::error);
        let sentence = why.clone();
        if self.ledger.failed(why, &mut self.dice, Instant::now()) {
            tracing::warn!("the report is not written: {sentence}; it is tried again");
        }
    }
}
