//! `schedctl run` and `schedctl switch`: find the image, observe and decide, check the machine,
//! verify, pull, observe and decide again, plan, execute, print.
//!
//! It decides twice: before a registry is asked, so that a refusal needs no network, and again with
//! the lock held. The slow parts, such as the pull, happen in between without the lock, so that
//! other commands can stop a scheduler meanwhile.

use std::time::Duration;

use schedkit_core::ImageRef;
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::{After, ContainerId, Driver, Launch, Pulled};

use crate::decide::{Decision, DesiredScheduler, Running, StartMode, decide};
use crate::drivers::{AnyDriver, open};
use crate::execute::{Executor, Rollback, Success, execute};
use crate::exit::Exit;
use crate::guard_process::GuardCommand;
use crate::interrupt::Interrupt;
use crate::kernel::KernelMonitor;
use crate::observe::observe;
use crate::output::Printer;
use crate::output::progress::PlanProgress;
use crate::output::run::{PlanDocument, RunResult};
use crate::plan::{Plan, PlanStep};
use crate::pull_record::PullRecord;
use crate::request::{AfterStart, StartRequest};
use crate::runtimes::Runtimes;
use crate::settings::Settings;
use crate::state_dir::{Lock, StateDir};
use crate::steps::end_abandoned_trial::end_abandoned_trial;
use crate::steps::find_image::find_image;
use crate::steps::follow::follow;
use crate::steps::preflight;
use crate::steps::pull_image::pull_image;
use crate::steps::take_lock::take_lock;
use crate::steps::verify_image::require_trust;
use crate::steps::verify_running::verify_running;
use crate::trial::Trial;

pub(super) async fn start(
    request: &StartRequest,
    root: &HostRoot,
    settings: &Settings,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find_image(&request.image.name_or_reference, settings, printer).await?;
    let image = request.image.image(&found)?;
    let session = Session::new(request, root, settings, interrupt);
    if Trial::read(&session.state)?.is_some() {
        session.lock(printer).await?;
    }
    let mut desired = DesiredScheduler {
        name: found.scheduler().to_owned(),
        reference: image.clone(),
        image: None,
        args: request.args.clone(),
        waiver: request.image.trust.waiver,
        trial: request.options.trial,
        runtime: session.runtimes.chosen.runtime,
    };
    // `switch` may have to replace an older image of the same tag: only the digest shows that.
    let first = session.decide(&desired).await?;
    if let (Decision::AlreadyRuns(running), StartMode::Run) = (first, request.mode) {
        return session.already_runs(&running, printer).await;
    }
    let trusted = session.check_and_verify(&image, printer).await?;
    desired.image = Some(trusted.image().to_string());
    let launch = Launch::new(desired.name.clone(), image, trusted, desired.args.clone())?;
    let pulled = session.pull(launch.image()).await?;
    let lock = session.lock(printer).await?;
    let plan = match session.decide(&desired).await? {
        Decision::AlreadyRuns(running) => {
            drop(lock);
            return session.already_runs(&running, printer).await;
        }
        Decision::Start {
            leftovers,
            replaces,
        } => Plan::new(&leftovers, replaces.as_ref(), launch, request.options),
    };
    if session.is_dry_run() {
        printer.print(&PlanDocument::from(&plan))?;
        return Ok(Exit::Ok);
    }
    let success = session.execute(&plan).await?;
    drop(lock);
    for leftover in &success.leftovers {
        printer.warn(leftover.to_string());
    }
    printer.print(&RunResult::started(
        &plan,
        desired.runtime,
        pulled,
        &success,
    ))?;
    session.finish(&success.container, printer).await
}

/// What the steps of one start need.
struct Session<'a> {
    request: &'a StartRequest,
    root: &'a HostRoot,
    settings: &'a Settings,
    runtimes: Runtimes,
    state: StateDir,
    driver: AnyDriver,
    interrupt: &'a Interrupt,
}

