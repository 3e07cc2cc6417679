//! `schedctl wait`: waits until the kernel has a scheduler attached, or has not.

use std::time::Instant;

use anyhow::bail;
use schedkit_core::{OpsName, SchedulerName};
use schedkit_host::{Fact, HostRoot, KernelSchedExt, SchedExtState, Watch, WatchIntervals};
use tokio::time::timeout;

use crate::exit::Exit;
use crate::output::{Printer, wait::WaitResult};
use crate::request::{WaitCondition, WaitGoal};

pub(super) async fn wait(
    condition: &WaitCondition,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let mut watch = Watch::open(root.clone(), WatchIntervals::default());
    let mut last = watch.next().await;
    let waiting = async {
        while !condition.is_met(&last)? {
            last = watch.next().await;
        }
        anyhow::Ok(())
    };
    match timeout(condition.timeout, waiting).await {
        Ok(met) => met?,
        Err(_) => bail!("{}", condition.timeout_message(&last)),
    }
    let kernel = last.known();
    let ops = kernel.and_then(KernelSchedExt::attached);
    let enable_seq = kernel.and_then(|kernel| kernel.enable_seq.known().copied());
    printer.print(&WaitResult::new(ops, enable_seq, begun.elapsed()))?;
    Ok(Exit::Ok)
}

impl WaitCondition {
    fn is_met(&self, kernel: &Fact<KernelSchedExt>) -> anyhow::Result<bool> {
        let kernel = match (kernel, self.goal) {
            (Fact::Known(kernel), _) => kernel,
            (Fact::Absent, WaitGoal::Detached) => return Ok(true),
            (other, _) => {
                let trouble = other.problem().unwrap_or_default();
                bail!("/sys/kernel/sched_ext {trouble}: see `schedctl doctor`")
            }
        };
        Ok(match self.goal {
            WaitGoal::Attached => kernel.attached().is_some_and(|ops| self.matches(ops)),
            WaitGoal::Detached => match (&kernel.state, &self.scheduler) {
                (Fact::Known(SchedExtState::Disabled), _) => true,
                (_, Some(_)) => kernel.attached().is_some_and(|ops| !self.matches(ops)),
                _ => false,
            },
        })
    }

    fn matches(&self, ops: &OpsName) -> bool {
        let scheduler = self.scheduler.as_ref();
        scheduler.is_none_or(|name| *name == ops.scheduler())
    }

    fn timeout_message(&self, kernel: &Fact<KernelSchedExt>) -> String {
        let limit = humantime::format_duration(self.timeout);
        let scheduler = self.scheduler.as_ref().map(SchedulerName::to_string);
        let scheduler = scheduler.unwrap_or_else(|| "a scheduler".to_owned());
        let expected = match self.goal {
            WaitGoal::Attached => format!("{scheduler} was not attached"),
            WaitGoal::Detached => format!("{scheduler} was not detached"),
        };
        let kernel = kernel.known();
        let state = match kernel.and_then(KernelSchedExt::attached) {
            Some(ops) => format!("the kernel has {ops} attached"),
            None => {
                let state = kernel.and_then(|kernel| kernel.state.known());
                let state = state.map_or("unknown", |state| state.as_str());
                format!("the kernel's state is {state:?}")
            }
        };
        format!("{expected} within {limit}: {state}; see `schedctl status`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::kernel;

    fn condition(goal: WaitGoal, name: Option<&str>) -> WaitCondition {
        WaitCondition {
            goal,
            scheduler: name.map(|name| name.parse().unwrap()),
            timeout: std::time::Duration::from_secs(30),
        }
    }

    #[test]
    fn a_condition_is_met_by_the_kernels_state() {
        let on = |ops| kernel(SchedExtState::Enabled, Some(ops), Some(4));
        let off = kernel(SchedExtState::Disabled, None, Some(4));
        let going = kernel(SchedExtState::Disabling, Some("lab_1.0"), Some(4));
        for (goal, name, kernel, met) in [
            (WaitGoal::Attached, None, on("lab_1.0"), true),
            (WaitGoal::Attached, Some("scx_lab"), on("lab_1.0"), true),
            (WaitGoal::Attached, Some("scx_other"), on("lab_1.0"), false),
            (WaitGoal::Attached, None, off.clone(), false),
            (WaitGoal::Attached, None, going.clone(), false),
            (WaitGoal::Detached, None, off.clone(), true),
            (WaitGoal::Detached, None, on("lab_1.0"), false),
            (WaitGoal::Detached, None, going.clone(), false),
            (WaitGoal::Detached, Some("scx_lab"), on("other"), true),
            (WaitGoal::Detached, Some("scx_lab"), on("lab_1.0"), false),
            (WaitGoal::Detached, Some("scx_lab"), going, false),
            (WaitGoal::Detached, Some("scx_lab"), off, true),
            (WaitGoal::Detached, None, Fact::Absent, true),
        ] {
            let found = condition(goal, name).is_met(&kernel).unwrap();
            assert_eq!(found, met, "{goal:?} {name:?} {kernel:?}");
        }
    }

    #[test]
    fn a_kernel_without_sched_ext_is_an_error_at_once() {
        let any = condition(WaitGoal::Attached, None);
        let error = any.is_met(&Fact::Absent).unwrap_err().to_string();
        assert!(error.contains("is not there"), "{error}");
        let unreadable = Fact::Unreadable("no".to_owned());
        assert!(
            condition(WaitGoal::Detached, None)
                .is_met(&unreadable)
                .is_err()
        );
    }

    #[test]
    fn a_timeout_is_reported_with_the_current_state() {
        let lab = condition(WaitGoal::Attached, Some("scx_lab"));
        assert_eq!(
            lab.timeout_message(&kernel(SchedExtState::Enabled, Some("other"), None)),
            "scx_lab was not attached within 30s: the kernel has other attached; see `schedctl \
             status`"
        );
        let none = condition(WaitGoal::Detached, None);
        let message = none.timeout_message(&kernel(SchedExtState::Disabling, None, None));
        assert!(
            message.starts_with("a scheduler was not detached within 30s"),
            "{message}"
        );
        assert!(message.contains("state is \"disabling\""), "{message}");
    }
}
