//! `schedctl verify` and both versions of cosign, asked about the same images in the same registries.
//! The rule: we never accept what cosign refuses; where we refuse what it accepts, the case is in
//! `signature_cases.json` of schedkit-image with its reason.

#![cfg(test)]

mod agreement;
mod cosign_editions;
mod cosign_verdicts;
