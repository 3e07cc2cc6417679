//! Signatures made with certificates.

use jiff::{SignedDuration, Timestamp};
use schedkit_image::signature::{Refusal, Signer, VerifyError, verify};
use schedkit_image::trust::Rule;
use serde_json::json;
use x509_cert::der::asn1::Ia5String;
use x509_cert::ext::pkix::name::GeneralName;

use crate::instance::{ISSUER, Instance, Pair, SUBJECT, Sct, Wish, encode, statement, uri};
use crate::shelf::Shelf;
use crate::x509::extension;
use crate::{
    BY_IDENTITY, bundle_verdict, by_identity, layer_verdict, our_payload, our_statement, policy,
    reason,
};

#[tokio::test]
async fn both_formats_are_accepted_and_say_who_signed() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    let signer = Signer::Identity {
        subject: SUBJECT.to_owned(),
        issuer: ISSUER.to_owned(),
    };
    let bundle = instance.bundle(&our_statement(), &Wish::default());
    let verified = bundle_verdict(&policy, &bundle).await.unwrap();
    assert_eq!(verified.signer(), &signer);
    assert_eq!(verified.rule(), &Rule::Identity(0));
    let log = verified.evidence().log.as_ref().unwrap();
    assert_eq!((log.log.as_str(), log.index), ("https://rekor.test", 7));
    assert!(verified.evidence().integrated_time.is_some());
    let payload = our_payload();
    let annotations = instance.annotations(&payload, &Wish::default());
    let verified = layer_verdict(&policy, &payload, &annotations)
        .await
        .unwrap();
    assert_eq!(verified.signer(), &signer);
    let told = serde_json::to_value(&verified).unwrap();
    assert_eq!(
        told["signer"],
        json!({"kind": "identity", "subject": SUBJECT, "issuer": ISSUER})
    );
}

#[tokio::test]
async fn somebody_else_is_refused_by_name() {
    let instance = Instance::new();
    let by_identity = by_identity(&instance);
    let evil = "https://github.com/evil/plumbing";
    let hidden = "https://evil.example/https://github.com/schedkit/plumbing";
    let wishes = [
        (
            evil,
            ISSUER,
            Wish {
                names: vec![uri(evil)],
                ..Wish::default()
            },
        ),
        (
            hidden,
            ISSUER,
            Wish {
                names: vec![uri(hidden)],
                ..Wish::default()
            },
        ),
        (
            SUBJECT,
            "https://evil.example",
            Wish {
                issuer: Some("https://evil.example"),
                old_issuer: Some("https://evil.example"),
                ..Wish::default()
            },
        ),
    ];
    for (subject, issuer, wish) in &wishes {
        let told = bundle_verdict(&by_identity, &instance.bundle(&our_statement(), wish)).await;
        let (subject, issuer) = ((*subject).to_owned(), (*issuer).to_owned());
        assert_eq!(reason(told), Refusal::OtherIdentity { subject, issuer });
    }
    let loose = BY_IDENTITY.replace('^', "");
    let loose = policy(&loose, &Pair::new(), &instance.root());
    let told = bundle_verdict(&loose, &instance.bundle(&our_statement(), &wishes[1].2)).await;
    assert!(
        told.is_ok(),
        "an unanchored pattern matches in the middle, as cosign's do"
    );
}

#[tokio::test]
async fn a_certificate_that_names_more_than_one_is_refused() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    let refused = [
        Wish {
            names: vec![uri(SUBJECT), uri("https://evil.example")],
            ..Wish::default()
        },
        Wish {
            names: vec![],
            ..Wish::default()
        },
        Wish {
            names: vec![GeneralName::DnsName(Ia5String::new(SUBJECT).unwrap())],
            ..Wish::default()
        },
        Wish {
            more: vec![extension(
                "1.3.6.1.4.1.57264.1.1",
                false,
                b"https://evil.example",
            )],
            ..Wish::default()
        },
        Wish {
            old_issuer: Some("https://evil.example"),
            ..Wish::default()
        },
        Wish {
            issuer: Some("https://evil.example"),
            ..Wish::default()
        },
        Wish {
            issuer: None,
            old_issuer: None,
            ..Wish::default()
        },
    ];
    for wish in &refused {
        let told = bundle_verdict(&policy, &instance.bundle(&our_statement(), wish)).await;
        let told = reason(told);
        assert!(matches!(told, Refusal::Certificate(_)), "{told:?}");
    }
    let accepted = [
        Wish {
            issuer: None,
            ..Wish::default()
        },
        Wish {
            old_issuer: None,
            ..Wish::default()
        },
    ];
    for wish in &accepted {
        assert!(
            bundle_verdict(&policy, &instance.bundle(&our_statement(), wish))
                .await
                .is_ok()
        );
    }
    // The library verifies with this kind of key, and cosign does not.
    let unusual = instance.bundle_by(&Pair::ml_dsa(), &our_statement(), &Wish::default());
    let told = reason(bundle_verdict(&policy, &unusual).await);
    assert!(matches!(told, Refusal::Certificate(_)), "{told:?}");
    // cosign looks for the older form only in this format.
    let payload = our_payload();
    let annotations = instance.annotations(&payload, &accepted[1]);
    let told = layer_verdict(&policy, &payload, &annotations).await;
    assert!(matches!(reason(told), Refusal::Certificate(_)));
}

