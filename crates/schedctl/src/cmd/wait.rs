//! `schedctl wait`: until the kernel has a scheduler attached, or has it no more.

use std::time::Instant;

use anyhow::bail;
use schedkit_core::{OpsName, SchedulerName};
use schedkit_host::{Fact, HostRoot, SchedExt, SchedExtState, Watch, WatchIntervals};
use tokio::time::timeout;

use crate::exit::Exit;
use crate::output::{Printer, wait::Arrival};
use crate::request::{Awaited, Goal};

pub(super) async fn wait(
    awaited: &Awaited,
    root: &HostRoot,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let mut watch = Watch::open(root.clone(), WatchIntervals::default());
    let mut last = watch.next().await;
    let arriving = async {
        while !awaited.is_met(&last)? {
            last = watch.next().await;
        }
        anyhow::Ok(())
    };
    let arrived = timeout(awaited.limit, arriving).await;
    match arrived {
        Ok(met) => met?,
        Err(_) => bail!("{}", awaited.in_vain(&last)),
    }
    let seen = last.known();
    let ops = seen.and_then(SchedExt::attached);
    let enable_seq = seen.and_then(|seen| seen.enable_seq.known().copied());
    printer.print(&Arrival::of(ops, enable_seq, begun.elapsed()))?;
    Ok(Exit::Ok)
}

impl Awaited {
    /// Whether it is so. What the kernel does not tell is neither.
    fn is_met(&self, kernel: &Fact<SchedExt>) -> anyhow::Result<bool> {
        let seen = match (kernel, self.goal) {
            (Fact::Known(seen), _) => seen,
            (Fact::Absent, Goal::Detached) => return Ok(true),
            (trouble, _) => {
                let trouble = trouble.problem().unwrap_or_default();
                bail!("/sys/kernel/sched_ext {trouble}: see `schedctl doctor`")
            }
        };
        Ok(match self.goal {
            Goal::Attached => seen.attached().is_some_and(|ops| self.means(ops)),
            Goal::Detached => match (&seen.state, &self.scheduler) {
                (Fact::Known(SchedExtState::Disabled), _) => true,
                (_, Some(_)) => seen.attached().is_some_and(|ops| !self.means(ops)),
                _ => false,
            },
        })
    }

    fn means(&self, ops: &OpsName) -> bool {
        let scheduler = self.scheduler.as_ref();
        scheduler.is_none_or(|name| *name == ops.scheduler())
    }

    fn in_vain(&self, kernel: &Fact<SchedExt>) -> String {
        let limit = humantime::format_duration(self.limit);
        let who = self.scheduler.as_ref().map(SchedulerName::to_string);
        let who = who.unwrap_or_else(|| "a scheduler".to_owned());
        let awaited = match self.goal {
            Goal::Attached => format!("{who} was not attached"),
            Goal::Detached => format!("{who} was not detached"),
        };
        let seen = kernel.known();
        let is = match seen.and_then(SchedExt::attached) {
            Some(ops) => format!("the kernel has {ops} attached"),
            None => {
                let state = seen.and_then(|seen| seen.state.known());
                let state = state.map_or("nothing", |state| state.as_str());
                format!("the kernel says {state:?}")
            }
        };
        format!("{awaited} within {limit}: {is}; `schedctl status` tells more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::kernel;

    fn awaited(goal: Goal, name: Option<&str>) -> Awaited {
        Awaited {
            goal,
            scheduler: name.map(|name| name.parse().unwrap()),
            limit: std::time::Duration::from_secs(30),
        }
    }

    #[test]
    fn it_is_so_when_the_kernel_says_so() {
        let on = |ops| kernel(SchedExtState::Enabled, Some(ops), Some(4));
        let off = kernel(SchedExtState::Disabled, None, Some(4));
        let going = kernel(SchedExtState::Disabling, Some("lab_1.0"), Some(4));
        for (goal, name, kernel, met) in [
            (Goal::Attached, None, on("lab_1.0"), true),
            (Goal::Attached, Some("scx_lab"), on("lab_1.0"), true),
            (Goal::Attached, Some("scx_other"), on("lab_1.0"), false),
            (Goal::Attached, None, off.clone(), false),
            (Goal::Attached, None, going.clone(), false),
            (Goal::Detached, None, off.clone(), true),
            (Goal::Detached, None, on("lab_1.0"), false),
            (Goal::Detached, None, going.clone(), false),
            (Goal::Detached, Some("scx_lab"), on("other"), true),
            (Goal::Detached, Some("scx_lab"), on("lab_1.0"), false),
            (Goal::Detached, Some("scx_lab"), going, false),
            (Goal::Detached, Some("scx_lab"), off, true),
            (Goal::Detached, None, Fact::Absent, true),
        ] {
            let said = awaited(goal, name).is_met(&kernel).unwrap();
            assert_eq!(said, met, "{goal:?} {name:?} {kernel:?}");
        }
    }

    #[test]
    fn a_kernel_that_cannot_is_told_at_once() {
        let any = awaited(Goal::Attached, None);
        let said = any.is_met(&Fact::Absent).unwrap_err().to_string();
        assert!(said.contains("is not there"), "{said}");
        let blind = Fact::Unreadable("no".to_owned());
        assert!(awaited(Goal::Detached, None).is_met(&blind).is_err());
    }

    #[test]
    fn in_vain_is_told_with_what_is() {
        let lab = awaited(Goal::Attached, Some("scx_lab"));
        assert_eq!(
            lab.in_vain(&kernel(SchedExtState::Enabled, Some("other"), None)),
            "scx_lab was not attached within 30s: the kernel has other attached; `schedctl \
             status` tells more"
        );
        let none = awaited(Goal::Detached, None);
        let said = none.in_vain(&kernel(SchedExtState::Disabling, None, None));
        assert!(
            said.starts_with("a scheduler was not detached within 30s"),
            "{said}"
        );
        assert!(said.contains("says \"disabling\""), "{said}");
    }
}
