//! What `run` and `switch` print when it went well, and with `--dry-run`.

use std::fmt;

use jiff::Timestamp;
use schedkit_core::OpsName;
use schedkit_image::signature::Trusted;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Pulled, Trust};
use serde::Serialize;

use super::Document;
use crate::execute::Success;
use crate::plan::{Plan, Step};
use crate::runtimes::name_of;
use crate::status::{Held, scheduler_of};

/// A scheduler that the kernel runs.
#[derive(Debug, Serialize)]
pub(crate) struct Started {
    result: Outcome,
    scheduler: String,
    driver: &'static str,
    container_id: String,
    image: Option<String>,
    #[serde(flatten)]
    vouched: Vouched,
    ops: Option<String>,
    pulled: bool,
    attach_ms: Option<u64>,
    replaced: Option<String>,
    gap_ms: Option<u64>,
    trial_until: Option<Timestamp>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Attached,
    AlreadyRunning,
    Started,
}

/// Why an image was let run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Vouched {
    signer: Option<String>,
    policy: Option<String>,
    waiver: Option<String>,
}

/// What would be done.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    result: &'static str,
    scheduler: String,
    image: String,
    args: Vec<String>,
    #[serde(flatten)]
    vouched: Vouched,
    steps: Vec<PlannedStep>,
}

#[derive(Debug, Serialize)]
struct PlannedStep {
    step: &'static str,
    description: String,
}

impl Started {
    /// It was there before.
    pub(crate) fn already(held: &Held, ops: Option<&OpsName>) -> Self {
        let container = &held.container;
        let record = &container.record;
        Self {
            result: Outcome::AlreadyRunning,
            scheduler: scheduler_of(container),
            driver: name_of(held.runtime),
            container_id: container.id.to_string(),
            image: record.image.clone(),
            vouched: Vouched::recorded(record.trust.as_ref()),
            ops: ops.map(OpsName::to_string),
            pulled: false,
            attach_ms: None,
            replaced: None,
            gap_ms: None,
            trial_until: None,
        }
    }

    /// It is there now.
    pub(crate) fn now(plan: &Plan, runtime: Runtime, pulled: Pulled, success: &Success) -> Self {
        let taken = success.taken.as_ref();
        Self {
            result: match taken {
                Some(_) => Outcome::Attached,
                None => Outcome::Started,
            },
            scheduler: plan.launch.scheduler().to_owned(),
            driver: name_of(runtime),
            container_id: success.container.to_string(),
            image: Some(plan.launch.image().image().to_string()),
            vouched: Vouched::of(plan.launch.image()),
            ops: taken.map(|taken| taken.ops.to_string()),
            pulled: pulled == Pulled::Fetched,
            attach_ms: success.attach.map(milliseconds),
            replaced: plan.steps.iter().find_map(|step| match step {
                Step::Swap { old, .. } => Some(old.name.clone()),
                _ => None,
            }),
            gap_ms: success.gap.map(milliseconds),
            trial_until: success.trial,
        }
    }
}

impl Vouched {
    pub(crate) fn of(trusted: &Trusted) -> Self {
        match trusted {
            Trusted::Verified(verified) => Self {
                signer: Some(verified.signer().to_string()),
                policy: Some(verified.policy().to_string()),
                waiver: None,
            },
            Trusted::Waived(waived) => Self {
                waiver: Some(waived.reason().to_owned()),
                ..Self::default()
            },
        }
    }

    fn recorded(trust: Option<&Trust>) -> Self {
        match trust {
            None => Self::default(),
            Some(Trust::Verified { signer, policy }) => Self {
                signer: Some(signer.clone()),
                policy: Some(policy.clone()),
                waiver: None,
            },
            Some(Trust::Waived(why)) => Self {
                waiver: Some(why.clone()),
                ..Self::default()
            },
        }
    }
}

impl fmt::Display for Vouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.signer, &self.waiver) {
            (Some(signer), _) => write!(f, "signed by {signer}"),
            (None, Some(why)) => write!(f, "not verified ({why})"),
            (None, None) => f.write_str("of unknown origin"),
        }
    }
}

impl Planned {
    pub(crate) fn of(plan: &Plan) -> Self {
        let image = plan.launch.image().image();
        let pull = PlannedStep {
            step: "pull",
            description: format!("pull {image}, unless it is here already"),
        };
        let steps = plan.steps.iter().map(|step| PlannedStep {
            step: step.word(),
            description: step.sentence(&plan.launch),
        });
        Self {
            result: "planned",
            scheduler: plan.launch.scheduler().to_owned(),
            image: image.to_string(),
            args: plan.launch.args().to_vec(),
            vouched: Vouched::of(plan.launch.image()),
            steps: [pull].into_iter().chain(steps).collect(),
        }
    }
}

impl Document for Started {
    fn text(&self) -> String {
        let Self { scheduler, .. } = self;
        let ops = self.ops.as_deref().unwrap_or_default();
        let mut text = match (self.result, self.attach_ms) {
            (Outcome::Attached, Some(attach)) => {
                format!("{scheduler} runs: the kernel attached {ops} {attach} ms after its start\n")
            }
            (Outcome::Started, _) => {
                format!("{scheduler} was started; whether the kernel takes it was not waited for\n")
            }
            _ => format!("{scheduler} runs already: the kernel has {ops} attached\n"),
        };
        if let (Some(old), Some(gap)) = (&self.replaced, self.gap_ms) {
            text += &format!("It replaced {old}; the kernel's own scheduler ran for {gap} ms\n");
        }
        if let Some(until) = self.trial_until {
            text += &format!("On trial until {until:.0}: keep it with `schedctl confirm`\n");
        }
        text
    }
}

impl Document for Planned {
    fn text(&self) -> String {
        let mut text = format!("{} would run, {}:\n", self.scheduler, self.vouched);
        for (number, step) in (1..).zip(&self.steps) {
            text += &format!("  {number}. {}\n", step.description);
        }
        text
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
