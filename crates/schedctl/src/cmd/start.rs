//! `schedctl run` and `schedctl switch`: find, look and decide, examine, trust, pull, look and
//! decide again, plan, execute, print.

use std::time::Duration;

use anyhow::bail;
use schedkit_core::{Finding, ImageRef};
use schedkit_host::HostRoot;
use schedkit_image::registry::Client;
use schedkit_image::signature::Trusted;
use schedkit_runtime::{After, ContainerId, Driver, Launch, Pulled};

use super::doctor::{findings, needs};
use super::find::find;
use super::follow::follow;
use super::pull::pull;
use super::repair::repair;
use super::trust::trust;
use crate::decide::{Decision, Manner, Runs, Wanted, decide};
use crate::drivers::{AnyDriver, open};
use crate::execute::{Aftermath, Machine, Success, execute};
use crate::exit::Exit;
use crate::guard;
use crate::interrupt::Interrupt;
use crate::kernel::Kernel;
use crate::observe::observe;
use crate::output::started::{Planned, Started};
use crate::output::{Printer, steps::Steps};
use crate::plan::{Plan, Step};
use crate::request::{Ending, Settings, Start};
use crate::state_dir::StateDir;
use crate::trial::Trial;

/// The machine would not run it.
#[derive(Debug, thiserror::Error)]
#[error("this machine cannot run it: {}", .0.join("; "))]
pub(crate) struct Unfit(Vec<String>);

/// Twice it is looked and decided: before anybody is asked for an image, so that a refusal costs
/// nothing, and again once nobody else may change anything. What takes long, such as a pull, is
/// done in between: others must be able to end a scheduler meanwhile.
pub(super) async fn start(
    start: &Start,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let found = find(&start.wanted.word, settings, printer).await?;
    let image = start.wanted.image(&found)?;
    let state = StateDir::system();
    if start.ending != Ending::DryRun && Trial::read(&state)?.is_some() {
        let _lock = state.lock().await?;
        repair(root, &state, settings, printer).await?;
    }
    let mut wanted = Wanted {
        scheduler: found.scheduler().to_owned(),
        reference: image.to_string(),
        image: None,
        args: start.args.clone(),
        runtime: settings.runtimes.chosen.runtime,
    };
    let look = async |wanted: &Wanted| {
        let observed = observe(root, &state, &settings.runtimes).await?;
        anyhow::Ok(decide(&observed, wanted, start.manner)?)
    };
    let mut here = Here {
        root,
        settings,
        state: &state,
        driver: open(&settings.runtimes.chosen, &settings.registry),
        interrupt: Interrupt::listen()?,
    };
    // Whoever switches may mean another image of the same name: only its digest tells.
    if let (Decision::Runs(runs), Manner::Join) = (look(&wanted).await?, start.manner) {
        return here.already(&runs, start.ending, printer).await;
    }
    let registry = Client::new(settings.registry.clone());
    fit(&image, root, settings, &registry).await?;
    let trusted = trust(&image, &start.wanted.demand, &registry, printer).await?;
    wanted.image = Some(trusted.image().to_string());
    let launch = Launch::new(
        wanted.scheduler.clone(),
        image,
        trusted,
        wanted.args.clone(),
    )?;
    let pulled = match start.ending {
        Ending::DryRun => Pulled::Cached,
        Ending::Return | Ending::Stay => here.pull(launch.image()).await?,
    };
    let lock = match start.ending {
        Ending::DryRun => None,
        Ending::Return | Ending::Stay => {
            let lock = state.lock().await?;
            repair(root, &state, settings, printer).await?;
            Some(lock)
        }
    };
    let (leftovers, replaces) = match look(&wanted).await? {
        Decision::Runs(runs) => {
            drop(lock);
            return here.already(&runs, start.ending, printer).await;
        }
        Decision::Start {
            leftovers,
            replaces,
        } => (leftovers, replaces),
    };
    let plan = Plan::new(&leftovers, replaces.as_ref(), launch, start.terms);
    if start.ending == Ending::DryRun {
        printer.print(&Planned::of(&plan))?;
        return Ok(Exit::Ok);
    }
    let success = here.carry_out(&plan).await?;
    drop(lock);
    for left in &success.left {
        printer.warn(left.to_string());
    }
    let runtime = settings.runtimes.chosen.runtime;
    printer.print(&Started::now(&plan, runtime, pulled, &success))?;
    here.finish(start.ending, &success.container, printer).await
}

