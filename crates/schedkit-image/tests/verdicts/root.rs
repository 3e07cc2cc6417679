//! Trusted roots that are refused when they are loaded.

use schedkit_image::trust::{ChainFault, RootError, RootOrigin, TrustRoot};
use serde_json::{Value, json};
use x509_cert::der::Encode;
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages};
use x509_cert::name::Name;

use crate::certificate::{body, extension, finish, oid};
use crate::sigstore::{SigningKey, Sigstore, encode};

const CODE: &str = "1.3.6.1.5.5.7.3.3";
const STAMPS: &str = "1.3.6.1.5.5.7.3.8";
const SERVER: &str = "1.3.6.1.5.5.7.3.1";
const ANY: &str = "2.5.29.37.0";

fn load(root: &Value) -> Result<TrustRoot, RootError> {
    TrustRoot::parse(&root.to_string(), RootOrigin::File("root.json".into()))
}

/// A certificate of a chain.
struct Link {
    subject: &'static str,
    issuer: &'static str,
    key: SigningKey,
    extensions: Vec<Extension>,
}

impl Link {
    fn new(subject: &'static str, issuer: &'static str, extensions: Vec<Extension>) -> Self {
        let key = SigningKey::new();
        Self {
            subject,
            issuer,
            key,
            extensions,
        }
    }

    fn signed_by(&self, issuer: &SigningKey) -> Vec<u8> {
        let validity = (1_700_000_000, 1_900_000_000);
        let extensions = self.extensions.clone();
        let mut body = body(self.subject, &self.key.spki(), validity, extensions);
        body.issuer = self.issuer.parse::<Name>().unwrap();
        finish(issuer, body)
    }
}

fn authority(most_below: Option<u8>) -> Extension {
    let basic = BasicConstraints {
        ca: true,
        path_len_constraint: most_below,
    };
    extension("2.5.29.19", true, &basic.to_der().unwrap())
}

fn no_authority() -> Extension {
    let basic = BasicConstraints {
        ca: false,
        path_len_constraint: None,
    };
    extension("2.5.29.19", true, &basic.to_der().unwrap())
}

fn may(usage: KeyUsages) -> Extension {
    extension("2.5.29.15", true, &KeyUsage(usage.into()).to_der().unwrap())
}

fn is_for(critical: bool, usages: &[&str]) -> Extension {
    let usages = usages.iter().map(|usage| oid(usage)).collect();
    let usages = ExtendedKeyUsage(usages).to_der().unwrap();
    extension("2.5.29.37", critical, &usages)
}

/// A first certificate with these extensions, below a root with those.
fn chain_of(first: Vec<Extension>, root: Vec<Extension>) -> [Vec<u8>; 2] {
    let root = Link::new("CN=root", "CN=root", root);
    let first = Link::new("CN=first", "CN=root", first);
    [first.signed_by(&root.key), root.signed_by(&root.key)]
}

fn with_chain(list: &str, chain: &[Vec<u8>]) -> Result<TrustRoot, RootError> {
    let certificates: Vec<Value> = chain
        .iter()
        .map(|der| json!({"rawBytes": encode(der)}))
        .collect();
    let mut root = Sigstore::new().root();
    root[list] = json!([{
        "subject": {}, "uri": "https://authority.test",
        "certChain": {"certificates": certificates},
    }]);
    load(&root)
}

