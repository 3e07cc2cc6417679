//! What schedctl makes of every keyless case of the lab's Sigstore. The tests without cosign hold
//! schedctl to it; `long_signatures` holds the lists that name cosign to cosign itself.

/// Cases that we accept.
pub const ACCEPTED: &[&str] = &[
    "bundle/good",
    "bundle/good-timestamp",
    "bundle/good-expired-since",
    "bundle/good-second-log",
    "bundle/good-second-log-expired-since",
    // Where the log proves the time, nobody looks at timestamps.
    "bundle/foreign-timestamp-beside-log",
    // One of the subjects is the image.
    "bundle/two-subjects",
    "sig/good",
    "sig/good-timestamp",
    "sig/good-expired-since",
    "sig/foreign-timestamp",
    // The chain comes from the trusted root.
    "sig/no-chain",
    // The digest is the image; what the signer called it decides nothing.
    "sig/other-repository",
];

/// Where we refuse what cosign 3 accepts, and why. `docs/trust.md` tells users the same.
pub const STRICTER: &[(&str, &str)] = &[
    (
        "bundle/attestation",
        "an attestation says something else than \"run this\"",
    ),
    (
        "bundle/wrong-predicate",
        "a predicate that nobody defined may mean anything",
    ),
    (
        "bundle/wrong-statement-type",
        "another version of the statement may mean something else",
    ),
    (
        "sig/wrong-kind",
        "a payload of another kind may mean something else",
    ),
];

/// What we and cosign 3 accept and cosign 2 does not, and why.
pub const ONLY_COSIGN_3: &[(&str, &str)] = &[
    (
        "bundle/good-second-log",
        "cosign 2 looks at timestamps only with --use-signed-timestamps",
    ),
    ("bundle/good-second-log-expired-since", "as above"),
];

