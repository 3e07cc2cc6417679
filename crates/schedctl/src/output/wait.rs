//! What was waited for, as `schedctl wait` prints it once it is so.

use std::time::Duration;

use schedkit_core::OpsName;
use serde::Serialize;

use super::Document;

#[derive(Serialize)]
pub(crate) struct Arrival {
    attached: bool,
    /// What the kernel has attached now, if anything.
    ops: Option<String>,
    enable_seq: Option<u64>,
    waited_ms: u64,
}

impl Arrival {
    pub(crate) fn of(ops: Option<&OpsName>, enable_seq: Option<u64>, waited: Duration) -> Self {
        Self {
            attached: ops.is_some(),
            ops: ops.map(ToString::to_string),
            enable_seq,
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Document for Arrival {
    fn text(&self) -> String {
        match &self.ops {
            Some(ops) => format!("{ops} is attached\n"),
            None => "no scheduler is attached\n".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{judged, shown};
    use super::*;

    #[test]
    fn it_says_what_is_now() {
        let ops: OpsName = "lab_1.0".parse().unwrap();
        let came = Arrival::of(Some(&ops), Some(4), Duration::from_millis(70));
        assert_eq!(shown(&came), "lab_1.0 is attached\n");
        let json = judged("wait", &came);
        assert_eq!(
            (&json["attached"], &json["waited_ms"]),
            (&true.into(), &70.into())
        );
        let went = Arrival::of(None, None, Duration::ZERO);
        assert_eq!(shown(&went), "no scheduler is attached\n");
        judged("wait", &went);
    }
}
