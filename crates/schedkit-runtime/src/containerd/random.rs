//! Random suffixes for names.

use rustix::rand::{GetRandomFlags, getrandom};

/// Eight hexadecimal digits: enough for objects that exist at the same time. `getrandom` does not fail
/// for so few bytes; if it did, containerd would refuse a name that is in use.
pub(super) fn hex_suffix() -> String {
    let mut bytes = [0_u8; 4];
    let _ = getrandom(&mut bytes, GetRandomFlags::empty());
    format!("{:08x}", u32::from_ne_bytes(bytes))
}
