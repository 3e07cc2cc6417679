//! Commands that run nothing: `doctor`, `list`, `versions`, `info`, `--version`.

use testkit::machine::machine;

#[test]
fn the_machine_the_catalog_and_the_registry_are_described() {
    let machine = machine();
    let version = format!("schedctl {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(machine.must(&["--version"]), version);
    machine.expect(0, &["doctor", "--image", "scx_lab"]);
    assert_eq!(machine.must(&["list"]), "scx_lab\n");
    let versions = machine.must(&["versions", "scx_lab"]);
    assert!(versions.contains("1.0.0"), "{versions}");
    let info = machine.expect(0, &["info", "scx_lab"]);
    assert_eq!(info["title"], "scx_lab");
    assert_eq!(info["version"], "1.1.0");
    assert_eq!(info["kernel_min_version"], "6.12");
}
