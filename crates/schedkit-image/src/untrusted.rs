//! Text from outside, made safe to print, and files from outside, read with a size limit.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use schedkit_core::sanitize::{brief, printable, shortened};

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot be read")]
    Io(#[from] io::Error),
    #[error("has more than {0} bytes")]
    TooBig(usize),
    #[error("is not UTF-8 text")]
    NotText,
    /// Root would trust whom others have chosen.
    #[error(
        "can be changed by others than root: let the file and its folder belong to root, and `chmod go-w` \
         both"
    )]
    NotOnlyRoots,
}

/// Who reads a file that decides whom to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Reads only what nobody else can change.
    Root,
    User,
}

/// The text of a file of at most `limit` bytes.
///
/// # Errors
/// When it cannot be read, is bigger, or is not UTF-8.
pub fn read_file(path: &Path, limit: usize) -> Result<String, ReadError> {
    read_open(File::open(path)?, limit)
}

/// The text of a file that decides whom to trust.
///
/// # Errors
/// As [`read_file`], and for root if others may write to the file, or replace it or a link to it in its
/// folder. The folders above are not checked.
pub fn read_trusted_file(path: &Path, limit: usize, reader: Reader) -> Result<String, ReadError> {
    let file = File::open(path)?;
    let is_safe = match reader {
        Reader::Root => {
            let target = fs::canonicalize(path)?;
            let is_file_safe = |file: &Metadata| file.uid() == 0 && file.mode() & 0o022 == 0;
            is_file_safe(&file.metadata()?)
                && is_folder_safe(path.parent())?
                && is_folder_safe(target.parent())?
        }
        Reader::User => true,
    };
    match is_safe {
        true => read_open(file, limit),
        false => Err(ReadError::NotOnlyRoots),
    }
}

/// In a folder such as `/tmp` only the owner of a file replaces it.
fn is_folder_safe(folder: Option<&Path>) -> io::Result<bool> {
    const STICKY: u32 = 0o1000;
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let found = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    let mode = found.mode();
    Ok(found.uid() == 0 && (mode & 0o022 == 0 || mode & STICKY != 0))
}

fn read_open(file: File, limit: usize) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(ReadError::TooBig(limit));
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_file(&path, 5).unwrap(), "12345");
        assert!(matches!(read_file(&path, 4), Err(ReadError::TooBig(4))));
        fs::write(&path, [0xff]).unwrap();
        assert!(matches!(read_file(&path, 5), Err(ReadError::NotText)));
    }
}
