//! The power is cut as soon as `enable` has returned.

use super::boot_machine::{UNIT, boot_machine};
use super::thirty_boots::{Outcome, await_boot, await_outcome};

#[test]
fn what_enable_wrote_is_there_after_a_power_cut() {
    let machine = boot_machine();
    // As on a machine where nothing was enabled before.
    machine.shell("rm -rf /etc/systemd/system/schedctl@.service /etc/schedctl/enabled; sync");
    machine.enable();
    let last = machine.boot_id();
    machine.cut_power();
    machine.power_on();
    await_boot(&machine, last.as_deref());
    let outcome = await_outcome(&machine);
    assert!(
        matches!(outcome, Outcome::Attached(..)),
        "{UNIT}: {outcome:?}"
    );
}
