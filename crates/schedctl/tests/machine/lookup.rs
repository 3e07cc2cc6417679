//! What can be asked without running anything: who we are, what the catalog and a registry hold.

use crate::ground::machine;

#[test]
fn the_program_says_which_one_it_is() {
    let machine = machine();
    let version = format!("schedctl {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(machine.must(&["--version"]), version);
}

#[test]
fn the_settings_file_leads_to_the_catalog() {
    let machine = machine();
    assert_eq!(machine.must(&["list"]), "scx_bpfland\nscx_lab\n");
}

#[test]
fn names_lead_to_what_the_registry_holds() {
    let machine = machine();
    let versions = machine.must(&["versions", "scx_bpfland"]);
    assert!(versions.contains("1.1.4"), "{versions}");
    let (code, info) = machine.json(&["info", "scx_lab"]);
    assert_eq!(code, 0, "{info}");
    assert_eq!(info["title"], "scx_lab");
    assert_eq!(info["version"], "1.1.0");
    assert_eq!(info["kernel_min_version"], "6.12");
}
