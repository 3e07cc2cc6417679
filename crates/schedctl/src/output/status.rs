//! What runs, as `schedctl status` prints it.

use jiff::Timestamp;
use schedkit_host::{Fact, SchedExt};
use schedkit_image::foreign::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::containerd::PodName;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::container::{Entry, Scheduler};
use super::kernel::Kernel;
use super::{Document, ERROR, GOOD, table};
use crate::exit::Exit;
use crate::runtimes::name_of;
use crate::sked::SkedPod;
use crate::status::{Held, Judgement, Status};

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    status: Status,
    driver: &'static str,
    scheduler: Option<Scheduler>,
    kernel: Kernel,
    discrepancy: Option<String>,
    /// All of ours, of both runtimes, live or left over.
    containers: Vec<Entry>,
    /// `schedctl` or `sked`; who keeps the scheduler that is spoken of.
    managed_by: Option<&'static str>,
    sked: Option<Sked>,
}

/// What sked runs here, where that is the scheduler that is spoken of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Sked {
    namespace: String,
    pod: String,
    /// The SchedExt is called so, or this is SCHEDEXT-POOL.
    daemonset: Option<String>,
}

/// What is known when there is no answer. It has no `status`, so that nobody takes it for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unjudged {
    driver: &'static str,
    kernel: Kernel,
    containers: Vec<Entry>,
}

/// One of many answers. To a person it says when.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Moment<'a> {
    report: &'a Report,
    #[serde(skip)]
    time: Timestamp,
}

impl<'a> Moment<'a> {
    pub(crate) fn new(report: &'a Report, time: Timestamp) -> Self {
        Self { report, time }
    }
}

impl Document for Moment<'_> {
    fn text(&self) -> String {
        format!("{:.0}\n{}\n", self.time, self.report.text())
    }
}

impl Report {
    pub(crate) fn of(
        driver: Runtime,
        kernel: &Fact<SchedExt>,
        ours: &[Held],
        judgement: &Judgement<'_>,
    ) -> Self {
        let by_us = judgement.scheduler.map(|_| "schedctl");
        let by_sked = judgement.sked.map(|_| "sked");
        let meant = judgement.sked.map(|pod| &pod.held);
        Self {
            status: judgement.status,
            driver: name_of(driver),
            managed_by: by_sked.or(by_us),
            sked: judgement.sked.map(Sked::from),
            scheduler: meant.or(judgement.scheduler).map(Scheduler::from),
            kernel: kernel.into(),
            discrepancy: judgement.discrepancy.clone(),
            containers: ours.iter().map(Entry::from).collect(),
        }
    }

    /// What this means for a script.
    pub(crate) fn exit(&self) -> Exit {
        match self.status {
            Status::Idle | Status::Running => Exit::Ok,
            Status::OrphanedKernelState
            | Status::ManagedDetached
            | Status::ManagedMismatch
            | Status::MultipleManaged => Exit::Discrepancy,
        }
    }

    /// Whether it says the same as another, but for counters.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let still = |report: &Self| Self {
            kernel: report.kernel.clone().without_counters(),
            ..report.clone()
        };
        still(self) == still(other)
    }
}

impl Unjudged {
    pub(crate) fn of(driver: Runtime, kernel: &Fact<SchedExt>, ours: &[Held]) -> Self {
        Self {
            driver: name_of(driver),
            kernel: kernel.into(),
            containers: ours.iter().map(Entry::from).collect(),
        }
    }

    /// Whether it says the same as another, but for counters.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let still = |known: &Self| Self {
            kernel: known.kernel.clone().without_counters(),
            ..known.clone()
        };
        still(self) == still(other)
    }
}

impl Document for Report {
    fn text(&self) -> String {
        let style = match self.exit() {
            Exit::Ok => GOOD,
            _ => ERROR,
        };
        let word = word(self.status);
        let scheduler = self.scheduler.as_ref();
        let field = |value: fn(&Scheduler) -> Option<String>| scheduler.and_then(value);
        table::fields(&[
            ("Status", Some(format!("{style}{word}{style:#}"))),
            ("Scheduler", field(|it| Some(brief(&it.name)))),
            ("Managed by", self.sked.as_ref().map(Sked::line)),
            ("Pod", self.sked.as_ref().map(Sked::pod)),
            ("Container", field(|it| Some(container(it)))),
            ("Image", field(|it| Some(brief(&it.image)))),
            ("Arguments", field(arguments)),
            ("Signed by", field(|it| it.signer.as_deref().map(brief))),
            ("Not verified", field(|it| it.waiver.as_deref().map(brief))),
            (
                "Started",
                field(|it| it.started_at.map(|at| at.to_string())),
            ),
            ("Kernel", Some(self.kernel.line())),
            ("Problem", self.discrepancy.clone()),
        ])
    }
}

impl From<&SkedPod> for Sked {
    fn from(pod: &SkedPod) -> Self {
        let PodName { namespace, name } = pod.pod.clone();
        Self {
            namespace,
            pod: name,
            daemonset: pod.daemonset.clone(),
        }
    }
}

impl Sked {
    fn line(&self) -> String {
        let Self {
            namespace,
            daemonset,
            ..
        } = self;
        match daemonset {
            Some(name) => {
                let name = brief(&format!("{namespace}/{name}"));
                format!("sked, DaemonSet {name} (the SchedExt's name, or SCHEDEXT-POOL)")
            }
            None => "sked".to_owned(),
        }
    }

    fn pod(&self) -> String {
        brief(&format!("{}/{}", self.namespace, self.pod))
    }
}

impl Document for Unjudged {
    fn text(&self) -> String {
        table::fields(&[("Kernel", Some(self.kernel.line()))])
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Idle => "idle",
        Status::Running => "running",
        Status::OrphanedKernelState => "orphaned-kernel-state",
        Status::ManagedDetached => "managed-detached",
        Status::ManagedMismatch => "managed-mismatch",
        Status::MultipleManaged => "multiple-managed",
    }
}

fn container(scheduler: &Scheduler) -> String {
    let id = brief(ContainerId::new(&scheduler.container_id).short());
    match scheduler.pid {
        Some(pid) => format!("{id} ({}), pid {pid}", scheduler.driver),
        None => format!("{id} ({})", scheduler.driver),
    }
}

fn arguments(scheduler: &Scheduler) -> Option<String> {
    let quoted = scheduler.args.iter().map(|arg| format!("{arg:?}"));
    let line = quoted.collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| brief(&line))
}

#[cfg(test)]
mod tests;
