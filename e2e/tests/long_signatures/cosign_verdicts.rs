//! What cosign makes of every good and flawed piece of keyless material, compared with
//! `signature_cases.json`. A case without a row and a row without a case are both mistakes. The
//! suite `host` compares schedctl with the same table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;

use lab::oci::{Image, Registry, Subject};
use lab::signing::{Cosign, Edition, Form, Signer, Verdict, verdict_of};

use testkit::registries::{Registries, reference, registries_with_cosign};
use testkit::signature_cases::table;

use crate::cosign_editions::is_refusal;

/// The columns of the table: an edition, and what it is told besides.
const JUDGES: [(Edition, &[&str]); 4] = [
    (Edition::V2, &[]),
    (Edition::V2, &["--use-signed-timestamps"]),
    (Edition::V3, &[]),
    (Edition::V3, &["--use-signed-timestamps"]),
];

type Case = (Form, String);
type Row = [Outcome; JUDGES.len()];

/// What became of one question to cosign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Accepts,
    Refuses,
    /// It fell over, which accepts nothing either.
    Crashes,
    /// There is no timestamp to be asked about.
    NotAsked,
}

impl Outcome {
    fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Accepted(_) => Some(Self::Accepts),
            Verdict::Refused(words) if words.contains("panic: ") => Some(Self::Crashes),
            Verdict::Refused(_) => is_refusal(verdict).then_some(Self::Refuses),
        }
    }

    fn from_table(word: Option<&str>) -> Self {
        match word {
            Some("accepts") => Self::Accepts,
            Some("refuses") => Self::Refuses,
            Some("crashes") => Self::Crashes,
            None => Self::NotAsked,
            Some(word) => panic!("{word:?} is no verdict"),
        }
    }
}

#[test]
fn cosign_judges_as_the_table_has_it() {
    let registries = registries_with_cosign();
    let asking = Asking {
        cosign: registries.cosign(),
        registry: registries.with_referrers(),
        registries,
    };
    let cases = asking.cases();
    let (waiting, rows) = (Mutex::new(cases.into_iter()), Mutex::new(BTreeMap::new()));
    let next = || waiting.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let row = asking.row(&case);
                    rows.lock().unwrap().insert(case, row);
                }
            });
        }
    });
    let (found, expected) = (rows.into_inner().unwrap(), expected());
    let mut differences = String::new();
    for case in found
        .keys()
        .chain(expected.keys().filter(|case| !found.contains_key(*case)))
    {
        let (is, row) = (found.get(case), expected.get(case));
        if is != row {
            writeln!(differences, "{case:?}: {is:?}, in the table {row:?}").unwrap();
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}

struct Asking {
    cosign: Cosign,
    registry: Registry,
    registries: &'static Registries,
}

impl Asking {
    fn cases(&self) -> Vec<Case> {
        let some = self.registries.authority.issue("any", "sha256:00").unwrap();
        let bundles = some.bundles.into_keys().map(|name| (Form::Bundle, name));
        let signatures = some.signatures.into_keys().map(|name| (Form::SigTag, name));
        bundles.chain(signatures).collect()
    }

    /// Each case has an image of its own, so that no other signature can be taken for it.
    fn row(&self, case: &Case) -> Row {
        let (form, name) = case;
        let image = Image::marked(&format!("{form:?} {name}")).unwrap();
        self.registry.push_image("verdicts", name, &image).unwrap();
        let subject = Subject::from(&image);
        let material = self
            .registries
            .authority
            .issue("verdicts", &subject.digest)
            .unwrap();
        let stamped = match form {
            Form::Bundle => material.bundles[name].contains("rfc3161Timestamps"),
            Form::SigTag => material.signatures[name]
                .annotations
                .contains_key("dev.sigstore.cosign/rfc3161timestamp"),
        };
        match form {
            Form::Bundle => {
                let bundle = &material.bundles[name];
                self.registry.attach_bundle("verdicts", &subject, bundle)
            }
            Form::SigTag => {
                let signatures = [material.signatures[name].clone()];
                self.registry
                    .push_signatures("verdicts", &subject, &signatures)
            }
        }
        .unwrap();
        let image = reference(&self.registry, "verdicts", &subject);
        JUDGES.map(|(edition, more)| {
            if !more.is_empty() && !stamped {
                return Outcome::NotAsked;
            }
            let signer = Signer::default();
            let mut cosign = self.cosign.verify_keyless_command(
                edition,
                &self.registries.authority,
                &signer,
                &image,
            );
            let verdict = verdict_of(cosign.args(more)).unwrap();
            Outcome::of(&verdict).unwrap_or_else(|| panic!("{case:?}: {verdict:?}"))
        })
    }
}

fn expected() -> BTreeMap<Case, Row> {
    let row = |(name, row): (String, table::Row)| {
        let (form, case) = name.split_once('/').unwrap();
        let form = if form == "bundle" {
            Form::Bundle
        } else {
            Form::SigTag
        };
        let cosign = &row.cosign;
        let words = [
            Some(&cosign.v2),
            cosign.v2_timestamps.as_ref(),
            Some(&cosign.v3),
            cosign.v3_timestamps.as_ref(),
        ];
        let outcomes = words.map(|word| Outcome::from_table(word.map(String::as_str)));
        ((form, case.to_owned()), outcomes)
    };
    table::table().into_iter().map(row).collect()
}
