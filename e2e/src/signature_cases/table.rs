//! `signature_cases.json` of schedkit-image: what schedctl and cosign make of every keyless case.
//! The suite `host` compares schedctl with it, `long_signatures` compares cosign with it.

use std::collections::BTreeMap;

use serde::Deserialize;

const TABLE: &str = include_str!("../../../crates/schedkit-image/tests/signature_cases.json");

#[derive(Debug, Deserialize)]
pub struct Row {
    form: String,
    case: String,
    verdict: String,
    /// Part of the message of our refusal.
    pub reason: Option<String>,
    pub cosign: Cosign,
    /// Why we refuse what cosign 3 accepts. `docs/trust.md` tells users the same.
    pub stricter_because: Option<String>,
}

/// What cosign 2 and 3 do, without and with `--use-signed-timestamps`: `accepts`, `refuses` or
/// `crashes`; nothing where there is no timestamp to be asked about.
#[derive(Debug, Deserialize)]
pub struct Cosign {
    pub v2: String,
    pub v2_timestamps: Option<String>,
    pub v3: String,
    pub v3_timestamps: Option<String>,
}

impl Row {
    pub fn accepted(&self) -> bool {
        self.verdict == "accepted"
    }
}

/// By names such as `bundle/good` and `sig/good`.
pub fn table() -> BTreeMap<String, Row> {
    let rows: Vec<Row> = serde_json::from_str(TABLE).unwrap();
    let named = rows
        .into_iter()
        .map(|row| (format!("{}/{}", row.form, row.case), row));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What we and cosign 3 accept and cosign 2 refuses: it looks at timestamps only with
    /// `--use-signed-timestamps`.
    const ONLY_COSIGN_3: [&str; 2] = [
        "bundle/good-second-log",
        "bundle/good-second-log-expired-since",
    ];

    #[test]
    fn cosign_2_accepts_what_we_accept_except_for_two_cases() {
        for (case, row) in table() {
            let only_3 = row.accepted() && row.cosign.v2 != "accepts";
            assert_eq!(only_3, ONLY_COSIGN_3.contains(&case.as_str()), "{case}");
        }
    }

    #[test]
    fn we_accept_nothing_that_cosign_3_refuses_and_know_why_we_refuse_more() {
        for (case, row) in table() {
            let cosign = row.cosign.v3 == "accepts";
            assert!(cosign || !row.accepted(), "{case}");
            let stricter = cosign && !row.accepted();
            assert_eq!(row.stricter_because.is_some(), stricter, "{case}");
            assert_eq!(row.reason.is_some(), !row.accepted(), "{case}");
        }
    }
}
