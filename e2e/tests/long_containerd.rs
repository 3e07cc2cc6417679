//! What takes minutes and many gigabytes of disk with a real containerd. `SCHEDKIT_CONTAINERD` names
//! the edition, as for the suite `host`.

#![cfg(test)]

use schedkit_runtime::{PullProgress, Pulled};
use testkit::containerd::image::{ImageRecipe, Packing, layer};
use testkit::containerd::{ContainerdFixture, REPOSITORY, registry, trusted};

#[test]
fn five_gigabytes_are_pulled_and_run() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("large");
    let gigabytes = ["1", "2", "3", "4", "5"];
    for (number, name) in (1..).zip(gigabytes) {
        let bytes = vec![number; 1 << 30];
        recipe.layers.push((layer(name, &bytes), Packing::Plain));
    }
    let digest = recipe.push(&registry(), REPOSITORY);
    drop(recipe);
    let image = trusted(registry().address(), &digest);
    let mut told = Vec::new();
    let pulled = fixture.try_pull(&image, &mut |progress| told.push(progress));
    assert_eq!(pulled.unwrap(), Pulled::Fetched);
    let Some(PullProgress::Bytes { received, total }) = told.last() else {
        panic!("{told:?}");
    };
    assert!(
        received == total && *total > 5 << 30,
        "{received} of {total}"
    );
    let id = fixture.create(&image, &["see", "/1", "see", "/5"]).unwrap();
    fixture.start(&id);
    assert_eq!(fixture.output(&id).0, "/1 there\n/5 there\n");
}
