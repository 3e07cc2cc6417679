//! The result of `schedctl status`.

use jiff::Timestamp;
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_image::untrusted::brief;
use schedkit_runtime::ContainerId;
use schedkit_runtime::containerd::PodName;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::container::{ContainerDocument, SchedulerDocument};
use super::document::{Document, ERROR, GOOD, json_name};
use super::kernel::KernelDocument;
use super::table;
use super::trial::TrialDocument;
use crate::container::RuntimeContainer;
use crate::exit::Exit;
use crate::runtimes::driver_name;
use crate::sked::SkedPod;
use crate::status::{Assessment, Status};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct StatusReport {
    status: Status,
    driver: Runtime,
    scheduler: Option<SchedulerDocument>,
    kernel: KernelDocument,
    discrepancy: Option<String>,
    /// schedctl's containers in both runtimes, running or not.
    containers: Vec<ContainerDocument>,
    /// `schedctl` or `sked`: who started the scheduler.
    managed_by: Option<&'static str>,
    sked: Option<SkedDocument>,
    pub(crate) trial: Option<TrialDocument>,
}

/// The pod, if sked started the scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct SkedDocument {
    namespace: String,
    pod: String,
    /// The SchedExt's name, or SCHEDEXT-POOL.
    daemonset: Option<String>,
}

/// What is known if the status is unknown. It has no field `status`, so that no program takes it for
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PartialStatus {
    driver: Runtime,
    kernel: KernelDocument,
    containers: Vec<ContainerDocument>,
}

/// For `--watch`: the text form begins with the time.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct TimedStatus<'a> {
    report: &'a StatusReport,
    #[serde(skip)]
    time: Timestamp,
}

impl<'a> TimedStatus<'a> {
    pub(crate) fn new(report: &'a StatusReport, time: Timestamp) -> Self {
        Self { report, time }
    }
}

impl Document for TimedStatus<'_> {
    fn text(&self) -> String {
        format!("{:.0}\n{}\n", self.time, self.report.text())
    }
}

impl StatusReport {
    pub(crate) fn new(
        driver: Runtime,
        kernel: &Fact<KernelSchedExt>,
        containers: &[RuntimeContainer],
        assessment: &Assessment<'_>,
    ) -> Self {
        let (subject, managed_by) = match (assessment.sked, assessment.container) {
            (Some(pod), _) => (Some(&pod.container), Some("sked")),
            (None, Some(container)) => (Some(container), Some("schedctl")),
            (None, None) => (None, None),
        };
        Self {
            status: assessment.status,
            driver,
            managed_by,
            sked: assessment.sked.map(SkedDocument::from),
            scheduler: subject.map(SchedulerDocument::from),
            kernel: kernel.into(),
            discrepancy: assessment.discrepancy.clone(),
            containers: containers.iter().map(Into::into).collect(),
            trial: None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.status {
            Status::Idle | Status::Running => Exit::Ok,
            Status::OrphanedKernelState
            | Status::ManagedDetached
            | Status::ManagedMismatch
            | Status::MultipleManaged => Exit::Discrepancy,
        }
    }

    /// Equal except for counters.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        let stable = |report: &Self| Self {
            kernel: report.kernel.clone().without_counters(),
            ..report.clone()
        };
        stable(self) == stable(other)
    }
}

impl PartialStatus {
    pub(crate) fn new(
        driver: Runtime,
        kernel: &Fact<KernelSchedExt>,
        containers: &[RuntimeContainer],
    ) -> Self {
        Self {
            driver,
            kernel: kernel.into(),
            containers: containers.iter().map(Into::into).collect(),
        }
    }

    /// Equal except for counters.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        let stable = |known: &Self| Self {
            kernel: known.kernel.clone().without_counters(),
            ..known.clone()
        };
        stable(self) == stable(other)
    }
}

impl Document for StatusReport {
    fn text(&self) -> String {
        let style = match self.exit() {
            Exit::Ok => GOOD,
            _ => ERROR,
        };
        let status = json_name(self.status);
        let scheduler = self.scheduler.as_ref();
        let field = |value: fn(&SchedulerDocument) -> Option<String>| scheduler.and_then(value);
        table::fields(&[
            ("Status", Some(format!("{style}{status}{style:#}"))),
            ("Scheduler", field(|it| Some(brief(&it.name)))),
            ("Managed by", self.sked.as_ref().map(SkedDocument::text)),
            ("Pod", self.sked.as_ref().map(SkedDocument::pod)),
            ("Container", field(|it| Some(container(it)))),
            ("Image", field(|it| Some(brief(&it.image)))),
            ("Arguments", field(arguments)),
            (
                "Signed by",
                field(|it| it.trust.signer.as_deref().map(brief)),
            ),
            (
                "Not verified",
                field(|it| it.trust.waiver.as_deref().map(brief)),
            ),
            (
                "Started",
                field(|it| it.started_at.map(|at| at.to_string())),
            ),
            ("Kernel", Some(self.kernel.line())),
            ("Trial", self.trial.as_ref().map(TrialDocument::line)),
            ("Problem", self.discrepancy.clone()),
        ])
    }
}

impl Document for PartialStatus {
    fn text(&self) -> String {
        table::fields(&[("Kernel", Some(self.kernel.line()))])
    }
}

impl From<&SkedPod> for SkedDocument {
    fn from(pod: &SkedPod) -> Self {
        let PodName { namespace, name } = pod.pod.clone();
        Self {
            namespace,
            pod: name,
            daemonset: pod.daemonset.clone(),
        }
    }
}

impl SkedDocument {
    fn text(&self) -> String {
        match &self.daemonset {
            Some(daemonset) => {
                let name = brief(&format!("{}/{daemonset}", self.namespace));
                format!("sked, DaemonSet {name} (the SchedExt's name, or SCHEDEXT-POOL)")
            }
            None => "sked".to_owned(),
        }
    }

    fn pod(&self) -> String {
        brief(&format!("{}/{}", self.namespace, self.pod))
    }
}

fn container(scheduler: &SchedulerDocument) -> String {
    let id = brief(ContainerId::new(&scheduler.container_id).short());
    let driver = driver_name(scheduler.driver);
    match scheduler.pid {
        Some(pid) => format!("{id} ({driver}), pid {pid}"),
        None => format!("{id} ({driver})"),
    }
}

fn arguments(scheduler: &SchedulerDocument) -> Option<String> {
    let quoted = scheduler.args.iter().map(|arg| format!("{arg:?}"));
    let line = quoted.collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| brief(&line))
}

#[cfg(test)]
mod tests;