/// Text in the reason for which each other case is refused: the flaw that it has.
pub const REASONS: &[(&str, &str)] = &[
    ("bundle/attestation", "attestation and no signature"),
    ("bundle/certificate-of-another", "key did not make"),
    ("bundle/checkpoint-of-another", "checkpoint"),
    ("bundle/corrupt", "cannot be read"),
    (
        "bundle/entry-of-another",
        "log entry belongs to something else",
    ),
    ("bundle/envelope-of-another", "key did not make"),
    ("bundle/expired-no-time", "nothing proves when"),
    ("bundle/expired-when-logged", "not valid when it was made"),
    ("bundle/expired-when-stamped", "not valid when it was made"),
    ("bundle/foreign-ca", "trusted authority"),
    ("bundle/foreign-checkpoint", "log's proof does not hold"),
    ("bundle/foreign-log", "log that is not trusted"),
    ("bundle/foreign-sct", "(SCT)"),
    ("bundle/foreign-second-log", "log that is not trusted"),
    ("bundle/foreign-timestamp", "timestamp is not taken"),
    ("bundle/identity-prefixed", "no identity of the policy fits"),
    ("bundle/identity-suffixed", "no identity of the policy fits"),
    ("bundle/issuer-suffixed", "no identity of the policy fits"),
    (
        "bundle/logged-another-certificate",
        "log entry belongs to something else",
    ),
    (
        "bundle/logged-another-payload",
        "log entry belongs to something else",
    ),
    (
        "bundle/logged-another-signature",
        "log entry belongs to something else",
    ),
    ("bundle/logged-before-valid", "not valid when it was made"),
    ("bundle/message-signature", "bare signature"),
    ("bundle/no-log-entry", "no entry in a transparency log"),
    (
        "bundle/no-log-entry-but-timestamp",
        "no entry in a transparency log",
    ),
    ("bundle/no-proof", "log's proof does not hold"),
    ("bundle/no-sct", "(SCT)"),
    ("bundle/no-set", "nothing proves when"),
    ("bundle/no-set-but-timestamp", "nothing proves when"),
    ("bundle/no-signature", "cannot be read"),
    ("bundle/no-subject", "no subject"),
    ("bundle/not-for-signing-code", "trusted authority"),
    ("bundle/other-identity", "no identity of the policy fits"),
    ("bundle/other-issuer", "no identity of the policy fits"),
    ("bundle/payload-no-json", "payload cannot be read"),
    (
        "bundle/second-log-logged-another-certificate",
        "log entry belongs to something else",
    ),
    (
        "bundle/second-log-logged-another-payload",
        "log entry belongs to something else",
    ),
    (
        "bundle/second-log-logged-another-signature",
        "log entry belongs to something else",
    ),
    ("bundle/second-log-no-timestamp", "nothing proves when"),
    (
        "bundle/second-log-signature-by-another-key",
        "key did not make",
    ),
    (
        "bundle/second-log-tampered-checkpoint",
        "log's proof does not hold",
    ),
    (
        "bundle/second-log-tampered-proof",
        "log's proof does not hold",
    ),
    ("bundle/signature-by-another-key", "key did not make"),
    ("bundle/tampered-certificate", "trusted authority"),
    ("bundle/tampered-checkpoint", "log's proof does not hold"),
    ("bundle/tampered-integrated-time", "(SET)"),
    ("bundle/tampered-payload", "key did not make"),
    ("bundle/tampered-payload-type", "another type"),
    ("bundle/tampered-proof", "log's proof does not hold"),
    ("bundle/tampered-root", "root hash"),
    ("bundle/tampered-sct", "(SCT)"),
    ("bundle/tampered-set", "(SET)"),
    ("bundle/tampered-signature", "key did not make"),
    ("bundle/tampered-timestamp", "timestamp is not taken"),
    ("bundle/timestamp-of-another", "timestamp is not taken"),
    ("bundle/wrong-digest", "another digest"),
    ("bundle/wrong-media-type", "another version"),
    ("bundle/wrong-payload-type", "another type"),
    ("bundle/wrong-predicate", "attestation and no signature"),
    (
        "bundle/wrong-statement-type",
        "statement is of another type",
    ),
    ("sig/certificate-of-another", "key did not make"),
    ("sig/corrupt-log-entry", "cannot be read"),
    (
        "sig/entry-of-another",
        "log entry belongs to something else",
    ),
    ("sig/expired-no-time", "no entry in a transparency log"),
    ("sig/expired-when-logged", "not valid when it was made"),
    ("sig/foreign-ca", "trusted authority"),
    ("sig/foreign-log", "log that is not trusted"),
    ("sig/foreign-sct", "(SCT)"),
    (
        "sig/logged-another-certificate",
        "log entry belongs to something else",
    ),
    (
        "sig/logged-another-payload",
        "log entry belongs to something else",
    ),
    (
        "sig/logged-another-signature",
        "log entry belongs to something else",
    ),
    ("sig/logged-before-valid", "not valid when it was made"),
    ("sig/no-certificate", "made with a key"),
    ("sig/no-log-entry", "no entry in a transparency log"),
    (
        "sig/no-log-entry-but-timestamp",
        "no entry in a transparency log",
    ),
    ("sig/no-sct", "(SCT)"),
    ("sig/no-signature", "is missing"),
    ("sig/not-for-signing-code", "trusted authority"),
    ("sig/other-identity", "no identity of the policy fits"),
    ("sig/other-issuer", "no identity of the policy fits"),
    ("sig/payload-no-json", "payload cannot be read"),
    ("sig/signature-by-another-key", "key did not make"),
    ("sig/signature-of-another", "key did not make"),
    ("sig/tampered-log-index", "(SET)"),
    ("sig/tampered-payload", "key did not make"),
    ("sig/tampered-sct", "(SCT)"),
    ("sig/tampered-set", "(SET)"),
    ("sig/tampered-signature", "key did not make"),
    ("sig/wrong-digest", "another digest"),
    ("sig/wrong-kind", "another type"),
];
