//! Policies that are errors, each with a part of the error.

const NO_VALUE: &str = "expected a value; leave out what has none";

/// One rule of a policy with the signers `ci` and `release`. `DIGEST` is a digest.
pub(super) const RULES: [(&str, &str); 27] = [
    ("{scope: '*', signers: [x]}", "the policy has no signer `x`"),
    ("{scope: '*', signers: [ci, ci]}", "`ci` is named twice"),
    ("{scope: '*'}", "the rule names no signer"),
    ("{scope: '*', signers: []}", "the rule names no signer"),
    (
        "{scope: 'a.b/', signers: [ci]}",
        "the scope a.b/: is not `*`",
    ),
    ("{signers: [ci]}", "missing field `scope`"),
    (
        "{scope: '*', signers: [ci], colour: red}",
        "unknown field `colour`",
    ),
    (
        "{scope: '*', refuse: true, signers: [ci]}",
        "has nothing else but its scope",
    ),
    (
        "{scope: '*', refuse: false, signers: [ci]}",
        "`refuse` is true or absent",
    ),
    (
        "{scope: '*', signers: [ci], require: '2'}",
        "a number from 1 to 1",
    ),
    (
        "{scope: '*', signers: [ci], require: '0'}",
        "a number from 1 to 1",
    ),
    (
        "{scope: '*', signers: [ci], require: most}",
        "a number from 1 to 1",
    ),
    (
        "{scope: '*', signers: [ci], title: none}",
        "`title` is asked or any",
    ),
    (
        "{scope: '*', signers: [ci], minimumVersion: '1.2'}",
        "`minimumVersion`: is not a version",
    ),
    (
        "{scope: '*', signers: [ci], deniedDigests: [abc]}",
        "is not a digest",
    ),
    (
        "{scope: '*', signers: [ci], deniedDigests: ['DIGEST', 'DIGEST']}",
        "is named twice",
    ),
    (
        "{scope: '*', signers: [ci], attestations: [{predicateType: ''}]}",
        "`predicateType` has 1 to",
    ),
    (
        "{scope: '*', signers: [ci], attestations: [{predicateType: a}, {predicateType: a}]}",
        "`a` is named twice",
    ),
    (
        "{scope: '*', signers: [ci], attestations: [{predicateType: 'https://sigstore.dev/cosign/sign/v1'}]}",
        "the one of signatures",
    ),
    (
        "{scope: ghcr.io/a, signers: [ci]}\n- {scope: 'GHCR.IO:443/a', signers: [release]}",
        "the scope ghcr.io/a has a rule already, at line 9",
    ),
    (
        "{scope: ghcr.io/a, signers: [ci], attestations: [{predicateType: a, signers: []}]}",
        "the rule names no signer",
    ),
    ("{scope: '*', signers: [ci], minimumVersion: }", NO_VALUE),
    ("{scope: '*', signers: [ci], deniedDigests: }", NO_VALUE),
    ("{scope: '*', signers: [ci], deniedDigests: [~]}", NO_VALUE),
    ("{scope: '*', signers: [ci], attestations: null}", NO_VALUE),
    ("{scope: '*', signers: [ci], require: }", NO_VALUE),
    (
        "scope: '*'\n  signers: [ci]\n  title:\n",
        "11:3: invalid type",
    ),
];

/// The signer `a` of a policy whose only rule names it.
pub(super) const SIGNERS: [(&str, &str); 16] = [
    ("{}", "either a `key` or an identity"),
    (
        "{key: a.pem, issuer: b, subject: c}",
        "either a `key` or an identity",
    ),
    ("{issuer: b}", "needs `subject`"),
    ("{subject: b}", "needs `issuer`"),
    (
        "{issuer: b, issuerPrefix: c, subject: d}",
        "`issuer` is set twice",
    ),
    ("{key: a.pem, claims: {ref: b}}", "a `key` has none"),
    (
        "{issuer: b, subject: c, claims: {branch: d}}",
        "`branch` is unknown: a claim is one of repository",
    ),
    (
        "{issuer: b, subject: c, claims: {ref: d, refPrefix: e}}",
        "`ref` is set twice",
    ),
    ("{key: a.pem, notAfter: tomorrow}", "is not a time such as"),
    (
        "{key: a.pem, notBefore: 2026-01-02T00:00:00Z, notAfter: 2026-01-01T00:00:00Z}",
        "`notAfter` is before `notBefore`",
    ),
    ("{key: none.pem}", "the key "),
    ("{key: a.pem, notAfter: }", NO_VALUE),
    ("{key: a.pem, issuer: ~}", NO_VALUE),
    ("{issuer: b, subject: c, claims: }", NO_VALUE),
    ("{issuer: b, subject: c, claims: {ref: }}", NO_VALUE),
    ("{key: a.pem}\n  a: {key: b.pem}", "duplicate"),
];

/// Whole policies. `RULES` is a rule for the signer `a`.
pub(super) const POLICIES: [(&str, &str); 13] = [
    ("version: 1\n", "1:10: `version` is 2"),
    ("version: two\n", "1:10: "),
    ("version: 2\n", "1:1: the policy names neither"),
    ("version: 2\nkeys: []\n", "2:1: unknown field `keys`"),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\n",
        "1:1: the policy has no rules",
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}, b: {key: a.pem}}\nRULES",
        "two signers have this key",
    ),
    (
        "version: 2\nsigners: {'a b': {key: a.pem}}\nRULES",
        "a signer's name has",
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\ntrustedRoot:\nRULES",
        NO_VALUE,
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\nrekorURL: null\nRULES",
        NO_VALUE,
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\nrequireTransparencyLog:\nRULES",
        NO_VALUE,
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\ndeniedDigests:\nRULES",
        NO_VALUE,
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\nrekorURL: https://rekor.sigstore.dev\nRULES",
        "3:11: `rekorURL` would restrict nothing",
    ),
    (
        "version: 2\nsigners: {a: {key: a.pem}}\nrekorURL: https://rekor.sigstore.dev\nrequireTransparencyLog: false\nRULES",
        "3:11: `rekorURL` would restrict nothing",
    ),
];
