//! What was found about this machine, as `schedctl doctor` prints it.

use anstyle::Style;
use schedkit_core::{CheckStatus, Finding, Severity, Summary};
use schedkit_image::foreign::printable;
use serde::Serialize;

use super::{Document, ERROR, GOOD, WARNING};
use crate::exit::Exit;

/// Names and meanings of the fields are a contract.
#[derive(Serialize)]
pub(crate) struct Examination {
    checks: Vec<Finding>,
    summary: Summary,
}

impl Examination {
    pub(crate) fn of(checks: Vec<Finding>) -> Self {
        let summary = Summary::of(&checks);
        Self { checks, summary }
    }

    /// What this means for a script.
    pub(crate) fn exit(&self) -> Exit {
        match self.summary.blocking {
            0 => Exit::Ok,
            _ => Exit::Trouble,
        }
    }
}

/// A line a check; below one that failed, what to do.
impl Document for Examination {
    fn text(&self) -> String {
        let ids = self.checks.iter().map(|check| check.id.len());
        let width = ids.max().unwrap_or(0);
        let lines = self.checks.iter().map(|check| line(check, width));
        let Summary {
            passed,
            failed,
            skipped,
            blocking,
        } = self.summary;
        let verdict = match blocking {
            0 => format!("{GOOD}schedulers can run here{GOOD:#}"),
            _ => format!("{ERROR}no scheduler can run here{ERROR:#}"),
        };
        let counts =
            format!("{passed} passed, {failed} failed ({blocking} blocking), {skipped} skipped");
        format!("{}\n{verdict}: {counts}\n", lines.collect::<String>())
    }
}

/// `fail  error  kernel.btf  /sys/kernel/btf/vmlinux is not there`.
fn line(check: &Finding, width: usize) -> String {
    let (word, style) = match (check.status, check.severity) {
        (CheckStatus::Pass, _) => ("pass", GOOD),
        (CheckStatus::Skip, _) => ("skip", Style::new()),
        (CheckStatus::Fail, Severity::Error) => ("fail", ERROR),
        (CheckStatus::Fail, Severity::Warn | Severity::Info) => ("fail", WARNING),
    };
    let severity = match check.severity {
        Severity::Info => "info",
        Severity::Warn => "warn",
        Severity::Error => "error",
    };
    let (id, detail) = (check.id, printable(&check.detail));
    let line = format!("{style}{word}{style:#}  {severity:5}  {id:width$}  {detail}\n");
    match &check.remediation {
        Some(remedy) => {
            let indent = " ".repeat("fail  error  ".len() + width);
            format!("{line}{indent}  remedy: {}\n", printable(remedy))
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shown;
    use super::*;

    fn finding(id: &'static str, severity: Severity, status: CheckStatus) -> Finding {
        Finding {
            id,
            description: "a check",
            severity,
            status,
            detail: "so it is".to_owned(),
            remediation: (status == CheckStatus::Fail).then(|| "change it".to_owned()),
        }
    }

    #[test]
    fn each_check_has_a_line_and_a_failed_one_its_remedy() {
        let findings = vec![
            finding("a.one", Severity::Error, CheckStatus::Pass),
            finding("a.longer", Severity::Warn, CheckStatus::Fail),
            finding("b", Severity::Info, CheckStatus::Skip),
        ];
        let fit = Examination::of(findings.clone());
        let expected = "\
pass  error  a.one     so it is
fail  warn   a.longer  so it is
                       remedy: change it
skip  info   b         so it is

schedulers can run here: 1 passed, 1 failed (0 blocking), 1 skipped
";
        assert_eq!(shown(&fit), expected);
        assert_eq!(fit.exit(), Exit::Ok);
        let blocking = finding("c", Severity::Error, CheckStatus::Fail);
        let unfit = Examination::of([findings, vec![blocking]].concat());
        assert!(
            shown(&unfit).contains("no scheduler can run here: 1 passed, 2 failed (1 blocking)")
        );
        assert_eq!(unfit.exit(), Exit::Trouble);
    }
}
