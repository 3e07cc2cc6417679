//! Builds the disk images of a node from folders, without mounting anything.
//!
//! A node has four disks on one NVMe controller. Their device names differ from boot to boot, so the
//! root disk is found by the id of its partition, and the others by their namespace id in sysfs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::command::{self, CommandError};

/// The root partition on the kernel's command line.
pub const ROOT_PARTITION: &str = "PARTUUID=5c7ed1ab-01";

const DISK_SIGNATURE: u32 = 0x5c7e_d1ab;
const SECTOR: u64 = 512;
/// The start of the only partition.
const OFFSET: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("cannot write a disk image: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// A disk that is one ext4 file system with the contents of `folder`.
pub fn make(folder: &Path, image: &Path, mebibytes: u64, log: &Path) -> Result<(), DiskError> {
    Ok(mke2fs(&[], folder, image, mebibytes, log)?)
}

/// A disk with one partition, which the kernel can find by [`ROOT_PARTITION`].
pub fn make_root(folder: &Path, image: &Path, mebibytes: u64, log: &Path) -> Result<(), DiskError> {
    mke2fs(
        &["-E", &format!("offset={OFFSET}")],
        folder,
        image,
        mebibytes,
        log,
    )?;
    let file = File::options().write(true).open(image)?;
    file.set_len(OFFSET + (mebibytes << 20))?;
    file.write_all_at(&partition_table(mebibytes << 20), 0)?;
    Ok(())
}

/// A copy for one node, which may change it. Unused blocks take no space.
pub fn copy(image: &Path, copy: &Path) -> Result<(), DiskError> {
    let mut cp = Command::new("cp");
    cp.args(["--sparse=always", "--reflink=auto", "--"]);
    command::read(cp.arg(image).arg(copy))?;
    Ok(())
}

fn mke2fs(
    options: &[&str],
    folder: &Path,
    image: &Path,
    mebibytes: u64,
    log: &Path,
) -> Result<(), CommandError> {
    let mut mke2fs = Command::new("mke2fs");
    mke2fs
        .args(["-q", "-F", "-t", "ext4"])
        .args(options)
        .arg("-d")
        .arg(folder)
        .arg(image);
    command::run(mke2fs.arg(format!("{mebibytes}M")), log)
}

/// A master boot record with one Linux partition of that many bytes.
fn partition_table(bytes: u64) -> [u8; SECTOR as usize] {
    let mut record = [0; SECTOR as usize];
    let sectors = |bytes: u64| {
        u32::try_from(bytes / SECTOR)
            .unwrap_or(u32::MAX)
            .to_le_bytes()
    };
    record[440..444].copy_from_slice(&DISK_SIGNATURE.to_le_bytes());
    record[447..450].copy_from_slice(&[0xfe, 0xff, 0xff]);
    record[450] = 0x83;
    record[451..454].copy_from_slice(&[0xfe, 0xff, 0xff]);
    record[454..458].copy_from_slice(&sectors(OFFSET));
    record[458..462].copy_from_slice(&sectors(bytes));
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_table_says_where_the_file_system_is() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join("file"), "content").unwrap();
        let image = folder.path().join("root.img");
        make_root(&tree, &image, 16, &folder.path().join("log")).unwrap();
        let table = ["UUID,START,SECTORS,TYPE", "--noheadings"];
        let table = command::read(Command::new("partx").arg("-o").args(table).arg(&image)).unwrap();
        let row: Vec<_> = table.split_whitespace().collect();
        assert_eq!(row, ["5c7ed1ab-01", "2048", "32768", "0x83"]);
        let image = format!("{}?offset={OFFSET}", image.display());
        let content =
            command::read(Command::new("debugfs").args(["-R", "cat /file", &image])).unwrap();
        assert_eq!(content, "content");
    }
}
