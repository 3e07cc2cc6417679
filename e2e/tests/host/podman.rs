//! The Podman driver against a real Podman with images from a real registry, as root. Green does not
//! prove that a scheduler attaches: no kernel is asked here.

mod containers;
mod images;
mod labels;
mod login;
