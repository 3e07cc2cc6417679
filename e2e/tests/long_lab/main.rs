//! The lab itself, as far as it takes too long for every change: its pods, and a lab that is killed
//! while its node boots.

#![cfg(test)]

mod pods;

use lab::environment::cache_folder;
use testkit::lab_process::kill_at;

#[test]
fn killed_while_a_node_boots() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--nodes", "1"];
    let (step, process) = ("booting node1", "qemu-system");
    kill_at(
        "killed",
        folder.path(),
        &cache_folder(),
        &args,
        step,
        process,
    );
}
