//! The enabled unit on a machine whose first process is systemd: thirty boots, with and without a
//! registry, ended by reboots and by power cuts; what is restarted and what is not; edited units; the
//! guard of a trial as a unit of its own.

#![cfg(test)]

mod boot_machine;
mod edited_unit;
mod guard;
mod network;
mod power_cut_after_enable;
mod restarts;
mod thirty_boots;
