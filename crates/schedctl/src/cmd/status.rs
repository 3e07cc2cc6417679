//! `schedctl status`: compares schedctl's containers with the kernel's state.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_host::{Fact, HostRoot, Watch, WatchIntervals};
use schedkit_runtime::DriverError;
use tokio::time::timeout;

use crate::boot_failure::BootFailure;
use crate::boot_time::since_boot;
use crate::error_text;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::inventory::{READ_TIMEOUT, list, list_both};
use crate::kernel::KernelMonitor;
use crate::output::status::{PartialStatus, StatusReport, TimedStatus};
use crate::output::trial::TrialDocument;
use crate::output::{Layout, Printer, Reader};
use crate::request::StatusMode;
use crate::runtimes::{Runtimes, driver_name};
use crate::settings::Settings;
use crate::sked;
use crate::state_dir::{GuardProcess, StateDir, StateError};
use crate::status::{Assessment, assess, include_sked, process_to_inspect};
use crate::trial::Trial;

/// How long a transition of the kernel may take before its state is printed as it is.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often containers are listed while watching; the kernel's events arrive by themselves.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
enum Answer {
    Known(Box<StatusReport>, Vec<String>),
    /// What is known, why that is not enough for a status, and warnings.
    Unknown(PartialStatus, String, Vec<String>),
}

pub(super) async fn status(
    mode: StatusMode,
    root: &HostRoot,
    settings: &Settings,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let runtimes = settings.runtimes();
    match mode {
        StatusMode::Once => once(root, &runtimes, printer).await,
        StatusMode::Watch => watch(root, &runtimes, interrupt, printer).await,
    }
}

async fn once(root: &HostRoot, runtimes: &Runtimes, printer: &mut Printer) -> anyhow::Result<Exit> {
    match read(root, &StateDir::system(), runtimes).await {
        Answer::Known(report, warnings) => {
            warnings.into_iter().for_each(|text| printer.warn(text));
            printer.print(&*report)?;
            Ok(report.exit())
        }
        Answer::Unknown(known, error, warnings) => {
            warnings.into_iter().for_each(|text| printer.warn(text));
            printer.partial(&known, error, Layout::Pretty);
            Ok(Exit::Failure)
        }
    }
}

/// Prints the status whenever it changes, until a signal.
async fn watch(
    root: &HostRoot,
    runtimes: &Runtimes,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let state = StateDir::system();
    // Ctrl-C is how it ends.
    let _hold = interrupt.hold();
    let mut watch = Watch::open(root.clone(), WatchIntervals::default());
    let mut last: Option<Answer> = None;
    loop {
        let answer = tokio::select! {
            _ = interrupt.received() => return Ok(Exit::Ok),
            answer = read(root, &state, runtimes) => answer,
        };
        if !last.as_ref().is_some_and(|last| answer.same_as(last)) {
            if print_next(&answer, printer)? == Reader::Closed {
                return Ok(Exit::Ok);
            }
            last = Some(answer);
        }
        tokio::select! {
            _ = interrupt.received() => return Ok(Exit::Ok),
            _ = timeout(WATCH_INTERVAL, watch.next()) => {}
        }
    }
}

fn print_next(answer: &Answer, printer: &mut Printer) -> anyhow::Result<Reader> {
    match answer {
        Answer::Known(report, warnings) => {
            warnings.iter().for_each(|text| printer.warn(text.clone()));
            printer.print_next(&TimedStatus::new(report, Timestamp::now()))
        }
        Answer::Unknown(known, error, warnings) => {
            warnings.iter().for_each(|text| printer.warn(text.clone()));
            printer.partial(known, error.clone(), Layout::Line);
            Ok(Reader::Open)
        }
    }
}

