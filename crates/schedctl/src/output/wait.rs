//! The result of `schedctl wait`.

use std::time::Duration;

use schedkit_core::OpsName;
use serde::Serialize;

use super::document::Document;

#[derive(Serialize)]
pub(crate) struct WaitResult {
    attached: bool,
    /// The scheduler that is attached now.
    ops: Option<String>,
    enable_seq: Option<u64>,
    waited_ms: u64,
}

impl WaitResult {
    pub(crate) fn new(ops: Option<&OpsName>, enable_seq: Option<u64>, waited: Duration) -> Self {
        Self {
            attached: ops.is_some(),
            ops: ops.map(ToString::to_string),
            enable_seq,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Document for WaitResult {
    fn text(&self) -> String {
        match &self.ops {
            Some(ops) => format!("{ops} is attached\n"),
            None => "no scheduler is attached\n".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{checked_json, plain_text};
    use super::*;

    #[test]
    fn the_result_is_the_current_state() {
        let ops: OpsName = "lab_1.0".parse().unwrap();
        let attached = WaitResult::new(Some(&ops), Some(4), Duration::from_millis(70));
        assert_eq!(plain_text(&attached), "lab_1.0 is attached\n");
        let json = checked_json("wait", &attached);
        assert_eq!(
            (&json["attached"], &json["waited_ms"]),
            (&true.into(), &70.into())
        );
        let detached = WaitResult::new(None, None, Duration::ZERO);
        assert_eq!(plain_text(&detached), "no scheduler is attached\n");
        checked_json("wait", &detached);
    }
}
