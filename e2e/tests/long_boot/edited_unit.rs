//! A unit that an administrator has edited.

use super::boot_machine::boot_machine;

#[test]
fn an_edited_unit_is_left_alone() {
    let machine = boot_machine();
    let file = "/etc/systemd/system/schedctl@.service";
    machine.enable();
    let edited = machine.shell(&format!(
        "sed -i 's/^\\[Service\\]$/&\\nEnvironment=EDITED=1/' {file}; cat {file}"
    ));
    assert!(edited.contains("EDITED"), "{edited}");
    let document = machine.enable();
    assert_eq!(machine.shell(&format!("cat {file}")), edited);
    assert!(document.to_string().contains("edited"), "{document:#}");
    machine.must(&["disable"]);
    machine.shell(&format!("rm {file}; systemctl daemon-reload"));
}
