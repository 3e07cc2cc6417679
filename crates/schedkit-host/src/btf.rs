//! The kernel's description of its own types, which every scheduler is fitted to when it is
//! loaded: whether it is there. Only its first bytes are read.

use serde::Serialize;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const FILE: &str = "/sys/kernel/btf/vmlinux";
/// Magic, version, flags, length of the header.
const HEADER: usize = 8;
const MAGIC: u16 = 0xeb9f;

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Btf {
    /// The format's version: 1.
    pub version: u8,
}

impl Btf {
    /// Looks at the machine's.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::beginning(&root.path(FILE), HEADER).and_then(|header| parse(&header))
    }
}

/// Reads the beginning of a BTF file, in whichever byte order it was written.
pub fn parse(header: &[u8]) -> Fact<Btf> {
    match *header {
        [] => Fact::strange("it is empty"),
        [a, b, version, ..]
            if [u16::from_le_bytes([a, b]), u16::from_be_bytes([a, b])].contains(&MAGIC) =>
        {
            Fact::Known(Btf { version })
        }
        _ => Fact::strange("it does not begin as BTF does"),
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
            assert!(matches!(parse(bytes), Fact::Strange(_)), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
