//! From the registry into containerd's store.

use schedkit_runtime::{DriverError, PullProgress, Pulled};

use testkit::containerd::image::{ImageRecipe, Packing, layer, noise};
use testkit::containerd::{ContainerdFixture, REPOSITORY, registry, trusted};

#[test]
fn an_index_is_pulled_once_and_its_layers_are_what_runs() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("index");
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
    let pulled = fixture.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let Some(PullProgress::Bytes { received, total }) = told.last() else {
        panic!("{told:?}");
    };
    assert_eq!(received, total);
    assert!(*total > 2_000_000 && told.len() > 3, "{told:?}");
    let pulled = fixture.try_pull(&image, &mut |progress| panic!("{progress:?}"));
    assert_eq!(pulled.unwrap(), Pulled::Cached);

    let name = image.image().to_string();
    assert_eq!(
        fixture
            .daemon
            .ctr("schedkit", &["images", "ls", "--quiet"])
            .trim(),
        name
    );
    assert!(
        fixture
            .daemon
            .ctr("schedkit", &["images", "ls"])
            .contains(&digest)
    );
    assert_eq!(
        fixture.daemon.ctr("schedkit", &["leases", "ls", "--quiet"]),
        ""
    );
    let files = ["see", "/noise", "see", "/more", "see", "/z", "see", "/d"];
    let id = fixture.create(&image, &files).unwrap();
    fixture.start(&id);
    let there = "/noise there\n/more there\n/z there\n/d there\n";
    assert_eq!(fixture.output(&id).0, there);
    let container = &fixture.list()[0];
    assert_eq!(container.image, name);
    assert_eq!(container.record.image, Some(name));
}

#[test]
fn content_and_snapshots_stay_with_the_image_and_go_with_it() {
    let fixture = ContainerdFixture::fresh();
    let digest = ImageRecipe::new("stay").push_index(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    fixture.pull(&image);
    // Ending a lease and waiting for the collection: whatever hangs on nothing is gone then.
    let collect = || {
        fixture
            .daemon
            .ctr("schedkit", &["leases", "create", "--id", "broom"]);
        fixture
            .daemon
            .ctr("schedkit", &["leases", "rm", "--sync", "broom"]);
    };
    collect();
    assert_eq!(fixture.pull(&image), Pulled::Cached);
    let id = fixture.create(&image, &["exit", "0"]).unwrap();
    let name = image.image().to_string();
    fixture
        .daemon
        .ctr("schedkit", &["images", "rm", "--sync", &name]);
    // A container's files stay without the image.
    fixture.start(&id);
    assert!(fixture.output(&id).1.is_some());
    fixture.end(&id, schedkit_runtime::After::Remove);
    collect();
    assert_eq!(fixture.daemon.leftovers(), "");
    assert_eq!(fixture.pull(&image), Pulled::Fetched);
}

#[test]
fn a_missing_snapshot_is_unpacked_again() {
    let fixture = ContainerdFixture::fresh();
    let digest = ImageRecipe::new("again").push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    fixture.pull(&image);
    let snapshots = fixture.daemon.ctr("schedkit", &["snapshots", "ls"]);
    let key = snapshots
        .lines()
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    fixture.daemon.ctr("schedkit", &["snapshots", "rm", key]);
    assert!(fixture.create(&image, &[]).is_err());
    assert_eq!(fixture.pull(&image), Pulled::Fetched);
    assert_eq!(fixture.pull(&image), Pulled::Cached);
}

#[test]
fn an_image_for_another_processor_is_refused_before_anything_is_fetched() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("foreign");
    recipe.architecture = "s390x".to_owned();
    for digest in [
        recipe.push(&registry(), REPOSITORY),
        recipe.push_index(&registry(), REPOSITORY),
    ] {
        let image = trusted(registry().address(), &digest);
        let error = fixture.try_pull(&image, &mut |_| {}).unwrap_err();
        assert!(matches!(error, DriverError::Architecture { .. }), "{error}");
        assert!(error.to_string().contains("linux/s390x"), "{error}");
    }
    assert_eq!(fixture.daemon.leftovers(), "");
}

#[test]
fn layers_that_are_not_what_the_configuration_says_do_not_run() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("twisted");
    recipe.layers.push((layer("a", b"a"), Packing::Gzip));
    recipe.lie = Some(layer("a", b"b").digest);
    let digest = recipe.push(&registry(), REPOSITORY);
    let image = trusted(registry().address(), &digest);
    let error = fixture.try_pull(&image, &mut |_| {}).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("does not match its configuration"), "{said}");
    assert_eq!(fixture.daemon.leftovers(), "");
}

#[test]
fn what_another_namespace_has_is_not_fetched_again() {
    let fixture = ContainerdFixture::fresh();
    let recipe = ImageRecipe::new("shared");
    let digest = recipe.push(&registry(), REPOSITORY);
    let (program, _) = &recipe.layers[0];
    let file = fixture.daemon.path("layer");
    std::fs::write(&file, &program.bytes).unwrap();
    fixture.daemon.ingest("k8s.io", &program.digest, &file);
    let image = trusted(registry().address(), &digest);
    let mut told = Vec::new();
    let pulled = fixture.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let total = program.bytes.len() as u64;
    let expected = [0, total].map(|received| PullProgress::Bytes { received, total });
    assert_eq!(told, expected, "no byte of it went over the wire");
    let id = fixture.create(&image, &["say", "shared"]).unwrap();
    fixture.start(&id);
    assert_eq!(fixture.output(&id).0, "[shared]\n");
}
