//! `schedctl verify` and both editions of cosign, asked about the same images in the same real
//! registries. The rule: we never accept what cosign refuses; where we refuse what it accepts,
//! the case stands in [`table`] with its reason.

#![cfg(test)]

mod ground;
mod keyless;
mod keys;
mod placement;
mod policies;
mod table;
