//! The checks of this machine, as `schedctl doctor` prints them.

use anstyle::Style;
use schedkit_core::{CheckStatus, Finding, Severity, Summary};
use schedkit_image::untrusted::printable;
use serde::Serialize;

use super::document::{Document, ERROR, GOOD, WARNING, json_name};
use super::table::{Row, render};
use crate::exit::Exit;

/// The fields are part of the interface.
#[derive(Serialize)]
pub(crate) struct DoctorReport {
    checks: Vec<Finding>,
    summary: Summary,
}

impl DoctorReport {
    pub(crate) fn new(checks: Vec<Finding>) -> Self {
        let summary = Summary::of(&checks);
        Self { checks, summary }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.summary.blocking {
            0 => Exit::Ok,
            _ => Exit::Failure,
        }
    }
}

/// One line per check; below a failed one, what to do.
impl Document for DoctorReport {
    fn text(&self) -> String {
        let table = render(self.checks.iter().flat_map(rows));
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
        format!("{table}\n{verdict}: {counts}\n")
    }
}

/// `fail  error  kernel.btf  /sys/kernel/btf/vmlinux is not there`.
fn rows(check: &Finding) -> impl Iterator<Item = Row> {
    let style = match (check.status, check.severity) {
        (CheckStatus::Pass, _) => GOOD,
        (CheckStatus::Skip, _) => Style::new(),
        (CheckStatus::Fail, Severity::Error) => ERROR,
        (CheckStatus::Fail, Severity::Warn | Severity::Info) => WARNING,
    };
    let row = Row {
        style,
        cells: vec![
            json_name(check.status),
            json_name(check.severity),
            check.id.to_owned(),
            printable(&check.detail),
        ],
    };
    let remedy = check.remediation.as_ref().map(|remedy| {
        let mut cells = vec![String::new(); 3];
        cells.push(format!("remedy: {}", printable(remedy)));
        let style = Style::new();
        Row { style, cells }
    });
    [row].into_iter().chain(remedy)
}

#[cfg(test)]
mod tests {
    use super::super::document::plain_text;
    use super::*;

    fn finding(id: &'static str, severity: Severity, status: CheckStatus) -> Finding {
        Finding {
            id,
            description: "a check",
            severity,
            status,
            detail: "a detail".to_owned(),
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
        let passing = DoctorReport::new(findings.clone());
        let expected = "\
pass  error  a.one     a detail
fail  warn   a.longer  a detail
                       remedy: change it
skip  info   b         a detail

schedulers can run here: 1 passed, 1 failed (0 blocking), 1 skipped
";
        assert_eq!(plain_text(&passing), expected);
        assert_eq!(passing.exit(), Exit::Ok);
        let blocking = finding("c", Severity::Error, CheckStatus::Fail);
        let failing = DoctorReport::new([findings, vec![blocking]].concat());
        assert!(
            plain_text(&failing)
                .contains("no scheduler can run here: 1 passed, 2 failed (1 blocking)")
        );
        assert_eq!(failing.exit(), Exit::Failure);
    }
}
