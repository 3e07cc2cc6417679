//! `schedctl status`: what we started against what the kernel has attached.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::{Fact, HostRoot, SchedExt, Watch, WatchIntervals, struct_ops};
use schedkit_runtime::DriverError;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::status::{Moment, Report, Unjudged};
use crate::output::{Printer, Reader, Shape, sentence};
use crate::request::{Settings, Telling};
use crate::runtimes::{PATIENCE, Runtimes, list, survey};
use crate::sked;
use crate::state_dir::{StateDir, StateError};
use crate::status::{Judgement, doubtful, judge, recognise};
use crate::trial::Trial;

/// How long a kernel that is on its way gets to arrive.
const SETTLING: Duration = Duration::from_secs(2);
/// How often containers are looked at while watching; the kernel wakes us by itself.
const TICK: Duration = Duration::from_secs(2);

/// What was found out.
#[derive(Debug)]
enum Answer {
    Judged(Box<Report>, Vec<String>),
    /// What is known, and why it is not enough.
    Unjudged(Unjudged, String),
}

pub(super) async fn status(
    telling: Telling,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    match telling {
        Telling::Once => once(root, settings, printer).await,
        Telling::Always => always(root, settings, printer).await,
    }
}

async fn once(root: &HostRoot, settings: &Settings, printer: &mut Printer) -> anyhow::Result<Exit> {
    match look(root, &StateDir::system(), &settings.runtimes).await {
        Answer::Judged(report, remarks) => {
            remarks.into_iter().for_each(|remark| printer.warn(remark));
            printer.print(&*report)?;
            Ok(report.exit())
        }
        Answer::Unjudged(known, why) => {
            printer.partial(&known, why, Shape::Pages);
            Ok(Exit::Trouble)
        }
    }
}

/// Whenever it has changed, until somebody ends it.
async fn always(
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    let mut interrupt = Interrupt::listen()?;
    let mut watch = Watch::open(root.clone(), WatchIntervals::default());
    let mut last: Option<Answer> = None;
    loop {
        let answer = tokio::select! {
            () = interrupt.heard() => return Ok(Exit::Ok),
            answer = look(root, &state, &settings.runtimes) => answer,
        };
        if !last.as_ref().is_some_and(|last| answer.agrees_with(last)) {
            if tell(&answer, printer)? == Reader::Gone {
                return Ok(Exit::Ok);
            }
            last = Some(answer);
        }
        tokio::select! {
            () = interrupt.heard() => return Ok(Exit::Ok),
            _ = timeout(TICK, watch.next()) => {}
        }
    }
}

fn tell(answer: &Answer, printer: &mut Printer) -> anyhow::Result<Reader> {
    match answer {
        Answer::Judged(report, remarks) => {
            remarks
                .iter()
                .for_each(|remark| printer.warn(remark.clone()));
            printer.print_next(&Moment::new(report, Timestamp::now()))
        }
        Answer::Unjudged(known, why) => {
            printer.partial(known, why.clone(), Shape::Line);
            Ok(Reader::There)
        }
    }
}

/// The containers first, the kernel last: its word counts, so it should be the newest.
async fn look(root: &HostRoot, state: &StateDir, runtimes: &Runtimes) -> Answer {
    let looked = sked::look(runtimes, PATIENCE);
    let (sight, looked) = tokio::join!(survey(runtimes, PATIENCE, list), looked);
    let kernel = settled(root).await;
    let driver = runtimes.chosen.runtime;
    let ours = &sight.ours;
    let unjudged = |why: String| Answer::Unjudged(Unjudged::of(driver, &kernel, ours), why);
    if let Some(error) = &sight.blind {
        return unjudged(blind(error, runtimes));
    }
    let holds = doubtful(&kernel, ours).map_or(Fact::Absent, |pid| struct_ops::holds(root, pid));
    let trial = on_trial(state);
    let spare = trial.as_ref().ok().and_then(Option::as_ref);
    let spare = spare.and_then(|(trial, _)| trial.before.as_ref());
    let (mut pods, unknown) = match looked {
        Ok(pods) => (pods, None),
        Err(error) => (
            Vec::new(),
            Some(format!("{}: {SKED_UNSEEN}", sentence(&error))),
        ),
    };
    sked::examine(&mut pods, &kernel, root);
    match judge(&kernel, ours, &holds, spare) {
        Ok(judgement) => {
            let judgement = recognise(judgement, &kernel, &pods);
            let report = Report::of(driver, &kernel, ours, &judgement);
            let Judgement { mut remarks, .. } = judgement;
            remarks.extend(match &trial {
                Ok(trial) => trial.as_ref().map(|(_, remark)| remark.clone()),
                Err(error) => Some(sentence(error)),
            });
            let unseen = sight.half_blind.as_ref();
            remarks.extend(unseen.map(|error| format!("{}: {UNSEEN}", sentence(error))));
            // Who is blind altogether has been told so already.
            remarks.extend(unknown.filter(|_| unseen.is_none()));
            Answer::Judged(Box::new(report), remarks)
        }
        Err(untold) => unjudged(untold.to_string()),
    }
}

