//! Signatures made with certificates.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::{Refusal, Signer, VerifyError, verify};
use schedkit_image::trust::Rule;
use serde_json::json;
use x509_cert::der::asn1::Ia5String;
use x509_cert::ext::pkix::name::GeneralName;

use crate::certificate::extension;
use crate::fixture::{
    BY_IDENTITY, bundle_verdict, by_identity, layer_verdict, our_payload, our_statement, policy,
    reason,
};
use crate::memory_registry::MemoryRegistry;
use crate::sigstore::{
    CertificateSpec, ISSUER, SUBJECT, Sct, SigningKey, Sigstore, encode, statement, uri,
};

#[tokio::test]
async fn both_formats_are_accepted_and_say_who_signed() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let signer = Signer::Identity {
        subject: SUBJECT.to_owned(),
        issuer: ISSUER.to_owned(),
    };
    let bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    let verified = bundle_verdict(&policy, &bundle).await.unwrap();
    assert_eq!(verified.signer(), &signer);
    assert_eq!(verified.rule(), &Rule::Identity(0));
    let log = verified.evidence().log.as_ref().unwrap();
    assert_eq!((log.log.as_str(), log.index), ("https://rekor.test", 7));
    assert!(verified.evidence().integrated_time.is_some());
    let payload = our_payload();
    let annotations = sigstore.annotations(&payload, &CertificateSpec::default());
    let verified = layer_verdict(&policy, &payload, &annotations)
        .await
        .unwrap();
    assert_eq!(verified.signer(), &signer);
    let outcome = serde_json::to_value(&verified).unwrap();
    assert_eq!(
        outcome["signer"],
        json!({"kind": "identity", "subject": SUBJECT, "issuer": ISSUER})
    );
}

#[tokio::test]
async fn other_identities_are_refused() {
    let sigstore = Sigstore::new();
    let by_identity = by_identity(&sigstore);
    let evil = "https://github.com/evil/plumbing";
    let hidden = "https://evil.example/https://github.com/schedkit/plumbing";
    let specs = [
        (
            evil,
            ISSUER,
            CertificateSpec {
                names: vec![uri(evil)],
                ..CertificateSpec::default()
            },
        ),
        (
            hidden,
            ISSUER,
            CertificateSpec {
                names: vec![uri(hidden)],
                ..CertificateSpec::default()
            },
        ),
        (
            SUBJECT,
            "https://evil.example",
            CertificateSpec {
                issuer: Some("https://evil.example"),
                old_issuer: Some("https://evil.example"),
                ..CertificateSpec::default()
            },
        ),
    ];
    for (subject, issuer, spec) in &specs {
        let outcome = bundle_verdict(&by_identity, &sigstore.bundle(&our_statement(), spec)).await;
        let (subject, issuer) = ((*subject).to_owned(), (*issuer).to_owned());
        assert_eq!(reason(outcome), Refusal::OtherIdentity { subject, issuer });
    }
    let loose = BY_IDENTITY.replace('^', "");
    let loose = policy(&loose, &SigningKey::new(), &sigstore.root());
    let outcome = bundle_verdict(&loose, &sigstore.bundle(&our_statement(), &specs[1].2)).await;
    assert!(
        outcome.is_ok(),
        "an unanchored pattern matches in the middle, as cosign's do"
    );
}

