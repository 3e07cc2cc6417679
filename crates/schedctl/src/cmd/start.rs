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
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{After, ContainerId, Driver, Launch, Pulled};

use crate::boot_unit::BootUnit;
use crate::decide::{Decision, DesiredScheduler, Running, StartMode, decide};
use crate::drivers::{AnyDriver, open};
use crate::execute::{Executor, Rollback, Success, execute};
use crate::exit::{Exit, ExitCodes};
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
use crate::service_manager::ServiceManager;
use crate::settings::Settings;
use crate::state_dir::{Lock, StateDir};
use crate::steps::end_abandoned_trial::end_abandoned_trial;
use crate::steps::find_image::{Target, find_target};
use crate::steps::follow::Follow;
use crate::steps::preflight;
use crate::steps::pull_image::pull_image;
use crate::steps::read_policy::read_fresh_policy;
use crate::steps::take_lock::take_lock;
use crate::steps::verify_image::{ImageCheck, Needs};
use crate::steps::verify_running::verify_running;
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
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let unit = unit(request, settings);
    let session = Session::new(request, &unit, root, settings, interrupt);
    let outcome = try_start(&session, printer).await;
    if let Err(error) = &outcome {
        unit.failed(error);
    }
    outcome
}

async fn try_start(session: &Session<'_>, printer: &mut Printer) -> anyhow::Result<Exit> {
    let request = session.request;
    let target = find_target(&request.image, session.settings, printer).await?;
    if Trial::read(&session.state)?.is_some() {
        session.lock(printer).await?;
    }
    let mut desired = desired(request, &target, session.runtimes.chosen.runtime);
    let asked_as = target.catalog_name.as_deref();
    // `switch` may have to replace an older image of the same tag: only the digest shows that.
    let first = session.decide(&desired).await?;
    if let (Decision::AlreadyRuns(running), StartMode::Run) = (first, request.mode) {
        return session.already_runs(&running, asked_as, printer).await;
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
            return session.already_runs(&running, asked_as, printer).await;
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

fn unit(request: &StartRequest, settings: &Settings) -> BootUnit {
    let socket = settings.notify_socket.clone();
    match request.after {
        AfterStart::Follow(ExitCodes::Unit) => {
            BootUnit::enabled(&request.image.name_or_reference, socket, StateDir::system())
        }
        AfterStart::Follow(ExitCodes::Scheduler) => BootUnit::other(ServiceManager::at(socket)),
        AfterStart::Return | AfterStart::DryRun => BootUnit::other(ServiceManager::default()),
    }
}

/// What was enabled is one image, so that only this digest is the same scheduler; a tag may have moved.
fn desired(request: &StartRequest, target: &Target, runtime: Runtime) -> DesiredScheduler {
    let pin = target.pin.clone().map(ImageRef::from);
    DesiredScheduler {
        name: target.scheduler.clone(),
        reference: pin.unwrap_or_else(|| target.reference.clone()),
        image: None,
        args: request.args.clone(),
        waiver: request.image.trust.waiver,
        trial: request.options.trial,
        runtime,
    }
}

/// What the steps of one start need.
struct Session<'a> {
    request: &'a StartRequest,
    unit: &'a BootUnit,
    root: &'a HostRoot,
    settings: &'a Settings,
    runtimes: Runtimes,
    state: StateDir,
    driver: AnyDriver,
    interrupt: &'a Interrupt,
    kernel: KernelMonitor,
}

impl<'a> Session<'a> {
    fn new(
        request: &'a StartRequest,
        unit: &'a BootUnit,
        root: &'a HostRoot,
        settings: &'a Settings,
        interrupt: &'a Interrupt,
    ) -> Self {
        let runtimes = settings.runtimes();
        Self {
            request,
            unit,
            root,
            settings,
            state: StateDir::system(),
            driver: open(&runtimes.chosen, &settings.registry),
            runtimes,
            interrupt,
            kernel: KernelMonitor::new(root.clone()),
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
        target: &Target,
        printer: &mut Printer,
    ) -> anyhow::Result<Trusted> {
        let status = format!("verifying {}", target.reference);
        self.unit.service_manager.starting(&status, MAX_VERIFY);
        let policy = &self.request.image.trust.policy;
        let policy = read_fresh_policy(policy, &self.settings.trust_root, printer)?;
        let registry = Client::new(self.settings.registry.clone());
        let check = ImageCheck {
            reference: &target.reference,
            pin: target.pin.as_ref(),
            catalog_name: target.catalog_name.as_deref(),
            trust: &self.request.image.trust,
            registry: &registry,
            verdicts: self.settings.verdicts.as_ref(),
            driver: &self.driver,
            audit: self.request.audit(self.settings),
        };
        let preflight = async |needs: Needs<'_>| {
            preflight::require(needs, self.root, &self.runtimes, &registry).await
        };
        check
            .require_trust_by(&policy, self.request.pull, preflight, printer)
            .await
    }

    async fn pull(&self, image: &Trusted) -> anyhow::Result<Pulled> {
        if self.is_dry_run() {
            return Ok(Pulled::Cached);
        }
        let status = format!("pulling {}", image.image());
        self.unit.service_manager.starting(&status, MAX_PULL);
        let record = PullRecord::new(&self.settings.cache.value);
        Ok(pull_image(&self.driver, image, &record).await?)
    }

    async fn execute(&self, plan: &Plan) -> anyhow::Result<Success> {
        let waits = plan.steps.iter().filter_map(PlanStep::wait);
        let limit: Duration = waits.map(|wait| wait.attach + wait.probation).sum();
        let status = "waiting until the kernel has attached the scheduler";
        let limit = limit + START_OVERHEAD;
        self.unit.service_manager.starting(status, limit);
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
            kernel: &self.kernel,
            state: &self.state,
            start_guard: &|trial| guard.start(trial),
        };
        let progress = PlanProgress::new(plan);
        let mut on_step = |step: &PlanStep| progress.show(step);
        let result = execute(plan, &executor, self.interrupt, &mut on_step).await;
        result.map_err(|failure| anyhow::Error::new(*failure))
    }

    /// `asked_as` is the name that a catalog led from.
    async fn already_runs(
        &self,
        running: &Running,
        asked_as: Option<&str>,
        printer: &mut Printer,
    ) -> anyhow::Result<Exit> {
        let (request, settings, driver) = (self.request, self.settings, &self.driver);
        let container = &running.container;
        verify_running(container, asked_as, request, settings, driver, printer).await?;
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

    async fn finish(
        &self,
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
        let followed = follow.run(self.interrupt).await?;
        if let Some(reason) = &followed.failure {
            tracing::error!("{reason}");
            self.unit.ended(reason);
        }
        Ok(followed.exit)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use schedctl_args::args::Args;
    use schedkit_core::PinnedRef;
    use schedkit_host::SchedExtState;
    use schedkit_runtime::Trust;

    use super::*;
    use crate::enabled::EnabledScheduler;
    use crate::fixtures;
    use crate::observe::Observed;
    use crate::request::{Command, Request};
    use crate::settings::config_file::ConfigFile;
    use crate::settings::environment::Environment;

    const TAG: &str = "a.example/team/one:1.0";

    fn pinned(digit: &str) -> PinnedRef {
        let reference: ImageRef = TAG.parse().unwrap();
        let digest = format!("sha256:{}", digit.repeat(64)).parse().unwrap();
        PinnedRef::new(reference.repository().clone(), digest)
    }

    fn unit_of(digit: &str) -> (StartRequest, Target) {
        let enabled = EnabledScheduler {
            scheduler: "scx_one".to_owned(),
            reference: TAG.parse().unwrap(),
            catalog_name: None,
            image: pinned(digit),
            args: Vec::new(),
            allow_unsigned: false,
            environment: BTreeMap::new(),
        };
        let line = ["schedctl", "run", "--attach", "--enabled", "scx_one"];
        let args = Args::try_parse_from(line).unwrap();
        let (environment, file) = (Environment::empty(), ConfigFile::default());
        let request = Request::new(args, environment, file, Some(enabled)).unwrap();
        let Command::Start(request) = request.command else {
            panic!("{:?}", request.command);
        };
        let found = request.image.enabled.as_ref().unwrap();
        let target = Target {
            scheduler: found.scheduler.clone(),
            reference: found.reference.clone(),
            catalog_name: None,
            pin: Some(found.pin.clone()),
        };
        (*request, target)
    }

    /// The tag has moved between the start by hand and `enable`.
    #[test]
    fn for_a_pin_only_its_digest_runs_already() {
        let mut running = fixtures::runtime_container(Runtime::Podman, "aaaa", "scx_one");
        running.container.record.requested = Some(TAG.to_owned());
        running.container.record.image = Some(pinned("a").to_string());
        running.container.record.trust = Some(Trust::Verified {
            signer: "somebody".to_owned(),
            policy: "a fingerprint".to_owned(),
        });
        let observed = Observed {
            kernel: fixtures::kernel(SchedExtState::Enabled, Some("one"), Some(3)),
            containers: vec![running],
            sked: Vec::new(),
            holds_scheduler: schedkit_host::Fact::Absent,
            trial: None,
        };
        let decision = |digit: &str| {
            let (request, target) = unit_of(digit);
            let desired = desired(&request, &target, Runtime::Podman);
            decide(&observed, &desired, request.mode)
        };
        let same = decision("a");
        assert!(matches!(same, Ok(Decision::AlreadyRuns(_))), "{same:?}");
        let refusal = decision("b").unwrap_err().to_string();
        let part = format!("scx_one runs already, with the image {}", pinned("a"));
        assert!(refusal.starts_with(&part), "{refusal}");
    }
}