/// A trial that goes on, and what to say of it. A folder that is not there holds none, and is not
/// made by looking.
fn on_trial(state: &StateDir) -> Result<Option<(Trial, String)>, StateError> {
    let Some(trial) = Trial::read(state)? else {
        return Ok(None);
    };
    let remark = trial.remark(Timestamp::now(), state.guard()?);
    Ok(Some((trial, remark)))
}

const UNSEEN: &str = "what it runs of ours is not known";
const SKED_UNSEEN: &str = "whether sked runs a scheduler here is not known";

fn blind(error: &DriverError, runtimes: &Runtimes) -> String {
    let why = sentence(error);
    let other = crate::runtimes::name_of(runtimes.other.runtime);
    let remedy = error.remedy();
    let remedy = remedy.unwrap_or_else(|| "see `schedctl doctor`".to_owned());
    format!(
        "{why}: whether a container of ours runs cannot be told; {remedy}, or ask with --driver \
         {other} or --socket"
    )
}

/// The kernel, after what is passing by has passed by.
async fn settled(root: &HostRoot) -> Fact<SchedExt> {
    let now = SchedExt::read(root);
    if !now.known().is_some_and(SchedExt::is_transitional) {
        return now;
    }
    let mut watch = Watch::open(root.clone(), WatchIntervals::default());
    let arriving = async {
        loop {
            let now = watch.next().await;
            if !now.known().is_some_and(SchedExt::is_transitional) {
                return now;
            }
        }
    };
    let arrived = timeout(SETTLING, arriving).await;
    arrived.unwrap_or_else(|_| SchedExt::read(root))
}

impl Answer {
    fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Judged(one, remarks), Self::Judged(two, others)) => {
                one.agrees_with(two) && remarks == others
            }
            (Self::Unjudged(one, why), Self::Unjudged(two, because)) => {
                one.agrees_with(two) && why == because
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine whose kernel says this.
    fn machine(state: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let sched_ext = folder.path().join("sys/kernel/sched_ext");
        fs::create_dir_all(&sched_ext).unwrap();
        fs::write(sched_ext.join("state"), state).unwrap();
        folder
    }

    #[tokio::test(start_paused = true)]
    async fn a_kernel_on_its_way_gets_time_to_arrive() {
        let folder = machine("disabling\n");
        let root = HostRoot::at(folder.path());
        let changing = async {
            tokio::time::sleep(SETTLING / 4).await;
            fs::write(root.path("/sys/kernel/sched_ext/state"), "disabled\n").unwrap();
        };
        let (kernel, ()) = tokio::join!(settled(&root), changing);
        let state = kernel.known().unwrap().state.known().unwrap().clone();
        assert_eq!(state.as_str(), "disabled");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kernel_that_never_arrives_is_told_as_it_is() {
        let folder = machine("enabling\n");
        let kernel = settled(&HostRoot::at(folder.path())).await;
        assert!(kernel.known().unwrap().is_transitional());
    }

    #[tokio::test]
    async fn without_a_runtime_the_kernel_is_told_and_nothing_is_claimed() {
        let folder = machine("disabled\n");
        let socket = folder.path().join("none.sock");
        let runtimes = Runtimes::new(schedkit_runtime::driver::Runtime::Podman, socket);
        let answer = look(
            &HostRoot::at(folder.path()),
            &StateDir::at(folder.path()),
            &runtimes,
        )
        .await;
        let Answer::Unjudged(known, why) = answer else {
            panic!("{answer:?}");
        };
        assert!(why.contains("Podman cannot be reached"), "{why}");
        let json = serde_json::to_value(known).unwrap();
        assert_eq!(json["kernel"]["enabled"], false);
        assert_eq!(json.get("status"), None);
    }
}
