//! What a check found: the rows that `schedctl doctor` prints and preflights return.
//!
//! The names of the JSON fields are a contract with whoever reads that document: all six are
//! always there, and a text that there is no need for is an empty one.

use serde::{Serialize, Serializer};

/// One check and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name such as `kernel.btf`.
    pub id: &'static str,
    /// What was asked.
    pub description: &'static str,
    /// How bad it is when it fails.
    pub severity: Severity,
    /// How it went.
    pub status: Status,
    /// What was seen.
    pub detail: String,
    /// What to do about it, when it failed.
    #[serde(serialize_with = "or_empty")]
    pub remediation: Option<String>,
}

/// How bad it is when a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// May hurt.
    Warn,
    /// No scheduler can run.
    Error,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is as it should be.
    Pass,
    /// It is not.
    Fail,
    /// It could not be found out, or makes no sense here.
    Skip,
}

/// How many findings went how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// As they should be.
    pub passed: usize,
    /// Not as they should be, blocking or not.
    pub failed: usize,
    /// Not found out.
    pub skipped: usize,
    /// Those of the failed that keep a scheduler from running.
    pub blocking: usize,
}

impl Finding {
    /// Whether no scheduler can run because of it.
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Error && self.status == Status::Fail
    }
}

impl Summary {
    /// Counts.
    pub fn of(findings: &[Finding]) -> Self {
        let mut summary = Self::default();
        for finding in findings {
            match finding.status {
                Status::Pass => summary.passed += 1,
                Status::Fail => summary.failed += 1,
                Status::Skip => summary.skipped += 1,
            }
            summary.blocking += usize::from(finding.is_blocking());
        }
        summary
    }
}

fn or_empty<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity, status: Status) -> Finding {
        Finding {
            id: "kernel.btf",
            description: "the kernel describes its types",
            severity,
            status,
            detail: "nothing there".to_owned(),
            remediation: None,
        }
    }

    #[test]
    fn the_document_is_what_the_contract_says() {
        let mut failed = finding(Severity::Error, Status::Fail);
        failed.remediation = Some("boot another kernel".to_owned());
        assert_eq!(
            serde_json::to_string(&failed).unwrap(),
            concat!(
                r#"{"id":"kernel.btf","description":"the kernel describes its types","#,
                r#""severity":"error","status":"fail","detail":"nothing there","#,
                r#""remediation":"boot another kernel"}"#
            )
        );
        let others = [
            finding(Severity::Info, Status::Pass),
            finding(Severity::Warn, Status::Skip),
        ];
        let others = serde_json::to_value(others).unwrap();
        assert_eq!(others[0]["severity"], "info");
        assert_eq!(others[0]["status"], "pass");
        assert_eq!(others[0]["remediation"], "");
        assert_eq!(others[1]["severity"], "warn");
        assert_eq!(others[1]["status"], "skip");
    }

    #[test]
    fn only_a_failed_error_blocks() {
        let mut all = Vec::new();
        for severity in [Severity::Info, Severity::Warn, Severity::Error] {
            for status in [Status::Pass, Status::Fail, Status::Skip] {
                all.push(finding(severity, status));
            }
        }
        let summary = serde_json::to_string(&Summary::of(&all)).unwrap();
        assert_eq!(
            summary,
            r#"{"passed":3,"failed":3,"skipped":3,"blocking":1}"#
        );
    }
}
