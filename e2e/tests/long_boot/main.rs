//! The enabled unit on a machine whose first process is systemd: thirty boots, with and without a
//! registry, ended by reboots and by power cuts; what is restarted and what is not; edited units.

#![cfg(test)]

mod boot_machine;
mod edited_unit;
mod network;
mod power_cut_after_enable;
mod restarts;
mod thirty_boots;