impl<'a> Session<'a> {
    fn new(
        request: &'a StartRequest,
        root: &'a HostRoot,
        settings: &'a Settings,
        interrupt: &'a Interrupt,
    ) -> Self {
        let runtimes = settings.runtimes();
        Self {
            request,
            root,
            settings,
            state: StateDir::system(),
            driver: open(&runtimes.chosen, &settings.registry),
            runtimes,
            interrupt,
        }
    }

    fn is_dry_run(&self) -> bool {
        self.request.after == AfterStart::DryRun
    }

    /// Takes the lock and ends an abandoned trial; does nothing in a dry run.
    async fn lock(&self, printer: &mut Printer) -> anyhow::Result<Option<Lock>> {
        if self.is_dry_run() {
            return Ok(None);
        }
        let lock = take_lock(&self.state).await?;
        end_abandoned_trial(self.root, &self.state, self.settings, printer).await?;
        Ok(Some(lock))
    }

    async fn decide(&self, desired: &DesiredScheduler) -> anyhow::Result<Decision> {
        let observed = observe(self.root, &self.state, &self.runtimes).await?;
        Ok(decide(&observed, desired, self.request.mode)?)
    }

    /// Before anything is pulled.
    async fn check_and_verify(
        &self,
        image: &ImageRef,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let registry = Client::new(self.settings.registry.clone());
        preflight::require(image, self.root, &self.runtimes, &registry).await?;
        require_trust(image, &self.request.image.trust, &registry, printer).await
    }

    async fn pull(&self, image: &Trusted) -> anyhow::Result<Pulled> {
        if self.is_dry_run() {
            return Ok(Pulled::Cached);
        }
        let record = PullRecord::new(&self.settings.cache.value);
        Ok(pull_image(&self.driver, image, &record).await?)
    }

    async fn execute(&self, plan: &Plan) -> anyhow::Result<Success> {
        let endpoint = &self.runtimes.chosen;
        let guard = GuardCommand {
            root: self.root,
            state: &self.state,
            endpoint,
            config: self.settings.config.value.as_deref(),
        };
        let executor = Executor {
            driver: &self.driver,
            runtime: endpoint.runtime,
            kernel: &KernelMonitor::new(self.root.clone()),
            state: &self.state,
            start_guard: &|trial| guard.start(trial),
        };
        let progress = PlanProgress::new(plan);
        let mut on_step = |step: &PlanStep| progress.show(step);
        let result = execute(plan, &executor, self.interrupt, &mut on_step).await;
        result.map_err(|failure| anyhow::Error::new(*failure))
    }

    async fn already_runs(&self, running: &Running, printer: &mut Printer) -> anyhow::Result<Exit> {
        let (trust, registry) = (&self.request.image.trust, &self.settings.registry);
        verify_running(&running.container, trust, registry, printer).await?;
        if !self.is_dry_run() && !running.leftovers.is_empty() {
            self.remove_leftovers(printer).await?;
        }
        printer.print(&RunResult::already_runs(running))?;
        self.finish(&running.container.container.id, printer).await
    }

    /// Removes what an interrupted run left behind, beside the running scheduler.
    async fn remove_leftovers(&self, printer: &mut Printer) -> anyhow::Result<()> {
        // Without the lock a leftover may be the work of another process.
        let _lock = take_lock(&self.state).await?;
        let observed = observe(self.root, &self.state, &self.runtimes).await?;
        for left in observed.leftovers() {
            let endpoint = self.runtimes.endpoint(left.runtime);
            let driver = open(endpoint, &self.settings.registry);
            let removed = driver.end(&left.container.id, Duration::ZERO, After::Remove);
            if let Err(error) = removed.await {
                printer.warn(Rollback::Leftover(error.into()).to_string());
            }
        }
        Ok(())
    }

    async fn finish(&self, id: &ContainerId, printer: &Printer) -> anyhow::Result<Exit> {
        match self.request.after {
            AfterStart::Follow => {
                let target = printer.scheduler_stdout();
                follow(&self.driver, id, target, &self.state, self.interrupt).await
            }
            AfterStart::Return | AfterStart::DryRun => Ok(Exit::Ok),
        }
    }
}
