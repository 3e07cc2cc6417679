//! What a policy says, against the same said to cosign on its command line.

use lab::oci::{Image, Subject};
use lab::signing::{Edition, IDENTITY, ISSUER, Match, Signer};

use crate::ground::{ground, reference};

#[test]
fn identities_match_as_cosigns_do() {
    let ground = ground();
    let [_, registry] = ground.registries();
    let image = Image::marked("identities").unwrap();
    let subject = Subject::from(&image);
    let material = ground
        .authority
        .issue("identities", &subject.digest)
        .unwrap();
    registry.push_image("identities", "latest", &image).unwrap();
    registry
        .attach_bundle("identities", &subject, &material.bundles["good"])
        .unwrap();
    let image = reference(&registry, "identities", &subject);
    let exact = |text: &str| Match::Exact(text.to_owned());
    let regexp = |text: &str| Match::Regexp(text.to_owned());
    let cases = [
        (exact(IDENTITY), exact(ISSUER), true),
        (exact("https://github.com/schedkit/"), exact(ISSUER), false),
        (exact(IDENTITY), exact("https://token.actions"), false),
        (
            regexp("^https://github\\.com/schedkit/"),
            exact(ISSUER),
            true,
        ),
        (regexp("plumbing"), exact(ISSUER), true),
        (regexp("^plumbing"), exact(ISSUER), false),
        (regexp("schedkit$"), exact(ISSUER), false),
        (regexp("(?i)SCHEDKIT/PLUMBING"), exact(ISSUER), true),
        (regexp(".*"), regexp("^https://token\\.actions\\."), true),
        (regexp(".*"), regexp("^https://issuer"), false),
    ];
    for (number, (identity, issuer, good)) in cases.into_iter().enumerate() {
        let line = |name: &'static str, regexp: &'static str, wanted: &Match| match wanted {
            Match::Exact(text) => (name, text.clone()),
            Match::Regexp(text) => (regexp, text.clone()),
        };
        let lines = [
            line("issuer", "issuerRegExp", &issuer),
            line("subject", "subjectRegExp", &identity),
        ];
        let lines = lines.each_ref().map(|(key, value)| (*key, value.as_str()));
        let policy = ground.identity_policy(&format!("identity-{number}"), &lines);
        let ours = ground.ours(&policy, &image).accepts();
        let signer = Signer { identity, issuer };
        let cosign = ground
            .desk
            .verify_keyless(Edition::V3, &ground.authority, &signer, &image)
            .unwrap();
        assert_eq!(ours, cosign.is_accepted(), "{signer:?}: {cosign:?}");
        assert_eq!(ours, good, "{signer:?}");
    }
}

#[test]
fn regexps_mean_what_they_mean_to_go() {
    use schedkit_image::trust::Pattern;
    let patterns = [
        "a",
        "^a",
        "a$",
        "a|b",
        "(?i)A",
        "a+?",
        "[a-c]",
        "[^a]",
        r"\d",
        r"\w+",
        r"\s",
        r"\bx\b",
        "a{2}",
        "a{,2}",
        "(?s).",
        "(?m)^a$",
        r"\x61",
        r"\x{61}",
        r"\pL",
        r"\p{Greek}",
        r"[[:alpha:]]",
        r"\Aa",
        r"a\z",
        r"\Qa.b\E",
        "(?P<n>a)",
        "(?<n>a)",
        "a**",
        "a{1001}",
        "(",
        "[",
        r"\",
        "(?=a)",
        r"(a)\1",
        "(?x) a b",
        "(?u)a",
        r"\C",
        "(a{10}){20}",
        "[a&&b]",
        "[a--b]",
        "[[a]b]",
        r"\u0061",
        r"\<a",
        "x*",
        "",
        "(|a)",
        "(?U)a+",
        r"[\d-z]",
        r"[a\]b]",
        "[]a]",
        "a{2,1}",
        r"\8",
        r"\a",
    ];
    let texts = [
        "", "a", "A", "aa", "b", "a.b", "x y", "1", "\n", "a\nb", "é", "c", "n", "-", "]", "_",
    ];
    let pairs: Vec<_> = patterns
        .iter()
        .flat_map(|pattern| texts.iter().map(move |text| (*pattern, *text)))
        .collect();
    let go = ground().desk.regexps(&pairs).unwrap();
    let mut taken = 0;
    for ((pattern, text), go) in pairs.iter().zip(&go) {
        // We may take fewer patterns than Go, never more, and never read one otherwise. Texts of
        // certificates are plain ASCII; others never match.
        if let Ok(ours) = Pattern::regexp(pattern) {
            taken += 1;
            assert!(go.valid, "{pattern:?}: {}", go.error);
            if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
                assert_eq!(ours.matches(text), go.matches, "{pattern:?} {text:?}");
            } else {
                assert!(!ours.matches(text), "{pattern:?} {text:?}");
            }
        }
    }
    assert!(taken > 20 * texts.len(), "most patterns are taken");
}
