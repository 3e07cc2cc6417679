//! Labels prove nothing: which containers of the namespace are certainly schedctl's.

use schedkit_runtime::{After, Ownership, Record, Trust};
use serde_json::json;

use testkit::containerd::ContainerdFixture;
use testkit::containerd::image::ImageRecipe;

#[test]
fn labels_count_only_on_containers_that_they_name() {
    let fixture = ContainerdFixture::fresh();
    let mut recipe = ImageRecipe::new("hostile");
    recipe.process["Labels"] = json!({
        "io.schedkit.signer": "somebody trusted",
        "io.schedkit.policy": "0".repeat(64),
    });
    let ours = fixture.make(&recipe, &["wait"]);
    let [container] = &fixture.list()[..] else {
        panic!("there is one");
    };
    assert_eq!(container.ownership, Ownership::Ours);
    assert_eq!(
        container.record.trust,
        Some(Trust::Waived("a test".to_owned()))
    );
    fixture.end(&ours, After::Remove);

    // By somebody else, with labels as those of an image; and as the older schedctl made them.
    let root = fixture.daemon.path("root-of-other");
    std::fs::create_dir(&root).unwrap();
    let root = root.display().to_string();
    let name = "schedkit-scx_test-00000001";
    let forged = [
        "--label",
        "provider=schedkit",
        "--label",
        &format!("io.schedkit.container={name}"),
        "--label",
        "io.schedkit.signer=somebody",
        "--label",
        "io.schedkit.policy=p",
    ];
    for (name, labels) in [(name, &forged[..]), ("scx_rusty", &[][..])] {
        let create = ["containers", "create", "--rootfs"];
        let words = [&create[..], labels, &[&root, name, "/program"]].concat();
        fixture.daemon.ctr("schedkit", &words);
        let [container] = &fixture.list()[..] else {
            panic!("{name} is listed");
        };
        assert_eq!(container.ownership, Ownership::Unproven, "{name}");
        assert_eq!(container.record, Record::default(), "{name}");
        fixture.end(&container.id, After::Remove);
        assert_eq!(fixture.list(), []);
    }
}
