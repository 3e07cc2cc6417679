//! Names that nobody else has.

use rustix::rand::{GetRandomFlags, getrandom};

/// Eight letters; enough to tell apart what exists at the same time. The kernel's source of
/// randomness does not fail for so few; if it did, containerd would refuse a name that is taken.
pub(super) fn letters() -> String {
    let mut bytes = [0_u8; 4];
    let _ = getrandom(&mut bytes, GetRandomFlags::empty());
    format!("{:08x}", u32::from_ne_bytes(bytes))
}