/// This machine, and the one who sits at it.
struct Here<'a> {
    root: &'a HostRoot,
    settings: &'a Settings,
    state: &'a StateDir,
    driver: AnyDriver,
    interrupt: Interrupt,
}

impl Here<'_> {
    async fn pull(&mut self, image: &Trusted) -> anyhow::Result<Pulled> {
        tokio::select! {
            pulled = pull(&self.driver, image) => Ok(pulled?),
            () = self.interrupt.heard() => bail!("interrupted while its image was pulled"),
        }
    }

    async fn carry_out(&mut self, plan: &Plan) -> anyhow::Result<Success> {
        let place = &self.settings.runtimes.chosen;
        let machine = Machine {
            driver: &self.driver,
            runtime: place.runtime,
            kernel: &Kernel::of(self.root.clone()),
            state: self.state,
            stand_by: &|trial| guard::stand_by(place, trial),
        };
        let mut steps = Steps::new(plan);
        let mut begins = |step: &Step| steps.begins(step);
        let done = execute(plan, &machine, &mut self.interrupt, &mut begins).await;
        // The line is free for what comes next.
        drop(steps);
        done.map_err(|failure| anyhow::Error::new(*failure))
    }

    async fn already(
        &mut self,
        runs: &Runs,
        ending: Ending,
        printer: &mut Printer,
    ) -> anyhow::Result<Exit> {
        if ending != Ending::DryRun && !runs.leftovers.is_empty() {
            self.clear(printer).await?;
        }
        printer.print(&Started::already(&runs.held, runs.ops.as_ref()))?;
        self.finish(ending, &runs.held.container.id, printer).await
    }

    /// Removes what a run that was cut short left behind, beside the one that runs.
    async fn clear(&self, printer: &mut Printer) -> anyhow::Result<()> {
        let Self {
            root,
            settings,
            state,
            ..
        } = self;
        // What looks left over without the lock may be somebody's work.
        let _lock = state.lock().await?;
        let observed = observe(root, state, &settings.runtimes).await?;
        for held in observed.leftovers() {
            let driver = open(settings.runtimes.place(held.runtime), &settings.registry);
            let ending = driver.end(&held.container.id, Duration::ZERO, After::Remove);
            if let Err(error) = ending.await {
                printer.warn(Aftermath::Left(error.into()).to_string());
            }
        }
        Ok(())
    }

    async fn finish(
        &mut self,
        ending: Ending,
        id: &ContainerId,
        printer: &Printer,
    ) -> anyhow::Result<Exit> {
        match ending {
            Ending::Stay => {
                let place = printer.place_of_words();
                follow(&self.driver, id, place, self.state, &mut self.interrupt).await
            }
            Ending::Return | Ending::DryRun => Ok(Exit::Ok),
        }
    }
}

/// Refuses before anything is pulled when the machine or the image says that it cannot be.
async fn fit(
    image: &ImageRef,
    root: &HostRoot,
    settings: &Settings,
    registry: &Client,
) -> anyhow::Result<()> {
    let needs = needs(image, registry).await?;
    let findings = findings(root, settings, Some(needs)).await;
    let blocking = findings.iter().filter(|finding| finding.is_blocking());
    let sentences: Vec<String> = blocking.map(sentence).collect();
    if sentences.is_empty() {
        return Ok(());
    }
    Err(Unfit(sentences).into())
}

fn sentence(finding: &Finding) -> String {
    let remedy = finding.remediation.as_ref();
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" ({remedy})"));
    format!("{}: {}{remedy}", finding.id, finding.detail)
}
