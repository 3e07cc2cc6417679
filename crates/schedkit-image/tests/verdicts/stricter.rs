//! What cosign accepts and we refuse, by the rows of docs/trust.md that the table of cases lacks.

use schedkit_image::signature::Refusal;
use serde_json::Value;
use x509_cert::der::Encode;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage};

use crate::certificate::{extension, oid};
use crate::fixture::{bundle_verdict, by_identity, our_statement, reason};
use crate::sigstore::{
    CertificateSpec, Sct, SigningKey, Sigstore, bundle, dsse_body, enclose, encode, pem,
};

async fn refusal(sigstore: &Sigstore, bundle: &Value) -> Refusal {
    reason(bundle_verdict(&by_identity(sigstore), bundle).await)
}

#[tokio::test]
async fn certificates_that_fulcio_does_not_issue() {
    let sigstore = Sigstore::new();
    let authority = BasicConstraints {
        ca: true,
        path_len_constraint: None,
    };
    let specs = [
        CertificateSpec {
            usage: ExtendedKeyUsage(vec![oid("2.5.29.37.0")]),
            ..CertificateSpec::default()
        },
        CertificateSpec {
            extensions: vec![extension("2.5.29.19", true, &authority.to_der().unwrap())],
            ..CertificateSpec::default()
        },
    ];
    for spec in specs {
        let outcome = refusal(&sigstore, &sigstore.bundle(&our_statement(), &spec)).await;
        assert!(matches!(outcome, Refusal::Untrusted(_)), "{outcome:?}");
    }
    let spec = CertificateSpec {
        sct: Sct::Twice,
        ..CertificateSpec::default()
    };
    let outcome = refusal(&sigstore, &sigstore.bundle(&our_statement(), &spec)).await;
    assert!(matches!(outcome, Refusal::Sct(_)), "{outcome:?}");
}

#[tokio::test]
async fn keys_that_the_library_does_not_support() {
    let sigstore = Sigstore::new();
    let spec = CertificateSpec::default();
    let large = sigstore.bundle_by(&SigningKey::p521(), &our_statement(), &spec);
    let outcome = refusal(&sigstore, &large).await;
    assert!(matches!(outcome, Refusal::Certificate(_)), "{outcome:?}");
}

#[tokio::test]
async fn statements_and_entries_with_more_than_cosign_makes() {
    let sigstore = Sigstore::new();
    let spec = CertificateSpec::default();
    let located = our_statement().replace(r#""subject":[{"#, r#""subject":[{"uri":"https://a","#);
    assert_ne!(located, our_statement());
    let outcome = refusal(&sigstore, &sigstore.bundle(&located, &spec)).await;
    assert!(matches!(outcome, Refusal::Payload(_)), "{outcome:?}");

    let (key, payload) = (SigningKey::new(), our_statement());
    let certificate = sigstore.certificate(&spec, &key);
    let signature = key.sign(&enclose(&payload));
    let body = dsse_body(&payload, &signature, &pem("CERTIFICATE", &certificate));
    let entered = |body: &str| {
        let material = serde_json::json!({
            "certificate": {"rawBytes": encode(&certificate)},
            "tlogEntries": [sigstore.entry("dsse", body, -10)],
        });
        bundle(&payload, &signature, &material)
    };
    let policy = by_identity(&sigstore);
    assert!(bundle_verdict(&policy, &entered(&body)).await.is_ok());
    let mut two: Value = serde_json::from_str(&body).unwrap();
    let signatures = two["spec"]["signatures"].as_array_mut().unwrap();
    signatures.push(signatures[0].clone());
    let outcome = refusal(&sigstore, &entered(&two.to_string())).await;
    assert!(matches!(outcome, Refusal::OtherLogEntry(_)), "{outcome:?}");
}
