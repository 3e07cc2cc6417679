//! `schedctl verify` and both editions of cosign, asked about the same images in the same registries.
//! The rule: we never accept what cosign refuses; where we refuse what it accepts, the case is in
//! `testkit::signature_cases::expected` with its reason.

#![cfg(test)]

mod agreement;
mod cosign_editions;
mod cosign_verdicts;
