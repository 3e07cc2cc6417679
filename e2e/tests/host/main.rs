//! What needs this machine and root but no virtual machine: the drivers against Podman and
//! containerd, `schedctl verify` against two registries, and the lab's own errors and end.

#![cfg(test)]

mod containerd;
mod lab_errors;
mod lab_lifetime;
mod podman;
mod trust;
