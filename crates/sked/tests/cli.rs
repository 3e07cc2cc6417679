//! The program's command line, without a cluster: commands, flags of the contract, exit codes.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

fn sked(args: &[&str]) -> Output {
    let mut sked = Command::new(env!("CARGO_BIN_EXE_sked"));
    // Neither a cluster of this user nor one that this test runs in.
    sked.env_clear().args(args);
    sked.output().expect("sked can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn plain_sked_is_the_manager_and_has_the_flags_of_the_contract() {
    for args in [&["--help"][..], &["manager", "--help"]] {
        let output = sked(args);
        assert!(output.status.success(), "{args:?}");
        let help = text(&output.stdout);
        for flag in [
            "--leader-elect",
            "--metrics-bind-address",
            "--metrics-secure",
            "--health-probe-bind-address",
            "--enable-http2",
        ] {
            assert!(help.contains(flag), "{args:?}: {flag}\n{help}");
        }
    }
}

#[test]
fn an_unknown_flag_is_named_and_is_exit_code_2() {
    let output = sked(&["manager", "--no-such-flag"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("--no-such-flag"), "{message}");
}

#[test]
fn without_a_cluster_the_manager_says_so_and_fails() {
    let output = sked(&["manager", "--kubeconfig", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("/nonexistent"), "{message}");
}