#[tokio::test]
async fn a_certificate_that_names_more_than_one_is_refused() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let refused = [
        CertificateSpec {
            names: vec![uri(SUBJECT), uri("https://evil.example")],
            ..CertificateSpec::default()
        },
        CertificateSpec {
            names: vec![],
            ..CertificateSpec::default()
        },
        CertificateSpec {
            names: vec![GeneralName::DnsName(Ia5String::new(SUBJECT).unwrap())],
            ..CertificateSpec::default()
        },
        CertificateSpec {
            extensions: vec![extension(
                "1.3.6.1.4.1.57264.1.1",
                false,
                b"https://evil.example",
            )],
            ..CertificateSpec::default()
        },
        CertificateSpec {
            old_issuer: Some("https://evil.example"),
            ..CertificateSpec::default()
        },
        CertificateSpec {
            issuer: Some("https://evil.example"),
            ..CertificateSpec::default()
        },
        CertificateSpec {
            issuer: None,
            old_issuer: None,
            ..CertificateSpec::default()
        },
    ];
    for spec in &refused {
        let outcome = bundle_verdict(&policy, &sigstore.bundle(&our_statement(), spec)).await;
        let outcome = reason(outcome);
        assert!(matches!(outcome, Refusal::Certificate(_)), "{outcome:?}");
    }
    let accepted = [
        CertificateSpec {
            issuer: None,
            ..CertificateSpec::default()
        },
        CertificateSpec {
            old_issuer: None,
            ..CertificateSpec::default()
        },
    ];
    for spec in &accepted {
        assert!(
            bundle_verdict(&policy, &sigstore.bundle(&our_statement(), spec))
                .await
                .is_ok()
        );
    }
    // The library verifies with this kind of key, and cosign does not.
    let unusual = sigstore.bundle_by(
        &SigningKey::ml_dsa(),
        &our_statement(),
        &CertificateSpec::default(),
    );
    let outcome = reason(bundle_verdict(&policy, &unusual).await);
    assert!(matches!(outcome, Refusal::Certificate(_)), "{outcome:?}");
    // In this format cosign reads the older extension only.
    let payload = our_payload();
    let annotations = sigstore.annotations(&payload, &accepted[1]);
    let outcome = layer_verdict(&policy, &payload, &annotations).await;
    assert!(matches!(reason(outcome), Refusal::Certificate(_)));
}

#[tokio::test]
async fn the_certificate_must_come_from_the_instance_and_its_log() {
    let sigstore = Sigstore::new();
    let by_identity = by_identity(&sigstore);
    for sct in [Sct::Missing, Sct::Foreign] {
        let spec = CertificateSpec {
            sct,
            ..CertificateSpec::default()
        };
        let outcome = bundle_verdict(&by_identity, &sigstore.bundle(&our_statement(), &spec)).await;
        assert!(matches!(reason(outcome), Refusal::Sct(_)));
    }
    // Another authority, and otherwise the same sigstore.
    let mut root = sigstore.root();
    let stranger = Sigstore::new().root();
    root["certificateAuthorities"] = stranger["certificateAuthorities"].clone();
    let distrusting = policy(BY_IDENTITY, &SigningKey::new(), &root);
    let bundle = sigstore.bundle(&our_statement(), &CertificateSpec::default());
    assert!(matches!(
        reason(bundle_verdict(&distrusting, &bundle).await),
        Refusal::Untrusted(_)
    ));
    let mut root = sigstore.root();
    root["certificateAuthorities"][0]["validFor"] = json!({"start": "2099-01-01T00:00:00Z"});
    let distrusting = policy(BY_IDENTITY, &SigningKey::new(), &root);
    assert!(matches!(
        reason(bundle_verdict(&distrusting, &bundle).await),
        Refusal::Untrusted(_)
    ));
}

#[tokio::test]
async fn an_authority_counts_only_during_its_validity() {
    let sigstore = Sigstore::new();
    let mut root = sigstore.root();
    root["certificateAuthorities"][0]["validFor"] = json!({"start": "1970-01-01T00:00:00Z"});
    let policy = policy(BY_IDENTITY, &SigningKey::new(), &root);
    for validity in [(-9500, 300), (-300, 9500)] {
        let spec = CertificateSpec {
            validity,
            ..CertificateSpec::default()
        };
        let outcome = bundle_verdict(&policy, &sigstore.bundle(&our_statement(), &spec)).await;
        assert!(
            matches!(reason(outcome), Refusal::Untrusted(_)),
            "{validity:?}"
        );
    }
}

