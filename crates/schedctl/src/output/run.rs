//! The result of `run` and `switch`, and their plan with `--dry-run`.

use std::time::Duration;

use jiff::Timestamp;
use schedkit_core::OpsName;
use schedkit_runtime::Pulled;
use schedkit_runtime::driver::Runtime;
use serde::Serialize;

use super::document::Document;
use super::trust_basis::TrustBasis;
use crate::decide::Running;
use crate::execute::Success;
use crate::plan::{Plan, PlanStep};

#[derive(Debug, Serialize)]
pub(crate) struct RunResult {
    result: Outcome,
    scheduler: String,
    driver: Runtime,
    container_id: String,
    image: Option<String>,
    #[serde(flatten)]
    trust: TrustBasis,
    ops: Option<String>,
    pulled: bool,
    attach_ms: Option<u64>,
    replaced: Option<String>,
    gap_ms: Option<u64>,
    trial_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Attached,
    AlreadyRunning,
    /// Without waiting for the kernel.
    Started,
}

#[derive(Debug, Serialize)]
pub(crate) struct PlanDocument {
    result: &'static str,
    scheduler: String,
    image: String,
    args: Vec<String>,
    #[serde(flatten)]
    trust: TrustBasis,
    steps: Vec<StepDocument>,
}

#[derive(Debug, Serialize)]
struct StepDocument {
    step: &'static str,
    description: String,
}

impl RunResult {
    pub(crate) fn already_runs(running: &Running) -> Self {
        let found = &running.container;
        let record = &found.container.record;
        Self {
            result: Outcome::AlreadyRunning,
            scheduler: found.scheduler(),
            driver: found.runtime,
            container_id: found.container.id.to_string(),
            image: record.image.clone(),
            trust: record.trust.as_ref().into(),
            ops: running.ops.as_ref().map(OpsName::to_string),
            pulled: false,
            attach_ms: None,
            replaced: None,
            gap_ms: None,
            trial_until: running.trial_until,
        }
    }

    pub(crate) fn started(plan: &Plan, driver: Runtime, pulled: Pulled, success: &Success) -> Self {
        let attachment = success.attachment.as_ref();
        Self {
            result: match attachment {
                Some(_) => Outcome::Attached,
                None => Outcome::Started,
            },
            scheduler: plan.launch.scheduler().to_owned(),
            driver,
            container_id: success.container.to_string(),
            image: Some(plan.launch.image().image().to_string()),
            trust: plan.launch.image().into(),
            ops: attachment.map(|attachment| attachment.ops.to_string()),
            pulled: pulled == Pulled::Fetched,
            attach_ms: success.attach_time.map(milliseconds),
            replaced: plan.steps.iter().find_map(|step| match step {
                PlanStep::Swap { old, .. } => Some(old.name.clone()),
                _ => None,
            }),
            gap_ms: success.gap.map(milliseconds),
            trial_until: success.trial_until,
        }
    }
}

impl From<&Plan> for PlanDocument {
    fn from(plan: &Plan) -> Self {
        let image = plan.launch.image().image();
        let pull = StepDocument {
            step: "pull",
            description: format!("pull {image}, unless it is stored already"),
        };
        let steps = plan.steps.iter().map(|step| StepDocument {
            step: step.name(),
            description: step.description(&plan.launch),
        });
        Self {
            result: "planned",
            scheduler: plan.launch.scheduler().to_owned(),
            image: image.to_string(),
            args: plan.launch.args().to_vec(),
            trust: plan.launch.image().into(),
            steps: [pull].into_iter().chain(steps).collect(),
        }
    }
}

impl Document for RunResult {
    fn text(&self) -> String {
        let Self { scheduler, .. } = self;
        let ops = self.ops.as_deref().unwrap_or_default();
        let mut text = match (self.result, self.attach_ms) {
            (Outcome::Attached, Some(attach)) => {
                format!("{scheduler} runs: the kernel attached {ops} {attach} ms after its start\n")
            }
            (Outcome::Started, _) => {
                format!("{scheduler} was started; schedctl did not wait for the kernel\n")
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

impl Document for PlanDocument {
    fn text(&self) -> String {
        let mut text = format!("Plan for {}, {}:\n", self.scheduler, self.trust);
        for (number, step) in (1..).zip(&self.steps) {
            text += &format!("  {number}. {}\n", step.description);
        }
        text
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::document::checked_json;
    use super::*;
    use crate::fixtures::{launch, runtime_container};
    use crate::plan::{StartOptions, WaitLimits};

    #[test]
    fn the_text_has_the_gap_and_the_end_of_the_trial() {
        let result = RunResult {
            result: Outcome::Attached,
            scheduler: "scx_new".to_owned(),
            driver: Runtime::Podman,
            container_id: "0123".to_owned(),
            image: None,
            trust: TrustBasis::default(),
            ops: Some("new_1.0".to_owned()),
            pulled: false,
            attach_ms: Some(7),
            replaced: Some("scx_old".to_owned()),
            gap_ms: Some(12),
            trial_until: Some("2026-01-02T03:04:05.6Z".parse().unwrap()),
        };
        assert_eq!(
            result.text(),
            "scx_new runs: the kernel attached new_1.0 7 ms after its start\n\
             It replaced scx_old; the kernel's own scheduler ran for 12 ms\n\
             On trial until 2026-01-02T03:04:05Z: keep it with `schedctl confirm`\n"
        );
    }

    #[test]
    fn every_step_is_in_the_schema() {
        let old = runtime_container(Runtime::Podman, "0123456789abcdef", "scx_old");
        let options = StartOptions {
            wait: Some(WaitLimits {
                attach: Duration::from_secs(5),
                probation: Duration::ZERO,
            }),
            grace: Duration::from_secs(5),
            trial: None,
        };
        let trial = StartOptions {
            trial: Some(Duration::from_secs(600)),
            ..options
        };
        let no_wait = StartOptions {
            wait: None,
            ..options
        };
        for (replaces, options) in [
            (Some(&old), options),
            (Some(&old), trial),
            (None, options),
            (None, no_wait),
        ] {
            let plan = Plan::new(std::slice::from_ref(&old), replaces, launch(), options);
            checked_json("plan", &PlanDocument::from(&plan));
        }
    }
}
