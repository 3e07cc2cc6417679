//! `schedctl run` and `schedctl switch`: find the image, observe and decide, check the machine,
//! verify, pull, observe and decide again, plan, execute, print.
//!
//! It decides twice: before a registry is asked, so that a refusal needs no network, and again with
//! the lock held. The slow parts, such as the pull, happen in between without the lock, so that
//! other commands can stop a scheduler meanwhile.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp;
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::{After, ContainerId, Driver, Launch, Pulled};

use crate::boot_failure::BootFailure;
use crate::decide::{Decision, DesiredScheduler, Running, StartMode, decide};
use crate::drivers::{AnyDriver, open};
use crate::error_text;
use crate::execute::{Executor, Rollback, Success, execute};
use crate::exit::{Exit, ExitCodes};
use crate::guard;
use crate::interrupt::Interrupt;
use crate::kernel::KernelMonitor;
use crate::observe::observe;
use crate::output::Printer;
use crate::output::progress::PlanProgress;
use crate::output::run::{PlanDocument, RunResult};
use crate::plan::{Plan, PlanStep};
use crate::request::{AfterStart, StartRequest};
use crate::runtimes::Runtimes;
use crate::service_manager::ServiceManager;
use crate::settings::Settings;
use crate::state_dir::{Lock, StateDir};
use crate::steps::end_abandoned_trial::end_abandoned_trial;
use crate::steps::find_image::{Target, find_target};
use crate::steps::follow::Follow;
use crate::steps::preflight;
use crate::steps::pull_image::pull_image;
use crate::steps::verify_image::{ImageCheck, Needs};
use crate::trial::Trial;

/// Longer than the limits of the search for a signature and of the requests before it.
const MAX_VERIFY: Duration = Duration::from_secs(5 * 60);
/// The registry client and the runtimes end a pull without progress earlier.
const MAX_PULL: Duration = Duration::from_secs(60 * 60);
/// To create and start a container on a loaded machine.
const START_OVERHEAD: Duration = Duration::from_secs(120);

pub(super) async fn start(
    request: &StartRequest,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let service_manager = match request.after {
        AfterStart::Follow(_) => ServiceManager::at(settings.notify_socket.clone()),
        AfterStart::Return | AfterStart::DryRun => ServiceManager::default(),
    };
    let unit = Unit {
        request,
        service_manager,
    };
    let outcome = try_start(&unit, root, settings, printer).await;
    if let Err(error) = &outcome {
        unit.failed(&error_text::one_line(error.as_ref()));
    }
    outcome
}

async fn try_start(
    unit: &Unit<'_>,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let request = unit.request;
    let target = find_target(&request.image, settings, printer).await?;
    let mut session = Session::new(unit, root, settings)?;
    if Trial::read(&session.state)?.is_some() {
        session.lock(printer).await?;
    }
    let mut desired = DesiredScheduler {
        name: target.scheduler.clone(),
        reference: target.reference.to_string(),
        image: None,
        args: request.args.clone(),
        runtime: session.runtimes.chosen.runtime,
    };
    // `switch` may have to replace an older image of the same tag: only the digest shows that.
    let first = session.decide(&desired).await?;
    if let (Decision::AlreadyRuns(running), StartMode::Run) = (first, request.mode) {
        return session.already_runs(&running, printer).await;
    }
    let trusted = session.check_and_verify(&target, printer).await?;
    desired.image = Some(trusted.image().to_string());
    let (name, args) = (desired.name.clone(), desired.args.clone());
    let launch = Launch::new(name, target.reference, trusted, args)?;
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
    session
        .finish(&success.container, &desired.name, printer)
        .await
}

/// What systemd and `schedctl status` are told, if this is a service.
struct Unit<'a> {
    request: &'a StartRequest,
    service_manager: ServiceManager,
}

impl Unit<'_> {
    fn is_enabled(&self) -> bool {
        self.request.after == AfterStart::Follow(ExitCodes::Unit)
    }

    fn attached(&self, scheduler: &str) {
        let status = format!("the kernel has attached {scheduler}");
        self.service_manager.ready(&status);
        if self.is_enabled() {
            let _ = BootFailure::delete(&StateDir::system());
        }
    }

    fn failed(&self, reason: &str) {
        self.service_manager.failed(reason);
        if self.is_enabled() {
            let failure = BootFailure {
                scheduler: self.request.image.name_or_reference.clone(),
                reason: reason.to_owned(),
                at: Timestamp::now(),
            };
            // The journal has the reason as well.
            let _ = failure.save(&StateDir::system());
        }
    }
}

