//! Whether the kernel has BTF, the description of its types that every scheduler needs when it is
//! loaded. Only the header is read.

use serde::Serialize;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/sys/kernel/btf/vmlinux";
/// Magic, version, flags, length of the header.
const HEADER: usize = 8;
const MAGIC: u16 = 0xeb9f;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Btf {
    pub version: u8,
}

impl Btf {
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::beginning(&root.path(FILE), HEADER).and_then(|header| parse(&header))
    }
}

/// Parses the beginning of a BTF file in either byte order.
pub fn parse(header: &[u8]) -> Fact<Btf> {
    match *header {
        [] => Fact::malformed("it is empty"),
        [a, b, version, ..]
            if [u16::from_le_bytes([a, b]), u16::from_be_bytes([a, b])].contains(&MAGIC) =>
        {
            Fact::Known(Btf { version })
        }
        _ => Fact::malformed("it does not begin as BTF does"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_byte_orders_are_btf() {
        let btf = Fact::Known(Btf { version: 1 });
        assert_eq!(parse(&[0x9f, 0xeb, 1, 0, 24, 0, 0, 0]), btf);
        assert_eq!(parse(&[0xeb, 0x9f, 1, 0, 0, 0, 0, 24]), btf);
        for bytes in [&[][..], &[0x9f], &[0x9f, 0xeb], b"\x7fELF"] {
            assert!(matches!(parse(bytes), Fact::Malformed(_)), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