#[tokio::test]
async fn it_must_have_been_made_while_the_certificate_was_valid() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    for (validity, logged) in [((-900, -300), -10), ((-100, 300), -200)] {
        let spec = CertificateSpec {
            validity,
            logged,
            ..CertificateSpec::default()
        };
        let outcome = bundle_verdict(&policy, &sigstore.bundle(&our_statement(), &spec)).await;
        assert!(matches!(reason(outcome), Refusal::NotValidThen(_)));
        let payload = our_payload();
        let outcome =
            layer_verdict(&policy, &payload, &sigstore.annotations(&payload, &spec)).await;
        assert!(matches!(reason(outcome), Refusal::NotValidThen(_)));
    }
    let expired = CertificateSpec {
        validity: (-900, -300),
        logged: -600,
        ..CertificateSpec::default()
    };
    assert!(
        bundle_verdict(&policy, &sigstore.bundle(&our_statement(), &expired))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn signatures_from_the_future_are_refused() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let registry = MemoryRegistry::default();
    let image = registry.image("image");
    registry.attach(
        &image,
        &sigstore.bundle(&our_statement(), &CertificateSpec::default()),
    );
    let earlier = Timestamp::now() - SignedDuration::from_secs(3600);
    let outcome = verify(&registry, &policy, &image, earlier).await;
    assert!(matches!(reason(outcome), Refusal::Future { now, .. } if now == earlier));
}

#[tokio::test]
async fn a_clock_that_is_behind_has_its_own_refusal() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let spec = CertificateSpec {
        validity: (-300, 7200),
        logged: 3600,
        ..CertificateSpec::default()
    };
    let outcome = reason(bundle_verdict(&policy, &sigstore.bundle(&our_statement(), &spec)).await);
    assert!(matches!(outcome, Refusal::Future { .. }), "{outcome:?}");
    assert!(outcome.to_string().ends_with("check this machine's clock"));
    let payload = our_payload();
    let outcome = layer_verdict(&policy, &payload, &sigstore.annotations(&payload, &spec)).await;
    let outcome = reason(outcome);
    assert!(matches!(outcome, Refusal::Future { .. }), "{outcome:?}");
}

#[tokio::test]
async fn tampered_content_is_refused() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let elsewhere = statement(MemoryRegistry::default().image("other").digest());
    let mut bundle = sigstore.bundle(&elsewhere, &CertificateSpec::default());
    bundle["dsseEnvelope"]["payload"] = encode(our_statement()).into();
    assert!(matches!(
        reason(bundle_verdict(&policy, &bundle).await),
        Refusal::WrongSignature(_)
    ));
    let payload = our_payload();
    let other = crate::sigstore::simple_payload(MemoryRegistry::default().image("other").digest());
    let outcome = layer_verdict(
        &policy,
        &payload,
        &sigstore.annotations(&other, &CertificateSpec::default()),
    )
    .await;
    let outcome = reason(outcome);
    assert!(
        matches!(
            outcome,
            Refusal::WrongSignature(_) | Refusal::OtherLogEntry(_)
        ),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn an_envelope_names_the_certificates_key_or_none() {
    let sigstore = Sigstore::new();
    let policy = by_identity(&sigstore);
    let key = SigningKey::new();
    let mut bundle = sigstore.bundle_by(&key, &our_statement(), &CertificateSpec::default());
    let mut verdict = async |named: String| {
        bundle["dsseEnvelope"]["signatures"][0]["keyid"] = named.into();
        bundle_verdict(&policy, &bundle).await
    };
    assert!(verdict(key.ssh_fingerprint()).await.is_ok());
    let other = SigningKey::new().ssh_fingerprint();
    let refusal = reason(verdict(other.clone()).await);
    assert_eq!(refusal, Refusal::OtherKeyId(other));
}

#[tokio::test]
async fn another_instance_proves_nothing() {
    let bundle = Sigstore::new().bundle(&our_statement(), &CertificateSpec::default());
    let outcome = bundle_verdict(&by_identity(&Sigstore::new()), &bundle).await;
    assert!(matches!(outcome, Err(VerifyError::Refused { .. })));
}
