//! Standard output of the gate.

#[expect(
    clippy::print_stdout,
    reason = "the gate is a program that reports on its standard output"
)]
pub(super) fn println(text: &str) {
    println!("{text}");
}
