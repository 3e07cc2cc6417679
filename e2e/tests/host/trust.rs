//! `schedctl verify` in both registries, with everything that the lab's Sigstore can make, good and
//! flawed. Nobody is asked but schedctl; `long_signatures` asks cosign about the same images.

mod attachments;
mod keyless;
mod keys;
mod policies;
