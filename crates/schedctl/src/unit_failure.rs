//! Why a systemd unit of schedctl did not start: what its process told systemd, and its exit code.

use schedkit_core::sanitize::shortened;

use crate::exit::Exit;

const MAX_REASON: usize = 500;

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
        let property = |name: &str| {
            let mut lines = shown.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        let reason = property("StatusText").filter(|text| !text.is_empty())?;
        let known = [Exit::Refused, Exit::NotAttached, Exit::Busy];
        let code = property("ExecMainStatus");
        let is_this = |exit: &Exit| code == Some(exit.code().to_string().as_str());
        Some(Self {
            unit: unit.to_owned(),
            reason: shortened(reason, MAX_REASON),
            exit: known.into_iter().find(is_this).unwrap_or(Exit::Failure),
        })
    }
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
}
