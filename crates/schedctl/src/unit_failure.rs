//! Why a systemd unit of schedctl did not start: what its process told systemd, and its exit code.

use anyhow::bail;
use schedkit_core::sanitize::shortened;

use crate::exit::Exit;

/// What [`UnitFailure::parse`] and [`require_active`] read.
pub(crate) const PROPERTIES: &str = "ActiveState,ConditionResult,ExecMainStatus,StatusText";
const MAX_REASON: usize = 500;
const SKIPPED: &str = "systemd skipped it because a condition of the unit is not met, such as that the \
                       kernel has sched_ext (`schedctl doctor`)";

/// `enable --now` ends with the exit code of the unit's process.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{unit} is enabled, and did not start: {reason}; `journalctl -u '{unit}'` has more")]
pub(crate) struct UnitFailure {
    unit: String,
    reason: String,
    pub(crate) exit: Exit,
}

impl UnitFailure {
    /// From the output of `systemctl show`; `None` if it has no reason.
    pub(crate) fn parse(unit: &str, shown: &str) -> Option<Self> {
        let reason = property(shown, "StatusText")?;
        Some(Self::because(unit, reason, shown))
    }

    fn because(unit: &str, reason: &str, shown: &str) -> Self {
        let known = [Exit::Refused, Exit::NotAttached, Exit::Busy];
        let code = property(shown, "ExecMainStatus");
        let is_this = |exit: &Exit| code == Some(exit.code().to_string().as_str());
        Self {
            unit: unit.to_owned(),
            reason: shortened(reason, MAX_REASON),
            exit: known.into_iter().find(is_this).unwrap_or(Exit::Failure),
        }
    }
}

/// `systemctl start` succeeds as well if systemd skips the unit.
pub(crate) fn require_active(unit: &str, shown: &str) -> anyhow::Result<()> {
    let Some(active) = property(shown, "ActiveState") else {
        bail!("{unit} is enabled, and whether it runs is unknown: see `schedctl status`");
    };
    if active == "active" {
        return Ok(());
    }
    let failure = match property(shown, "ConditionResult") {
        // No process of this start has an exit code.
        Some("no") => UnitFailure::because(unit, SKIPPED, ""),
        _ => UnitFailure::parse(unit, shown).unwrap_or_else(|| {
            let reason = format!("its state is {active}");
            UnitFailure::because(unit, &reason, shown)
        }),
    };
    Err(failure.into())
}

/// `None` if it is empty.
fn property<'a>(shown: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = shown.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_and_the_status_are_read() {
        for (shown, expected) in [
            (
                "ExecMainStatus=3\nStatusText=no\n",
                Some((Exit::Refused, "no")),
            ),
            (
                "StatusText=a=b\u{1b}\nExecMainStatus=5\n",
                Some((Exit::Busy, "a=b�")),
            ),
            (
                "ExecMainStatus=1\nStatusText=x\n",
                Some((Exit::Failure, "x")),
            ),
            ("ExecMainStatus=4\nStatusText=\n", None),
            ("", None),
        ] {
            let found = UnitFailure::parse("u", shown);
            let found = found.as_ref();
            let found = found.map(|failure| (failure.exit, failure.reason.as_str()));
            assert_eq!(found, expected, "{shown}");
        }
    }

    #[test]
    fn only_an_active_unit_runs() {
        assert!(require_active("u", "ActiveState=active\n").is_ok());
        for (shown, expected) in [
            (
                "ActiveState=inactive\nConditionResult=no\nExecMainStatus=5\n",
                "skipped it",
            ),
            (
                "ActiveState=activating\nConditionResult=yes\nStatusText=x\n",
                "did not start: x;",
            ),
            (
                "ActiveState=failed\nConditionResult=yes\n",
                "its state is failed",
            ),
            ("ActiveState=\n", "whether it runs is unknown"),
        ] {
            let error = require_active("u", shown).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            let failure = error.downcast_ref::<UnitFailure>();
            assert!(failure.is_none_or(|failure| failure.exit == Exit::Failure));
        }
    }
}
