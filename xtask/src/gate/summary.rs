//! The table at the end of the gate, and what to do about failures.

use std::fmt;

use super::process::Ended;

pub(super) struct Row {
    pub(super) name: String,
    /// The command that runs just this again.
    pub(super) again: String,
    pub(super) ended: Ended,
}

#[derive(Default)]
pub(super) struct Summary {
    pub(super) rows: Vec<Row>,
}

impl Row {
    pub(super) fn line(&self) -> String {
        let result = if self.ended.success { "ok" } else { "FAILED" };
        let tests = match self.ended.passed {
            0 => String::new(),
            passed => format!("{passed} tests"),
        };
        let time = self.ended.time.as_secs_f64();
        format!("{:<22} {result:<7} {tests:>10} {time:>8.1} s", self.name)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for row in &self.rows {
            writeln!(f, "{}", row.line())?;
        }
        for row in self.rows.iter().filter(|row| !row.ended.success) {
            let Row { name, again, ended } = row;
            writeln!(
                f,
                "{name} failed: {}. Run just it again: {again}",
                ended.cause
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failure_ends_with_suite_cause_and_command() {
        let ok = Ended {
            passed: 7,
            ..Ended::success(Duration::from_secs(65))
        };
        let failed = Ended::failed("a: too slow".to_owned(), Duration::from_secs(2));
        let row = |name: &str, again: &str, ended| Row {
            name: name.to_owned(),
            again: again.to_owned(),
            ended,
        };
        let summary = Summary {
            rows: vec![
                row("unit", "make unit", ok),
                row("machine", "make e2e T=machine", failed),
            ],
        };
        let text = summary.to_string();
        assert!(
            text.contains("unit                   ok         7 tests     65.0 s\n"),
            "{text}"
        );
        let end = "machine failed: a: too slow. Run just it again: make e2e T=machine\n";
        assert!(text.ends_with(end), "{text}");
    }
}
