//! A registry with a mirror: what schedctl says of both (`schedkit-image/tests/verdicts/places.rs`) holds
//! for a manager, too.

use super::*;

const LISTS: &str = "/referrers/";
const MANIFESTS: &str = "/manifests/";

/// What the two places have, and the verdict: accepted, not signed, refused or trouble.
async fn verdict_of(prepare: impl Fn(&KeyPair, &str, &World, &World)) -> &'static str {
    let (mirror, origin) = (World::new().await, World::new().await);
    let image = origin.push("1", "one");
    mirror.push("1", "one");
    prepare(&origin.key, &image, &mirror, &origin);
    let (mirrored, host) = (&mirror.host, &origin.host);
    let settings = format!(
        "\"{host}\": {{security: plain-http, mirrors: [\"{mirrored}\"]}}\n\
         \"{mirrored}\": {{security: plain-http}}\n"
    );
    let (verifier, _stopper) = origin.verifier_by(&settings);
    match verdict(&verifier, &origin.asks("1")).await {
        Verdict::Accepted { .. } => "accepted",
        Verdict::Unsigned(_) => "not signed",
        Verdict::Refused(_) => "refused",
        Verdict::Trouble(_) => "trouble",
    }
}

/// Something else that refers to the image.
fn sbom(world: &World, image: &str) {
    let (_, digest) = image.split_once('@').unwrap();
    let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "size": 2,
        "digest": super::digest(b"{}")});
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [],
        "artifactType": "application/spdx+json"});
    let bytes = manifest.to_string().into_bytes();
    let own = super::digest(&bytes);
    let listed = json!({"mediaType": MANIFEST, "digest": own, "size": bytes.len(),
        "artifactType": "application/spdx+json"});
    let index = "application/vnd.oci.image.index.v1+json";
    let list = json!({"schemaVersion": 2, "mediaType": index, "manifests": [listed]});
    let content = &world.content;
    content.put(format!("/v2/x/manifests/{own}"), MANIFEST, &bytes);
    let list = list.to_string().into_bytes();
    content.put(format!("/v2/x/referrers/{digest}"), index, &list);
}

#[tokio::test]
async fn whatever_any_place_has_counts() {
    let hidden = verdict_of(|key, image, mirror, origin| {
        sbom(mirror, image);
        origin.sign(image, key);
    });
    assert_eq!(hidden.await, "accepted");
    let older = verdict_of(|key, image, mirror, origin| {
        mirror.sign(image, &KeyPair::generate().unwrap());
        origin.sign(image, key);
    });
    assert_eq!(older.await, "accepted");
    let mirrored = verdict_of(|key, image, mirror, origin| {
        mirror.sign(image, key);
        origin.content.fail(LISTS);
    });
    assert_eq!(mirrored.await, "accepted");
    let behind_a_failure = verdict_of(|key, image, mirror, origin| {
        mirror.content.fail(LISTS);
        origin.sign(image, key);
    });
    assert_eq!(behind_a_failure.await, "accepted");
}

#[tokio::test]
async fn only_all_places_together_say_that_there_is_no_signature() {
    let none = verdict_of(|_, image, mirror, _| sbom(mirror, image));
    assert_eq!(none.await, "not signed");
    let the_same = verdict_of(|_, image, mirror, origin| {
        let stranger = KeyPair::generate().unwrap();
        mirror.sign(image, &stranger);
        origin.sign(image, &stranger);
    });
    assert_eq!(the_same.await, "refused");
    for failure in [LISTS, MANIFESTS] {
        let mirror_fails = verdict_of(|_, _, mirror, _| mirror.content.fail(failure));
        assert_eq!(mirror_fails.await, "trouble", "{failure}");
        let origin_fails = verdict_of(|_, image, mirror, origin| {
            sbom(mirror, image);
            origin.content.fail(failure);
        });
        assert_eq!(origin_fails.await, "trouble", "{failure}");
    }
}
