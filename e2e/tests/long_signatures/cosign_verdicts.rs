//! What cosign makes of every good and flawed piece of keyless material, held against the table in
//! `cosign_verdicts.md`. A case without a row and a row without a case are both mistakes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;

use lab::oci::{Image, Registry, Subject};
use lab::signing::{Cosign, Edition, Form, Signer, Verdict, verdict_of};

use testkit::registries::{Registries, reference, registries_with_cosign};

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
    const ALL: [Self; 4] = [Self::Accepts, Self::Refuses, Self::Crashes, Self::NotAsked];

    fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Accepted(_) => Some(Self::Accepts),
            Verdict::Refused(words) if words.contains("panic: ") => Some(Self::Crashes),
            Verdict::Refused(_) => is_refusal(verdict).then_some(Self::Refuses),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Accepts => "accepts",
            Self::Refuses => "refuses",
            Self::Crashes => "crashes",
            Self::NotAsked => "–",
        }
    }
}

#[test]
fn cosign_judges_as_the_table_says() {
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
    let (found, expected) = (rows.into_inner().unwrap(), table());
    let mut differences = String::new();
    for case in found
        .keys()
        .chain(expected.keys().filter(|case| !found.contains_key(*case)))
    {
        let (is, said) = (found.get(case), expected.get(case));
        if is != said {
            let is = is.map_or("no such case".to_owned(), |row| print(case, row));
            writeln!(differences, "{is}  (the table: {said:?})").unwrap();
        }
    }
    assert!(
        differences.is_empty(),
        "cosign_verdicts.md differs:\n{differences}"
    );
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

fn word(form: Form) -> &'static str {
    match form {
        Form::Bundle => "bundle",
        Form::SigTag => "tag",
    }
}

fn print((form, name): &Case, row: &Row) -> String {
    let cells = row.map(Outcome::word);
    format!("| {} | {name} | {} |", word(*form), cells.join(" | "))
}

fn table() -> BTreeMap<Case, Row> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/long_signatures/cosign_verdicts.md");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<(Case, Row)> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, form, name, rest @ ..] = cells.as_slice() else {
        return None;
    };
    let form = [Form::Bundle, Form::SigTag]
        .into_iter()
        .find(|known| word(*known) == *form)?;
    let outcome = |cell: &&str| {
        let known = Outcome::ALL.into_iter().find(|known| known.word() == *cell);
        known.unwrap_or_else(|| panic!("{cell:?} is no verdict: {line}"))
    };
    let outcomes: Vec<_> = rest.iter().take(JUDGES.len()).map(outcome).collect();
    let row = outcomes.try_into().expect("a verdict for each judge");
    Some(((form, (*name).to_owned()), row))
}
