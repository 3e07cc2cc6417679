//! What a trust policy says about identities and regexps.

use schedkit_image::trust::Pattern;
use testkit::registries::registries;
use testkit::signature_cases::{good_bundle, identities, policy_lines};

#[test]
fn identities_match_exactly_or_by_regexp() {
    let registries = registries();
    let image = good_bundle(registries, &registries.with_referrers(), "identities");
    for (identity, issuer, accepted) in &identities() {
        let lines = policy_lines(identity, issuer);
        let policy = registries.identity_policy("identity", &lines);
        let ours = registries.verify(&policy, &image).accepts();
        assert_eq!(ours, *accepted, "{identity:?} {issuer:?}");
    }
}

#[test]
fn regexps_mean_what_they_mean_to_go() {
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
    let go = registries().sigstore.regexps(&pairs).unwrap();
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