#[tokio::test]
async fn the_certificate_must_come_from_the_instance_and_its_log() {
    let instance = Instance::new();
    let by_identity = by_identity(&instance);
    for sct in [Sct::Missing, Sct::Forged] {
        let wish = Wish {
            sct,
            ..Wish::default()
        };
        let told = bundle_verdict(&by_identity, &instance.bundle(&our_statement(), &wish)).await;
        assert!(matches!(reason(told), Refusal::Sct(_)));
    }
    // Another authority, and otherwise the same instance.
    let mut root = instance.root();
    let stranger = Instance::new().root();
    root["certificateAuthorities"] = stranger["certificateAuthorities"].clone();
    let distrusting = policy(BY_IDENTITY, &Pair::new(), &root);
    let bundle = instance.bundle(&our_statement(), &Wish::default());
    assert!(matches!(
        reason(bundle_verdict(&distrusting, &bundle).await),
        Refusal::Untrusted(_)
    ));
    let mut root = instance.root();
    root["certificateAuthorities"][0]["validFor"] = json!({"start": "2099-01-01T00:00:00Z"});
    let distrusting = policy(BY_IDENTITY, &Pair::new(), &root);
    assert!(matches!(
        reason(bundle_verdict(&distrusting, &bundle).await),
        Refusal::Untrusted(_)
    ));
}

#[tokio::test]
async fn an_authority_vouches_for_no_time_beyond_its_own() {
    let instance = Instance::new();
    let mut root = instance.root();
    root["certificateAuthorities"][0]["validFor"] = json!({"start": "1970-01-01T00:00:00Z"});
    let policy = policy(BY_IDENTITY, &Pair::new(), &root);
    for life in [(-9500, 300), (-300, 9500)] {
        let wish = Wish {
            life,
            ..Wish::default()
        };
        let told = bundle_verdict(&policy, &instance.bundle(&our_statement(), &wish)).await;
        assert!(matches!(reason(told), Refusal::Untrusted(_)), "{life:?}");
    }
}

#[tokio::test]
async fn it_must_have_been_made_while_the_certificate_was_valid() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    for (life, logged) in [((-900, -300), -10), ((-100, 300), -200)] {
        let wish = Wish {
            life,
            logged,
            ..Wish::default()
        };
        let told = bundle_verdict(&policy, &instance.bundle(&our_statement(), &wish)).await;
        assert!(matches!(reason(told), Refusal::NotValidThen(_)));
        let payload = our_payload();
        let told = layer_verdict(&policy, &payload, &instance.annotations(&payload, &wish)).await;
        assert!(matches!(reason(told), Refusal::NotValidThen(_)));
    }
    let expired = Wish {
        life: (-900, -300),
        logged: -600,
        ..Wish::default()
    };
    assert!(
        bundle_verdict(&policy, &instance.bundle(&our_statement(), &expired))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn nothing_is_accepted_from_the_future() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    let shelf = Shelf::default();
    let image = shelf.image("image");
    shelf.attach(&image, &instance.bundle(&our_statement(), &Wish::default()));
    let earlier = Timestamp::now() - SignedDuration::from_secs(3600);
    let told = verify(&shelf, &policy, &image, earlier).await;
    assert!(matches!(reason(told), Refusal::Future { now, .. } if now == earlier));
}

#[tokio::test]
async fn a_clock_that_is_behind_is_told_from_an_invalid_certificate() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    let wish = Wish {
        life: (-300, 7200),
        logged: 3600,
        ..Wish::default()
    };
    let told = reason(bundle_verdict(&policy, &instance.bundle(&our_statement(), &wish)).await);
    assert!(matches!(told, Refusal::Future { .. }), "{told:?}");
    assert!(told.to_string().ends_with("check this machine's clock"));
    let payload = our_payload();
    let told = layer_verdict(&policy, &payload, &instance.annotations(&payload, &wish)).await;
    let told = reason(told);
    assert!(matches!(told, Refusal::Future { .. }), "{told:?}");
}

#[tokio::test]
async fn tampered_content_is_refused() {
    let instance = Instance::new();
    let policy = by_identity(&instance);
    let elsewhere = statement(Shelf::default().image("other").digest());
    let mut bundle = instance.bundle(&elsewhere, &Wish::default());
    bundle["dsseEnvelope"]["payload"] = encode(our_statement()).into();
    assert!(matches!(
        reason(bundle_verdict(&policy, &bundle).await),
        Refusal::WrongSignature(_)
    ));
    let payload = our_payload();
    let other = crate::instance::simple_payload(Shelf::default().image("other").digest());
    let told = layer_verdict(
        &policy,
        &payload,
        &instance.annotations(&other, &Wish::default()),
    )
    .await;
    let told = reason(told);
    assert!(
        matches!(told, Refusal::WrongSignature(_) | Refusal::OtherLogEntry(_)),
        "{told:?}"
    );
}

#[tokio::test]
async fn another_instance_proves_nothing() {
    let bundle = Instance::new().bundle(&our_statement(), &Wish::default());
    let told = bundle_verdict(&by_identity(&Instance::new()), &bundle).await;
    assert!(matches!(told, Err(VerifyError::Refused { .. })));
}
