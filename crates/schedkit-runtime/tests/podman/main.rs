//! The driver against a real Podman with real images from a real registry, as root. Green does
//! not prove that a scheduler attaches: no kernel is asked here.

#![cfg(test)]

mod ground;
mod images;
mod lives;
mod login;
