//! Text from outside, made safe to print, and files from outside, read with a size limit.

use std::fs::File;
use std::io::{self, Read};
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
}

/// The text of a file of at most `limit` bytes.
///
/// # Errors
/// When it cannot be read, is bigger, or is not UTF-8.
pub fn read_file(path: &Path, limit: usize) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)?;
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
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_file(&path, 5).unwrap(), "12345");
        assert!(matches!(read_file(&path, 4), Err(ReadError::TooBig(4))));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(matches!(read_file(&path, 5), Err(ReadError::NotText)));
    }
}