/// What the steps of one start need.
struct Session<'a> {
    unit: &'a Unit<'a>,
    request: &'a StartRequest,
    root: &'a HostRoot,
    settings: &'a Settings,
    runtimes: Runtimes,
    state: StateDir,
    driver: AnyDriver,
    interrupt: Interrupt,
    kernel: KernelMonitor,
}

impl<'a> Session<'a> {
    fn new(unit: &'a Unit<'a>, root: &'a HostRoot, settings: &'a Settings) -> anyhow::Result<Self> {
        let runtimes = settings.runtimes();
        Ok(Self {
            unit,
            request: unit.request,
            root,
            settings,
            state: StateDir::system(),
            driver: open(&runtimes.chosen, &settings.registry),
            runtimes,
            interrupt: Interrupt::listen()?,
            kernel: KernelMonitor::new(root.clone()),
        })
    }

    fn is_dry_run(&self) -> bool {
        self.request.after == AfterStart::DryRun
    }

    /// Takes the lock and ends an abandoned trial; does nothing in a dry run.
    async fn lock(&self, printer: &mut Printer) -> anyhow::Result<Option<Lock>> {
        if self.is_dry_run() {
            return Ok(None);
        }
        let lock = self.state.lock().await?;
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
        target: &Target,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let status = format!("verifying {}", target.reference);
        self.unit.service_manager.starting(&status, MAX_VERIFY);
        let registry = Client::new(self.settings.registry.clone());
        let check = ImageCheck {
            reference: &target.reference,
            pin: target.pin.as_ref(),
            trust: &self.request.image.trust,
            registry: &registry,
            verdicts: self.settings.verdicts.as_ref(),
            driver: &self.driver,
        };
        let preflight = async |needs: Needs<'_>| {
            preflight::require(needs, self.root, &self.runtimes, &registry).await
        };
        check
            .require_trust(self.request.pull, preflight, printer)
            .await
    }

    async fn pull(&mut self, image: &Trusted) -> anyhow::Result<Pulled> {
        if self.is_dry_run() {
            return Ok(Pulled::Cached);
        }
        let status = format!("pulling {}", image.image());
        self.unit.service_manager.starting(&status, MAX_PULL);
        tokio::select! {
            pulled = pull_image(&self.driver, image) => Ok(pulled?),
            () = self.interrupt.received() => bail!("interrupted during the pull of the image"),
        }
    }

    async fn execute(&mut self, plan: &Plan) -> anyhow::Result<Success> {
        let waits = plan.steps.iter().filter_map(PlanStep::wait);
        let limit: Duration = waits.map(|wait| wait.attach + wait.probation).sum();
        let status = "waiting until the kernel has attached the scheduler";
        let limit = limit + START_OVERHEAD;
        self.unit.service_manager.starting(status, limit);
        let endpoint = &self.runtimes.chosen;
        let executor = Executor {
            driver: &self.driver,
            runtime: endpoint.runtime,
            kernel: &self.kernel,
            state: &self.state,
            start_guard: &|trial| guard::start_guard(endpoint, trial),
        };
        let progress = PlanProgress::new(plan);
        let mut on_step = |step: &PlanStep| progress.show(step);
        let result = execute(plan, &executor, &mut self.interrupt, &mut on_step).await;
        result.map_err(|failure| anyhow::Error::new(*failure))
    }

    async fn already_runs(
        &mut self,
        running: &Running,
        printer: &mut Printer,
    ) -> anyhow::Result<Exit> {
        if !self.is_dry_run() && !running.leftovers.is_empty() {
            self.remove_leftovers(printer).await?;
        }
        printer.print(&RunResult::already_runs(running))?;
        let found = &running.container;
        self.finish(&found.container.id, &found.scheduler(), printer)
            .await
    }

    /// Removes what an interrupted run left behind, beside the running scheduler.
    async fn remove_leftovers(&self, printer: &mut Printer) -> anyhow::Result<()> {
        // Without the lock a leftover may be the work of another process.
        let _lock = self.state.lock().await?;
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

    async fn finish(
        &mut self,
        id: &ContainerId,
        scheduler: &str,
        printer: &Printer,
    ) -> anyhow::Result<Exit> {
        let AfterStart::Follow(exit_codes) = self.request.after else {
            return Ok(Exit::Ok);
        };
        self.unit.attached(scheduler);
        let follow = Follow {
            driver: &self.driver,
            id,
            scheduler,
            kernel: &self.kernel,
            state: &self.state,
            service_manager: &self.unit.service_manager,
            target: printer.scheduler_stdout(),
            exit_codes,
        };
        let followed = follow.run(&mut self.interrupt).await?;
        if let Some(reason) = &followed.failure {
            tracing::error!("{reason}");
            self.unit.failed(reason);
        }
        Ok(followed.exit)
    }
}