#[track_caller]
fn fault(outcome: Result<TrustRoot, RootError>) -> Option<ChainFault> {
    match outcome {
        Ok(_) => None,
        Err(RootError::Chain { authority, fault }) => {
            assert_eq!(authority, "https://authority.test");
            Some(fault)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_chain_of_an_authority_must_lead_to_its_last_certificate() {
    let list = "certificateAuthorities";
    let check = |first, root| fault(with_chain(list, &chain_of(first, root)));
    let ca = || vec![authority(None)];
    assert_eq!(check(ca(), ca()), None);
    let full = vec![
        authority(Some(0)),
        may(KeyUsages::KeyCertSign),
        is_for(false, &[CODE]),
    ];
    assert_eq!(check(full, vec![authority(Some(1))]), None);
    for harmless in [
        is_for(false, &[ANY]),
        extension("2.5.29.32", false, &[48, 0]),
    ] {
        assert_eq!(check(vec![authority(None), harmless], ca()), None);
    }
    for (first, root, expected) in [
        (vec![], ca(), ChainFault::NotCa(1)),
        (vec![no_authority()], ca(), ChainFault::NotCa(1)),
        (ca(), vec![no_authority()], ChainFault::NotCa(2)),
        (
            vec![authority(None), may(KeyUsages::DigitalSignature)],
            ca(),
            ChainFault::NoCertSign(1),
        ),
        (
            ca(),
            vec![authority(None), may(KeyUsages::CRLSign)],
            ChainFault::NoCertSign(2),
        ),
        (
            vec![authority(None), is_for(false, &[SERVER, STAMPS])],
            ca(),
            ChainFault::OtherPurpose(1),
        ),
        (ca(), vec![authority(Some(0))], ChainFault::TooLong(2)),
        (
            vec![authority(None), extension("1.2.3.4", true, &[5, 0])],
            ca(),
            ChainFault::Critical(1),
        ),
        (
            vec![authority(None), extension("2.5.29.32", true, &[48, 0])],
            ca(),
            ChainFault::Critical(1),
        ),
        (
            vec![authority(None), extension("2.5.29.30", true, &[48, 0])],
            ca(),
            ChainFault::NameConstraints(1),
        ),
        (
            ca(),
            vec![authority(None), extension("2.5.29.30", false, &[48, 0])],
            ChainFault::NameConstraints(2),
        ),
        (
            vec![authority(None), authority(None)],
            ca(),
            ChainFault::Unreadable(1),
        ),
    ] {
        assert_eq!(check(first, root), Some(expected));
    }
    assert_eq!(fault(with_chain(list, &[])), Some(ChainFault::Empty));
}

#[test]
fn certificates_that_do_not_belong_together_are_refused() {
    let list = "certificateAuthorities";
    let ca = || vec![authority(None)];
    let [first, root] = chain_of(ca(), ca());
    let [_, stranger] = chain_of(ca(), ca());
    for chain in [[first.clone(), stranger], [root.clone(), first.clone()]] {
        assert_eq!(
            fault(with_chain(list, &chain)),
            Some(ChainFault::NotIssued(1))
        );
    }
    let mut tampered = first.clone();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    let outcome = fault(with_chain(list, &[tampered, root.clone()]));
    assert_eq!(outcome, Some(ChainFault::NotIssued(1)));
    let named_otherwise = Link::new("CN=first", "CN=other", ca());
    let key = SigningKey::new();
    let other_root = Link::new("CN=root", "CN=root", ca());
    let outcome = fault(with_chain(
        list,
        &[
            named_otherwise.signed_by(&other_root.key),
            other_root.signed_by(&key),
        ],
    ));
    assert_eq!(outcome, Some(ChainFault::NotIssued(1)));
    // The last one is trusted as it is, whoever issued it.
    assert_eq!(fault(with_chain(list, &[first])), None);
}

#[test]
fn a_timestamp_authority_is_for_time_stamping_only() {
    let list = "timestampAuthorities";
    let ca = || vec![authority(None)];
    let check = |first, root| fault(with_chain(list, &chain_of(first, root)));
    let stamper = || vec![is_for(true, &[STAMPS])];
    assert_eq!(check(stamper(), ca()), None);
    assert_eq!(
        check(vec![no_authority(), is_for(true, &[STAMPS])], ca()),
        None
    );
    for first in [
        vec![],
        vec![is_for(false, &[STAMPS])],
        vec![is_for(true, &[STAMPS, CODE])],
        vec![is_for(true, &[CODE])],
        vec![is_for(true, &[ANY])],
    ] {
        assert_eq!(check(first, ca()), Some(ChainFault::Stamper));
    }
    assert_eq!(
        check(stamper(), vec![authority(None), is_for(false, &[CODE])]),
        Some(ChainFault::OtherPurpose(2))
    );
    assert_eq!(check(stamper(), vec![]), Some(ChainFault::NotCa(2)));
    let [alone, _] = chain_of(stamper(), ca());
    assert_eq!(
        fault(with_chain(list, &[alone])),
        Some(ChainFault::NotIssued(1))
    );
}

#[test]
fn an_unknown_or_repeated_name_anywhere_is_an_error() {
    let [stamper, above] = chain_of(vec![is_for(true, &[STAMPS])], vec![authority(None)]);
    let mut good = Sigstore::new().root();
    good["timestampAuthorities"] = json!([{
        "subject": {"organization": "o", "commonName": "c"}, "uri": "https://tsa.test",
        "certChain": {"certificates": [{"rawBytes": encode(stamper)}, {"rawBytes": encode(above)}]},
        "validFor": {"start": "2020-01-01T00:00:00Z", "end": "2099-01-01T00:00:00Z"},
        "operator": "o",
    }]);
    good["tlogs"][0]["operator"] = "o".into();
    good["tlogs"][0]["checkpointKeyId"] = json!({"keyId": "AAAA"});
    assert!(load(&good).is_ok());
    let places = [
        "",
        "/tlogs/0",
        "/tlogs/0/publicKey",
        "/tlogs/0/publicKey/validFor",
        "/tlogs/0/logId",
        "/ctlogs/0",
        "/ctlogs/0/publicKey",
        "/certificateAuthorities/0",
        "/certificateAuthorities/0/subject",
        "/certificateAuthorities/0/certChain",
        "/certificateAuthorities/0/certChain/certificates/0",
        "/certificateAuthorities/0/validFor",
        "/timestampAuthorities/0",
        "/timestampAuthorities/0/validFor",
    ];
    for place in places {
        for name in ["validfor", "valid_for", "more"] {
            let mut root = good.clone();
            root.pointer_mut(place).unwrap()[name] = json!({"start": "2020-01-01T00:00:00Z"});
            let outcome = load(&root);
            assert!(
                matches!(&outcome, Err(RootError::Malformed(why)) if why.contains(name)),
                "{name} in {place}: {outcome:?}"
            );
        }
    }
    let text = good.to_string();
    for name in ["\"tlogs\":", "\"validFor\":", "\"end\":", "\"rawBytes\":"] {
        let twice = text.replacen(name, &format!("{name}null,{name}"), 1);
        let outcome = TrustRoot::parse(&twice, RootOrigin::File("root.json".into()));
        assert!(matches!(outcome, Err(RootError::Malformed(_))), "{name}");
    }
}

#[test]
fn every_log_has_a_window_and_sha256() {
    for list in ["tlogs", "ctlogs"] {
        let mut root = Sigstore::new().root();
        root[list][0]["publicKey"]["validFor"] = Value::Null;
        assert!(
            matches!(load(&root), Err(RootError::NoValidity(_))),
            "{list}"
        );
        let mut root = Sigstore::new().root();
        root[list][0]["hashAlgorithm"] = "SHA2_512".into();
        let outcome = load(&root);
        assert!(
            matches!(outcome, Err(RootError::HashAlgorithm(_))),
            "{outcome:?}"
        );
    }
}
