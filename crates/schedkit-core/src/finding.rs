//! The result of a check of the host: a row of `schedctl doctor`.
//!
//! The JSON fields are part of schedctl's interface: all six are always present, and a text that does
//! not apply is empty.

use serde::{Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name such as `kernel.btf`.
    pub id: &'static str,
    /// What is true when the check passes.
    pub description: &'static str,
    pub severity: Severity,
    pub status: CheckStatus,
    /// What was observed.
    pub detail: String,
    /// What to do, when the check failed.
    #[serde(serialize_with = "or_empty")]
    pub remediation: Option<String>,
}

/// What a failed check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It explains behaviour.
    Info,
    /// It may cause failures.
    Warn,
    /// No scheduler can run.
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Pass,
    Fail,
    /// The check could not be made or does not apply.
    Skip,
}

/// How many findings have which status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub passed: usize,
    /// Blocking or not.
    pub failed: usize,
    pub skipped: usize,
    /// Failed checks because of which no scheduler can run.
    pub blocking: usize,
}

impl Finding {
    /// Whether no scheduler can run because of this finding.
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Error && self.status == CheckStatus::Fail
    }
}

impl Summary {
    pub fn of(findings: &[Finding]) -> Self {
        let mut summary = Self::default();
        for finding in findings {
            match finding.status {
                CheckStatus::Pass => summary.passed += 1,
                CheckStatus::Fail => summary.failed += 1,
                CheckStatus::Skip => summary.skipped += 1,
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

    fn finding(severity: Severity, status: CheckStatus) -> Finding {
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
    fn the_json_has_the_documented_fields() {
        let mut failed = finding(Severity::Error, CheckStatus::Fail);
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
            finding(Severity::Info, CheckStatus::Pass),
            finding(Severity::Warn, CheckStatus::Skip),
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
            for status in [CheckStatus::Pass, CheckStatus::Fail, CheckStatus::Skip] {
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