/// Reads the containers first and the kernel last, so that the kernel's state is the newest.
async fn read(root: &HostRoot, state: &StateDir, runtimes: &Runtimes) -> Answer {
    let pods = sked::list(runtimes, READ_TIMEOUT);
    let (inventory, pods) = tokio::join!(list_both(runtimes, READ_TIMEOUT, list), pods);
    let monitor = KernelMonitor::new(root.clone());
    let kernel = monitor.settled(SETTLE_TIMEOUT).await;
    let driver = runtimes.chosen.runtime;
    let containers = &inventory.containers;
    let (trial, own_warnings) = read_own_files(state);
    let unknown = |error: String, warnings: Vec<String>| {
        Answer::Unknown(
            PartialStatus::new(driver, &kernel, containers),
            error,
            warnings,
        )
    };
    if let Some(error) = &inventory.chosen_error {
        return unknown(unreachable_message(error, runtimes), own_warnings);
    }
    let process = process_to_inspect(&kernel, containers);
    let holds = process.map_or(Fact::Absent, |pid| monitor.holds_scheduler(pid));
    let fallback = trial.as_ref().and_then(|(trial, _)| trial.before.as_ref());
    let (mut pods, pods_error) = match pods {
        Ok(pods) => (pods, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    sked::read_links(&mut pods, &kernel, root);
    let assessment = match assess(&kernel, containers, &holds, fallback) {
        Ok(assessment) => include_sked(assessment, &kernel, &pods),
        Err(error) => return unknown(error.to_string(), own_warnings),
    };
    let mut report = StatusReport::new(driver, &kernel, containers, &assessment);
    report.trial = trial.map(|(trial, guard)| TrialDocument::new(&trial, guard));
    let Assessment { mut warnings, .. } = assessment;
    warnings.extend(own_warnings);
    let other_error = inventory.other_error.as_ref();
    warnings.extend(other_error.map(|error| with_note(error, OTHER_UNKNOWN)));
    // If containerd does not answer at all, one warning is enough.
    let pods_error = pods_error.filter(|_| other_error.is_none());
    warnings.extend(pods_error.map(|error| with_note(&error, SKED_UNKNOWN)));
    Answer::Known(Box::new(report), warnings)
}

/// The trial in progress, and what is to be warned of whatever a runtime answers: a trial and a failed
/// boot often have a runtime that is away as their reason.
fn read_own_files(state: &StateDir) -> (Option<(Trial, GuardProcess)>, Vec<String>) {
    let (trial, trial_warning) = match read_trial(state) {
        Ok(Some((trial, guard))) => {
            let warning = trial.warning(since_boot(), guard);
            (Some((trial, guard)), Some(warning))
        }
        Ok(None) => (None, Trial::unreadable(state)),
        Err(error) => (None, Some(error_text::one_line(&error))),
    };
    let failed = BootFailure::read(state).ok().flatten();
    let failed = failed.map(|failure| failure.warning());
    (trial, trial_warning.into_iter().chain(failed).collect())
}

/// Does not create the directory.
fn read_trial(state: &StateDir) -> Result<Option<(Trial, GuardProcess)>, StateError> {
    let Some(trial) = Trial::read(state)? else {
        return Ok(None);
    };
    let guard = state.guard()?;
    Ok(Some((trial, guard)))
}

const OTHER_UNKNOWN: &str = "its containers of schedctl are unknown";
const SKED_UNKNOWN: &str = "whether sked runs a scheduler here is unknown";

fn with_note(error: &DriverError, note: &str) -> String {
    format!("{}: {note}", error_text::one_line(error))
}

fn unreachable_message(error: &DriverError, runtimes: &Runtimes) -> String {
    let reason = error_text::one_line(error);
    let other = driver_name(runtimes.other.runtime);
    let remedy = error.remedy();
    let remedy = remedy.unwrap_or_else(|| "see `schedctl doctor`".to_owned());
    format!(
        "{reason}: whether a container of schedctl runs is unknown; {remedy}, or use --driver \
         {other} or --socket"
    )
}

impl Answer {
    fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(one, warnings), Self::Known(two, others)) => {
                one.same_as(two) && warnings == others
            }
            (Self::Unknown(one, error, warnings), Self::Unknown(two, other, others)) => {
                one.same_as(two) && error == other && warnings == others
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use schedkit_runtime::driver::Runtime;

    use super::*;
    use crate::fixtures::trial;
    use crate::runtimes::Endpoint;

    #[tokio::test]
    async fn without_a_runtime_there_is_the_kernels_state_and_what_own_files_say() {
        let folder = tempfile::tempdir().unwrap();
        let sched_ext = folder.path().join("sys/kernel/sched_ext");
        fs::create_dir_all(&sched_ext).unwrap();
        fs::write(sched_ext.join("state"), "disabled\n").unwrap();
        let socket = folder.path().join("none.sock");
        let runtimes = Runtimes::new(Endpoint {
            runtime: Runtime::Podman,
            socket,
        });
        let state = StateDir::at(folder.path());
        trial("0123").save(&state).unwrap();
        let failure = BootFailure {
            scheduler: "scx_a".to_owned(),
            reason: "Podman cannot be reached".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            boot_id: None,
        };
        failure.save(&state).unwrap();
        let answer = read(&HostRoot::at(folder.path()), &state, &runtimes).await;
        let Answer::Unknown(known, error, warnings) = answer else {
            panic!("{answer:?}");
        };
        let [of_the_trial, of_the_boot] = &warnings[..] else {
            panic!("{warnings:?}");
        };
        assert!(of_the_trial.contains("is on trial until"), "{warnings:?}");
        assert_eq!(*of_the_boot, failure.warning());
        assert!(error.contains("Podman cannot be reached"), "{error}");
        let json = serde_json::to_value(known).unwrap();
        assert_eq!(json["kernel"]["enabled"], false);
        assert_eq!(json.get("status"), None);
    }
}
