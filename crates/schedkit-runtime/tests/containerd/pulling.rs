//! From the registry into containerd's store.

use schedkit_runtime::{DriverError, PullProgress, Pulled};

use crate::images::{Packing, Recipe, layer, noise};
use crate::yard::{REPOSITORY, Yard, registry, trusted};

#[test]
fn an_index_is_pulled_once_and_what_runs_are_its_bytes() {
    let yard = Yard::open();
    let mut recipe = Recipe::new("index");
    recipe
        .layers
        .push((layer("noise", &noise(1, 2_000_000)), Packing::Gzip));
    recipe.layers.push((layer("more", b"more"), Packing::Plain));
    recipe
        .layers
        .push((layer("z", &noise(2, 200_000)), Packing::Zstd));
    recipe.layers.push((layer("d", b"docker"), Packing::Docker));
    let digest = recipe.push_index(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    let mut told = Vec::new();
    let pulled = yard.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let Some(PullProgress::Bytes { received, total }) = told.last() else {
        panic!("{told:?}");
    };
    assert_eq!(received, total);
    assert!(*total > 2_000_000 && told.len() > 3, "{told:?}");
    let pulled = yard.try_pull(&image, &mut |progress| panic!("{progress:?}"));
    assert_eq!(pulled.unwrap(), Pulled::Cached);

    let name = image.image().to_string();
    assert_eq!(
        yard.daemon
            .ctr("schedkit", &["images", "ls", "--quiet"])
            .trim(),
        name
    );
    assert!(
        yard.daemon
            .ctr("schedkit", &["images", "ls"])
            .contains(&digest)
    );
    assert_eq!(
        yard.daemon.ctr("schedkit", &["leases", "ls", "--quiet"]),
        ""
    );
    let files = ["see", "/noise", "see", "/more", "see", "/z", "see", "/d"];
    let id = yard.create(&image, &files).unwrap();
    yard.start(&id);
    let there = "/noise there\n/more there\n/z there\n/d there\n";
    assert_eq!(yard.listen(&id).0, there);
    let container = &yard.list()[0];
    assert_eq!(container.image, name);
    assert_eq!(container.record.image, Some(name));
}

#[cfg(feature = "long")]
#[test]
fn five_gigabytes_are_pulled_and_run() {
    let yard = Yard::open();
    let mut recipe = Recipe::new("large");
    let gigabytes = ["1", "2", "3", "4", "5"];
    for (number, name) in (1..).zip(gigabytes) {
        let bytes = vec![number; 1 << 30];
        recipe.layers.push((layer(name, &bytes), Packing::Plain));
    }
    let digest = recipe.push(&registry(), REPOSITORY);
    drop(recipe);
    let image = trusted(registry().address(), &digest);
    let mut told = Vec::new();
    let pulled = yard.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let Some(PullProgress::Bytes { received, total }) = told.last() else {
        panic!("{told:?}");
    };
    assert!(
        received == total && *total > 5 << 30,
        "{received} of {total}"
    );
    let id = yard.create(&image, &["see", "/1", "see", "/5"]).unwrap();
    yard.start(&id);
    assert_eq!(yard.listen(&id).0, "/1 there\n/5 there\n");
}

#[test]
fn content_and_snapshots_stay_with_the_image_and_go_with_it() {
    let yard = Yard::open();
    let digest = Recipe::new("stay").push_index(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    yard.pull(&image);
    // Ending a lease and waiting for the collection: whatever hangs on nothing is gone then.
    let collect = || {
        yard.daemon
            .ctr("schedkit", &["leases", "create", "--id", "broom"]);
        yard.daemon
            .ctr("schedkit", &["leases", "rm", "--sync", "broom"]);
    };
    collect();
    assert_eq!(yard.pull(&image), Pulled::Cached);
    let id = yard.create(&image, &["exit", "0"]).unwrap();
    let name = image.image().to_string();
    yard.daemon
        .ctr("schedkit", &["images", "rm", "--sync", &name]);
    // A container's files stay without the image.
    yard.start(&id);
    assert!(yard.listen(&id).1.is_some());
    yard.end(&id, schedkit_runtime::After::Remove);
    collect();
    assert_eq!(yard.daemon.leavings(), "");
    assert_eq!(yard.pull(&image), Pulled::Fetched);
}

#[test]
fn a_missing_snapshot_is_unpacked_again() {
    let yard = Yard::open();
    let digest = Recipe::new("again").push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    yard.pull(&image);
    let snapshots = yard.daemon.ctr("schedkit", &["snapshots", "ls"]);
    let key = snapshots
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    yard.daemon.ctr("schedkit", &["snapshots", "rm", key]);
    assert!(yard.create(&image, &[]).is_err());
    assert_eq!(yard.pull(&image), Pulled::Fetched);
    assert_eq!(yard.pull(&image), Pulled::Cached);
}

#[test]
fn an_image_for_other_machines_is_refused_before_anything_is_fetched() {
    let yard = Yard::open();
    let mut recipe = Recipe::new("foreign");
    recipe.architecture = "s390x".to_owned();
    for digest in [
        recipe.push(&registry(), REPOSITORY),
        recipe.push_index(&registry(), REPOSITORY),
    ] {
        let image = trusted(registry().address(), &digest);
        let error = yard.try_pull(&image, &mut |_| {}).unwrap_err();
        assert!(matches!(error, DriverError::Architecture { .. }), "{error}");
        assert!(error.to_string().contains("linux/s390x"), "{error}");
    }
    assert_eq!(yard.daemon.leavings(), "");
}

#[test]
fn layers_that_are_not_what_the_configuration_says_do_not_run() {
    let yard = Yard::open();
    let mut recipe = Recipe::new("twisted");
    recipe.layers.push((layer("a", b"a"), Packing::Gzip));
    recipe.lie = Some(layer("a", b"b").digest);
    let digest = recipe.push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    let error = yard.try_pull(&image, &mut |_| {}).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("is not what its configuration says"),
        "{said}"
    );
    assert_eq!(yard.daemon.leavings(), "");
}

#[test]
fn what_another_namespace_has_is_not_fetched_again() {
    let yard = Yard::open();
    let recipe = Recipe::new("shared");
    let digest = recipe.push(&registry(), REPOSITORY);
    let (puppet, _) = &recipe.layers[0];
    let file = yard.daemon.path("layer");
    std::fs::write(&file, &puppet.bytes).unwrap();
    yard.daemon.ingest("k8s.io", &puppet.digest, &file);
    let image = trusted(registry().address(), &digest);
    let mut told = Vec::new();
    let pulled = yard.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let total = puppet.bytes.len() as u64;
    let expected = [0, total].map(|received| PullProgress::Bytes { received, total });
    assert_eq!(told, expected, "no byte of it went over the wire");
    let id = yard.create(&image, &["say", "shared"]).unwrap();
    yard.start(&id);
    assert_eq!(yard.listen(&id).0, "[shared]\n");
}
